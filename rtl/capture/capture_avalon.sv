// SPDX-License-Identifier: Apache-2.0
// The capture engine as a component of a Cyclone V class system: packets of host memory become pcap records in a ring,
// as regs/capture.rdl says. Registers on AXI4-Lite, memory on two Avalon hosts, for the FPGA-to-HPS or the SDRAM
// bridge. Where the bridge answers writes, set WRITE_RESPONSES: without them the producer may be ahead of what the
// processor sees.
module capture_avalon
  import capture_pkg::*;
#(
    parameter int unsigned MEM_W = 32,
    parameter int unsigned ADDR_W = 32,
    parameter int unsigned BURST = 16,
    parameter int unsigned SLOTS = 8,
    parameter int unsigned READ_BUFFER = 64,
    parameter int unsigned RECORDS = 32,
    parameter bit          WRITE_RESPONSES = 1'b0,
    localparam int unsigned COUNT_W = $clog2(BURST) + 1
) (
    input  logic               clk,
    input  logic               rst,
    input  logic [63:0]        time_ns,  // since the epoch, for packets without a time

    input  logic [15:0]        s_axil_awaddr,
    input  logic [2:0]         s_axil_awprot,
    input  logic               s_axil_awvalid,
    output logic               s_axil_awready,
    input  logic [31:0]        s_axil_wdata,
    input  logic [3:0]         s_axil_wstrb,
    input  logic               s_axil_wvalid,
    output logic               s_axil_wready,
    output logic [1:0]         s_axil_bresp,
    output logic               s_axil_bvalid,
    input  logic               s_axil_bready,
    input  logic [15:0]        s_axil_araddr,
    input  logic [2:0]         s_axil_arprot,
    input  logic               s_axil_arvalid,
    output logic               s_axil_arready,
    output logic [31:0]        s_axil_rdata,
    output logic [1:0]         s_axil_rresp,
    output logic               s_axil_rvalid,
    input  logic               s_axil_rready,

    output logic [ADDR_W-1:0]  avm_read_address,
    output logic [COUNT_W-1:0] avm_read_burstcount,
    output logic [MEM_W/8-1:0] avm_read_byteenable,
    output logic               avm_read_read,
    input  logic               avm_read_waitrequest,
    input  logic [MEM_W-1:0]   avm_read_readdata,
    input  logic [1:0]         avm_read_response,
    input  logic               avm_read_readdatavalid,
    output logic [ADDR_W-1:0]  avm_write_address,
    output logic [COUNT_W-1:0] avm_write_burstcount,
    output logic [MEM_W-1:0]   avm_write_writedata,
    output logic [MEM_W/8-1:0] avm_write_byteenable,
    output logic               avm_write_write,
    input  logic               avm_write_waitrequest,
    input  logic [1:0]         avm_write_response,
    input  logic               avm_write_writeresponsevalid,

    output logic               irq_valid,
    input  logic               irq_ready,
    output logic [15:0]        irq_function,
    output logic [15:0]        irq_vector
);

  logic restart, enable, wait_for_room, flow_control, write_error, descriptor_error, idle;
  logic [LEN_W-1:0] snaplen;
  logic [63:0] ring_base, descriptor_base;
  logic [4:0] ring_log2, descriptor_log2;
  logic [31:0] consumer, producer, descriptor_head, descriptor_tail, packets_read;
  events_t events;
  port_events_t [1:0] port_events;
  assign port_events = '0;

  logic [63:0] axi_awaddr, axi_araddr;
  logic [7:0] axi_awlen, axi_arlen;
  logic axi_awvalid, axi_awready, axi_wlast, axi_wvalid, axi_wready, axi_bvalid, axi_bready;
  logic axi_arvalid, axi_arready, axi_rlast, axi_rvalid, axi_rready;
  logic [MEM_W-1:0] axi_wdata, axi_rdata;
  logic [MEM_W/8-1:0] axi_wstrb;
  logic [1:0] axi_bresp, axi_rresp;

  // There are no frames of ports and no filters.
  logic unused_idle, unused_settled, unused_s_tready, unused_m_tvalid, unused_m_tlast, unused_m_error;
  logic [MEM_W-1:0] unused_m_tdata;
  logic [MEM_W/8-1:0] unused_m_tkeep;
  packet_t unused_m_tuser;
  logic [2:0] unused_awsize, unused_arsize;
  logic [1:0] unused_awburst, unused_arburst;
  wire unused_flow_control = flow_control;

  axi_pkg::axil_req_t axil_req;
  axi_pkg::axil_rsp_t axil_rsp;
  axil_ports u_axil_ports (
      .req(axil_req), .rsp(axil_rsp), .*
  );

  capture_control #(
      .MEM_W(MEM_W), .BURST(BURST), .SLOTS(SLOTS)
  ) u_control (
      .busy(!idle), .idle(unused_idle), .*
  );

  capture_engine #(
      .MEM_W(MEM_W), .BURST(BURST), .SLOTS(SLOTS), .READ_BUFFER(READ_BUFFER), .RECORDS(RECORDS)
  ) u_engine (
      .rst(restart), .settled(unused_settled),
      .s_axis_tvalid(1'b0), .s_axis_tready(unused_s_tready), .s_axis_tdata('0), .s_axis_tlast(1'b0), .s_axis_tuser('0),
      .m_axis_tvalid(unused_m_tvalid), .m_axis_tready(1'b0), .m_axis_tdata(unused_m_tdata),
      .m_axis_tkeep(unused_m_tkeep),
      .m_axis_tlast(unused_m_tlast), .m_axis_tuser(unused_m_tuser), .m_axis_error(unused_m_error),
      .m_axi_awaddr(axi_awaddr), .m_axi_awlen(axi_awlen), .m_axi_awsize(unused_awsize), .m_axi_awburst(unused_awburst),
      .m_axi_awvalid(axi_awvalid), .m_axi_awready(axi_awready), .m_axi_wdata(axi_wdata), .m_axi_wstrb(axi_wstrb),
      .m_axi_wlast(axi_wlast), .m_axi_wvalid(axi_wvalid), .m_axi_wready(axi_wready),
      .m_axi_bresp(axi_bresp), .m_axi_bvalid(axi_bvalid), .m_axi_bready(axi_bready),
      .m_axi_araddr(axi_araddr), .m_axi_arlen(axi_arlen), .m_axi_arsize(unused_arsize), .m_axi_arburst(unused_arburst),
      .m_axi_arvalid(axi_arvalid), .m_axi_arready(axi_arready), .m_axi_rdata(axi_rdata), .m_axi_rresp(axi_rresp),
      .m_axi_rlast(axi_rlast), .m_axi_rvalid(axi_rvalid), .m_axi_rready(axi_rready),
      .*
  );

  // The adapter keeps what is under way through a restart: restarts wait until the engine is idle.
  axi_to_avalon #(
      .MEM_W(MEM_W), .ADDR_W(ADDR_W), .BURST(BURST), .WRITE_RESPONSES(WRITE_RESPONSES)
  ) u_adapter (
      .s_axi_awaddr(axi_awaddr), .s_axi_awlen(axi_awlen), .s_axi_awvalid(axi_awvalid), .s_axi_awready(axi_awready),
      .s_axi_wdata(axi_wdata), .s_axi_wstrb(axi_wstrb), .s_axi_wlast(axi_wlast), .s_axi_wvalid(axi_wvalid),
      .s_axi_wready(axi_wready), .s_axi_bresp(axi_bresp), .s_axi_bvalid(axi_bvalid), .s_axi_bready(axi_bready),
      .s_axi_araddr(axi_araddr), .s_axi_arlen(axi_arlen), .s_axi_arvalid(axi_arvalid), .s_axi_arready(axi_arready),
      .s_axi_rdata(axi_rdata), .s_axi_rresp(axi_rresp), .s_axi_rlast(axi_rlast), .s_axi_rvalid(axi_rvalid),
      .s_axi_rready(axi_rready), .*
  );

endmodule
