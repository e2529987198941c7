// SPDX-License-Identifier: Apache-2.0
// RAM with one write port and one read port in one clock, where a read of the word that is being written returns the
// new one: for state that one end changes while others look at it.
// Read latency: 1 cycle.
module ram_through #(
    parameter int unsigned WIDTH = 32,
    parameter int unsigned DEPTH = 512,
    localparam int unsigned ADDR_W = DEPTH > 1 ? $clog2(DEPTH) : 1
) (
    input  logic              clk,
    input  logic              wr_en,
    input  logic [ADDR_W-1:0] wr_addr,
    input  logic [WIDTH-1:0]  wr_data,
    input  logic [ADDR_W-1:0] rd_addr,
    output logic [WIDTH-1:0]  rd_data
);

  logic hit_q;
  logic [WIDTH-1:0] data_q, word;
  wire hit = wr_en && wr_addr == rd_addr;

  always_ff @(posedge clk) begin
    hit_q  <= hit;
    data_q <= wr_data;
  end

  ram_fit #(
      .WIDTH(WIDTH),
      .DEPTH(DEPTH)
  ) u_ram (
      .clk,
      .wr_en,
      .wr_addr,
      .wr_data,
      .rd_en  (1'b1),
      .rd_addr,
      .rd_data(word)
  );

  assign rd_data = hit_q ? data_q : word;

endmodule
