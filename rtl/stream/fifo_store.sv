// SPDX-License-Identifier: Apache-2.0
// Memory of a FIFO and the way from it to a registered output; stream_fifo and packet_fifo keep the pointers.
// The word at rd_addr may be read while rd_avail is high, at the earliest one cycle after it was written; rd_en says
// that it is being read in this cycle.
// Latency: 1 cycle from rd_en to m_valid with distributed RAM, 2 cycles with block RAM. Throughput: 1 word a cycle.
// Backpressure: a stalled output holds 1 word (distributed) or 2 words (block) beside those in the memory.
module fifo_store #(
    parameter int unsigned WIDTH = 32,
    parameter int unsigned DEPTH = 32,
    parameter bit          BLOCK_RAM = 1'b0,
    localparam int unsigned ADDR_W = DEPTH > 1 ? $clog2(DEPTH) : 1
) (
    input  logic              clk,
    input  logic              rst,
    input  logic              wr_en,
    input  logic [ADDR_W-1:0] wr_addr,
    input  logic [WIDTH-1:0]  wr_data,
    input  logic              rd_avail,
    input  logic [ADDR_W-1:0] rd_addr,
    output logic              rd_en,
    output logic              idle,      // no word between the memory and the output
    output logic              m_valid,
    input  logic              m_ready,
    output logic [WIDTH-1:0]  m_data
);

  if (WIDTH < 1) begin : gen_bad_width
    $fatal(1, "fifo_store: WIDTH must be at least 1, not %0d", WIDTH);
  end
  if (DEPTH < 1) begin : gen_bad_depth
    $fatal(1, "fifo_store: DEPTH must be at least 1, not %0d", DEPTH);
  end

  logic valid_q;
  logic [WIDTH-1:0] data_q;
  logic [WIDTH-1:0] rd_data;
  logic rd_valid;
  logic advance;

  assign advance = m_ready || !valid_q;

  if (BLOCK_RAM) begin : gen_block
    logic rd_valid_q;

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

    assign rd_en    = rd_avail && (advance || !rd_valid_q);
    assign rd_valid = rd_valid_q;
    assign idle     = !rd_valid_q && !valid_q;

    always_ff @(posedge clk) begin
      if (advance || !rd_valid_q) rd_valid_q <= rd_avail;
      if (rst) rd_valid_q <= 1'b0;
    end
  end else begin : gen_dist
    ram_dist #(
        .WIDTH(WIDTH),
        .DEPTH(DEPTH)
    ) u_ram (
        .clk,
        .wr_en,
        .wr_addr,
        .wr_data,
        .rd_addr,
        .rd_data
    );

    assign rd_en    = rd_avail && advance;
    assign rd_valid = rd_avail;
    assign idle     = !valid_q;
  end

  always_ff @(posedge clk) begin
    if (advance) begin
      valid_q <= rd_valid;
      if (rd_valid) data_q <= rd_data;
    end
    if (rst) valid_q <= 1'b0;
  end

  assign m_valid = valid_q;
  assign m_data  = data_q;

endmodule
