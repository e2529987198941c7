// SPDX-License-Identifier: Apache-2.0
// Puts frames into cells as they come, and tells of each when it ends: where it begins, how long it is, and whether it
// can be kept. One that finds no further cell, or gets longer than MAX_FRAME, has those that it got until then.
// Latency: 3 cycles from a frame's last beat to `frame`. Throughput: a beat a cycle.
// Backpressure: s_axis_tready is a register, low while frames are not taken from `frame` for long.
module receive_input
  import receive_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned MAX_FRAME = 9216,
    localparam int unsigned KEEP_W = DATA_W / 8,
    localparam int unsigned CELL_BEATS = CELL_BYTES * 8 / DATA_W,
    localparam int unsigned BEAT_W = $clog2(CELL_BEATS)
) (
    input  logic              clk,
    input  logic              rst,
    input  logic              hold,              // takes no beat

    input  logic              s_axis_tvalid,
    output logic              s_axis_tready,
    input  logic [DATA_W-1:0] s_axis_tdata,
    input  logic [KEEP_W-1:0] s_axis_tkeep,
    input  logic              s_axis_tlast,
    input  queue_t            s_axis_queue,
    input  logic              s_axis_cut,
    input  logic              s_axis_valid_sum,

    input  logic              alloc_valid,
    output logic              alloc_ready,
    input  cell_t             alloc_cell,
    output logic              link_en,
    output cell_t             link_cell,
    output logic              wr_en,
    output cell_t             wr_cell,
    output logic [BEAT_W-1:0] wr_beat,
    output logic [DATA_W-1:0] wr_data,

    output logic              frame_valid,
    input  logic              frame_ready,
    output frame_t            frame,
    output logic              idle               // no frame is here, or comes in
);

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "receive_input: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (MAX_FRAME < 64 || MAX_FRAME > 65600) begin : gen_bad_max_frame
    $fatal(1, "receive_input: MAX_FRAME must be 64 to 65600, not %0d", MAX_FRAME);
  end

  localparam int unsigned FRAMES = 32;
  localparam int unsigned COUNT_W = $clog2(KEEP_W + 1);

  // ---------------------------------------------------------------------------------------- the beat, and its bytes
  logic valid_q, last_q, cut_q, valid_sum_q;
  logic [DATA_W-1:0] data_q;
  logic [COUNT_W-1:0] count, count_q;
  queue_t queue_q;
  logic [$clog2(FRAMES+1)-1:0] frames;
  logic frames_ready, frames_idle;

  always_comb begin
    count = '0;
    for (int i = 0; i < int'(KEEP_W); i++) begin
      if (s_axis_tkeep[i] && (i == int'(KEEP_W) - 1 || !s_axis_tkeep[(i+1)%KEEP_W])) count |= COUNT_W'(i + 1);
    end
  end

  always_ff @(posedge clk) begin
    valid_q     <= s_axis_tvalid && s_axis_tready;
    data_q      <= s_axis_tdata;
    last_q      <= s_axis_tlast;
    count_q     <= s_axis_tlast ? count : COUNT_W'(KEEP_W);
    queue_q     <= s_axis_queue;
    cut_q       <= s_axis_cut;
    valid_sum_q <= s_axis_valid_sum;
    if (rst) valid_q <= 1'b0;
  end

  // ------------------------------------------------------------------------------------------------- into the cells
  logic mid_q, lost_q;        // a frame is begun; it can't be kept
  logic [BEAT_W-1:0] beat_q;  // of the cell, that comes next
  cell_t first_q, cell_q;
  cells_t cells_q;
  bytes_t bytes_q;
  wire first_beat = !mid_q;
  wire earlier_lost = mid_q && lost_q;
  wire bytes_t bytes = (first_beat ? '0 : bytes_q) + bytes_t'(count_q);
  wire long = 32'(bytes) > MAX_FRAME;
  wire need = !earlier_lost && !long && (first_beat || beat_q == 0);
  wire lost = earlier_lost || long || (need && !alloc_valid);
  wire taken = valid_q && need && alloc_valid;
  wire cells_t cells = (first_beat ? '0 : cells_q) + cells_t'(taken);
  wire cell_t first = first_beat ? alloc_cell : first_q;

  assign alloc_ready = valid_q && need;
  assign link_en     = taken && !first_beat;
  assign link_cell   = cell_q;
  assign wr_en       = valid_q && !lost;
  assign wr_cell     = need ? alloc_cell : cell_q;
  assign wr_beat     = first_beat ? '0 : beat_q;
  assign wr_data     = data_q;

  logic end_q;
  frame_t end_frame_q;
  always_ff @(posedge clk) begin
    end_q       <= valid_q && last_q;
    end_frame_q <= '{
      owner: queue_q,
      what: cut_q ? CUT : lost ? TOO_MUCH : WHOLE,
      valid_sum: valid_sum_q,
      first: first,
      cells: cells,
      bytes: bytes
    };
    if (valid_q) begin
      mid_q   <= !last_q;
      lost_q  <= lost;
      bytes_q <= long ? bytes_q : bytes;
      cells_q <= cells;
      first_q <= first;
      beat_q  <= wr_beat + 1'b1;
      if (taken) cell_q <= alloc_cell;
    end
    s_axis_tready <= frames_ready && !hold && 32'(frames) < FRAMES - 6;
    if (rst) begin
      mid_q         <= 1'b0;
      end_q         <= 1'b0;
      s_axis_tready <= 1'b0;
    end
  end

  stream_fifo #(
      .WIDTH($bits(frame_t)),
      .DEPTH(FRAMES)
  ) u_frames (
      .clk,
      .rst,
      .s_valid(end_q),
      .s_ready(frames_ready),
      .s_data (end_frame_q),
      .m_valid(frame_valid),
      .m_ready(frame_ready),
      .m_data (frame),
      .count  (frames),
      .idle   (frames_idle)
  );

  assign idle = !valid_q && !mid_q && !end_q && frames_idle;

  stream_contract #(
      .DATA_W(DATA_W)
  ) u_contract (
      .clk,
      .rst,
      .tvalid(s_axis_tvalid),
      .tready(s_axis_tready),
      .tdata (s_axis_tdata),
      .tkeep (s_axis_tkeep),
      .tlast (s_axis_tlast)
  );

`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst) assert (!end_q || frames_ready) else $error("%m: a frame's end is lost");
`endif

endmodule
