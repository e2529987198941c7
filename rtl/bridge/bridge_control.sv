// The registers of the bridge (regs/bridge.rdl), what follows from them, and its interrupts.
module bridge_control
  import bridge_pkg::*;
#(
    parameter int unsigned DATA_W = 64,
    parameter int unsigned SWITCHES = 2,
    parameter int unsigned H2S_KB = 128,
    parameter int unsigned EXPRESS_KB = 4,
    parameter int unsigned HOST_BUFFERS = 16,
    parameter int unsigned MAX_PACKET = 1514,
    parameter int unsigned CRC_SLOTS = 0,          // bit n: slot n has a CRC-32 check
    localparam int unsigned PORTS = 2,
    localparam int unsigned SLOTS = (SWITCHES - 1) * BLOCKS,
    localparam int unsigned COUNT_W = $clog2(SWITCHES * BLOCKS + 1)
) (
    input  logic                           clk,
    input  logic                           rst,

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

    output logic                           epoch,
    input  logic [1:0][15:0]               in_flight,
    input  logic [COUNT_W-1:0]             entered,
    input  logic [COUNT_W-1:0]             delivered,
    input  logic [COUNT_W-1:0]             no_block,
    output table_write_t                   table_write,

    output logic [PORTS-1:0]               port_enable,
    output logic [PORTS-1:0]               port_flow_control,
    output logic [PORTS-1:0][6:0]          port_key_offset,
    input  port_events_t [PORTS-1:0]       port_events,

    output logic                           h2s_enable,
    output logic                           h2s_wait_for_room,
    output logic                           h2s_express,
    output logic                           h2s_flush,
    output batching_t                      batching,        // as software set it
    output logic                           h2s_post_valid,
    output logic                           h2s_express_post_valid,
    output buffer_t                        h2s_post,
    input  logic                           h2s_message_valid,
    input  h2s_message_t                   h2s_message,
    output logic                           h2s_message_take,
    input  logic                           express_message_valid,
    input  h2s_message_t                   express_message,
    output logic                           express_message_take,
    input  logic [31:0]                    batches_closed,
    input  logic [31:0]                    express_closed,
    input  h2s_events_t                    h2s_events,

    output logic                           adaptive,
    output logic [31:0]                    target_ns,
    output logic [4:0]                     window_log2,
    input  batching_t                      chosen,
    input  logic [31:0]                    service_ns,
    input  traffic_t                       traffic,

    output logic                           s2h_enable,
    output logic                           s2h_post_valid,
    output buffer_t                        s2h_post,
    input  logic                           s2h_message_valid,
    input  s2h_message_t                   s2h_message,
    output logic                           s2h_message_take,
    input  s2h_events_t                    s2h_events,

    output logic [SLOTS-1:0]               slot_enable,
    output logic [SLOTS-1:0]               slot_hold,
    output logic [SLOTS-1:0][31:0]         slot_packet_ns,
    output logic [SLOTS-1:0][31:0]         slot_byte_ns_256,
    input  logic [SLOTS-1:0]               slot_idle,
    input  slot_events_t [SLOTS-1:0]       slot_events,

    output logic                           irq_valid,
    input  logic                           irq_ready,
    output logic [15:0]                    irq_function,
    output logic [15:0]                    irq_vector,
    output logic                           idle
);

  localparam int unsigned MAP_SLOTS = 12;  // in the register map
  localparam logic [3:0] NO_SLOT = 4'd15;

  bridge_regs_pkg::bridge_regs__in_t regs_in;
  bridge_regs_pkg::bridge_regs__out_t regs_out;

  bridge_regs u_regs (
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
      .hwif_in (regs_in),
      .hwif_out(regs_out)
  );

  // ------------------------------------------------------------------------------------------------------- host to card
  assign epoch = regs_out.epoch.value.value;

  always_ff @(posedge clk) begin
    table_write.valid             <= regs_out.table_write.write.value;
    table_write.address.block     <= regs_out.table_write.block.value;
    table_write.address.switch_id <= regs_out.table_write.switch_id.value;
    table_write.index             <= regs_out.table_write.index.value;
    if (rst) table_write.valid <= 1'b0;
  end
  assign table_write.entry = '{
      valid: regs_out.table_target.valid.value,
      header: '{
          level: regs_out.table_target.priority_level.value,
          address: '{switch_id: regs_out.table_target.switch_id.value, block: regs_out.table_target.block.value},
          egress: regs_out.table_target.egress.value,
          critical: regs_out.table_target.critical.value,
          source: regs_out.table_source.value.value,
          destination: regs_out.table_destination.value.value
      },
      key: regs_out.table_key.value.value,
      mask: regs_out.table_mask.value.value
  };

  // A buffer's words are in their register one cycle after the write that gives it.
  logic h2s_posted_q, s2h_posted_q;
  always_ff @(posedge clk) begin
    h2s_posted_q <= regs_out.h2s.post.express.swmod;
    s2h_posted_q <= regs_out.s2h.post.words.swmod;
    if (rst) begin
      h2s_posted_q <= 1'b0;
      s2h_posted_q <= 1'b0;
    end
  end

  assign h2s_enable             = regs_out.h2s.control.enable.value;
  assign h2s_wait_for_room      = regs_out.h2s.control.wait_for_room.value;
  assign h2s_express            = regs_out.h2s.control.express.value;
  assign h2s_flush              = regs_out.h2s.control.flush.value;
  assign batching.single        = regs_out.h2s.control.single.value;
  assign batching.bytes         = regs_out.h2s.limit.bytes.value;
  assign batching.timeout_ns    = regs_out.h2s.timeout.ns.value;
  assign h2s_post_valid         = h2s_posted_q && !regs_out.h2s.post.express.value;
  assign h2s_express_post_valid = h2s_posted_q && regs_out.h2s.post.express.value;
  assign h2s_post.tag           = regs_out.h2s.post.tag.value;
  assign h2s_post.words         = regs_out.h2s.post.words.value;
  assign h2s_post.page          = {regs_out.h2s.address.high.value, regs_out.h2s.address.low.value[31:12]};
  assign h2s_message_take       = regs_out.h2s.mailbox.words.swacc && h2s_message_valid;
  assign express_message_take   = regs_out.h2s.express_mailbox.words.swacc && express_message_valid;

  assign adaptive    = regs_out.h2s.control.adaptive.value;
  assign target_ns   = regs_out.adaptation.target.ns.value;
  assign window_log2 = regs_out.adaptation.window.log2.value;

  assign s2h_enable       = regs_out.s2h.control.enable.value;
  assign s2h_post_valid   = s2h_posted_q;
  assign s2h_post.tag     = regs_out.s2h.post.tag.value;
  assign s2h_post.words   = regs_out.s2h.post.words.value;
  assign s2h_post.page    = {regs_out.s2h.address.high.value, regs_out.s2h.address.low.value[31:12]};
  assign s2h_message_take = regs_out.s2h.mailbox.read_error.swacc && s2h_message_valid;

  always_comb begin
    for (int i = 0; i < int'(PORTS); i++) begin
      port_enable[i]       = regs_out.port[i].control.enable.value;
      port_flow_control[i] = regs_out.port[i].control.flow_control.value;
      port_key_offset[i]   = regs_out.port[i].control.key_offset.value;
    end
    for (int i = 0; i < int'(SLOTS); i++) begin
      slot_enable[i]      = regs_out.slot[i].control.enable.value;
      slot_hold[i]        = regs_out.slot[i].control.hold.value;
      slot_packet_ns[i]   = regs_out.slot[i].packet_time.ns.value;
      slot_byte_ns_256[i] = regs_out.slot[i].byte_time.ns_256.value;
    end
  end

  // ------------------------------------------------------------------------------------------------------- card to host
  logic [2:0] disarm;
  slot_events_t [MAP_SLOTS-1:0] events_of;
  assign events_of = (MAP_SLOTS * $bits(slot_events_t))'(slot_events);

  always_comb begin
    regs_in.geometry.data_w.next      = 16'(DATA_W);
    regs_in.geometry.switches.next    = 4'(SWITCHES);
    regs_in.geometry.slots.next       = 8'(SLOTS);
    regs_in.buffers.h2s_kb.next       = 16'(H2S_KB);
    regs_in.buffers.express_kb.next   = 8'(EXPRESS_KB);
    regs_in.buffers.host_buffers.next = 8'(HOST_BUFFERS);
    regs_in.max_packet.value.next     = MAX_PACKET;

    regs_in.in_flight.epoch0.next      = in_flight[0];
    regs_in.in_flight.epoch1.next      = in_flight[1];
    regs_in.entered.count.incr         = entered != 0;
    regs_in.entered.count.incrvalue    = 5'(entered);
    regs_in.delivered.count.incr       = delivered != 0;
    regs_in.delivered.count.incrvalue  = 5'(delivered);
    regs_in.no_block.count.incr        = no_block != 0;
    regs_in.no_block.count.incrvalue   = 5'(no_block);

    regs_in.interrupt.h2s.next     = 1'b0;
    regs_in.interrupt.h2s.we       = disarm[0];
    regs_in.interrupt.express.next = 1'b0;
    regs_in.interrupt.express.we   = disarm[1];
    regs_in.interrupt.s2h.next     = 1'b0;
    regs_in.interrupt.s2h.we       = disarm[2];

    for (int i = 0; i < int'(PORTS); i++) begin
      regs_in.port[i].frames.count.incr       = port_events[i].frame;
      regs_in.port[i].frames.count.incrvalue  = 1'b1;
      regs_in.port[i].bytes.count.incr        = port_events[i].frame;
      regs_in.port[i].bytes.count.incrvalue   = port_events[i].frame_bytes;
      regs_in.port[i].bad.count.incr          = port_events[i].bad;
      regs_in.port[i].bad.count.incrvalue     = 1'b1;
      regs_in.port[i].disabled.count.incr     = port_events[i].disabled;
      regs_in.port[i].disabled.count.incrvalue = 1'b1;
      regs_in.port[i].too_long.count.incr     = port_events[i].too_long;
      regs_in.port[i].too_long.count.incrvalue = 1'b1;
      regs_in.port[i].overflow.count.incr     = port_events[i].overflow;
      regs_in.port[i].overflow.count.incrvalue = 1'b1;
      regs_in.port[i].unknown.count.incr      = port_events[i].unknown;
      regs_in.port[i].unknown.count.incrvalue = 1'b1;
      regs_in.port[i].sent.count.incr         = port_events[i].sent;
      regs_in.port[i].sent.count.incrvalue    = 1'b1;
      regs_in.port[i].tx_malformed.count.incr = port_events[i].tx_malformed;
      regs_in.port[i].tx_malformed.count.incrvalue = 1'b1;
      regs_in.port[i].held.count.incr         = port_events[i].held;
      regs_in.port[i].held.count.incrvalue    = 1'b1;
    end

    regs_in.h2s.mailbox.words.next           = h2s_message_valid ? h2s_message.words : '0;
    regs_in.h2s.mailbox.packets.next         = h2s_message_valid ? h2s_message.packets : '0;
    regs_in.h2s.mailbox.tag.next             = h2s_message_valid ? h2s_message.tag : '0;
    regs_in.h2s.express_mailbox.words.next   = express_message_valid ? express_message.words : '0;
    regs_in.h2s.express_mailbox.packets.next = express_message_valid ? express_message.packets : '0;
    regs_in.h2s.express_mailbox.tag.next     = express_message_valid ? express_message.tag : '0;
    regs_in.h2s.closed.value.next            = batches_closed;
    regs_in.h2s.express_closed.value.next    = express_closed;

    regs_in.h2s.packets.count.incr              = h2s_events.packet;
    regs_in.h2s.packets.count.incrvalue         = 1'b1;
    regs_in.h2s.bytes.count.incr                = h2s_events.packet;
    regs_in.h2s.bytes.count.incrvalue           = h2s_events.packet_bytes;
    regs_in.h2s.express_packets.count.incr      = h2s_events.packet && h2s_events.packet_express;
    regs_in.h2s.express_packets.count.incrvalue = 1'b1;
    regs_in.h2s.no_room.count.incr              = h2s_events.no_room;
    regs_in.h2s.no_room.count.incrvalue         = 1'b1;
    regs_in.h2s.too_long.count.incr             = h2s_events.too_long;
    regs_in.h2s.too_long.count.incrvalue        = 1'b1;
    regs_in.h2s.malformed.count.incr            = h2s_events.malformed;
    regs_in.h2s.malformed.count.incrvalue       = 1'b1;
    regs_in.h2s.disabled.count.incr             = h2s_events.disabled;
    regs_in.h2s.disabled.count.incrvalue        = 1'b1;
    regs_in.h2s.write_errors.count.incr         = h2s_events.write_error;
    regs_in.h2s.write_errors.count.incrvalue    = h2s_events.write_error_packets;
    regs_in.h2s.refused.count.incr              = h2s_events.buffer_refused;
    regs_in.h2s.refused.count.incrvalue         = 1'b1;
    for (int i = 0; i < 5; i++) begin
      regs_in.h2s.closed_by[i].count.incr      = h2s_events.closed && h2s_events.closed_reason == 3'(i);
      regs_in.h2s.closed_by[i].count.incrvalue = 1'b1;
    end

    regs_in.adaptation.bytes.value.next         = 32'(chosen.bytes);
    regs_in.adaptation.timeout.value.next       = chosen.timeout_ns;
    regs_in.adaptation.single.value.next        = 32'(chosen.single);
    regs_in.adaptation.service.value.next       = service_ns;
    regs_in.adaptation.packets.value.next       = traffic.packets;
    regs_in.adaptation.traffic_bytes.value.next = traffic.bytes;
    regs_in.adaptation.gap_min.value.next       = traffic.gap_min;
    regs_in.adaptation.gap_max.value.next       = traffic.gap_max;
    regs_in.adaptation.size_min.value.next      = 32'(traffic.size_min);
    regs_in.adaptation.size_max.value.next      = 32'(traffic.size_max);

    regs_in.s2h.mailbox.read_error.next     = s2h_message_valid && s2h_message.read_error;
    regs_in.s2h.mailbox.malformed.next      = s2h_message_valid && s2h_message.malformed;
    regs_in.s2h.mailbox.valid.next          = s2h_message_valid;
    regs_in.s2h.mailbox.packets.next        = s2h_message_valid ? s2h_message.packets : '0;
    regs_in.s2h.mailbox.tag.next            = s2h_message_valid ? s2h_message.tag : '0;
    regs_in.s2h.packets.count.incr          = s2h_events.packet;
    regs_in.s2h.packets.count.incrvalue     = 1'b1;
    regs_in.s2h.bytes.count.incr            = s2h_events.packet;
    regs_in.s2h.bytes.count.incrvalue       = s2h_events.packet_bytes;
    regs_in.s2h.malformed.count.incr        = s2h_events.malformed;
    regs_in.s2h.malformed.count.incrvalue   = 1'b1;
    regs_in.s2h.read_errors.count.incr      = s2h_events.read_error;
    regs_in.s2h.read_errors.count.incrvalue = 1'b1;

    for (int i = 0; i < int'(MAP_SLOTS); i++) begin
      regs_in.slot[i].status.kind.next = i < int'(SLOTS) ? 4'(CRC_SLOTS >> i & 1) : NO_SLOT;
      regs_in.slot[i].status.idle.next = i < int'(SLOTS) ? slot_idle[i%int'(SLOTS)] : 1'b1;
      regs_in.slot[i].received.count.incr       = events_of[i].received;
      regs_in.slot[i].received.count.incrvalue  = 1'b1;
      regs_in.slot[i].overflow.count.incr       = events_of[i].overflow;
      regs_in.slot[i].overflow.count.incrvalue  = 1'b1;
      regs_in.slot[i].malformed.count.incr      = events_of[i].malformed;
      regs_in.slot[i].malformed.count.incrvalue = 1'b1;
      regs_in.slot[i].unknown.count.incr        = events_of[i].unknown;
      regs_in.slot[i].unknown.count.incrvalue   = 1'b1;
      regs_in.slot[i].refused.count.incr        = events_of[i].refused;
      regs_in.slot[i].refused.count.incrvalue   = 1'b1;
      regs_in.slot[i].sent.count.incr           = events_of[i].sent;
      regs_in.slot[i].sent.count.incrvalue      = 1'b1;
    end
  end

  // --------------------------------------------------------------------------------------------------------- interrupts
  wire [2:0] armed = {
    regs_out.interrupt.s2h.value, regs_out.interrupt.express.value, regs_out.interrupt.h2s.value
  };
  wire [2:0] due = armed & {s2h_message_valid, express_message_valid, h2s_message_valid};
  wire [2:0] first = due & (~due + 1'b1);
  always_ff @(posedge clk) begin
    if (irq_ready) irq_valid <= 1'b0;
    disarm <= '0;
    if (!irq_valid && disarm == '0 && due != '0) begin
      irq_valid  <= 1'b1;
      irq_vector <= first[2] ? 16'd2 : first[1] ? 16'd1 : 16'd0;
      disarm     <= first;
    end
    if (rst) begin
      irq_valid <= 1'b0;
      disarm    <= '0;
    end
  end
  assign irq_function = '0;

  logic counting;
  always_comb begin
    counting = slot_events != '0 || entered != 0 || delivered != 0 || no_block != 0;
    counting |= h2s_events.packet || h2s_events.malformed || h2s_events.too_long || h2s_events.no_room;
    counting |= h2s_events.disabled || h2s_events.closed || h2s_events.write_error || h2s_events.buffer_refused;
    counting |= s2h_events.packet || s2h_events.malformed || s2h_events.read_error;
    for (int i = 0; i < int'(PORTS); i++) begin
      counting |= port_events[i].frame || port_events[i].bad || port_events[i].disabled || port_events[i].too_long;
      counting |= port_events[i].overflow || port_events[i].unknown || port_events[i].sent || port_events[i].tx_malformed;
      counting |= port_events[i].held;
    end
  end
  assign idle = !irq_valid && disarm == '0 && due == '0 && !table_write.valid && !regs_out.table_write.write.value
      && !h2s_posted_q && !s2h_posted_q && !counting;

endmodule
