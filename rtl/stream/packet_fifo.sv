// SPDX-License-Identifier: Apache-2.0
// Store-and-forward frame FIFO of DEPTH beats: a frame comes out only when it is in whole.
// A frame is dropped whole, and `dropped` is high for one cycle after its last beat, when s_drop is high on its last
// beat or when it finds no room: with DROP_WHEN_FULL any frame that meets a full memory, without it only a frame of
// more than DEPTH beats, which could never get out.
// Latency: 2 cycles from the last beat in to the first beat out with distributed RAM, 3 with block RAM.
// Throughput: 1 beat a cycle in and out, for frames of one beat too.
// Backpressure: none with DROP_WHEN_FULL: s_axis_tready is always high. Without it s_axis_tready comes straight from
// a register, low while the memory is full. A place that is read counts as free one cycle later.
module packet_fifo #(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned USER_W = 1,
    parameter int unsigned DEPTH = 256,
    parameter bit          DROP_WHEN_FULL = 1'b1,
    // Where the beats are kept; the default chooses by size, as in stream_fifo.
    parameter bit BLOCK_RAM = DEPTH > 64 && DATA_W * DEPTH > 4096,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,
    input  logic              s_axis_tvalid,
    output logic              s_axis_tready,
    input  logic [DATA_W-1:0] s_axis_tdata,
    input  logic [KEEP_W-1:0] s_axis_tkeep,
    input  logic              s_axis_tlast,
    input  logic [USER_W-1:0] s_axis_tuser,
    input  logic              s_drop,         // read with the last beat
    output logic              m_axis_tvalid,
    input  logic              m_axis_tready,
    output logic [DATA_W-1:0] m_axis_tdata,
    output logic [KEEP_W-1:0] m_axis_tkeep,
    output logic              m_axis_tlast,
    output logic [USER_W-1:0] m_axis_tuser,
    output logic [$clog2(DEPTH):0] used,      // beats inside, those of a frame that is coming in too
    output logic              dropped,        // the frame whose last beat came in the cycle before is dropped
    output logic              idle            // no beat inside, no frame being dropped
);

  if (DATA_W < 8 || DATA_W % 8 != 0) begin : gen_bad_data_w
    $fatal(1, "packet_fifo: DATA_W must be a multiple of 8, not %0d", DATA_W);
  end
  if (USER_W < 1) begin : gen_bad_user_w
    $fatal(1, "packet_fifo: USER_W must be at least 1, not %0d", USER_W);
  end
  if (DEPTH < 4 || DEPTH > 2 ** 20 || 2 ** $clog2(DEPTH) != DEPTH) begin : gen_bad_depth
    $fatal(1, "packet_fifo: DEPTH must be a power of two from 4 to 1048576, not %0d", DEPTH);
  end

  localparam int unsigned ADDR_W = $clog2(DEPTH);
  localparam logic [ADDR_W:0] FULL = (ADDR_W + 1)'(DEPTH);

  typedef struct packed {
    logic              last;
    logic [USER_W-1:0] user;
    logic [KEEP_W-1:0] keep;
    logic [DATA_W-1:0] data;
  } beat_t;

  // One bit wider than an address. In order: rd_q reads, frames up to commit_q are whole, wr_q writes.
  logic [ADDR_W:0] rd_q, commit_q, wr_q;
  logic full_q, full_d;  // judged by the rd_q of a cycle ago: may be high a cycle too long, never too short
  logic discard_q;       // the rest of the current frame is thrown away
  logic dropped_q;
  logic accept, finish, store, drop, no_room, rewind, rd_en, store_idle;
  beat_t m_beat;

  if (DROP_WHEN_FULL) begin : gen_drop
    assign s_axis_tready = 1'b1;
    assign no_room       = accept && full_q && !discard_q;
  end else begin : gen_wait
    assign s_axis_tready = !full_q;
    assign no_room       = (wr_q ^ commit_q) == FULL;  // the frame fills the memory alone and goes on
  end

  assign accept = s_axis_tvalid && s_axis_tready;
  assign finish = accept && s_axis_tlast;
  assign store  = accept && !full_q;  // a stored beat of a discarded frame is overwritten by the next one
  assign drop   = s_drop || discard_q || full_q;
  assign rewind = no_room || discard_q || (finish && s_drop);

  // What wr_q can become is compared side by side; the late signals only choose.
  always_comb begin
    full_d = (wr_q ^ rd_q) == FULL;
    if (store) full_d = ((wr_q + 1'b1) ^ rd_q) == FULL;
    if (rewind) full_d = (commit_q ^ rd_q) == FULL;
  end

  always_ff @(posedge clk) begin
    if (rd_en) rd_q <= rd_q + 1'b1;
    if (store) wr_q <= wr_q + 1'b1;
    if (rewind) wr_q <= commit_q;
    if (finish && !drop) commit_q <= wr_q + 1'b1;
    full_q    <= full_d;
    discard_q <= (discard_q || no_room) && !finish;
    dropped_q <= finish && drop;
    if (rst) begin
      rd_q      <= '0;
      wr_q      <= '0;
      commit_q  <= '0;
      full_q    <= !DROP_WHEN_FULL;  // nothing is taken in reset
      discard_q <= 1'b0;
      dropped_q <= 1'b0;
    end
  end

  fifo_store #(
      .WIDTH($bits(beat_t)),
      .DEPTH(DEPTH),
      .BLOCK_RAM(BLOCK_RAM)
  ) u_store (
      .clk,
      .rst,
      .wr_en(store),
      .wr_addr(wr_q[ADDR_W-1:0]),
      .wr_data({s_axis_tlast, s_axis_tuser, s_axis_tkeep, s_axis_tdata}),
      .rd_avail(rd_q != commit_q),
      .rd_addr(rd_q[ADDR_W-1:0]),
      .rd_en,
      .idle(store_idle),
      .m_valid(m_axis_tvalid),
      .m_ready(m_axis_tready),
      .m_data(m_beat)
  );

  assign m_axis_tdata = m_beat.data;
  assign m_axis_tkeep = m_beat.keep;
  assign m_axis_tlast = m_beat.last;
  assign m_axis_tuser = m_beat.user;
  assign used         = wr_q - rd_q;
  assign dropped      = dropped_q;
  assign idle         = store_idle && rd_q == wr_q && !discard_q;

`ifndef SYNTHESIS
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
`endif

endmodule
