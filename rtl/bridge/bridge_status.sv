// SPDX-License-Identifier: Apache-2.0
// What the bridge tells software: geometry, states, messages and events, as the registers' inputs. A message that is
// not there reads as 0. No register of its own; an event is in its counter in the cycle after it.
module bridge_status
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
    input  logic [1:0][15:0]               in_flight,
    input  logic [COUNT_W-1:0]             entered,
    input  logic [COUNT_W-1:0]             delivered,
    input  logic [COUNT_W-1:0]             no_block,
    input  port_events_t [PORTS-1:0]       port_events,
    input  logic [H2S_LANES-1:0]           h2s_message_valid,
    input  h2s_message_t [H2S_LANES-1:0]   h2s_message,
    input  logic [H2S_LANES-1:0][31:0]     batches_closed,
    input  h2s_events_t [H2S_LANES-1:0]    h2s_events,
    input  batching_t                      chosen,
    input  logic [31:0]                    service_ns,
    input  traffic_t                       traffic,
    input  logic                           s2h_message_valid,
    input  s2h_message_t                   s2h_message,
    input  s2h_events_t                    s2h_events,
    input  logic [SLOTS-1:0]               slot_idle,
    input  slot_events_t [SLOTS-1:0]       slot_events,
    input  logic [2:0]                     disarm,         // H2S, its express lane, S2H: their interrupt is raised
    output bridge_regs_pkg::bridge_regs__in_t regs_in,
    output logic                           counting        // an event is about to be counted
);

  localparam int unsigned MAP_SLOTS = 12;  // in the register map
  localparam logic [3:0] NO_SLOT = 4'd15;

  h2s_events_t bulk, express;
  h2s_message_t bulk_message, express_message;
  assign bulk            = h2s_events[BULK_LANE];
  assign express         = h2s_events[EXPRESS_LANE];
  assign bulk_message    = h2s_message_valid[BULK_LANE] ? h2s_message[BULK_LANE] : '0;
  assign express_message = h2s_message_valid[EXPRESS_LANE] ? h2s_message[EXPRESS_LANE] : '0;
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

    regs_in.h2s.mailbox.words.next           = bulk_message.words;
    regs_in.h2s.mailbox.packets.next         = bulk_message.packets;
    regs_in.h2s.mailbox.tag.next             = bulk_message.tag;
    regs_in.h2s.express_mailbox.words.next   = express_message.words;
    regs_in.h2s.express_mailbox.packets.next = express_message.packets;
    regs_in.h2s.express_mailbox.tag.next     = express_message.tag;
    regs_in.h2s.closed.value.next            = batches_closed[BULK_LANE];
    regs_in.h2s.express_closed.value.next    = batches_closed[EXPRESS_LANE];

    regs_in.h2s.packets.count.incr              = bulk.packet || express.packet;
    regs_in.h2s.packets.count.incrvalue         = 2'(bulk.packet) + 2'(express.packet);
    regs_in.h2s.bytes.count.incr                = bulk.packet || express.packet;
    regs_in.h2s.bytes.count.incrvalue           = 17'(bulk.packet ? bulk.packet_bytes : '0)
        + 17'(express.packet ? express.packet_bytes : '0);
    regs_in.h2s.express_packets.count.incr      = express.packet;
    regs_in.h2s.express_packets.count.incrvalue = 1'b1;
    regs_in.h2s.no_room.count.incr              = bulk.no_room || express.no_room;
    regs_in.h2s.no_room.count.incrvalue         = 2'(bulk.no_room) + 2'(express.no_room);
    regs_in.h2s.too_long.count.incr             = bulk.too_long || express.too_long;
    regs_in.h2s.too_long.count.incrvalue        = 2'(bulk.too_long) + 2'(express.too_long);
    regs_in.h2s.malformed.count.incr            = bulk.malformed || express.malformed;
    regs_in.h2s.malformed.count.incrvalue       = 2'(bulk.malformed) + 2'(express.malformed);
    regs_in.h2s.disabled.count.incr             = bulk.disabled || express.disabled;
    regs_in.h2s.disabled.count.incrvalue        = 2'(bulk.disabled) + 2'(express.disabled);
    regs_in.h2s.write_errors.count.incr         = bulk.write_error || express.write_error;
    regs_in.h2s.write_errors.count.incrvalue    = 14'(bulk.write_error ? bulk.write_error_packets : '0)
        + 14'(express.write_error ? express.write_error_packets : '0);
    regs_in.h2s.refused.count.incr              = bulk.buffer_refused || express.buffer_refused;
    regs_in.h2s.refused.count.incrvalue         = 2'(bulk.buffer_refused) + 2'(express.buffer_refused);
    regs_in.h2s.posts_lost.count.incr           = bulk.post_lost || express.post_lost;
    regs_in.h2s.posts_lost.count.incrvalue      = 2'(bulk.post_lost) + 2'(express.post_lost);
    for (int i = 0; i < 5; i++) begin
      regs_in.h2s.closed_by[i].count.incr      = bulk.closed && bulk.closed_reason == 3'(i);
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
    regs_in.s2h.posts_lost.count.incr       = s2h_events.post_lost;
    regs_in.s2h.posts_lost.count.incrvalue  = 1'b1;

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

  assign counting = port_events != '0 || slot_events != '0 || entered != 0 || delivered != 0 || no_block != 0
      || h2s_happens(bulk) || h2s_happens(express) || s2h_happens(s2h_events);

endmodule
