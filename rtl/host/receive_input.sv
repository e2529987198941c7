// SPDX-License-Identifier: Apache-2.0
// Puts frames into cells as they come, and tells of each when it ends: where it begins, how long it is, and whether it
// can be kept. One that finds no further cell, or gets longer than MAX_FRAME, has those that it got until then.
// Latency: 4 cycles from a frame's last beat to `frame`. Throughput: a beat a cycle.
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
    valid_q <= s_axis_tvalid && s_axis_tready;
    if (s_axis_tvalid && s_axis_tready) begin
      data_q      <= s_axis_tdata;
      last_q      <= s_axis_tlast;
      count_q     <= s_axis_tlast ? count : COUNT_W'(KEEP_W);
      queue_q     <= s_axis_queue;
      cut_q       <= s_axis_cut;
      valid_sum_q <= s_axis_valid_sum;
    end
    if (rst) valid_q <= 1'b0;
  end

  // ------------------------------------------------------------------------------------------ how long the frame gets
  // What is left of MAX_FRAME; `long` tells that the beat is too much.
  typedef logic [$bits(bytes_t):0] left_t;
  localparam left_t MOST = left_t'(MAX_FRAME);
  left_t left_q, left2_q;
  logic valid2_q, last2_q, long2_q, cut2_q, valid_sum2_q;
  logic [DATA_W-1:0] data2_q;
  queue_t queue2_q;
  wire left_t left = left_q - left_t'(count_q);
  wire long = left[$bits(bytes_t)];

  always_ff @(posedge clk) begin
    valid2_q <= valid_q;
    if (valid_q) begin
      data2_q      <= data_q;
      last2_q      <= last_q;
      left2_q      <= left;
      long2_q      <= long;
      queue2_q     <= queue_q;
      cut2_q       <= cut_q;
      valid_sum2_q <= valid_sum_q;
    end
    if (valid_q && !long) left_q <= left;
    if (rst || (valid_q && last_q)) left_q <= MOST;
    if (rst) valid2_q <= 1'b0;
  end

  // ------------------------------------------------------------------------------------------------- into the cells
  logic mid_q, lost_q;        // a frame is begun; it can't be kept
  logic next_cell_q;          // the beat that comes next is a cell's first
  logic [BEAT_W-1:0] beat_q;  // of the cell, that comes next
  cell_t first_q, cell_q;
  cells_t cells_q;
  wire need = !lost_q && !long2_q && next_cell_q;
  wire lost = lost_q || long2_q || (next_cell_q && !alloc_valid);
  wire taken = valid2_q && need && alloc_valid;
  wire cells_t cells = cells_q + cells_t'(taken);
  wire cell_t first = mid_q ? first_q : alloc_cell;

  assign alloc_ready = valid2_q && need;
  assign link_en     = taken && mid_q;
  assign link_cell   = cell_q;
  assign wr_en       = valid2_q && !lost;
  assign wr_cell     = next_cell_q ? alloc_cell : cell_q;
  assign wr_beat     = beat_q;
  assign wr_data     = data2_q;

  logic end_q;
  frame_t end_frame_q;
  always_ff @(posedge clk) begin
    end_q <= valid2_q && last2_q;
    if (valid2_q && last2_q) begin
      end_frame_q <= '{
        owner: queue2_q,
        what: cut2_q ? CUT : lost ? TOO_MUCH : WHOLE,
        valid_sum: valid_sum2_q,
        first: first,
        cells: cells,
        bytes: bytes_t'(MOST - left2_q)
      };
    end
    if (valid2_q) begin
      mid_q       <= 1'b1;
      lost_q      <= lost;
      cells_q     <= cells;
      first_q     <= first;
      beat_q      <= beat_q + 1'b1;
      next_cell_q <= beat_q == BEAT_W'(CELL_BEATS - 1);
      if (taken) cell_q <= alloc_cell;
    end
    s_axis_tready <= frames_ready && !hold && 32'(frames) < FRAMES - 7;
    if (rst || (valid2_q && last2_q)) begin
      mid_q       <= 1'b0;
      lost_q      <= 1'b0;
      cells_q     <= '0;
      beat_q      <= '0;
      next_cell_q <= 1'b1;
    end
    if (rst) begin
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

  assign idle = !valid_q && !valid2_q && !mid_q && !end_q && frames_idle;

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
