// SPDX-License-Identifier: Apache-2.0
// Keeps the last RING rows of 16 bytes and gives any 8 bytes of them that follow each other, by the last one's place.
// Latency: 2 cycles in which `advance` is high. Throughput: 1 window a cycle. Backpressure: it stands while advance is
// low.
module matcher_window
  import matcher_pkg::*;
(
    input  logic               clk,
    input  logic               wr_en,
    input  logic [RING_W-1:0]  wr_row,
    input  logic [8*LANES-1:0] wr_data,
    input  logic               advance,
    input  logic [RING_W+3:0]  rd_last,
    output logic [63:0]        window    // the last byte in bits 63:56
);

  // Halves of rows in two memories: the half with the last byte is in one, the half before it in the other.
  wire [RING_W-1:0] row = rd_last[RING_W+3:4];
  wire upper = rd_last[3];
  logic [63:0] even, odd;
  logic [127:0] pair_q;
  logic [2:0] last_q;

  ram_dist #(
      .WIDTH(64),
      .DEPTH(RING)
  ) u_even (
      .clk,
      .wr_en,
      .wr_addr(wr_row),
      .wr_data(wr_data[63:0]),
      .rd_addr(row),
      .rd_data(even)
  );

  ram_dist #(
      .WIDTH(64),
      .DEPTH(RING)
  ) u_odd (
      .clk,
      .wr_en,
      .wr_addr(wr_row),
      .wr_data(wr_data[127:64]),
      .rd_addr(upper ? row : row - 1'b1),
      .rd_data(odd)
  );

  always_ff @(posedge clk) begin
    if (advance) begin
      pair_q <= upper ? {odd, even} : {even, odd};
      last_q <= rd_last[2:0];
      window <= 64'(pair_q >> 8 * (7'(last_q) + 7'd1));
    end
  end

endmodule
