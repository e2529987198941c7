// SPDX-License-Identifier: Apache-2.0
// What goes between the parts of the action processor.
package switch_step_pkg;
  import switch_pkg::*;
  // No function looks at all of its arguments.
  // verilator lint_off UNUSEDSIGNAL

  // Headers that a packet came with; what of them is not there can't be set.
  typedef struct packed {
    logic ipv4;
    logic ipv6;
    logic arp;
    logic proto;   // of IPv4, or IPv6 without extension headers: the IP header names what is behind it
    logic label;   // of MPLS, right behind the type
    logic below;   // and what is below it is known
    logic below_ipv4;
    logic tcp;
    logic udp;
    logic sctp;
    logic icmp;
    logic icmpv6;
    logic nd;
    logic sll;     // a solicitation with a link address
    logic tll;     // an advertisement with one
    logic routed;  // l4's checksum isn't of its destination
  } kinds_t;

  typedef struct packed {
    kinds_t             kinds;
    logic               quiet;     // the host gets no copies of it
    match_t             fields;
    layers_t            layers;
    logic [BYTES_W-1:0] bytes;
    logic [63:0]        metadata;
  } arrival_t;

  // Sums in ones' complement of the words that checksums are of: of the IPv4 header, and of what belongs to l4; of SCTP
  // its ports.
  typedef struct packed {
    logic [15:0] l3;
    logic [31:0] l4;
  } sums_t;

  // Places of the action set: for each op, of ACT_SET_FIELD for each field and one for both ways of output.
  localparam int unsigned PLACE_W = 6;
  localparam logic [PLACE_W-1:0] PLACE_FIELDS = 6'd10;  // of field 0
  localparam logic [PLACE_W-1:0] NOWHERE = 6'd63;       // of ops that no action set has

  // A word of a program as it comes from memory.
  typedef struct packed {
    action_t              action;
    logic [PROGRAM_W-1:0] address;
    logic                 starts;   // the first one of a table's program
    logic                 closing;  // that program is the packet's last one
    logic                 ends;     // no more of it comes unasked
    logic                 control;  // decides what comes next
    logic                 twice;    // makes a copy, and one by `out`
    logic                 kept;     // goes to the action set, if there is one
    logic [PLACE_W-1:0]   place;    // there
  } word_t;

  // What is done next.
  typedef struct packed {
    action_t              action;
    logic [PROGRAM_W-1:0] origin;
    logic                 first;   // of its packet
    logic                 last;
  } step_t;

  function automatic logic is_control(action_t action);
    return !action.keep && action.op inside {ACT_GROUP, ACT_JUMP, ACT_SELECT, ACT_UNLESS_LIVE};
  endfunction

  function automatic logic is_copy(action_t action);
    return action.op inside {ACT_OUTPUT, ACT_CONTROLLER, ACT_RESUBMIT};
  endfunction

  function automatic logic [PLACE_W-1:0] place_of(action_t action);
    unique case (action.op)
      ACT_COPY_TTL_IN: return 6'd0;
      ACT_POP_VLAN: return 6'd1;
      ACT_POP_MPLS: return 6'd2;
      ACT_PUSH_MPLS: return 6'd3;
      ACT_PUSH_VLAN: return 6'd4;
      ACT_COPY_TTL_OUT: return 6'd5;
      ACT_DEC_NW_TTL: return 6'd6;
      ACT_DEC_MPLS_TTL: return 6'd7;
      ACT_SET_NW_TTL: return 6'd8;
      ACT_SET_MPLS_TTL: return 6'd9;
      ACT_SET_FIELD: return action.field < OXM_COUNT ? PLACE_FIELDS + action.field : NOWHERE;
      ACT_CUSTOM: return 6'd60;
      ACT_GROUP: return 6'd61;
      ACT_OUTPUT, ACT_CONTROLLER: return 6'd62;
      default: return NOWHERE;
    endcase
  endfunction

  function automatic logic [PORTS_MAX-1:0] port_bit(logic [PORT_W-1:0] port);
    for (int unsigned i = 0; i < PORTS_MAX; i++) port_bit[i] = port == PORT_W'(i + 1);
  endfunction

  function automatic kinds_t kinds_of(match_t fields, layers_t layers);
    kinds_of.ipv4   = fields.l3 && fields.eth_type == ETH_IPV4;
    kinds_of.ipv6   = fields.l3 && fields.eth_type == ETH_IPV6;
    kinds_of.arp    = fields.l3 && fields.eth_type == ETH_ARP;
    kinds_of.proto  = kinds_of.ipv4 || (kinds_of.ipv6 && !(fields.exthdr.hop || fields.exthdr.router
                      || fields.exthdr.frag || fields.exthdr.dest || fields.exthdr.auth));
    kinds_of.label  = fields.l3 && fields.eth_type inside {ETH_MPLS, ETH_MPLS_MULTICAST}
                      && layers.l3 == 8'd14 + 8'({layers.tags, 2'b00});
    kinds_of.below  = kinds_of.label && layers.below != BELOW_UNKNOWN;
    kinds_of.below_ipv4 = kinds_of.label && layers.below == BELOW_IPV4;
    kinds_of.tcp    = fields.l4 && fields.ip_proto == IP_TCP;
    kinds_of.udp    = fields.l4 && fields.ip_proto == IP_UDP;
    kinds_of.sctp   = fields.l4 && fields.ip_proto == IP_SCTP;
    kinds_of.icmp   = fields.l4 && fields.ip_proto == IP_ICMP;
    kinds_of.icmpv6 = fields.l4 && fields.ip_proto == IP_ICMPV6;
    kinds_of.nd     = fields.nd;
    kinds_of.routed = layers.routed;
    kinds_of.sll    = fields.nd && fields.l4_src == ND_SOLICIT && layers.link != '0;
    kinds_of.tll    = fields.nd && fields.l4_src == ND_ADVERTISE && layers.link != '0;
  endfunction

  // A packet of which a narrow parser tells
  function automatic arrival_t narrowed_arrival(arrival_t from);
    narrowed_arrival        = from;
    narrowed_arrival.fields = narrowed(from.fields);
    narrowed_arrival.layers = narrowed_layers(from.layers);
    narrowed_arrival.kinds  = '{
        ipv4: from.kinds.ipv4,
        proto: from.kinds.ipv4,
        tcp: from.kinds.tcp,
        udp: from.kinds.udp,
        sctp: from.kinds.sctp,
        icmp: from.kinds.icmp,
        default: 1'b0
    };
  endfunction

  // verilator lint_on UNUSEDSIGNAL
endpackage
