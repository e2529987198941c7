// SPDX-License-Identifier: Apache-2.0
// The RAM of rtl/memory as the proof of packet_store has it in its place: of one word only it is known what is in it,
// and only if it isn't being written; any other read returns anything.
module ram_sdp #(
    parameter int unsigned WIDTH = 32,
    parameter int unsigned DEPTH = 512,
    parameter bit OUT_REG = 1'b0,
    localparam int unsigned ADDR_W = $clog2(DEPTH)
) (
    input  logic              clk,
    input  logic              wr_en,
    input  logic [ADDR_W-1:0] wr_addr,
    input  logic [WIDTH-1:0]  wr_data,
    input  logic              rd_en,
    input  logic [ADDR_W-1:0] rd_addr,
    output logic [WIDTH-1:0]  rd_data
);

  if (!OUT_REG) begin : gen_bad_out_reg
    $fatal(1, "ram_sdp: this proof has it with OUT_REG only");
  end

  logic [1:0] word_q, read_q, out_q;
  wire write = wr_en && wr_addr == packet_store_proof.place;

  always_ff @(posedge clk) begin
    if (write) word_q <= wr_data[1:0];
    if (rd_en) read_q <= rd_addr == packet_store_proof.place && !write ? word_q : packet_store_proof.anything;
    out_q <= read_q;
  end

  assign rd_data = WIDTH'(out_q);

endmodule
