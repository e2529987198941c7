// SPDX-License-Identifier: Apache-2.0
// The bridge card: two Ethernet ports, functional blocks, and the ways to software and back, on a network on chip.
// Software gets and gives packets in batches (h2s, s2h).
// Switch 0: Ethernet ports 0 and 1, H2S, S2H. The other switches: four slots for functional blocks each.
// Conservation, in packets: entered = delivered + no_block + in flight on the network on chip; each block counts what
// it drops.
module bridge_card
  import headrace_pkg::*;
#(
    parameter int unsigned DATA_W = 64,            // of ports, network on chip and host memory bus
    parameter int unsigned SWITCHES = 2,
    parameter int unsigned CRC_SLOTS = 'hAAA,      // bit n: slot n has a CRC-32 check, otherwise a generic block
    parameter int unsigned H2S_KB = 128,
    parameter int unsigned EXPRESS_KB = 4,
    parameter int unsigned S2H_KB = 128,
    parameter int unsigned STORE_KB = 64,          // of each Ethernet port
    parameter int unsigned SLOT_KB = 32,
    parameter int unsigned BURST = 16,
    parameter int unsigned MAX_PACKET = 1514,
    parameter bit          GATED = 1'b0,           // clock gates: see clock_gate
    localparam int unsigned PORTS = 2,
    localparam int unsigned MEM_W = DATA_W
) (
    `include "card_ports.svh"
    output tx_meta_t [PORTS-1:0]           tx_tuser,
    output logic                           idle,
    output logic [63:0]                    wake_ns   // when the earliest timer is due
);
  import axi_pkg::*;
  import bridge_pkg::*;

  if (SWITCHES < 2 || SWITCHES > 4) begin : gen_bad_switches
    $fatal(1, "bridge_card: SWITCHES must be 2 to 4 (there are registers for 12 slots), not %0d", SWITCHES);
  end

  localparam int unsigned KEEP_W = DATA_W / 8;
  localparam int unsigned N = SWITCHES * BLOCKS;
  localparam int unsigned SLOTS = N - BLOCKS;
  localparam int unsigned HOST_BUFFERS = 16;
  localparam int unsigned H2S = 2, S2H = 3;      // blocks of switch 0
  localparam logic [N-1:0] SINKS = ~(N'(1) << S2H);

  // Network on chip
  // up: from a block into the network; down: to the block.
  logic [N-1:0] up_tvalid, up_tready, up_tlast, down_tvalid, down_tready, down_tlast;
  logic [N-1:0][DATA_W-1:0] up_tdata, down_tdata;
  logic [N-1:0][KEEP_W-1:0] up_tkeep, down_tkeep;
  logic express_tvalid, express_tready, express_tlast;  // critical packets down to H2S
  logic [DATA_W-1:0] express_tdata;
  logic [KEEP_W-1:0] express_tkeep;
  logic epoch, noc_idle;
  h2s_settings_t h2s_settings;
  logic [1:0][15:0] in_flight;
  logic [$clog2(N+1)-1:0] entered, delivered, no_block;
  table_write_t table_write;

  noc #(
      .DATA_W(DATA_W),
      .SWITCHES(SWITCHES),
      .SINKS(SINKS),
      .SOFTWARE(H2S),
      .GATED(GATED)
  ) u_noc (
      .clk,
      .rst,
      .express         (h2s_settings.express),
      .s_axis_tvalid(up_tvalid),
      .s_axis_tready(up_tready),
      .s_axis_tdata (up_tdata),
      .s_axis_tkeep (up_tkeep),
      .s_axis_tlast (up_tlast),
      .m_axis_tvalid(down_tvalid),
      .m_axis_tready(down_tready),
      .m_axis_tdata (down_tdata),
      .m_axis_tkeep (down_tkeep),
      .m_axis_tlast (down_tlast),
      .m_express_tvalid(express_tvalid),
      .m_express_tready(express_tready),
      .m_express_tdata (express_tdata),
      .m_express_tkeep (express_tkeep),
      .m_express_tlast (express_tlast),
      .epoch,
      .in_flight,
      .entered,
      .delivered,
      .dropped      (no_block),
      .idle         (noc_idle)
  );

  // Ethernet
  logic [PORTS-1:0] port_idle;
  port_settings_t [PORTS-1:0] port_settings;
  port_events_t [PORTS-1:0] port_events;

  for (genvar p = 0; p < PORTS; p++) begin : gen_port
    localparam noc_address_t HERE = '{switch_id: 4'd0, block: 2'(p)};
    ethernet_block #(
        .DATA_W(DATA_W),
        .STORE_KB(STORE_KB),
        .MAX_PACKET(MAX_PACKET),
        .GATED(GATED)
    ) u_ethernet (
        .clk,
        .rst,
        .time_ns,
        .here         (HERE),
        .table_write,
        .settings     (port_settings[p]),
        .rx_tvalid    (rx_tvalid[p]),
        .rx_tready    (rx_tready[p]),
        .rx_tdata     (rx_tdata[p]),
        .rx_tkeep     (rx_tkeep[p]),
        .rx_tlast     (rx_tlast[p]),
        .rx_tuser     (rx_tuser[p]),
        .tx_tvalid    (tx_tvalid[p]),
        .tx_tready    (tx_tready[p]),
        .tx_tdata     (tx_tdata[p]),
        .tx_tkeep     (tx_tkeep[p]),
        .tx_tlast     (tx_tlast[p]),
        .tx_tuser     (tx_tuser[p]),
        .s_axis_tvalid(down_tvalid[p]),
        .s_axis_tready(down_tready[p]),
        .s_axis_tdata (down_tdata[p]),
        .s_axis_tkeep (down_tkeep[p]),
        .s_axis_tlast (down_tlast[p]),
        .m_axis_tvalid(up_tvalid[p]),
        .m_axis_tready(up_tready[p]),
        .m_axis_tdata (up_tdata[p]),
        .m_axis_tkeep (up_tkeep[p]),
        .m_axis_tlast (up_tlast[p]),
        .events       (port_events[p]),
        .idle         (port_idle[p])
    );
  end

  // Functional blocks
  logic [SLOTS-1:0] slot_idle, slot_waiting;
  slot_settings_t [SLOTS-1:0] slot_settings;
  slot_events_t [SLOTS-1:0] slot_events;
  logic [SLOTS-1:0][63:0] slot_wake_ns;

  for (genvar n = 0; n < SLOTS; n++) begin : gen_slot
    localparam noc_address_t HERE = '{switch_id: 4'(1 + n / BLOCKS), block: 2'(n % BLOCKS)};
    localparam int unsigned B = BLOCKS + n;
    logic slot_clk;
    clock_gate #(
        .GATED(GATED),
        .WATCHED($bits(slot_events_t) + 4)
    ) u_gate (
        .clk,
        .rst,
        .work   (table_write.valid || !slot_idle[n]),
        .watched({slot_events[n], down_tready[B], up_tvalid[B], slot_idle[n], slot_waiting[n]}),
        .gated  (slot_clk)
    );
    functional_block #(
        .DATA_W(DATA_W),
        .KIND(CRC_SLOTS >> n & 1),
        .STORE_KB(SLOT_KB),
        .MAX_PACKET(MAX_PACKET)
    ) u_slot (
        .clk(slot_clk),
        .rst,
        .time_ns,
        .here         (HERE),
        .table_write,
        .settings     (slot_settings[n]),
        .s_axis_tvalid(down_tvalid[B]),
        .s_axis_tready(down_tready[B]),
        .s_axis_tdata (down_tdata[B]),
        .s_axis_tkeep (down_tkeep[B]),
        .s_axis_tlast (down_tlast[B]),
        .m_axis_tvalid(up_tvalid[B]),
        .m_axis_tready(up_tready[B]),
        .m_axis_tdata (up_tdata[B]),
        .m_axis_tkeep (up_tkeep[B]),
        .m_axis_tlast (up_tlast[B]),
        .events       (slot_events[n]),
        .idle         (slot_idle[n]),
        .waiting      (slot_waiting[n]),
        .wake_ns      (slot_wake_ns[n])
    );
  end

  // Registers
  axil_req_t axil_req;
  axil_rsp_t axil_rsp;
  wire accessed = axil_req.awvalid || axil_req.wvalid || axil_req.arvalid || axil_rsp.bvalid || axil_rsp.rvalid;

  // Hardware to software
  logic h2s_flush, h2s_idle;
  logic [H2S_LANES-1:0] h2s_post_valid, unused_h2s_post_ready, h2s_message_valid, h2s_message_take;
  buffer_t h2s_post;
  h2s_message_t [H2S_LANES-1:0] h2s_message;
  h2s_events_t [H2S_LANES-1:0] h2s_events;
  batching_t most, batching;
  logic [H2S_LANES-1:0][31:0] batches_closed;
  logic [63:0] h2s_wake_ns;
  logic adaptive, window, watch, analyser_idle, adaptation_idle;

  assign up_tvalid[H2S] = 1'b0;
  assign up_tdata[H2S]  = '0;
  assign up_tkeep[H2S]  = '0;
  assign up_tlast[H2S]  = 1'b0;

  logic h2s_clk;  // of adaptation too
  clock_gate #(
      .GATED(GATED),
      .HOLD(6),  // from a register's access to what it sets
      .WATCHED(2 * $bits(h2s_message_t) + $bits(batching_t) + 14)
  ) u_h2s_gate (
      .clk,
      .rst,
      .work   (accessed || !h2s_idle || !analyser_idle || !adaptation_idle),
      .watched({h2s_message_valid, h2s_happens(h2s_events[BULK_LANE]), h2s_happens(h2s_events[EXPRESS_LANE]),
                down_tready[H2S], express_tready, m_axi_awvalid, m_axi_wvalid, m_axi_bready, h2s_idle, analyser_idle,
                adaptation_idle, watch, window, h2s_message, batching}),
      .gated  (h2s_clk)
  );
  h2s #(
      .DATA_W(DATA_W),
      .BUFFER_KB(H2S_KB),
      .EXPRESS_KB(EXPRESS_KB),
      .MAX_PACKET(MAX_PACKET),
      .BURST(BURST),
      .HOST_BUFFERS(HOST_BUFFERS)
  ) u_h2s (
      .clk(h2s_clk),
      .rst,
      .time_ns,
      .enable          (h2s_settings.enable),
      .wait_for_room   (h2s_settings.wait_for_room),
      .wait_limit_ns   (h2s_settings.wait_limit_ns),
      .flush           (h2s_flush),
      .batching,
      .post_valid      (h2s_post_valid),
      .post_ready      (unused_h2s_post_ready),
      .post            (h2s_post),
      .message_valid   (h2s_message_valid),
      .message         (h2s_message),
      .message_take    (h2s_message_take),
      .s_axis_tvalid   (down_tvalid[H2S]),
      .s_axis_tready   (down_tready[H2S]),
      .s_axis_tdata    (down_tdata[H2S]),
      .s_axis_tkeep    (down_tkeep[H2S]),
      .s_axis_tlast    (down_tlast[H2S]),
      .s_express_tvalid(express_tvalid),
      .s_express_tready(express_tready),
      .s_express_tdata (express_tdata),
      .s_express_tkeep (express_tkeep),
      .s_express_tlast (express_tlast),
      .m_axi_awid,
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
      .m_axi_bid,
      .m_axi_bresp,
      .m_axi_bvalid,
      .m_axi_bready,
      .events          (h2s_events),
      .batches_closed,
      .idle            (h2s_idle),
      .wake_ns         (h2s_wake_ns)
  );
  assign m_axi_awuser = '0;

  // Adaptation
  logic [31:0] target_ns, service_ns;
  logic [4:0] window_log2;
  logic [63:0] analyser_wake_ns;
  traffic_t traffic;

  traffic_analyser u_analyser (
      .clk(h2s_clk),
      .rst,
      .time_ns,
      .window_log2,
      .packet      (h2s_events[BULK_LANE].packet),
      .packet_bytes(h2s_events[BULK_LANE].packet_bytes),
      .watch,
      .window,
      .packets     (traffic.packets),
      .bytes       (traffic.bytes),
      .gap_min     (traffic.gap_min),
      .gap_max     (traffic.gap_max),
      .size_min    (traffic.size_min),
      .size_max    (traffic.size_max),
      .idle        (analyser_idle),
      .wake_ns     (analyser_wake_ns)
  );

  adaptive_batching u_adaptation (
      .clk(h2s_clk),
      .rst,
      .time_ns,
      .enable    (adaptive),
      .target_ns,
      .most,
      .closed    (h2s_events[BULK_LANE].closed),
      .taken     (h2s_message_take[BULK_LANE] && h2s_message[BULK_LANE].words != REFUSED),
      .posted    (h2s_post_valid[BULK_LANE]),
      .window,
      .packets   (traffic.packets),
      .gap_min   (traffic.gap_min),
      .chosen    (batching),
      .service_ns,
      .watch,
      .idle      (adaptation_idle)
  );

  // Software to hardware
  logic s2h_enable, s2h_post_valid, unused_s2h_post_ready, s2h_message_valid, s2h_message_take, s2h_idle;
  buffer_t s2h_post;
  s2h_message_t s2h_message;
  s2h_events_t s2h_events;

  assign down_tready[S2H] = 1'b0;  // the network drops what is sent here

  logic s2h_clk;
  clock_gate #(
      .GATED(GATED),
      .HOLD(6),
      .WATCHED(6)
  ) u_s2h_gate (
      .clk,
      .rst,
      .work   (accessed || !s2h_idle),
      .watched({s2h_message_valid, s2h_happens(s2h_events), up_tvalid[S2H], m_axi_arvalid, m_axi_rready, s2h_idle}),
      .gated  (s2h_clk)
  );
  s2h #(
      .DATA_W(DATA_W),
      .BUFFER_KB(S2H_KB),
      .MAX_PACKET(MAX_PACKET),
      .BURST(BURST),
      .HOST_BUFFERS(HOST_BUFFERS)
  ) u_s2h (
      .clk(s2h_clk),
      .rst,
      .enable       (s2h_enable),
      .post_valid   (s2h_post_valid),
      .post_ready   (unused_s2h_post_ready),
      .post         (s2h_post),
      .message_valid(s2h_message_valid),
      .message      (s2h_message),
      .message_take (s2h_message_take),
      .m_axis_tvalid(up_tvalid[S2H]),
      .m_axis_tready(up_tready[S2H]),
      .m_axis_tdata (up_tdata[S2H]),
      .m_axis_tkeep (up_tkeep[S2H]),
      .m_axis_tlast (up_tlast[S2H]),
      .m_axi_arid,
      .m_axi_araddr,
      .m_axi_arlen,
      .m_axi_arsize,
      .m_axi_arburst,
      .m_axi_arvalid,
      .m_axi_arready,
      .m_axi_rid,
      .m_axi_rdata,
      .m_axi_rresp,
      .m_axi_rlast,
      .m_axi_rvalid,
      .m_axi_rready,
      .events       (s2h_events),
      .idle         (s2h_idle)
  );
  assign m_axi_aruser = '0;

  // Registers
  logic control_idle, control_clk;
  axil_ports u_axil_ports (
      .*,
      .req(axil_req),
      .rsp(axil_rsp)
  );

  clock_gate #(
      .GATED(GATED),
      .HOLD(4),
      .WATCHED($bits(axil_rsp_t) + $bits(port_settings) + $bits(slot_settings) + $bits(most) + 9)
  ) u_control_gate (
      .clk,
      .rst,
      .work   (accessed || !control_idle),
      .watched({axil_rsp, port_settings, slot_settings, most, epoch, table_write.valid, h2s_flush, h2s_post_valid,
                s2h_post_valid, s2h_enable, irq_valid, control_idle}),
      .gated  (control_clk)
  );
  bridge_control #(
      .DATA_W(DATA_W),
      .SWITCHES(SWITCHES),
      .H2S_KB(H2S_KB),
      .EXPRESS_KB(EXPRESS_KB),
      .HOST_BUFFERS(HOST_BUFFERS),
      .MAX_PACKET(MAX_PACKET),
      .CRC_SLOTS(CRC_SLOTS)
  ) u_control (
      .*,
      .clk     (control_clk),
      .s_req   (axil_req),
      .s_rsp   (axil_rsp),
      .batching(most),
      .chosen  (batching),
      .idle    (control_idle)
  );

  // Packets that a held slot keeps change nothing by themselves.
  assign idle = control_idle && noc_idle && &port_idle && &(slot_idle | slot_waiting) && h2s_idle && s2h_idle
      && analyser_idle && adaptation_idle;

  always_comb begin
    wake_ns = h2s_wake_ns;
    if (analyser_wake_ns < wake_ns) wake_ns = analyser_wake_ns;
    for (int n = 0; n < int'(SLOTS); n++) if (slot_wake_ns[n] < wake_ns) wake_ns = slot_wake_ns[n];
  end

endmodule
