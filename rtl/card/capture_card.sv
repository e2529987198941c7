// The capture card: packets of the host's memory and of both Ethernet ports, through filters if it has cores, as pcap records
// into a ring in host memory. The ports send nothing.
module capture_card
  import headrace_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned MEM_W = 512,
    parameter int unsigned BURST = 16,
    parameter int unsigned CORES = 0,
    parameter int unsigned READ_BUFFER = 128,
    parameter int unsigned SLOTS = 64,
    parameter int unsigned STORE_KB = 64,
    parameter int unsigned PACKET_KB = 32,
    parameter int unsigned IMEM_WORDS = 1024,
    parameter int unsigned MAX_FRAME = 9216,
    localparam int unsigned PORTS = 2
) (
    input  logic                           clk,
    input  logic                           rst,
    input  logic [63:0]                    time_ns,

    input  logic [PORTS-1:0]               rx_tvalid,
    output logic [PORTS-1:0]               rx_tready,
    input  logic [PORTS-1:0][DATA_W-1:0]   rx_tdata,
    input  logic [PORTS-1:0][DATA_W/8-1:0] rx_tkeep,
    input  logic [PORTS-1:0]               rx_tlast,
    input  rx_meta_t [PORTS-1:0]           rx_tuser,
    output logic [PORTS-1:0]               tx_tvalid,
    input  logic [PORTS-1:0]               tx_tready,
    output logic [PORTS-1:0][DATA_W-1:0]   tx_tdata,
    output logic [PORTS-1:0][DATA_W/8-1:0] tx_tkeep,
    output logic [PORTS-1:0]               tx_tlast,
    output tx_meta_t [PORTS-1:0]           tx_tuser,

    input  logic [15:0]                    s_axil_awaddr,
    input  logic [2:0]                     s_axil_awprot,
    input  logic                           s_axil_awvalid,
    output logic                           s_axil_awready,
    input  logic [31:0]                    s_axil_wdata,
    input  logic [3:0]                     s_axil_wstrb,
    input  logic                           s_axil_wvalid,
    output logic                           s_axil_wready,
    output logic [1:0]                     s_axil_bresp,
    output logic                           s_axil_bvalid,
    input  logic                           s_axil_bready,
    input  logic [15:0]                    s_axil_araddr,
    input  logic [2:0]                     s_axil_arprot,
    input  logic                           s_axil_arvalid,
    output logic                           s_axil_arready,
    output logic [31:0]                    s_axil_rdata,
    output logic [1:0]                     s_axil_rresp,
    output logic                           s_axil_rvalid,
    input  logic                           s_axil_rready,

    output logic [7:0]                     m_axi_awid,
    output logic [63:0]                    m_axi_awaddr,
    output logic [7:0]                     m_axi_awlen,
    output logic [2:0]                     m_axi_awsize,
    output logic [1:0]                     m_axi_awburst,
    output logic [15:0]                    m_axi_awuser,
    output logic                           m_axi_awvalid,
    input  logic                           m_axi_awready,
    output logic [MEM_W-1:0]               m_axi_wdata,
    output logic [MEM_W/8-1:0]             m_axi_wstrb,
    output logic                           m_axi_wlast,
    output logic                           m_axi_wvalid,
    input  logic                           m_axi_wready,
    input  logic [7:0]                     m_axi_bid,
    input  logic [1:0]                     m_axi_bresp,
    input  logic                           m_axi_bvalid,
    output logic                           m_axi_bready,
    output logic [7:0]                     m_axi_arid,
    output logic [63:0]                    m_axi_araddr,
    output logic [7:0]                     m_axi_arlen,
    output logic [2:0]                     m_axi_arsize,
    output logic [1:0]                     m_axi_arburst,
    output logic [15:0]                    m_axi_aruser,
    output logic                           m_axi_arvalid,
    input  logic                           m_axi_arready,
    input  logic [7:0]                     m_axi_rid,
    input  logic [MEM_W-1:0]               m_axi_rdata,
    input  logic [1:0]                     m_axi_rresp,
    input  logic                           m_axi_rlast,
    input  logic                           m_axi_rvalid,
    output logic                           m_axi_rready,

    output logic                           irq_valid,
    input  logic                           irq_ready,
    output logic [15:0]                    irq_function,
    output logic [15:0]                    irq_vector,

    output logic                           idle
);
  import capture_pkg::*;

  localparam int unsigned RECORDS = MEM_W > 128 ? 256 : 32;  // on their way to the ring: enough for a microsecond
  localparam logic [15:0] CAPTURE_REGS = 16'hF000;  // as in regs/capture_card.rdl

  // ---------------------------------------------------------------------------------------------------------- registers
  logic [15:0] axil_awaddr, axil_araddr;
  logic [2:0] axil_awprot, axil_arprot;
  logic [31:0] axil_wdata;
  logic [3:0] axil_wstrb;
  logic [1:0] axil_awvalid, axil_awready, axil_wvalid, axil_wready, axil_bvalid, axil_bready;
  logic [1:0] axil_arvalid, axil_arready, axil_rvalid, axil_rready;
  logic [1:0][1:0] axil_bresp, axil_rresp;
  logic [1:0][31:0] axil_rdata;
  logic axil_idle;

  axil_demux #(
      .BOUNDARY(CAPTURE_REGS)
  ) u_axil_demux (
      .clk,
      .rst,
      .s_axil_awaddr,
      .s_axil_awprot,
      .s_axil_awvalid,
      .s_axil_awready,
      .s_axil_wdata,
      .s_axil_wstrb,
      .s_axil_wvalid,
      .s_axil_wready,
      .s_axil_bresp,
      .s_axil_bvalid,
      .s_axil_bready,
      .s_axil_araddr,
      .s_axil_arprot,
      .s_axil_arvalid,
      .s_axil_arready,
      .s_axil_rdata,
      .s_axil_rresp,
      .s_axil_rvalid,
      .s_axil_rready,
      .m_axil_awaddr  (axil_awaddr),
      .m_axil_awprot  (axil_awprot),
      .m_axil_awvalid (axil_awvalid),
      .m_axil_awready (axil_awready),
      .m_axil_wdata   (axil_wdata),
      .m_axil_wstrb   (axil_wstrb),
      .m_axil_wvalid  (axil_wvalid),
      .m_axil_wready  (axil_wready),
      .m_axil_bresp   (axil_bresp),
      .m_axil_bvalid  (axil_bvalid),
      .m_axil_bready  (axil_bready),
      .m_axil_araddr  (axil_araddr),
      .m_axil_arprot  (axil_arprot),
      .m_axil_arvalid (axil_arvalid),
      .m_axil_arready (axil_arready),
      .m_axil_rdata   (axil_rdata),
      .m_axil_rresp   (axil_rresp),
      .m_axil_rvalid  (axil_rvalid),
      .m_axil_rready  (axil_rready),
      .idle(axil_idle)
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
      .SLOTS(SLOTS)
  ) u_control (
      .clk,
      .rst,
      .time_ns,
      .s_axil_awaddr  (axil_awaddr),
      .s_axil_awprot  (axil_awprot),
      .s_axil_awvalid (axil_awvalid[1]),
      .s_axil_awready (axil_awready[1]),
      .s_axil_wdata   (axil_wdata),
      .s_axil_wstrb   (axil_wstrb),
      .s_axil_wvalid  (axil_wvalid[1]),
      .s_axil_wready  (axil_wready[1]),
      .s_axil_bresp   (axil_bresp[1]),
      .s_axil_bvalid  (axil_bvalid[1]),
      .s_axil_bready  (axil_bready[1]),
      .s_axil_araddr  (axil_araddr),
      .s_axil_arprot  (axil_arprot),
      .s_axil_arvalid (axil_arvalid[1]),
      .s_axil_arready (axil_arready[1]),
      .s_axil_rdata   (axil_rdata[1]),
      .s_axil_rresp   (axil_rresp[1]),
      .s_axil_rvalid  (axil_rvalid[1]),
      .s_axil_rready  (axil_rready[1]),
      .restart,
      .enable,
      .wait_for_room,
      .flow_control,
      .snaplen,
      .ring_base,
      .ring_log2,
      .consumer,
      .producer,
      .descriptor_base,
      .descriptor_log2,
      .descriptor_head,
      .descriptor_tail,
      .packets_read,
      .write_error,
      .descriptor_error,
      .busy,
      .events,
      .port_events,
      .irq_valid,
      .irq_ready,
      .irq_function,
      .irq_vector,
      .idle          (control_idle)
  );

  // -------------------------------------------------------------------------------------------------------------- ports
  // What is known of a packet beside its bytes; `error` with the last beat.
  typedef struct packed {
    logic    error;
    packet_t packet;
  } beside_t;

  localparam int unsigned SOURCES = CORES > 0 ? PORTS + 1 : PORTS;  // with filters, the host's packets come this way too
  logic [PORTS:0] source_tvalid, source_tready, source_tlast;
  logic [PORTS:0][DATA_W-1:0] source_tdata;
  logic [PORTS:0][DATA_W/8-1:0] source_tkeep;
  beside_t [PORTS:0] source_tuser;
  logic [PORTS-1:0] store_holds, store_idle;

  for (genvar port = 0; port < PORTS; port++) begin : gen_port
    packet_t packet;
    port_store #(
        .DATA_W(DATA_W),
        .STORE_KB(STORE_KB)
    ) u_store (
        .clk,
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
        .m_axis_tvalid(source_tvalid[port]),
        .m_axis_tready(source_tready[port]),
        .m_axis_tdata (source_tdata[port]),
        .m_axis_tkeep (source_tkeep[port]),
        .m_axis_tlast (source_tlast[port]),
        .m_axis_tuser (packet),
        .events       (port_events[port]),
        .holds        (store_holds[port]),
        .idle         (store_idle[port])
    );
    assign source_tuser[port] = '{error: 1'b0, packet: packet};
  end

  logic all_tvalid, all_tready, all_tlast;
  logic [DATA_W-1:0] all_tdata;
  logic [DATA_W/8-1:0] all_tkeep;
  beside_t all_tuser;
  stream_arbiter #(
      .INPUTS(SOURCES),
      .DATA_W(DATA_W),
      .USER_W($bits(beside_t))
  ) u_arbiter (
      .clk,
      .rst,
      .s_axis_tvalid(source_tvalid[SOURCES-1:0]),
      .s_axis_tready(source_tready[SOURCES-1:0]),
      .s_axis_tdata (source_tdata[SOURCES-1:0]),
      .s_axis_tkeep (source_tkeep[SOURCES-1:0]),
      .s_axis_tlast (source_tlast[SOURCES-1:0]),
      .s_axis_tuser (source_tuser[SOURCES-1:0]),
      .m_axis_tvalid(all_tvalid),
      .m_axis_tready(all_tready),
      .m_axis_tdata (all_tdata),
      .m_axis_tkeep (all_tkeep),
      .m_axis_tlast (all_tlast),
      .m_axis_tuser (all_tuser)
  );

  // ------------------------------------------------------------------------------------------------------------ filters
  logic memory_tvalid, memory_tready, memory_tlast, memory_error;
  logic [MEM_W-1:0] memory_tdata;
  logic [MEM_W/8-1:0] memory_tkeep;
  packet_t memory_tuser;

  logic kept_tvalid, kept_tready, kept_tlast, filter_idle;
  logic [DATA_W-1:0] kept_tdata;
  logic [DATA_W/8-1:0] kept_tkeep;
  packet_t kept_tuser;

  if (CORES > 0) begin : gen_filter
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
        .m_axis_tuser (source_tuser[PORTS])
    );

    bpf_pkg::load_t load;
    filter_pkg::events_t filter_events;
    logic unused_flow_control, active_set, ready, measure_read_req, measure_read_done;
    logic [bpf_pkg::SETS-1:0] set_busy;
    logic [$clog2(bpf_pkg::MEASURES)-1:0] measure_read_index;
    logic [63:0] measure_read_packets, measure_read_bytes;

    filter_control #(
        .DATA_W(DATA_W),
        .CORES(CORES),
        .IMEM_WORDS(IMEM_WORDS),
        .MAX_FRAME(MAX_FRAME)
    ) u_filter_control (
        .clk,
        .rst,
      .s_axil_awaddr  (axil_awaddr),
      .s_axil_awprot  (axil_awprot),
      .s_axil_awvalid (axil_awvalid[0]),
      .s_axil_awready (axil_awready[0]),
      .s_axil_wdata   (axil_wdata),
      .s_axil_wstrb   (axil_wstrb),
      .s_axil_wvalid  (axil_wvalid[0]),
      .s_axil_wready  (axil_wready[0]),
      .s_axil_bresp   (axil_bresp[0]),
      .s_axil_bvalid  (axil_bvalid[0]),
      .s_axil_bready  (axil_bready[0]),
      .s_axil_araddr  (axil_araddr),
      .s_axil_arprot  (axil_arprot),
      .s_axil_arvalid (axil_arvalid[0]),
      .s_axil_arready (axil_arready[0]),
      .s_axil_rdata   (axil_rdata[0]),
      .s_axil_rresp   (axil_rresp[0]),
      .s_axil_rvalid  (axil_rvalid[0]),
      .s_axil_rready  (axil_rready[0]),
        .load,
        .flow_control(unused_flow_control),
        .active_set,
        .set_busy,
        .ready,
        .events      (filter_events),
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
    tx_meta_t [2:0] out_tuser;
    logic unused_tready;
    filter_engine #(
        .DATA_W(DATA_W),
        .CORES(CORES),
        .PACKET_KB(PACKET_KB),
        .IMEM_WORDS(IMEM_WORDS),
        .MAX_FRAME(MAX_FRAME)
    ) u_filter (
        .clk,
        .rst,
        .time_ns     (all_tuser.packet.time_ns),
        .rx_tvalid   ({1'b0, all_tvalid}),
        .rx_tready   ({unused_tready, all_tready}),
        .rx_tdata    ({DATA_W'(0), all_tdata}),
        .rx_tkeep    ({(DATA_W / 8)'(0), all_tkeep}),
        .rx_tlast    ({1'b0, all_tlast}),
        .rx_tuser    ({rx_meta_t'(0), all_tuser.error, all_tuser.packet.wire_len}),
        .tx_tvalid   (out_tvalid),
        .tx_tready   ({kept_tready, 2'b11}),
        .tx_tdata    (out_tdata),
        .tx_tkeep    (out_tkeep),
        .tx_tlast    (out_tlast),
        .tx_tuser    (out_tuser),
        .load,
        .flow_control(1'b1),
        .active_set,
        .set_busy,
        .ready,
        .events      (filter_events),
        .measure_read_req,
        .measure_read_index,
        .measure_read_done,
        .measure_read_packets,
        .measure_read_bytes,
        .idle        (filter_idle)
    );

    assign kept_tvalid = out_tvalid[2];
    assign kept_tdata  = out_tdata[2];
    assign kept_tkeep  = out_tkeep[2];
    assign kept_tlast  = out_tlast[2];
    logic [LEN_W-1:0] kept_len;  // the same for all programs that matched
    always_comb begin
      kept_len = '0;
      for (int i = 0; i < int'(PROGRAMS); i++) kept_len |= out_tuser[2].snaplen[i];
    end
    assign kept_tuser = '{
        memory: 1'b0,
        empty: 1'b0,
        time_ns: out_tuser[2].timestamp_ns,
        wire_len: out_tuser[2].wire_len,
        len: kept_len < snaplen ? kept_len : snaplen
    };
  end else begin : gen_no_filter
    // There are no registers of filters: accesses are refused.
    logic write_q, read_q;
    assign axil_awready[0] = axil_awvalid[0] && axil_wvalid[0] && !write_q;
    assign axil_wready[0]  = axil_awready[0];
    assign axil_bvalid[0]  = write_q;
    assign axil_bresp[0]   = 2'b10;
    assign axil_arready[0] = !read_q;
    assign axil_rvalid[0]  = read_q;
    assign axil_rdata[0]   = '0;
    assign axil_rresp[0]   = 2'b10;
    always_ff @(posedge clk) begin
      write_q <= axil_awready[0] || (write_q && !axil_bready[0]);
      read_q  <= (axil_arvalid[0] && !read_q) || (read_q && !axil_rready[0]);
      if (rst) begin
        write_q <= 1'b0;
        read_q  <= 1'b0;
      end
    end

    assign {source_tvalid[PORTS], source_tdata[PORTS], source_tkeep[PORTS], source_tlast[PORTS], source_tuser[PORTS]} = '0;
    assign memory_tready = 1'b0;
    assign kept_tvalid   = all_tvalid;
    assign all_tready    = kept_tready;
    assign kept_tdata    = all_tdata;
    assign kept_tkeep    = all_tkeep;
    assign kept_tlast    = all_tlast;
    assign kept_tuser    = all_tuser.packet;
    assign filter_idle   = 1'b1;
  end

  // ------------------------------------------------------------------------------------------------------------- engine
  logic in_tvalid, in_tready, in_tlast, engine_idle;
  logic [MEM_W-1:0] in_tdata;
  logic [MEM_W/8-1:0] in_tkeep;
  packet_t in_tuser;
  stream_width #(
      .S_DATA_W(DATA_W),
      .M_DATA_W(MEM_W),
      .USER_W($bits(packet_t))
  ) u_width (
      .clk,
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
      .m_axis_tuser (in_tuser)
  );

  capture_engine #(
      .MEM_W(MEM_W),
      .BURST(BURST),
      .SLOTS(SLOTS),
      .READ_BUFFER(READ_BUFFER),
      .RECORDS(RECORDS),
      .FILTERED(CORES > 0)
  ) u_engine (
      .clk,
      .rst           (restart),
      .time_ns,
      .enable,
      .wait_for_room,
      .snaplen,
      .ring_base,
      .ring_log2,
      .consumer,
      .producer,
      .descriptor_base,
      .descriptor_log2,
      .descriptor_head,
      .descriptor_tail,
      .packets_read,
      .write_error,
      .descriptor_error,
      .events,
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
      .m_axi_awaddr,
      .m_axi_awlen,
      .m_axi_awsize,
      .m_axi_awburst,
      .m_axi_awvalid,
      .m_axi_awready,
      .m_axi_wdata,
      .m_axi_wstrb,
      .m_axi_wlast,
      .m_axi_wvalid,
      .m_axi_wready,
      .m_axi_bresp,
      .m_axi_bvalid,
      .m_axi_bready,
      .m_axi_araddr,
      .m_axi_arlen,
      .m_axi_arsize,
      .m_axi_arburst,
      .m_axi_arvalid,
      .m_axi_arready,
      .m_axi_rdata,
      .m_axi_rresp,
      .m_axi_rlast,
      .m_axi_rvalid,
      .m_axi_rready,
      .idle          (engine_idle)
  );
  assign {m_axi_awid, m_axi_awuser, m_axi_arid, m_axi_aruser} = '0;

  assign busy = !engine_idle || store_holds != '0 || all_tvalid || !filter_idle || kept_tvalid || in_tvalid || source_tvalid != '0;
  assign idle = !busy && store_idle == '1 && control_idle && axil_idle && axil_bvalid == '0 && axil_rvalid == '0;

  assign {tx_tvalid, tx_tdata, tx_tkeep, tx_tlast, tx_tuser} = '0;

endmodule
