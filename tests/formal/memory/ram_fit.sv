// SPDX-License-Identifier: Apache-2.0
// The RAM of rtl/memory as the proof has it in its place: a read of the address being written returns anything.
module ram_fit #(
    parameter int unsigned WIDTH = 32,
    parameter int unsigned DEPTH = 512,
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

  logic [DEPTH-1:0][WIDTH-1:0] mem;

  always_ff @(posedge clk) begin
    if (wr_en) mem[wr_addr] <= wr_data;
    if (rd_en) rd_data <= wr_en && wr_addr == rd_addr ? ram_update_proof.anything : mem[rd_addr];
  end

endmodule
