// SPDX-License-Identifier: Apache-2.0
// The capture card: packets of the host's memory and of both Ethernet ports, through filters if it has cores, as pcap
// records into a ring in host memory. The ports send nothing.
module capture_card
  import headrace_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned MEM_W = 512,
    parameter int unsigned BURST = 16,
    parameter int unsigned CORES = 0,
    parameter int unsigned READ_BUFFER = 128,
    parameter int unsigned SLOTS = 64,
    parameter int unsigned STORE_KB = 128,
    parameter int unsigned PACKET_KB = 128,
    parameter int unsigned IMEM_WORDS = 1024,
    parameter int unsigned MAX_FRAME = 65600,
    parameter bit          GATED = 1'b0,  // clock gates: see clock_gate
    localparam int unsigned PORTS = 2
) (
    `include "card_ports.svh"
    output tx_meta_t [PORTS-1:0]           tx_tuser,
    output logic                           idle
);
  import axi_pkg::axil_req_t;
  import axi_pkg::axil_rsp_t;
  import capture_pkg::*;

  localparam int unsigned RECORDS = MEM_W > 128 ? 256 : 32;  // on their way to the ring: enough for a microsecond
  localparam logic [1:0][31:0] AXIL_BASES = {32'hF000, 32'h0};  // capture, filter: as in regs/capture_card.rdl

  // --------------------------------------------------------------------------------------------------------- registers
  axil_req_t host_req;
  axil_rsp_t host_rsp;
  axil_req_t [1:0] axil_req;
  axil_rsp_t [1:0] axil_rsp;
  logic axil_idle;

  axil_ports u_axil_ports (
      .*,
      .req(host_req),
      .rsp(host_rsp)
  );

  axil_split #(
      .BLOCKS(2),
      .BASES (AXIL_BASES)
  ) u_axil_split (
      .clk,
      .rst,
      .s_req(host_req),
      .s_rsp(host_rsp),
      .m_req(axil_req),
      .m_rsp(axil_rsp),
      .idle (axil_idle)
  );

  logic restart, enable, wait_for_room, flow_control, write_error, descriptor_error, busy, control_idle;
  logic [LEN_W-1:0] snaplen;
  logic [63:0] ring_base, descriptor_base;
  logic [4:0] ring_log2, descriptor_log2;
  logic [31:0] consumer, producer, descriptor_head, descriptor_tail, packets_read;
  events_t events;
  port_events_t [1:0] port_events;

  capture_control #(
      .MEM_W(MEM_W),
      .BURST(BURST),
      .CORES(CORES),
      .SLOTS(SLOTS),
      .GATED(GATED)
  ) u_control (
      .*,
      .axil_req      (axil_req[1]),
      .axil_rsp      (axil_rsp[1]),
      .idle          (control_idle)
  );

  // ------------------------------------------------------------------------------------------------------------- ports
  logic [PORTS-1:0] port_tvalid, port_tready, port_tlast, store_holds, store_idle;
  logic [PORTS-1:0][DATA_W-1:0] port_tdata;
  logic [PORTS-1:0][DATA_W/8-1:0] port_tkeep;
  packet_t [PORTS-1:0] port_tuser;

  for (genvar port = 0; port < PORTS; port++) begin : gen_port
    logic port_clk;
    clock_gate #(
        .GATED(GATED),
        .WATCHED($bits(port_events_t) + 4)
    ) u_gate (
        .clk,
        .rst,
        .work   (rx_tvalid[port] || !store_idle[port]),
        .watched({port_events[port], rx_tready[port], port_tvalid[port], store_holds[port], store_idle[port]}),
        .gated  (port_clk)
    );
    port_store #(
        .DATA_W(DATA_W),
        .STORE_KB(STORE_KB)
    ) u_store (
        .clk(port_clk),
        .rst,
        .time_ns,
        .enable,
        .flow_control,
        .snaplen,
        .rx_tvalid    (rx_tvalid[port]),
        .rx_tready    (rx_tready[port]),
        .rx_tdata     (rx_tdata[port]),
        .rx_tkeep     (rx_tkeep[port]),
        .rx_tlast     (rx_tlast[port]),
        .rx_tuser     (rx_tuser[port]),
        .m_axis_tvalid(port_tvalid[port]),
        .m_axis_tready(port_tready[port]),
        .m_axis_tdata (port_tdata[port]),
        .m_axis_tkeep (port_tkeep[port]),
        .m_axis_tlast (port_tlast[port]),
        .m_axis_tuser (port_tuser[port]),
        .events       (port_events[port]),
        .holds        (store_holds[port]),
        .idle         (store_idle[port])
    );
  end

  // ----------------------------------------------------------------------------------------------------------- filters
  logic memory_tvalid, memory_tready, memory_tlast, memory_error;  // packets of host memory, if there are filters
  logic [MEM_W-1:0] memory_tdata;
  logic [MEM_W/8-1:0] memory_tkeep;
  packet_t memory_tuser;

  logic kept_tvalid, kept_tready, kept_tlast, kept_idle;
  logic [DATA_W-1:0] kept_tdata;
  logic [DATA_W/8-1:0] kept_tkeep;
  packet_t kept_tuser;

  logic in_tvalid, in_tready, in_tlast, width_idle, engine_idle, engine_settled;
  logic engine_clk;  // of all that follows the ports' stores and the filters
  clock_gate #(
      .GATED(GATED),
      .HOLD(6),  // from a register's access to what it leads to
      .WATCHED($bits(events_t) + 111)
  ) u_engine_gate (
      .clk,
      .rst,
      .work   (restart || !axil_idle || port_tvalid != '0 || kept_tvalid || !kept_idle || !width_idle ||
               !engine_settled),
      .watched({events, producer, descriptor_tail, packets_read, write_error, descriptor_error, axil_rsp[0].bvalid,
                axil_rsp[0].rvalid, kept_tready, in_tvalid, in_tready, memory_tvalid, m_axi_awvalid, m_axi_wvalid,
                m_axi_arvalid, width_idle, kept_idle, engine_idle, engine_settled}),
      .gated  (engine_clk)
  );

  if (CORES > 0) begin : gen_filters
    capture_filters #(
        .DATA_W(DATA_W),
        .MEM_W(MEM_W),
        .PORTS(PORTS),
        .CORES(CORES),
        .PACKET_KB(PACKET_KB),
        .IMEM_WORDS(IMEM_WORDS),
        .MAX_FRAME(MAX_FRAME),
        .GATED(GATED)
    ) u_filters (
        .clk,
        .rst,
        .snaplen,
        .axil_req     (axil_req[0]),
        .axil_rsp     (axil_rsp[0]),
        .s_axis_tvalid(port_tvalid),
        .s_axis_tready(port_tready),
        .s_axis_tdata (port_tdata),
        .s_axis_tkeep (port_tkeep),
        .s_axis_tlast (port_tlast),
        .s_axis_tuser (port_tuser),
        .memory_tvalid,
        .memory_tready,
        .memory_tdata,
        .memory_tkeep,
        .memory_tlast,
        .memory_tuser,
        .memory_error,
        .m_axis_tvalid(kept_tvalid),
        .m_axis_tready(kept_tready),
        .m_axis_tdata (kept_tdata),
        .m_axis_tkeep (kept_tkeep),
        .m_axis_tlast (kept_tlast),
        .m_axis_tuser (kept_tuser),
        .idle         (kept_idle)
    );
  end else begin : gen_direct
    assign memory_tready = 1'b0;
    capture_direct #(
        .DATA_W(DATA_W),
        .PORTS(PORTS)
    ) u_direct (
        .clk(engine_clk),
        .rst,
        .axil_req     (axil_req[0]),
        .axil_rsp     (axil_rsp[0]),
        .s_axis_tvalid(port_tvalid),
        .s_axis_tready(port_tready),
        .s_axis_tdata (port_tdata),
        .s_axis_tkeep (port_tkeep),
        .s_axis_tlast (port_tlast),
        .s_axis_tuser (port_tuser),
        .m_axis_tvalid(kept_tvalid),
        .m_axis_tready(kept_tready),
        .m_axis_tdata (kept_tdata),
        .m_axis_tkeep (kept_tkeep),
        .m_axis_tlast (kept_tlast),
        .m_axis_tuser (kept_tuser),
        .idle         (kept_idle)
    );
  end

  // ------------------------------------------------------------------------------------------------------------ engine
  logic [MEM_W-1:0] in_tdata;
  logic [MEM_W/8-1:0] in_tkeep;
  packet_t in_tuser;
  stream_width #(
      .S_DATA_W(DATA_W),
      .M_DATA_W(MEM_W),
      .USER_W($bits(packet_t))
  ) u_width (
      .clk(engine_clk),
      .rst,
      .s_axis_tvalid(kept_tvalid),
      .s_axis_tready(kept_tready),
      .s_axis_tdata (kept_tdata),
      .s_axis_tkeep (kept_tkeep),
      .s_axis_tlast (kept_tlast),
      .s_axis_tuser (kept_tuser),
      .m_axis_tvalid(in_tvalid),
      .m_axis_tready(in_tready),
      .m_axis_tdata (in_tdata),
      .m_axis_tkeep (in_tkeep),
      .m_axis_tlast (in_tlast),
      .m_axis_tuser (in_tuser),
      .idle         (width_idle)
  );

  capture_engine #(
      .MEM_W(MEM_W),
      .BURST(BURST),
      .SLOTS(SLOTS),
      .READ_BUFFER(READ_BUFFER),
      .RECORDS(RECORDS),
      .FILTERED(CORES > 0)
  ) u_engine (
      .*,
      .clk(engine_clk),
      .rst           (restart),
      .s_axis_tvalid (in_tvalid),
      .s_axis_tready (in_tready),
      .s_axis_tdata  (in_tdata),
      .s_axis_tlast  (in_tlast),
      .s_axis_tuser  (in_tuser),
      .m_axis_tvalid (memory_tvalid),
      .m_axis_tready (memory_tready),
      .m_axis_tdata  (memory_tdata),
      .m_axis_tkeep  (memory_tkeep),
      .m_axis_tlast  (memory_tlast),
      .m_axis_tuser  (memory_tuser),
      .m_axis_error  (memory_error),
      .idle          (engine_idle),
      .settled       (engine_settled)
  );
  assign {m_axi_awid, m_axi_awuser, m_axi_arid, m_axi_aruser} = '0;

  assign busy = !(engine_idle && width_idle && kept_idle && store_holds == '0);
  assign idle = !busy && store_idle == '1 && control_idle && axil_idle;

  assign {tx_tvalid, tx_tdata, tx_tkeep, tx_tlast, tx_tuser} = '0;

endmodule
