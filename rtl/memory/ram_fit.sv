// SPDX-License-Identifier: Apache-2.0
// RAM with one write port and one read port in one clock: a block RAM, or distributed RAM where at most 32 words would
// leave block RAMs empty.
// Read latency: 1 cycle. A read of the address being written returns an undefined value.
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

  if (DEPTH > 32) begin : gen_block
    ram_sdp #(
        .WIDTH(WIDTH),
        .DEPTH(DEPTH)
    ) u_ram (
        .clk,
        .wr_en,
        .wr_addr,
        .wr_data,
        .rd_en,
        .rd_addr,
        .rd_data
    );
  end else begin : gen_dist
    logic [WIDTH-1:0] word;

    ram_dist #(
        .WIDTH(WIDTH),
        .DEPTH(DEPTH)
    ) u_ram (
        .clk,
        .wr_en,
        .wr_addr,
        .wr_data,
        .rd_addr,
        .rd_data(word)
    );

    always_ff @(posedge clk) if (rd_en) rd_data <= word;
  end

endmodule
