// SPDX-License-Identifier: Apache-2.0
// Fetches the descriptors of a ring that the host has posted, ahead of need, a word of the bus at a time, several words
// under way. While `active` is low it forgets what it has; it may go high when `idle` says that nothing is under way.
// Latency: 3 cycles and the bus's from the doorbell to a descriptor. Throughput: a descriptor a cycle.
// Backpressure: what is asked for has room; m_axi_rready is low while a word before is being taken apart.
module ring_fetch
  import axi_pkg::*, ring_pkg::*;
#(
    parameter int unsigned MEM_W = 512,
    parameter int unsigned DEPTH = 32
) (
    input  logic             clk,
    input  logic             rst,
    input  logic             active,
    input  ring_t            ring,

    output logic [63:0]      m_axi_araddr,
    output logic             m_axi_arvalid,
    input  logic             m_axi_arready,
    input  logic [MEM_W-1:0] m_axi_rdata,
    input  logic [1:0]       m_axi_rresp,
    input  logic             m_axi_rvalid,
    output logic             m_axi_rready,

    output logic             m_valid,
    input  logic             m_ready,
    output descriptor_t      m_descriptor,
    output logic             idle
);

  if (MEM_W < 128 || MEM_W > 1024 || 2 ** $clog2(MEM_W) != MEM_W) begin : gen_bad_mem_w
    $fatal(1, "ring_fetch: MEM_W must be a power of two from 128 to 1024, not %0d", MEM_W);
  end
  if (DEPTH < 8 || 2 ** $clog2(DEPTH) != DEPTH) begin : gen_bad_depth
    $fatal(1, "ring_fetch: DEPTH must be a power of two from 8, not %0d", DEPTH);
  end

  localparam int unsigned LANES = MEM_W / DESCRIPTOR_W;
  localparam int unsigned COUNT_W = $clog2(LANES + 1);
  localparam int unsigned LANE_W = LANES > 1 ? $clog2(LANES) : 1;
  localparam int unsigned ROOM_W = $clog2(DEPTH + 1);
  localparam int unsigned WORD_W = $clog2(MEM_W / 8);

  typedef struct packed {
    logic [63:0]        place;   // of the first descriptor that is wanted
    logic [COUNT_W-1:0] count;
  } word_t;

  // Asking: a word is chosen, then its address is offered.
  logic ask_q, words_ready, choose, queue_valid;
  logic [31:0] asked_q;          // descriptors
  logic [63:0] place;
  logic [ROOM_W-1:0] taken_q;    // places of the queue: used, or for what is under way
  wire [31:0] waiting = ring.posted - asked_q;
  wire [31:0] to_end = 32'(LANES) - asked_q % 32'(LANES);
  wire [COUNT_W-1:0] count = COUNT_W'(waiting < to_end ? waiting : to_end);
  assign place         = ring.base + 64'({asked_q & ~(32'hFFFF_FFFF << ring.log2), 4'd0});
  assign choose        = active && !ask_q && waiting != 0 && words_ready && taken_q <= ROOM_W'(DEPTH - LANES);
  assign m_axi_arvalid = ask_q;

  // Taking words apart
  word_t word;
  logic word_valid, words_idle, busy_q, failed_q, last, give, pop, queue_ready;
  logic [MEM_W-1:0] data_q;
  logic [COUNT_W-1:0] done_q;
  descriptor_t descriptor;
  wire [LANE_W-1:0] lane = LANE_W'(word.place >> 4) + LANE_W'(done_q);
  assign m_axi_rready      = !busy_q;
  assign last              = done_q + 1'b1 == word.count;
  assign give              = busy_q;
  assign descriptor.failed = failed_q;
  assign descriptor.place  = word.place + 64'({done_q, 4'd0});
  assign descriptor.bytes  = data_q[DESCRIPTOR_W*32'(lane)+64+:32];
  assign descriptor.addr   = data_q[DESCRIPTOR_W*32'(lane)+:64];
  assign pop               = m_valid && m_ready;

  // What is under way when the ring is switched off is thrown away; it is switched on when nothing is.
  always_ff @(posedge clk) begin
    if (m_axi_arready) ask_q <= 1'b0;
    if (choose) begin
      ask_q        <= 1'b1;
      m_axi_araddr <= {place[63:WORD_W], WORD_W'(0)};
      asked_q      <= asked_q + 32'(count);
    end
    if (m_axi_rvalid && m_axi_rready) begin
      busy_q   <= 1'b1;
      data_q   <= m_axi_rdata;
      failed_q <= m_axi_rresp >= SLVERR;
      done_q   <= '0;
    end else if (give) begin
      done_q <= done_q + 1'b1;
      if (last) busy_q <= 1'b0;
    end
    taken_q <= taken_q + (choose ? ROOM_W'(count) : '0) - ROOM_W'(pop);
    if (!active) begin
      asked_q <= '0;
      taken_q <= '0;
    end
    if (rst) begin
      ask_q   <= 1'b0;
      busy_q  <= 1'b0;
      asked_q <= '0;
      taken_q <= '0;
    end
  end

  stream_queue #(
      .WIDTH($bits(word_t)),
      .DEPTH(DEPTH)
  ) u_words (
      .clk,
      .rst,
      .s_valid(choose),
      .s_ready(words_ready),
      .s_data ({place, count}),
      .m_valid(word_valid),
      .m_ready(give && last),
      .m_data (word),
      .idle   (words_idle)
  );
  stream_queue #(
      .WIDTH($bits(descriptor_t)),
      .DEPTH(DEPTH)
  ) u_descriptors (
      .clk,
      .rst    (rst || !active),
      .s_valid(give && active),
      .s_ready(queue_ready),
      .s_data (descriptor),
      .m_valid(queue_valid),
      .m_ready(m_ready),
      .m_data (m_descriptor),
      .idle   ()
  );
  assign m_valid = queue_valid && active;
  assign idle    = !ask_q && !busy_q && words_idle && !choose;

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst) begin
      assert (!(give && active) || queue_ready) else $error("%m: a descriptor is lost");
      assert (!busy_q || word_valid) else $error("%m: a word that nobody asked for");
    end
  end
`else
  wire unused = &{1'b0, queue_ready, word_valid};
`endif

endmodule
