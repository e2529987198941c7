// SPDX-License-Identifier: Apache-2.0
// The RAM of rtl/memory as proofs have it in its place: a read of the address being written returns anything.
module ram_tdp #(
    parameter int unsigned WIDTH = 32,
    parameter int unsigned DEPTH = 512,
    parameter bit OUT_REG = 1'b0,
    localparam int unsigned ADDR_W = DEPTH > 1 ? $clog2(DEPTH) : 1
) (
    input  logic              clk,
    input  logic              rd_en,
    input  logic [ADDR_W-1:0] rd_addr,
    output logic [WIDTH-1:0]  rd_data,
    input  logic              rw_en,
    input  logic [ADDR_W-1:0] rw_addr,
    input  logic              rw_write,
    input  logic [WIDTH-1:0]  rw_wr_data,
    output logic [WIDTH-1:0]  rw_rd_data
);

  if (!OUT_REG) begin : gen_bad_out_reg
    $fatal(1, "ram_tdp: proofs have it with OUT_REG only");
  end

  logic [DEPTH-1:0][WIDTH-1:0] mem;
  logic [WIDTH-1:0] read_q, rw_read_q, out_q, rw_out_q;
  logic rd_en_q, rw_en_q;

  always_ff @(posedge clk) begin
    if (rd_en) read_q <= rw_en && rw_write && rw_addr == rd_addr ? exact_table_proof.anything : mem[rd_addr];
    if (rw_en) begin
      if (rw_write) mem[rw_addr] <= rw_wr_data;
      else rw_read_q <= mem[rw_addr];
    end
    rd_en_q <= rd_en;
    rw_en_q <= rw_en && !rw_write;
    if (rd_en_q) out_q <= read_q;
    if (rw_en_q) rw_out_q <= rw_read_q;
  end

  assign rd_data    = out_q;
  assign rw_rd_data = rw_out_q;

endmodule
