// SPDX-License-Identifier: Apache-2.0
// A user's own card: swaps ports 0 and 1, counts their frames and bytes, and logs the start of each frame in host
// memory.
// Latency from port to port: 1 cycle. A port that can't send stalls the other's receiver.
module mycard
  import headrace_pkg::*;
#(
    parameter int unsigned LOG_DEPTH = 16,
    localparam int unsigned PORTS = 2,
    localparam int unsigned DATA_W = 512,
    localparam int unsigned MEM_W = 512
) (
    input  logic                               clk,
    input  logic                               rst,
    input  logic [         63:0]               time_ns,
    input  logic [    PORTS-1:0]               rx_tvalid,
    output logic [    PORTS-1:0]               rx_tready,
    input  logic [    PORTS-1:0][  DATA_W-1:0] rx_tdata,
    input  logic [    PORTS-1:0][DATA_W/8-1:0] rx_tkeep,
    input  logic [    PORTS-1:0]               rx_tlast,
    input  rx_meta_t [PORTS-1:0]               rx_tuser,
    output logic [    PORTS-1:0]               tx_tvalid,
    input  logic [    PORTS-1:0]               tx_tready,
    output logic [    PORTS-1:0][  DATA_W-1:0] tx_tdata,
    output logic [    PORTS-1:0][DATA_W/8-1:0] tx_tkeep,
    output logic [    PORTS-1:0]               tx_tlast,
    output tx_meta_t [PORTS-1:0]               tx_tuser,
    input  logic [         15:0]               s_axil_awaddr,
    input  logic [          2:0]               s_axil_awprot,
    input  logic                               s_axil_awvalid,
    output logic                               s_axil_awready,
    input  logic [         31:0]               s_axil_wdata,
    input  logic [          3:0]               s_axil_wstrb,
    input  logic                               s_axil_wvalid,
    output logic                               s_axil_wready,
    output logic [          1:0]               s_axil_bresp,
    output logic                               s_axil_bvalid,
    input  logic                               s_axil_bready,
    input  logic [         15:0]               s_axil_araddr,
    input  logic [          2:0]               s_axil_arprot,
    input  logic                               s_axil_arvalid,
    output logic                               s_axil_arready,
    output logic [         31:0]               s_axil_rdata,
    output logic [          1:0]               s_axil_rresp,
    output logic                               s_axil_rvalid,
    input  logic                               s_axil_rready,
    output logic [          7:0]               m_axi_awid,
    output logic [         63:0]               m_axi_awaddr,
    output logic [          7:0]               m_axi_awlen,
    output logic [          2:0]               m_axi_awsize,
    output logic [          1:0]               m_axi_awburst,
    output logic [         15:0]               m_axi_awuser,
    output logic                               m_axi_awvalid,
    input  logic                               m_axi_awready,
    output logic [    MEM_W-1:0]               m_axi_wdata,
    output logic [  MEM_W/8-1:0]               m_axi_wstrb,
    output logic                               m_axi_wlast,
    output logic                               m_axi_wvalid,
    input  logic                               m_axi_wready,
    input  logic [          7:0]               m_axi_bid,
    input  logic [          1:0]               m_axi_bresp,
    input  logic                               m_axi_bvalid,
    output logic                               m_axi_bready,
    output logic [          7:0]               m_axi_arid,
    output logic [         63:0]               m_axi_araddr,
    output logic [          7:0]               m_axi_arlen,
    output logic [          2:0]               m_axi_arsize,
    output logic [          1:0]               m_axi_arburst,
    output logic [         15:0]               m_axi_aruser,
    output logic                               m_axi_arvalid,
    input  logic                               m_axi_arready,
    input  logic [          7:0]               m_axi_rid,
    input  logic [    MEM_W-1:0]               m_axi_rdata,
    input  logic [          1:0]               m_axi_rresp,
    input  logic                               m_axi_rlast,
    input  logic                               m_axi_rvalid,
    output logic                               m_axi_rready,
    output logic                               irq_valid,
    input  logic                               irq_ready,
    output logic [         15:0]               irq_function,
    output logic [         15:0]               irq_vector,
    output logic                               idle
);

  // What travels from port to port beside the data.
  typedef struct packed {
    logic                last;
    tx_meta_t            meta;
    logic [DATA_W/8-1:0] keep;
    logic [DATA_W-1:0]   data;
  } beat_t;

  logic [PORTS-1:0] taken, first, inside_q;
  logic [PORTS-1:0][63:0] arrival_q;
  logic log_idle;
  logic [PORTS-1:0] reg_idle;

  assign taken = rx_tvalid & rx_tready;
  assign first = taken & ~inside_q;

  for (genvar p = 0; p < PORTS; ++p) begin : gen_port
    localparam int unsigned TO = PORTS - 1 - p;
    beat_t in, out;

    always_comb begin
      in = '{last: rx_tlast[p], meta: '0, keep: rx_tkeep[p], data: rx_tdata[p]};
      in.meta.timestamp_ns = inside_q[p] ? arrival_q[p] : time_ns;
      in.meta.cut = rx_tuser[p].cut;
      in.meta.wire_len = rx_tuser[p].wire_len;
      in.meta.error = rx_tuser[p].error;
      in.meta.port = 8'(p);
    end

    stream_reg #(
        .WIDTH($bits(beat_t))
    ) u_reg (
        .clk,
        .rst,
        .s_valid(rx_tvalid[p]),
        .s_ready(rx_tready[p]),
        .s_data(in),
        .m_valid(tx_tvalid[TO]),
        .m_ready(tx_tready[TO]),
        .m_data(out),
        .idle(reg_idle[p])
    );

    assign tx_tdata[TO] = out.data;
    assign tx_tkeep[TO] = out.keep;
    assign tx_tlast[TO] = out.last;
    assign tx_tuser[TO] = out.meta;

    always_ff @(posedge clk) begin
      if (taken[p]) begin
        inside_q[p] <= !rx_tlast[p];
        if (!inside_q[p]) arrival_q[p] <= time_ns;
      end
      if (rst) inside_q[p] <= 1'b0;
    end
  end

  mycard_regs_pkg::mycard_regs__in_t hwif_in;
  mycard_regs_pkg::mycard_regs__out_t hwif_out;
  logic [31:0] written;
  logic dropped, failed;

  always_comb begin
    hwif_in.log_written.count.next = written;
    hwif_in.log_dropped.count.incr = dropped;
    hwif_in.log_failed.count.incr = failed;
    for (int p = 0; p < PORTS; ++p) begin
      hwif_in.port[p].frames.count.incr = taken[p] && rx_tlast[p];
      hwif_in.port[p].bytes.count.incr = taken[p];
      hwif_in.port[p].bytes.count.incrvalue = 7'($countones(rx_tkeep[p]));
    end
  end

  mycard_regs u_regs (
      .clk,
      .rst,
      .s_axil_awready,
      .s_axil_awvalid,
      .s_axil_awaddr,
      .s_axil_awprot,
      .s_axil_wready,
      .s_axil_wvalid,
      .s_axil_wdata,
      .s_axil_wstrb,
      .s_axil_bready,
      .s_axil_bvalid,
      .s_axil_bresp,
      .s_axil_arready,
      .s_axil_arvalid,
      .s_axil_araddr,
      .s_axil_arprot,
      .s_axil_rready,
      .s_axil_rvalid,
      .s_axil_rdata,
      .s_axil_rresp,
      .hwif_in,
      .hwif_out
  );

  frame_log #(
      .PORTS(PORTS),
      .DEPTH(LOG_DEPTH)
  ) u_log (
      .clk,
      .rst,
      .enable(hwif_out.control.log.value),
      .base(hwif_out.log_base.address.value),
      .entries(hwif_out.log_size.entries.value),
      .written,
      .dropped,
      .failed,
      .first,
      .data(rx_tdata),
      .keep(rx_tkeep),
      .m_axi_awaddr,
      .m_axi_awvalid,
      .m_axi_awready,
      .m_axi_wdata,
      .m_axi_wvalid,
      .m_axi_wready,
      .m_axi_bresp,
      .m_axi_bvalid,
      .m_axi_bready,
      .irq_valid,
      .irq_ready,
      .irq_vector,
      .idle(log_idle)
  );

  // Each entry is a burst of one 64-byte beat, of function 0 and ID 0.
  assign m_axi_awid = '0;
  assign m_axi_awlen = '0;
  assign m_axi_awsize = 3'd6;
  assign m_axi_awburst = 2'b01;
  assign m_axi_awuser = '0;
  assign m_axi_wstrb = '1;
  assign m_axi_wlast = 1'b1;
  assign irq_function = '0;

  // The card reads nothing.
  assign m_axi_arid = '0;
  assign m_axi_araddr = '0;
  assign m_axi_arlen = '0;
  assign m_axi_arsize = '0;
  assign m_axi_arburst = '0;
  assign m_axi_aruser = '0;
  assign m_axi_arvalid = 1'b0;
  assign m_axi_rready = 1'b0;

  assign idle = log_idle && reg_idle == '1 && inside_q == '0;

endmodule
