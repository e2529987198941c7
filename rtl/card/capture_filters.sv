// SPDX-License-Identifier: Apache-2.0
// The way of packets to the ring through filters: frames of the ports and packets of host memory, one after the other.
// A packet leaves with the length that its filter gives it, the snaplen at most.
// Latency and throughput: those of filter_engine. Backpressure: it waits rather than lose any.
module capture_filters
  import axi_pkg::axil_req_t;
  import axi_pkg::axil_rsp_t;
  import capture_pkg::LEN_W;
  import capture_pkg::packet_t;
  import headrace_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned MEM_W = 512,
    parameter int unsigned PORTS = 2,
    parameter int unsigned CORES = 8,
    parameter int unsigned PACKET_KB = 128,
    parameter int unsigned IMEM_WORDS = 1024,
    parameter int unsigned MAX_FRAME = 65600,
    parameter bit          GATED = 1'b0  // clock gates: see clock_gate
) (
    input  logic                           clk,
    input  logic                           rst,
    input  logic [LEN_W-1:0]               snaplen,

    input  axil_req_t                      axil_req,
    output axil_rsp_t                      axil_rsp,

    input  logic [PORTS-1:0]               s_axis_tvalid,
    output logic [PORTS-1:0]               s_axis_tready,
    input  logic [PORTS-1:0][DATA_W-1:0]   s_axis_tdata,
    input  logic [PORTS-1:0][DATA_W/8-1:0] s_axis_tkeep,
    input  logic [PORTS-1:0]               s_axis_tlast,
    input  packet_t [PORTS-1:0]            s_axis_tuser,

    input  logic                           memory_tvalid,
    output logic                           memory_tready,
    input  logic [MEM_W-1:0]               memory_tdata,
    input  logic [MEM_W/8-1:0]             memory_tkeep,
    input  logic                           memory_tlast,
    input  packet_t                        memory_tuser,
    input  logic                           memory_error,   // with the last beat

    output logic                           m_axis_tvalid,
    input  logic                           m_axis_tready,
    output logic [DATA_W-1:0]              m_axis_tdata,
    output logic [DATA_W/8-1:0]            m_axis_tkeep,
    output logic                           m_axis_tlast,
    output packet_t                        m_axis_tuser,

    output logic                           idle
);

  if (PORTS < 1) begin : gen_bad_ports
    $fatal(1, "capture_filters: PORTS must be at least 1, not %0d", PORTS);
  end

  // What is known of a packet beside its bytes; `error` with the last beat.
  typedef struct packed {
    logic    error;
    packet_t packet;
  } beside_t;

  // ------------------------------------------------------------------------------------------------- one stream of all
  logic [PORTS:0] source_tvalid, source_tready, source_tlast;
  logic [PORTS:0][DATA_W-1:0] source_tdata;
  logic [PORTS:0][DATA_W/8-1:0] source_tkeep;
  beside_t [PORTS:0] source_tuser;
  logic width_idle, arbiter_idle, filter_idle;

  stream_width #(
      .S_DATA_W(MEM_W),
      .M_DATA_W(DATA_W),
      .USER_W($bits(beside_t))
  ) u_memory_width (
      .clk,
      .rst,
      .s_axis_tvalid(memory_tvalid),
      .s_axis_tready(memory_tready),
      .s_axis_tdata (memory_tdata),
      .s_axis_tkeep (memory_tkeep),
      .s_axis_tlast (memory_tlast),
      .s_axis_tuser ({memory_error, memory_tuser}),
      .m_axis_tvalid(source_tvalid[PORTS]),
      .m_axis_tready(source_tready[PORTS]),
      .m_axis_tdata (source_tdata[PORTS]),
      .m_axis_tkeep (source_tkeep[PORTS]),
      .m_axis_tlast (source_tlast[PORTS]),
      .m_axis_tuser (source_tuser[PORTS]),
      .idle         (width_idle)
  );

  assign source_tvalid[PORTS-1:0] = s_axis_tvalid;
  assign s_axis_tready            = source_tready[PORTS-1:0];
  assign source_tdata[PORTS-1:0]  = s_axis_tdata;
  assign source_tkeep[PORTS-1:0]  = s_axis_tkeep;
  assign source_tlast[PORTS-1:0]  = s_axis_tlast;
  for (genvar port = 0; port < PORTS; port++) begin : gen_port
    assign source_tuser[port] = '{error: 1'b0, packet: s_axis_tuser[port]};
  end

  logic all_tvalid, all_tready, all_tlast;
  logic [DATA_W-1:0] all_tdata;
  logic [DATA_W/8-1:0] all_tkeep;
  beside_t all_tuser;
  stream_arbiter #(
      .INPUTS(PORTS + 1),
      .DATA_W(DATA_W),
      .USER_W($bits(beside_t))
  ) u_arbiter (
      .clk,
      .rst,
      .s_axis_tvalid(source_tvalid),
      .s_axis_tready(source_tready),
      .s_axis_tdata (source_tdata),
      .s_axis_tkeep (source_tkeep),
      .s_axis_tlast (source_tlast),
      .s_axis_tuser (source_tuser),
      .m_axis_tvalid(all_tvalid),
      .m_axis_tready(all_tready),
      .m_axis_tdata (all_tdata),
      .m_axis_tkeep (all_tkeep),
      .m_axis_tlast (all_tlast),
      .m_axis_tuser (all_tuser),
      .idle         (arbiter_idle)
  );

  // ----------------------------------------------------------------------------------------------------------- filters
  bpf_pkg::load_t load;
  filter_pkg::events_t events;
  logic unused_flow_control, active_set, ready, measure_read_req, measure_read_done;
  logic [bpf_pkg::SETS-1:0] set_busy;
  logic [$clog2(bpf_pkg::MEASURES)-1:0] measure_read_index;
  logic [63:0] measure_read_packets, measure_read_bytes;

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
      .flow_control(unused_flow_control),
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

  // All packets come in at the engine's first port and leave it at the monitor port; it waits rather than lose any.
  logic [2:0] out_tvalid, out_tlast;
  logic [2:0][DATA_W-1:0] out_tdata;
  logic [2:0][DATA_W/8-1:0] out_tkeep;
  filter_pkg::filter_user_t [2:0] out_tuser;
  logic [bpf_pkg::LEN_W-1:0] kept_len;
  logic unused_tready;
  filter_engine #(
      .DATA_W(DATA_W),
      .CORES(CORES),
      .PACKET_KB(PACKET_KB),
      .IMEM_WORDS(IMEM_WORDS),
      .MAX_FRAME(MAX_FRAME),
      .GATED(GATED)
  ) u_filter (
      .clk,
      .rst,
      .time_ns     (all_tuser.packet.time_ns),
      .rx_tvalid   ({1'b0, all_tvalid}),
      .rx_tready   ({unused_tready, all_tready}),
      .rx_tdata    ({DATA_W'(0), all_tdata}),
      .rx_tkeep    ({(DATA_W / 8)'(0), all_tkeep}),
      .rx_tlast    ({1'b0, all_tlast}),
      .rx_tuser    ({rx_meta_t'(0), all_tuser.error, 1'b1, all_tuser.packet.wire_len}),
      .tx_tvalid   (out_tvalid),
      .tx_tready   ({m_axis_tready, 2'b11}),
      .tx_tdata    (out_tdata),
      .tx_tkeep    (out_tkeep),
      .tx_tlast    (out_tlast),
      .tx_tuser    (out_tuser),
      .monitor_len (kept_len),
      .load,
      .flow_control(1'b1),
      .active_set,
      .set_busy,
      .ready,
      .events,
      .measure_read_req,
      .measure_read_index,
      .measure_read_done,
      .measure_read_packets,
      .measure_read_bytes,
      .idle        (filter_idle)
  );

  assign m_axis_tvalid = out_tvalid[2];
  assign m_axis_tdata  = out_tdata[2];
  assign m_axis_tkeep  = out_tkeep[2];
  assign m_axis_tlast  = out_tlast[2];
  assign m_axis_tuser  = '{
          memory: 1'b0,
          empty: 1'b0,
          time_ns: out_tuser[2].meta.timestamp_ns,
          wire_len: out_tuser[2].meta.wire_len,
          len: 32'(kept_len) < 32'(snaplen) ? LEN_W'(kept_len) : snaplen
      };
  assign idle = width_idle && arbiter_idle && filter_idle;

endmodule
