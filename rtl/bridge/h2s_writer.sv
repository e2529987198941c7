// SPDX-License-Identifier: Apache-2.0
// Writes the bursts that the lanes of H2S offer to host memory, one after the other, so that data are in the order of
// addresses. At each end of a burst the highest lane that offers one is chosen; its number is the burst's ID.
// Latency: 1 cycle from an offer to its address, 3 to its first beat. Throughput: a beat a cycle, without a gap between
// bursts of 2 beats and more; an address that is not taken before its data are read holds the next burst back.
// Backpressure: data and address wait for their channels only. Addresses come straight from the lane, which keeps them
// until they are taken; so do the rows that have been read.
module h2s_writer #(
    parameter int unsigned DATA_W = 64,
    parameter int unsigned COUNT = 2            // of lanes, 1 or 2
) (
    input  logic                          clk,
    input  logic                          rst,

    input  logic [COUNT-1:0]              burst_valid,
    input  logic [COUNT-1:0][63:0]        burst_addr,
    input  logic [COUNT-1:0][7:0]         burst_len,
    output logic [COUNT-1:0]              burst_taken,  // the next may be offered
    output logic [COUNT-1:0]              rd_en,
    input  logic [COUNT-1:0][DATA_W-1:0]  rd_data,      // in the cycle after rd_en, and until the next one

    output logic [7:0]                    m_axi_awid,
    output logic [63:0]                   m_axi_awaddr,
    output logic [7:0]                    m_axi_awlen,
    output logic [2:0]                    m_axi_awsize,
    output logic [1:0]                    m_axi_awburst,
    output logic                          m_axi_awvalid,
    input  logic                          m_axi_awready,
    output logic [DATA_W-1:0]             m_axi_wdata,
    output logic [DATA_W/8-1:0]           m_axi_wstrb,
    output logic                          m_axi_wlast,
    output logic                          m_axi_wvalid,
    input  logic                          m_axi_wready,
    output logic                          idle
);

  if (DATA_W < 32 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "h2s_writer: DATA_W must be 32, 64, 128, 256 or 512, not %0d", DATA_W);
  end
  if (COUNT < 1 || COUNT > 2) begin : gen_bad_count
    $fatal(1, "h2s_writer: COUNT must be 1 or 2, not %0d", COUNT);
  end

  // Three stages: a burst whose rows are being read (active_q), a row at the output of its lane's memory, a beat on the
  // bus.
  logic active_q, lane_q, row_q, row_last_q, row_lane_q;
  logic [7:0] left_q;  // beats to be read after the next one

  wire choice = COUNT > 1 && burst_valid[COUNT-1];
  wire beat_moves = !m_axi_wvalid || m_axi_wready;
  wire row_moves = !row_q || beat_moves;
  wire read = active_q && row_moves;
  wire ends = left_q == 0;
  wire start = (!active_q || (read && ends)) && !m_axi_awvalid && burst_valid != 0;

  for (genvar i = 0; i < COUNT; i++) begin : gen_lane
    assign rd_en[i]       = read && lane_q == 1'(i);
    assign burst_taken[i] = m_axi_awvalid && m_axi_awready && lane_q == 1'(i);
  end

  localparam int unsigned TOP = COUNT - 1;
  always_ff @(posedge clk) begin
    if (m_axi_awready) m_axi_awvalid <= 1'b0;
    if (read) begin
      left_q   <= left_q - 1'b1;
      active_q <= !ends;
    end
    if (start) begin
      m_axi_awvalid <= 1'b1;
      active_q      <= 1'b1;
      lane_q        <= choice;
      left_q        <= choice ? burst_len[TOP] : burst_len[0];
    end
    if (row_moves) begin
      row_q      <= read;
      row_last_q <= ends;
      row_lane_q <= lane_q;
    end
    if (beat_moves) begin
      m_axi_wvalid <= row_q;
      m_axi_wlast  <= row_last_q;
      m_axi_wdata  <= row_lane_q ? rd_data[TOP] : rd_data[0];
    end
    if (rst) begin
      m_axi_awvalid <= 1'b0;
      m_axi_wvalid  <= 1'b0;
      active_q      <= 1'b0;
      row_q         <= 1'b0;
    end
  end

  assign m_axi_awid    = 8'(lane_q);
  assign m_axi_awaddr  = lane_q ? burst_addr[TOP] : burst_addr[0];
  assign m_axi_awlen   = lane_q ? burst_len[TOP] : burst_len[0];
  assign m_axi_awsize  = 3'($clog2(DATA_W / 8));
  assign m_axi_awburst = 2'b01;
  assign m_axi_wstrb   = '1;
  assign idle          = !active_q && !row_q && !m_axi_wvalid && !m_axi_awvalid;

`ifndef SYNTHESIS
  for (genvar i = 0; i < COUNT; i++) begin : gen_contract
    offer_contract #(
        .WIDTH(8 + 64)
    ) u_burst_stays (
        .clk,
        .rst,
        .valid(burst_valid[i]),
        .ready(burst_taken[i]),
        .data ({burst_len[i], burst_addr[i]})
    );
  end
`endif

endmodule
