// SPDX-License-Identifier: Apache-2.0
// Block RAM with one port that reads and one that reads or writes, in one clock.
// Read latency: 1 cycle, or 2 with OUT_REG; what was read stays until something else is. A read of the address being
// written returns an undefined value.
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
    input  logic              rw_write,    // else it reads
    input  logic [WIDTH-1:0]  rw_wr_data,
    output logic [WIDTH-1:0]  rw_rd_data   // stays in a cycle that writes
);

  if (WIDTH < 1) begin : gen_bad_width
    $fatal(1, "ram_tdp: WIDTH must be at least 1, not %0d", WIDTH);
  end
  if (DEPTH < 1) begin : gen_bad_depth
    $fatal(1, "ram_tdp: DEPTH must be at least 1, not %0d", DEPTH);
  end

  (* ram_style = "block", no_rw_check *)
  logic [WIDTH-1:0] mem[DEPTH];
  logic [WIDTH-1:0] read_q, rw_read_q;

  always_ff @(posedge clk) begin
    if (rd_en) read_q <= mem[rd_addr];
    if (rw_en) begin
      if (rw_write) mem[rw_addr] <= rw_wr_data;
      else rw_read_q <= mem[rw_addr];
    end
  end

  if (OUT_REG) begin : gen_out_reg
    logic [WIDTH-1:0] out_q, rw_out_q;
    logic rd_en_q, rw_en_q;
    always_ff @(posedge clk) begin
      rd_en_q <= rd_en;
      rw_en_q <= rw_en && !rw_write;
      if (rd_en_q) out_q <= read_q;
      if (rw_en_q) rw_out_q <= rw_read_q;
    end
    assign rd_data    = out_q;
    assign rw_rd_data = rw_out_q;
  end else begin : gen_no_out_reg
    assign rd_data    = read_q;
    assign rw_rd_data = rw_read_q;
  end

endmodule
