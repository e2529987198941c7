// SPDX-License-Identifier: Apache-2.0
// Where the data of read requests wait: a slot of ROWS beats each. Data that come in begin at any DW of a slot; a RAM
// for each lane, with an address of its own, takes a beat that lies across two rows in one cycle.
// Latency: what is written can be read 2 cycles later; what is read comes 1 cycle after rd_en, and stays.
// Throughput: a beat written and one read a cycle.
module pcie_read_store #(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned SLOTS = 64,
    parameter int unsigned ROWS = 8,
    localparam int unsigned LANES = DATA_W / 32,
    localparam int unsigned LANE_W = $clog2(LANES),
    localparam int unsigned SLOT_W = $clog2(SLOTS),
    localparam int unsigned ROW_W = $clog2(ROWS)
) (
    input  logic                    clk,
    input  logic                    wr_en,
    input  logic [SLOT_W-1:0]       wr_slot,
    input  logic [ROW_W+LANE_W-1:0] wr_place,  // of the first DW
    input  logic [10:0]             wr_count,  // DWs; more than a beat has are all of it
    input  logic [DATA_W-1:0]       wr_data,   // from lane 0 on
    input  logic                    rd_en,
    input  logic [SLOT_W-1:0]       rd_slot,
    input  logic [ROW_W-1:0]        rd_row,
    output logic [DATA_W-1:0]       rd_data
);

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "pcie_read_store: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (SLOTS < 2 || 2 ** SLOT_W != SLOTS) begin : gen_bad_slots
    $fatal(1, "pcie_read_store: SLOTS must be a power of two from 2, not %0d", SLOTS);
  end
  if (ROWS < 2 || ROWS > 256 || 2 ** ROW_W != ROWS) begin : gen_bad_rows
    $fatal(1, "pcie_read_store: ROWS must be a power of two from 2 to 256, not %0d", ROWS);
  end

  typedef logic [LANE_W-1:0] lane_t;
  wire lane_t first = wr_place[LANE_W-1:0];
  wire [ROW_W-1:0] row = wr_place[LANE_W+:ROW_W];

  for (genvar i = 0; i < int'(LANES); i++) begin : gen_lanes
    // The DW of the beat that belongs here.
    wire lane_t from = lane_t'(i) - first;
    logic en_q;
    logic [SLOT_W+ROW_W-1:0] addr_q;
    logic [31:0] data_q;

    always_ff @(posedge clk) begin
      en_q   <= wr_en && 11'(from) < wr_count;
      addr_q <= {wr_slot, int'(first) > i ? row + 1'b1 : row};
      data_q <= wr_data[32*from+:32];
    end

    ram_sdp #(
        .WIDTH(32),
        .DEPTH(SLOTS * ROWS)
    ) u_ram (
        .clk,
        .wr_en  (en_q),
        .wr_addr(addr_q),
        .wr_data(data_q),
        .rd_en,
        .rd_addr({rd_slot, rd_row}),
        .rd_data(rd_data[32*i+:32])
    );
  end

endmodule
