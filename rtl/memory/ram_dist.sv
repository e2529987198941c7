// SPDX-License-Identifier: Apache-2.0
// Distributed (LUT) RAM with one write port and one asynchronous read port.
// A read of the address being written returns the old value in that cycle and the new one in the next.
module ram_dist #(
    parameter int unsigned WIDTH = 32,
    parameter int unsigned DEPTH = 32,
    localparam int unsigned ADDR_W = DEPTH > 1 ? $clog2(DEPTH) : 1
) (
    input  logic              clk,
    input  logic              wr_en,
    input  logic [ADDR_W-1:0] wr_addr,
    input  logic [WIDTH-1:0]  wr_data,
    input  logic [ADDR_W-1:0] rd_addr,
    output logic [WIDTH-1:0]  rd_data
);

  if (WIDTH < 1) begin : gen_bad_width
    $fatal(1, "ram_dist: WIDTH must be at least 1, not %0d", WIDTH);
  end
  if (DEPTH < 1) begin : gen_bad_depth
    $fatal(1, "ram_dist: DEPTH must be at least 1, not %0d", DEPTH);
  end

  (* ram_style = "distributed" *)
  logic [WIDTH-1:0] mem[DEPTH];

  always_ff @(posedge clk) if (wr_en) mem[wr_addr] <= wr_data;
  assign rd_data = mem[rd_addr];

endmodule
