// SPDX-License-Identifier: Apache-2.0
// What comes in by a port: whole frames wait here for what is decided about them, with the time at which each was in.
// Frames with an error, those that are longer than a frame may be and those that find no room are dropped whole. With
// `hold` the link is held off instead while there is no room. Each frame is given out as often as jobs say, in order:
// the last job of a frame frees its room.
// Latency: `frame` is there at most 4 cycles after a frame's last beat; 3 cycles from a job to its first beat.
// Throughput: 1 beat a cycle in and out.
// Backpressure: s_axis_tready comes from a register: always high without hold, low while the store is full with it.
module link_store
  import link_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned STORE_KB = 32,
    parameter int unsigned FRAME_KB = 16,    // the longest frame
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,
    input  logic [63:0]       time_ns,
    input  logic              hold,
    input  logic              s_axis_tvalid,
    output logic              s_axis_tready,
    input  logic [DATA_W-1:0] s_axis_tdata,
    input  logic [KEEP_W-1:0] s_axis_tkeep,
    input  logic              s_axis_tlast,
    input  logic              s_error,       // with the last beat
    output entered_t          entered,       // a cycle after a frame's last beat
    output logic              frame_valid,   // the oldest frame, until its last job is taken
    output frame_t            frame,
    input  logic              job_valid,
    output logic              job_ready,
    input  job_t              job,
    output logic              m_axis_tvalid,
    input  logic              m_axis_tready,
    output logic [DATA_W-1:0] m_axis_tdata,
    output logic [KEEP_W-1:0] m_axis_tkeep,
    output logic              m_axis_tlast,
    output job_t              m_job,         // the same on each beat
    output logic              idle           // nothing moves until a beat comes
);

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "link_store: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (FRAME_KB < 2 || FRAME_KB > 64 || 2 ** $clog2(FRAME_KB) != FRAME_KB) begin : gen_bad_frame_kb
    $fatal(1, "link_store: FRAME_KB must be a power of two from 2 to 64, not %0d", FRAME_KB);
  end
  if (STORE_KB < FRAME_KB || STORE_KB > 1024 || 2 ** $clog2(STORE_KB) != STORE_KB) begin : gen_bad_store_kb
    $fatal(1, "link_store: STORE_KB must be a power of two from FRAME_KB to 1024, not %0d", STORE_KB);
  end

  localparam int unsigned DEPTH = STORE_KB * 1024 / KEEP_W;
  localparam int unsigned ADDR_W = $clog2(DEPTH);
  localparam int unsigned LANE_W = $clog2(KEEP_W);
  localparam int unsigned FRAMES = DEPTH < 256 ? DEPTH : 256;
  localparam int unsigned SPARE = 4;  // beats that come after the store is seen to be full
  localparam logic [BYTES_W-1:0] LONGEST = BYTES_W'(FRAME_KB * 1024);

  typedef struct packed {
    logic              last;
    logic [KEEP_W-1:0] keep;
    logic [DATA_W-1:0] data;
  } beat_t;

  // -------------------------------------------------------------------------------------------------------- frames in
  // One bit wider than an address: the oldest frame begins at start_q, frames up to commit_q are whole, wr_q writes.
  logic [ADDR_W:0] start_q, commit_q, wr_q;
  logic [BYTES_W-1:0] bytes_q;
  logic wait_q, full_q, over_q, note_q, note_ready, noted_valid, noted_idle;  // full, over: the frame is dropped
  logic [$clog2(FRAMES+1)-1:0] noted;
  frame_t note;
  entered_t entered_q;

  wire taken = s_axis_tvalid && s_axis_tready;
  wire ends = taken && s_axis_tlast;
  wire [ADDR_W:0] used = wr_q - start_q;
  wire full = full_q || used[ADDR_W] || !note_ready;
  logic [LANE_W:0] beat_bytes;
  keep_bytes #(.KEEP_W(KEEP_W)) u_bytes (.keep(s_axis_tkeep), .bytes(beat_bytes));
  wire [BYTES_W-1:0] bytes = bytes_q + BYTES_W'(beat_bytes);
  wire over = over_q || bytes > LONGEST;
  wire bad = s_error || bytes == '0;
  wire drop = bad || over || full;

  assign s_axis_tready = !wait_q;

  always_ff @(posedge clk) begin
    wait_q <= hold && commit_q != start_q &&
        (used >= (ADDR_W + 1)'(DEPTH - SPARE) || 32'(noted) >= FRAMES - SPARE);
    if (taken) begin
      bytes_q <= s_axis_tlast ? '0 : bytes;
      full_q  <= full && !s_axis_tlast;
      over_q  <= over && !s_axis_tlast;
      if (!full && !over) wr_q <= wr_q + 1'b1;
      if (s_axis_tlast && drop) wr_q <= commit_q;
      if (s_axis_tlast && !drop) commit_q <= wr_q + 1'b1;
    end
    note_q    <= ends && !drop;
    note      <= '{time_ns: time_ns, bytes: bytes};
    entered_q <= '{
        received: ends,
        bad: ends && bad,
        too_long: ends && !bad && over,
        no_room: ends && !bad && !over && full
    };
    if (rst) begin
      wait_q    <= 1'b0;
      bytes_q   <= '0;
      full_q    <= 1'b0;
      over_q    <= 1'b0;
      wr_q      <= '0;
      commit_q  <= '0;
      note_q    <= 1'b0;
      entered_q <= '0;
    end
  end
  assign entered = entered_q;

  // The count doesn't show the note of the cycle before yet.
  assign note_ready = 32'(noted) < FRAMES - 1;
  // Outputs that nobody needs here stay open.
  // verilator lint_off PINCONNECTEMPTY
  stream_fifo #(
      .WIDTH($bits(frame_t)),
      .DEPTH(FRAMES)
  ) u_notes (
      .clk,
      .rst,
      .s_valid(note_q),
      .s_ready(),
      .s_data (note),
      .m_valid(noted_valid),
      .m_ready(job_valid && job_ready && !job.again),
      .m_data (frame),
      .count  (noted),
      .idle   (noted_idle)
  );
  // verilator lint_on PINCONNECTEMPTY
  assign frame_valid = noted_valid;

  // -------------------------------------------------------------------------------------------------------- frames out
  logic [ADDR_W:0] done_q;  // beats of the job that are read
  logic rd_en, beside_ready, beside_valid, beside_idle, store_valid, store_idle;
  beat_t beat;
  wire [ADDR_W:0] beats = (ADDR_W + 1)'((frame.bytes + BYTES_W'(KEEP_W - 1)) >> LANE_W);
  wire begins = done_q == '0;
  wire read = rd_en && done_q == beats - 1'b1;
  wire none = job.lane == NOWHERE;
  wire [ADDR_W-1:0] rd_addr = start_q[ADDR_W-1:0] + done_q[ADDR_W-1:0];

  assign job_ready = none || read;

  always_ff @(posedge clk) begin
    if (rd_en) done_q <= read ? '0 : done_q + 1'b1;
    if (job_valid && job_ready && !job.again) start_q <= start_q + beats;
    if (rst) begin
      done_q  <= '0;
      start_q <= '0;
    end
  end

  fifo_store #(
      .WIDTH($bits(beat_t)),
      .DEPTH(DEPTH),
      .BLOCK_RAM(1'b1)
  ) u_store (
      .clk,
      .rst,
      .wr_en   (taken && !full && !over),
      .wr_addr (wr_q[ADDR_W-1:0]),
      .wr_data ({s_axis_tlast, s_axis_tkeep, s_axis_tdata}),
      .rd_avail(job_valid && !none && (!begins || beside_ready)),
      .rd_addr,
      .rd_en,
      .idle    (store_idle),
      .m_valid (store_valid),
      .m_ready (m_axis_tready && beside_valid),
      .m_data  (beat)
  );

  stream_queue #(
      .WIDTH($bits(job_t)),
      .DEPTH(4)
  ) u_beside (
      .clk,
      .rst,
      .s_valid(rd_en && begins),
      .s_ready(beside_ready),
      .s_data (job),
      .m_valid(beside_valid),
      .m_ready(store_valid && m_axis_tready && beat.last),
      .m_data (m_job),
      .idle   (beside_idle)
  );

  assign m_axis_tvalid = store_valid && beside_valid;
  assign m_axis_tdata  = beat.data;
  assign m_axis_tkeep  = beat.keep;
  assign m_axis_tlast  = beat.last;
  // Beats of a frame that is not in whole rest: on a slow link, most of the time.
  assign idle = !s_axis_tvalid && commit_q == start_q && !note_q && noted_idle && store_idle && beside_idle &&
      entered_q == '0;

`ifndef SYNTHESIS
  stream_contract #(
      .DATA_W(DATA_W),
      .STAYS (1'b0)
  ) u_contract (
      .clk,
      .rst,
      .tvalid(s_axis_tvalid),
      .tready(s_axis_tready),
      .tdata (s_axis_tdata),
      .tkeep (s_axis_tkeep),
      .tlast (s_axis_tlast)
  );
`endif

endmodule
