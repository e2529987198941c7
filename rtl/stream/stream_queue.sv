// SPDX-License-Identifier: Apache-2.0
// Small FIFO of DEPTH words, a power of two, whose output comes straight out of LUT RAM: for short queues where each
// cycle of latency counts.
// Latency: 1 cycle. Throughput: 1 word a cycle.
// Backpressure: s_ready is a register, low while the queue holds DEPTH words.
module stream_queue #(
    parameter int unsigned WIDTH = 32,
    parameter int unsigned DEPTH = 8
) (
    input  logic             clk,
    input  logic             rst,
    input  logic             s_valid,
    output logic             s_ready,
    input  logic [WIDTH-1:0] s_data,
    output logic             m_valid,
    input  logic             m_ready,
    output logic [WIDTH-1:0] m_data,
    output logic             idle      // no word inside
);

  if (WIDTH < 1) begin : gen_bad_width
    $fatal(1, "stream_queue: WIDTH must be at least 1, not %0d", WIDTH);
  end
  if (DEPTH < 2 || 2 ** $clog2(DEPTH) != DEPTH) begin : gen_bad_depth
    $fatal(1, "stream_queue: DEPTH must be a power of two from 2, not %0d", DEPTH);
  end

  localparam int unsigned ADDR_W = $clog2(DEPTH);

  logic [ADDR_W:0] wr_q, rd_q;
  logic ready_q, valid_q;
  wire push = s_valid && ready_q;
  wire pop = valid_q && m_ready;
  wire [ADDR_W:0] wr_next = wr_q + 1'b1;
  wire [ADDR_W:0] rd_next = rd_q + 1'b1;

  always_ff @(posedge clk) begin
    if (push) wr_q <= wr_next;
    if (pop) rd_q <= rd_next;
    // Whether there will be room and a word, without waiting for the new pointers.
    ready_q <= pop || ((push ? wr_next : wr_q) ^ rd_q) != (ADDR_W + 1)'(DEPTH);
    valid_q <= push || wr_q != (pop ? rd_next : rd_q);
    if (rst) begin
      wr_q    <= '0;
      rd_q    <= '0;
      ready_q <= 1'b0;
      valid_q <= 1'b0;
    end
  end

  ram_dist #(
      .WIDTH(WIDTH),
      .DEPTH(DEPTH)
  ) u_ram (
      .clk,
      .wr_en  (push),
      .wr_addr(wr_q[ADDR_W-1:0]),
      .wr_data(s_data),
      .rd_addr(rd_q[ADDR_W-1:0]),
      .rd_data(m_data)
  );

  assign s_ready = ready_q;
  assign m_valid = valid_q;
  assign idle    = !valid_q;

endmodule
