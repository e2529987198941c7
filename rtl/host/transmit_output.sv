// SPDX-License-Identifier: Apache-2.0
// Reads frames out of their cells, which become free, puts in their checksums and sends them; when a frame is gone its
// chain becomes used and its job ends. A dropped one is read in the same way, and its chain follows those before it.
// Latency: 6 cycles from a frame to its first beat. Throughput: a beat a cycle, a frame's end in two.
// Backpressure: m_axis_* and used_* may stall for any time; s_ready is low meanwhile.
module transmit_output
  import host_pkg::*;
  import transmit_pkg::*;
  import offload_pkg::request_t;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned QUEUES = 16,
    parameter int unsigned JOBS = 64,
    parameter int unsigned CELLS = 256,
    parameter int unsigned INDEX_W = 11,
    parameter bit SEGMENT = 1'b0,         // requests go with frames
    localparam int unsigned BYTES = DATA_W / 8,
    localparam int unsigned LANE_W = $clog2(BYTES),
    localparam int unsigned CELL_BEATS = CELL_BYTES / BYTES,
    localparam int unsigned BEAT_W = $clog2(CELL_BEATS),
    localparam int unsigned CELL_W = $clog2(CELLS),
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1,
    localparam int unsigned JOB_W = $clog2(JOBS)
) (
    input  logic               clk,
    input  logic               rst,
    input  logic               s_valid,
    output logic               s_ready,
    input  logic [  JOB_W-1:0] s_job,
    input  logic [QUEUE_W-1:0] s_queue,
    // verilator lint_off UNUSEDSIGNAL
    input  chain_t             s_chain,
    // verilator lint_on UNUSEDSIGNAL
    input  logic [ CELL_W-1:0] s_cell,
    input  logic [INDEX_W-1:0] s_beats,
    input  logic               s_patch,
    input  logic [FRAME_W-1:0] s_place,
    input  logic [       15:0] s_value,
    input  request_t           s_request,

    output logic               next_en,     // cell_store
    output logic [ CELL_W-1:0] next_of,
    input  logic [ CELL_W-1:0] next_cell,
    output logic               read,
    output logic [ CELL_W-1:0] read_cell,
    output logic [ BEAT_W-1:0] read_beat,
    input  logic [ DATA_W-1:0] read_data,
    output logic               freed,       // read_cell

    output logic               m_axis_tvalid,
    input  logic               m_axis_tready,
    output logic [ DATA_W-1:0] m_axis_tdata,
    output logic [  BYTES-1:0] m_axis_tkeep,
    output logic               m_axis_tlast,
    output logic [QUEUE_W-1:0] m_axis_queue,
    output request_t           m_axis_request,
    input  logic               gone,        // the next frame, all of it
    output logic               used_valid,
    input  logic               used_ready,
    output logic [QUEUE_W-1:0] used_queue,
    output used_t              used,
    output logic               end_valid,   // of a job, in one of two cycles
    output logic [  JOB_W-1:0] end_job,
    output logic [QUEUE_W-1:0] end_queue,
    output logic [        8:0] end_cells,
    output logic               idle
);

  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512) begin : gen_bad_data_w
    $fatal(1, "transmit_output: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end

  localparam int unsigned AHEAD = 16;       // beats that are read before they are sent
  localparam int unsigned ENDS = 32;        // frames that are read and have not ended

  // ---------------------------------------------------------------------------------------- a frame's beats are read
  logic active_q, send_q, patch_q, ends_ready;
  logic [CELL_W-1:0] cell_q, next_cell_q;
  logic [QUEUE_W-1:0] queue_q;
  logic [INDEX_W-1:0] index_q, left_q;      // left_q: beats after this one
  logic [LANE_W-1:0] rest_q;                // bytes of the last beat, modulo
  logic [FRAME_W-1:0] place_q;
  logic [15:0] value_q;
  request_t request_q;
  logic [$clog2(AHEAD+1)-1:0] room_q;
  wire go = active_q && (!send_q || room_q != '0);
  wire last = left_q == '0;
  wire take = s_valid && s_ready;
  wire sent = m_axis_tvalid && m_axis_tready;
  wire cell_end = &index_q[BEAT_W-1:0];

  assign s_ready   = (!active_q || (go && last)) && ends_ready;
  assign read      = go;
  assign read_cell = cell_q;
  assign read_beat = index_q[BEAT_W-1:0];
  assign freed     = go && (last || cell_end);
  assign next_en   = go && index_q[BEAT_W-1:0] == '0;
  assign next_of   = cell_q;

  always_ff @(posedge clk) begin
    next_cell_q <= next_cell;
    if (go) begin
      active_q <= !last;
      index_q  <= index_q + 1'b1;
      left_q   <= left_q - 1'b1;
      if (cell_end) cell_q <= next_cell_q;
    end
    if (take) begin
      active_q <= s_beats != '0;
      send_q   <= !s_chain.dropped;
      queue_q  <= s_queue;
      cell_q   <= s_cell;
      index_q  <= '0;
      left_q   <= s_beats - 1'b1;
      rest_q   <= s_chain.bytes[LANE_W-1:0];
      patch_q  <= s_patch;
      place_q  <= s_place;
      value_q  <= s_value;
      request_q <= s_request;
    end
    room_q <= room_q + ($clog2(AHEAD + 1))'(sent) - ($clog2(AHEAD + 1))'(go && send_q);
    if (rst) begin
      active_q <= 1'b0;
      room_q   <= ($clog2(AHEAD + 1))'(AHEAD);
    end
  end

  // --------------------------------------------------------------------------------------- and get their checksum
  logic valid_1, last_1, high_1, low_1, valid_2, last_2, high_2, low_2, valid_3, last_3;
  logic [QUEUE_W-1:0] queue_1, queue_2, queue_3;
  logic [LANE_W-1:0] rest_1, rest_2, high_lane_1, high_lane_2, low_lane_1, low_lane_2;
  logic [15:0] value_1, value_2;
  request_t request_1, request_2, request_3;
  logic [DATA_W-1:0] data_2, data_3;
  logic [BYTES-1:0] keep_3;
  logic unused_ready;
  wire [FRAME_W-1:0] second = place_q + 1'b1;

  always_ff @(posedge clk) begin
    valid_1     <= go && send_q;
    last_1      <= last;
    queue_1     <= queue_q;
    rest_1      <= rest_q;
    value_1     <= value_q;
    request_1   <= request_q;
    high_1      <= patch_q && place_q[FRAME_W-1:LANE_W] == (FRAME_W - LANE_W)'(index_q);
    low_1       <= patch_q && second[FRAME_W-1:LANE_W] == (FRAME_W - LANE_W)'(index_q);
    high_lane_1 <= place_q[LANE_W-1:0];
    low_lane_1  <= second[LANE_W-1:0];
    valid_2     <= valid_1;
    last_2      <= last_1;
    queue_2     <= queue_1;
    rest_2      <= rest_1;
    value_2     <= value_1;
    request_2   <= request_1;
    high_2      <= high_1;
    low_2       <= low_1;
    high_lane_2 <= high_lane_1;
    low_lane_2  <= low_lane_1;
    if (valid_1) data_2 <= read_data;
    valid_3     <= valid_2;
    if (valid_2) begin
      automatic logic [DATA_W-1:0] patched = data_2;
      if (high_2 || low_2) begin
        for (int unsigned i = 0; i < BYTES; i++) begin
          if (high_2 && high_lane_2 == LANE_W'(i)) patched[8*i+:8] = value_2[15:8];
          else if (low_2 && low_lane_2 == LANE_W'(i)) patched[8*i+:8] = value_2[7:0];
        end
      end
      last_3    <= last_2;
      queue_3   <= queue_2;
      request_3 <= request_2;
      keep_3    <= last_2 && rest_2 != '0 ? ~({BYTES{1'b1}} << rest_2) : '1;
      data_3    <= patched;
    end
    if (rst) begin
      valid_1 <= 1'b0;
      valid_2 <= 1'b0;
      valid_3 <= 1'b0;
    end
  end

  localparam int unsigned ALL_W = $bits(request_t) + QUEUE_W + 1 + BYTES + DATA_W;
  localparam int unsigned KEPT_W = SEGMENT ? ALL_W : ALL_W - $bits(request_t);
  logic [KEPT_W-1:0] kept;

  stream_fifo #(
      .WIDTH(KEPT_W),
      .DEPTH(AHEAD)
  ) u_out (
      .clk,
      .rst,
      .s_valid(valid_3),
      .s_ready(unused_ready),
      .s_data (KEPT_W'({request_3, queue_3, last_3, keep_3, data_3})),
      .m_valid(m_axis_tvalid),
      .m_ready(m_axis_tready),
      .m_data (kept),
      .count  (),
      .idle   ()
  );
  assign {m_axis_request, m_axis_queue, m_axis_tlast, m_axis_tkeep, m_axis_tdata} = ALL_W'(kept);

  // ------------------------------------------------------------------------------------------------- frames end
  typedef struct packed {
    logic               sent;
    logic               silent;
    logic [JOB_W-1:0]   job;
    logic [QUEUE_W-1:0] from;
    logic [15:0]        id;
    logic [15:0]        slots;
    logic [8:0]         cells;
  } frame_t;
  frame_t frame;
  logic frame_valid, ends_idle, offer_q;
  logic [$clog2(ENDS+2)-1:0] gone_q;        // frames of which all has gone, and that have not ended
  wire over = offer_q && (frame.silent || used_ready);

  stream_fifo #(
      .WIDTH($bits(frame_t)),
      .DEPTH(ENDS)
  ) u_ends (
      .clk,
      .rst,
      .s_valid(take),
      .s_ready(ends_ready),
      .s_data (frame_t'{!s_chain.dropped, s_chain.fault != 3'(FAULT_NONE), s_job, s_queue, s_chain.id, s_chain.slots,
                        s_chain.cells}),
      .m_valid(frame_valid),
      .m_ready(over),
      .m_data (frame),
      .count  (),
      .idle   (ends_idle)
  );

  assign used_valid = offer_q && !frame.silent;
  assign used_queue = frame.from;
  assign used       = '{more: 1'b0, id: frame.id, slots: frame.slots, bytes: '0};
  assign end_valid  = over;
  assign end_job    = frame.job;
  assign end_queue  = frame.from;
  assign end_cells  = frame.cells;
  assign idle       = !active_q && ends_idle;

  always_ff @(posedge clk) begin
    offer_q <= frame_valid && !over && (offer_q || !frame.sent || gone_q != '0);
    gone_q  <= gone_q + ($clog2(ENDS + 2))'(gone) - ($clog2(ENDS + 2))'(over && frame.sent);
    if (rst) begin
      offer_q <= 1'b0;
      gone_q  <= '0;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst) assert (!valid_3 || unused_ready) else $error("%m: a beat is lost");
  end
`else
  wire unused = &{1'b0, unused_ready};
`endif

endmodule
