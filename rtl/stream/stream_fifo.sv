// SPDX-License-Identifier: Apache-2.0
// Synchronous FIFO of DEPTH words, any DEPTH from 4, first word falls through to a registered output.
// Latency: 2 cycles with distributed RAM, 3 with block RAM. Throughput: 1 word a cycle, also while it stays full.
// Backpressure: s_ready is a register, low while the FIFO holds DEPTH words (those on the way to the output included).
module stream_fifo #(
    parameter int unsigned WIDTH = 32,
    parameter int unsigned DEPTH = 32,
    // Where the words are kept: by default block RAM pays from about 4 kbit on, unless so shallow that it would stay
    // empty.
    parameter bit BLOCK_RAM = DEPTH > 64 && WIDTH * DEPTH > 4096,
    localparam int unsigned COUNT_W = $clog2(DEPTH + 1)
) (
    input  logic               clk,
    input  logic               rst,
    input  logic               s_valid,
    output logic               s_ready,
    input  logic [WIDTH-1:0]   s_data,
    output logic               m_valid,
    input  logic               m_ready,
    output logic [WIDTH-1:0]   m_data,
    output logic [COUNT_W-1:0] count,    // words held
    output logic               idle      // none
);

  if (WIDTH < 1) begin : gen_bad_width
    $fatal(1, "stream_fifo: WIDTH must be at least 1, not %0d", WIDTH);
  end
  if (DEPTH < 4 || DEPTH > 2 ** 20) begin : gen_bad_depth
    $fatal(1, "stream_fifo: DEPTH must be 4 to 1048576 (for less use stream_reg), not %0d", DEPTH);
  end

  localparam int unsigned ADDR_W = $clog2(DEPTH);

  typedef logic [ADDR_W-1:0] place_t;

  function automatic place_t next(place_t place);
    return DEPTH != 2 ** ADDR_W && place == place_t'(DEPTH - 1) ? '0 : place + 1'b1;
  endfunction

  // Of DEPTH words one at least is on the way to the output, so that with equal pointers the memory is empty, never
  // full.
  place_t wr_q, rd_q;
  logic [COUNT_W-1:0] count_q;
  logic ready_q;
  logic push, pop, rd_en;

  assign push = s_valid && ready_q;
  assign pop  = m_valid && m_ready;

  always_ff @(posedge clk) begin
    if (push) wr_q <= next(wr_q);
    if (rd_en) rd_q <= next(rd_q);
    if (push && !pop) count_q <= count_q + 1'b1;
    if (pop && !push) count_q <= count_q - 1'b1;
    // Whether there will be room, without waiting for the new count: a word that leaves always makes room.
    ready_q <= pop || count_q != (push ? COUNT_W'(DEPTH - 1) : COUNT_W'(DEPTH));
    if (rst) begin
      wr_q    <= '0;
      rd_q    <= '0;
      count_q <= '0;
      ready_q <= 1'b0;
    end
  end

  fifo_store #(
      .WIDTH(WIDTH),
      .DEPTH(DEPTH),
      .BLOCK_RAM(BLOCK_RAM)
  ) u_store (
      .clk,
      .rst,
      .wr_en(push),
      .wr_addr(wr_q),
      .wr_data(s_data),
      .rd_avail(wr_q != rd_q),
      .rd_addr(rd_q),
      .rd_en,
      .idle(),  // count tells it
      .m_valid,
      .m_ready,
      .m_data
  );

  assign s_ready = ready_q;
  assign count   = count_q;
  assign idle    = count_q == '0;

endmodule
