// SPDX-License-Identifier: Apache-2.0
// Block RAM with one write port, of which single bytes are written, and one read port in one clock.
// Read latency: 1 cycle, or 2 with OUT_REG. A read of the address being written returns an undefined value.
module ram_sdp_strb #(
    parameter int unsigned WIDTH = 32,
    parameter int unsigned DEPTH = 512,
    parameter bit OUT_REG = 1'b0,
    localparam int unsigned ADDR_W = DEPTH > 1 ? $clog2(DEPTH) : 1
) (
    input  logic               clk,
    input  logic               wr_en,
    input  logic [WIDTH/8-1:0] wr_strb,
    input  logic [ADDR_W-1:0]  wr_addr,
    input  logic [WIDTH-1:0]   wr_data,
    input  logic               rd_en,
    input  logic [ADDR_W-1:0]  rd_addr,
    output logic [WIDTH-1:0]   rd_data
);

  if (WIDTH < 8 || WIDTH % 8 != 0) begin : gen_bad_width
    $fatal(1, "ram_sdp_strb: WIDTH must be a multiple of 8 from 8, not %0d", WIDTH);
  end
  if (DEPTH < 1) begin : gen_bad_depth
    $fatal(1, "ram_sdp_strb: DEPTH must be at least 1, not %0d", DEPTH);
  end

  (* ram_style = "block", no_rw_check *)
  logic [WIDTH-1:0] mem[DEPTH];
  logic [WIDTH-1:0] read_q;

  always_ff @(posedge clk) begin
    if (wr_en) for (int i = 0; i < WIDTH / 8; i++) if (wr_strb[i]) mem[wr_addr][8*i+:8] <= wr_data[8*i+:8];
    if (rd_en) read_q <= mem[rd_addr];
  end

  if (OUT_REG) begin : gen_out_reg
    logic [WIDTH-1:0] out_q;
    logic rd_en_q;
    always_ff @(posedge clk) begin
      rd_en_q <= rd_en;
      if (rd_en_q) out_q <= read_q;
    end
    assign rd_data = out_q;
  end else begin : gen_no_out_reg
    assign rd_data = read_q;
  end

endmodule
