// SPDX-License-Identifier: Apache-2.0
// The filter card: ports 0 and 1 pass through to each other, port 2 is the monitor. It uses no host memory and no
// interrupts.
module filter_card
  import filter_pkg::filter_user_t;
  import headrace_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned CORES = 8,
    parameter int unsigned PACKET_KB = 128,
    parameter int unsigned IMEM_WORDS = 1024,
    parameter int unsigned MAX_FRAME = 65600,
    parameter bit          GATED = 1'b0,  // clock gates: see clock_gate
    localparam int unsigned PORTS = 3,
    localparam int unsigned MEM_W = 64
) (
    `include "card_ports.svh"
    output filter_user_t [PORTS-1:0]       tx_tuser,
    output logic                           idle
);
  import axi_pkg::*;
  import bpf_pkg::*;
  import filter_pkg::*;

  load_t load;
  events_t engine_events, events;
  logic flow_control, active_set, ready, measure_read_req, measure_read_done;
  logic [SETS-1:0] set_busy;
  logic [$clog2(MEASURES)-1:0] measure_read_index;
  logic [63:0] measure_read_packets, measure_read_bytes;

  axil_req_t axil_req;
  axil_rsp_t axil_rsp;
  axil_ports u_axil_ports (
      .*,
      .req(axil_req),
      .rsp(axil_rsp)
  );

  filter_control #(
      .DATA_W(DATA_W),
      .CORES(CORES),
      .IMEM_WORDS(IMEM_WORDS),
      .MAX_FRAME(MAX_FRAME)
  ) u_control (
      .clk,
      .rst,
      .axil_req,
      .axil_rsp,
      .load,
      .flow_control,
      .active_set,
      .set_busy,
      .ready,
      .events,
      .measure_read_req,
      .measure_read_index,
      .measure_read_done,
      .measure_read_packets,
      .measure_read_bytes
  );

  logic engine_idle;
  logic [LEN_W-1:0] unused_monitor_len;
  filter_engine #(
      .DATA_W(DATA_W),
      .CORES(CORES),
      .PACKET_KB(PACKET_KB),
      .IMEM_WORDS(IMEM_WORDS),
      .MAX_FRAME(MAX_FRAME),
      .GATED(GATED)
  ) u_engine (
      .clk,
      .rst,
      .time_ns,
      .rx_tvalid(rx_tvalid[1:0]),
      .rx_tready(rx_tready[1:0]),
      .rx_tdata (rx_tdata[1:0]),
      .rx_tkeep (rx_tkeep[1:0]),
      .rx_tlast (rx_tlast[1:0]),
      .rx_tuser (rx_tuser[1:0]),
      .tx_tvalid,
      .tx_tready,
      .tx_tdata,
      .tx_tkeep,
      .tx_tlast,
      .tx_tuser,
      .monitor_len(unused_monitor_len),
      .load,
      .flow_control,
      .active_set,
      .set_busy,
      .ready,
      .events   (engine_events),
      .measure_read_req,
      .measure_read_index,
      .measure_read_done,
      .measure_read_packets,
      .measure_read_bytes,
      .idle     (engine_idle)
  );

  // The monitor port only sends: what comes in there is counted and thrown away.
  logic ignored_q;
  always_ff @(posedge clk) ignored_q <= rx_tvalid[2] && rx_tlast[2] && !rst;
  assign rx_tready[2] = 1'b1;
  always_comb begin
    events = engine_events;
    events.monitor_ignored = ignored_q;
  end

  assign idle = engine_idle && !ignored_q && !rx_tvalid[2] && axil_quiet(axil_req, axil_rsp);

  assign {m_axi_awid, m_axi_awaddr, m_axi_awlen, m_axi_awsize, m_axi_awburst, m_axi_awuser, m_axi_awvalid} = '0;
  assign {m_axi_wdata, m_axi_wstrb, m_axi_wlast, m_axi_wvalid, m_axi_bready} = '0;
  assign {m_axi_arid, m_axi_araddr, m_axi_arlen, m_axi_arsize, m_axi_arburst, m_axi_aruser, m_axi_arvalid,
      m_axi_rready} = '0;
  assign {irq_valid, irq_function, irq_vector} = '0;

endmodule
