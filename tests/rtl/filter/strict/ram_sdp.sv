// SPDX-License-Identifier: Apache-2.0
// rtl/memory's ram_sdp, which leaves open what a read of the address being written returns: here it is noise, so that a
// bench fails when its block makes use of it.
module ram_sdp #(
    parameter int unsigned WIDTH = 32,
    parameter int unsigned DEPTH = 512,
    parameter bit OUT_REG = 1'b0,
    localparam int unsigned ADDR_W = DEPTH > 1 ? $clog2(DEPTH) : 1
) (
    input  logic              clk,
    input  logic              wr_en,
    input  logic [ADDR_W-1:0] wr_addr,
    input  logic [WIDTH-1:0]  wr_data,
    input  logic              rd_en,
    input  logic [ADDR_W-1:0] rd_addr,
    output logic [WIDTH-1:0]  rd_data
);

  logic [WIDTH-1:0] mem[DEPTH];
  logic [WIDTH-1:0] read_q, out_q;
  logic [31:0] noise_q;

  always_ff @(posedge clk) begin
    noise_q <= $urandom;
    if (wr_en) mem[wr_addr] <= wr_data;
    if (rd_en) read_q <= wr_en && wr_addr == rd_addr ? WIDTH'({(WIDTH + 31) / 32{noise_q}}) : mem[rd_addr];
    out_q <= read_q;
  end

  assign rd_data = OUT_REG ? out_q : read_q;

endmodule
