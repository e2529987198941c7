// SPDX-License-Identifier: Apache-2.0
// The way of frames to the ring without filters: ports take turns, and the registers of filters are refused. The
// packets of host memory don't come this way.
// Latency: 1 cycle. Throughput: 1 beat a cycle. Backpressure: frames wait in the stores of their ports.
module capture_direct
  import axi_pkg::axil_req_t;
  import axi_pkg::axil_rsp_t;
  import capture_pkg::packet_t;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned PORTS = 2
) (
    input  logic                           clk,
    input  logic                           rst,

    input  axil_req_t                      axil_req,
    output axil_rsp_t                      axil_rsp,

    input  logic [PORTS-1:0]               s_axis_tvalid,
    output logic [PORTS-1:0]               s_axis_tready,
    input  logic [PORTS-1:0][DATA_W-1:0]   s_axis_tdata,
    input  logic [PORTS-1:0][DATA_W/8-1:0] s_axis_tkeep,
    input  logic [PORTS-1:0]               s_axis_tlast,
    input  packet_t [PORTS-1:0]            s_axis_tuser,

    output logic                           m_axis_tvalid,
    input  logic                           m_axis_tready,
    output logic [DATA_W-1:0]              m_axis_tdata,
    output logic [DATA_W/8-1:0]            m_axis_tkeep,
    output logic                           m_axis_tlast,
    output packet_t                        m_axis_tuser,

    output logic                           idle
);

  if (PORTS < 1) begin : gen_bad_ports
    $fatal(1, "capture_direct: PORTS must be at least 1, not %0d", PORTS);
  end

  axil_refuse u_refuse (
      .clk,
      .rst,
      .axil_req,
      .axil_rsp,
      .idle()  // the demultiplexer knows what is under way
  );

  stream_arbiter #(
      .INPUTS(PORTS),
      .DATA_W(DATA_W),
      .USER_W($bits(packet_t))
  ) u_arbiter (
      .clk,
      .rst,
      .s_axis_tvalid,
      .s_axis_tready,
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .s_axis_tuser,
      .m_axis_tvalid,
      .m_axis_tready,
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_tuser,
      .idle
  );

endmodule
