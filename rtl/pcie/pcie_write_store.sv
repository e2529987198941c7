// SPDX-License-Identifier: Apache-2.0
// Where the data of writes wait: rows of a beat each, read from any DW on. A RAM for each lane, with an address of its
// own, gives a beat that lies across two rows in one cycle; the first DW comes in lane 0.
// Latency: what is written can be read 1 cycle later; what is read comes 1 cycle after rd_next, which comes 1 cycle
// after rd_en or later, and stays.
// Throughput: a beat written and one read a cycle.
module pcie_write_store #(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned ROWS = 256,
    localparam int unsigned LANES = DATA_W / 32,
    localparam int unsigned LANE_W = $clog2(LANES),
    localparam int unsigned ROW_W = $clog2(ROWS)
) (
    input  logic              clk,
    input  logic              wr_en,
    input  logic [ROW_W-1:0]  wr_row,
    input  logic [DATA_W-1:0] wr_data,
    input  logic              rd_en,
    input  logic [ROW_W-1:0]  rd_row,
    input  logic [LANE_W-1:0] rd_lane,
    input  logic              rd_next,
    output logic [DATA_W-1:0] rd_data
);

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "pcie_write_store: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (ROWS < 4 || 2 ** ROW_W != ROWS) begin : gen_bad_rows
    $fatal(1, "pcie_write_store: ROWS must be a power of two from 4, not %0d", ROWS);
  end

  typedef logic [LANE_W-1:0] lane_t;
  logic [LANES-1:0][31:0] stored, stored_q;
  lane_t lane_q, next_lane_q;

  for (genvar i = 0; i < int'(LANES); i++) begin : gen_lanes
    ram_sdp #(
        .WIDTH(32),
        .DEPTH(ROWS)
    ) u_ram (
        .clk,
        .wr_en,
        .wr_addr(wr_row),
        .wr_data(wr_data[32*i+:32]),
        .rd_en,
        .rd_addr(int'(rd_lane) > i ? rd_row + 1'b1 : rd_row),
        .rd_data(stored[i])
    );
    wire lane_t from = lane_t'(i) + next_lane_q;
    assign rd_data[32*i+:32] = stored_q[from];
  end

  always_ff @(posedge clk) begin
    if (rd_en) lane_q <= rd_lane;
    if (rd_next) begin
      stored_q    <= stored;
      next_lane_q <= lane_q;
    end
  end

endmodule
