// SPDX-License-Identifier: Apache-2.0
// The OpenFlow switch: what is matched of a packet and where its headers lie, what goes with it through the flow
// tables, and what is done to it then.
package switch_pkg;
  // A part needs not all of them.
  // verilator lint_off UNUSEDPARAM

  localparam int unsigned PORT_W = 8;

  // How deep the parser looks, in bytes: an Ethernet header, then words of 4 bytes, which all headers behind it consist
  // of. A narrow one needs two tags, SNAP, the longest IPv4 header and that of TCP.
  localparam int unsigned HEAD_WORDS = 48;
  localparam int unsigned HEAD_WORDS_NARROW = 24;

  localparam int unsigned VLAN_AT = 12;  // byte that the first tag begins at, where there is one

  localparam logic [15:0] ETH_VLAN = 16'h8100;
  localparam logic [15:0] ETH_QINQ = 16'h88a8;
  localparam logic [15:0] ETH_IPV4 = 16'h0800;
  localparam logic [15:0] ETH_ARP = 16'h0806;
  localparam logic [15:0] ETH_IPV6 = 16'h86dd;
  localparam logic [15:0] ETH_MPLS = 16'h8847;
  localparam logic [15:0] ETH_MPLS_MULTICAST = 16'h8848;
  localparam logic [15:0] ETH_NONE = 16'h05ff;  // a frame without a type, as OpenFlow calls it

  localparam logic [7:0] IP_HOP_BY_HOP = 8'd0;
  localparam logic [7:0] IP_ICMP = 8'd1;
  localparam logic [7:0] IP_TCP = 8'd6;
  localparam logic [7:0] IP_UDP = 8'd17;
  localparam logic [7:0] IP_ROUTING = 8'd43;
  localparam logic [7:0] IP_FRAGMENT = 8'd44;
  localparam logic [7:0] IP_ESP = 8'd50;
  localparam logic [7:0] IP_AUTH = 8'd51;
  localparam logic [7:0] IP_ICMPV6 = 8'd58;
  localparam logic [7:0] IP_NO_NEXT = 8'd59;
  localparam logic [7:0] IP_DESTINATION = 8'd60;
  localparam logic [7:0] IP_SCTP = 8'd132;

  localparam logic [15:0] ND_SOLICIT = 16'd135;
  localparam logic [15:0] ND_ADVERTISE = 16'd136;

  // Match fields, by the numbers of OXM (OFPXMT_OFB_*); PBB_ISID (37) is missing.
  typedef enum logic [5:0] {
    OXM_IN_PORT = 6'd0,
    OXM_IN_PHY_PORT = 6'd1,
    OXM_METADATA = 6'd2,
    OXM_ETH_DST = 6'd3,
    OXM_ETH_SRC = 6'd4,
    OXM_ETH_TYPE = 6'd5,
    OXM_VLAN_VID = 6'd6,
    OXM_VLAN_PCP = 6'd7,
    OXM_IP_DSCP = 6'd8,
    OXM_IP_ECN = 6'd9,
    OXM_IP_PROTO = 6'd10,
    OXM_IPV4_SRC = 6'd11,
    OXM_IPV4_DST = 6'd12,
    OXM_TCP_SRC = 6'd13,
    OXM_TCP_DST = 6'd14,
    OXM_UDP_SRC = 6'd15,
    OXM_UDP_DST = 6'd16,
    OXM_SCTP_SRC = 6'd17,
    OXM_SCTP_DST = 6'd18,
    OXM_ICMPV4_TYPE = 6'd19,
    OXM_ICMPV4_CODE = 6'd20,
    OXM_ARP_OP = 6'd21,
    OXM_ARP_SPA = 6'd22,
    OXM_ARP_TPA = 6'd23,
    OXM_ARP_SHA = 6'd24,
    OXM_ARP_THA = 6'd25,
    OXM_IPV6_SRC = 6'd26,
    OXM_IPV6_DST = 6'd27,
    OXM_IPV6_FLABEL = 6'd28,
    OXM_ICMPV6_TYPE = 6'd29,
    OXM_ICMPV6_CODE = 6'd30,
    OXM_IPV6_ND_TARGET = 6'd31,
    OXM_IPV6_ND_SLL = 6'd32,
    OXM_IPV6_ND_TLL = 6'd33,
    OXM_MPLS_LABEL = 6'd34,
    OXM_MPLS_TC = 6'd35,
    OXM_MPLS_BOS = 6'd36,
    OXM_TUNNEL_ID = 6'd38,
    OXM_IPV6_EXTHDR = 6'd39
  } oxm_t;
  localparam logic [5:0] OXM_COUNT = 6'd40;

  // IPV6_EXTHDR, the highest bit first.
  typedef struct packed {
    logic unseq;     // extension headers not in the order that RFC 2460 prefers
    logic unrep;     // one more often than expected
    logic hop;       // hop-by-hop options, as the first one
    logic router;
    logic frag;
    logic dest;
    logic auth;
    logic esp;
    logic nonext;
  } exthdr_t;

  // Every basic match field of OpenFlow 1.3 but PBB_ISID. Fields that no packet has together share bits; eth_type and
  // ip_proto say which they are, and l3, l4 and nd whether they are there. What is not there is 0.
  typedef struct packed {
    logic [63:0]       metadata;  // 0 from the parser
    logic [63:0]       tunnel_id; // 0 from the parser
    logic [PORT_W-1:0] in_port;   // and IN_PHY_PORT, which is the same
    logic [47:0]       eth_dst;
    logic [47:0]       eth_src;
    logic [15:0]       eth_type;  // that behind the tags
    logic              vlan;      // VLAN_VID: its bit OFPVID_PRESENT,
    logic [11:0]       vlan_vid;  // and the others, of the first tag
    logic [2:0]        vlan_pcp;
    logic              l3;        // the header that eth_type names is there: ARP, IPv4, IPv6 or an MPLS label
    logic              l4;        // the header that ip_proto names is there: TCP, UDP, SCTP, ICMP or ICMPv6
    logic              nd;        // a neighbour solicitation or advertisement
    logic [5:0]        ip_dscp;   // MPLS_TC in its low 3 bits
    logic [1:0]        ip_ecn;    // MPLS_BOS in its low bit
    logic [7:0]        ip_proto;
    logic [127:0]      src;       // IPV6_SRC; IPV4_SRC or ARP_SPA in its low 32 bits
    logic [127:0]      dst;       // IPV6_DST; IPV4_DST or ARP_TPA in its low 32 bits
    logic [15:0]       l4_src;    // of TCP, UDP, SCTP; type of ICMP, ICMPv6; ARP_OP
    logic [15:0]       l4_dst;    // of TCP, UDP, SCTP; code of ICMP, ICMPv6
    logic [19:0]       label;     // IPV6_FLABEL; MPLS_LABEL
    logic [127:0]      target;    // IPV6_ND_TARGET; ARP_THA in its low 48 bits
    logic [47:0]       link;      // IPV6_ND_SLL, of a solicitation; IPV6_ND_TLL, of an advertisement; ARP_SHA
    exthdr_t           exthdr;
  } match_t;

  // What a narrow table looks at: in_port, Ethernet, one tag, IPv4 and ports.
  typedef struct packed {
    logic [PORT_W-1:0] in_port;
    logic [47:0]       eth_dst;
    logic [47:0]       eth_src;
    logic [15:0]       eth_type;
    logic              vlan;
    logic [11:0]       vlan_vid;
    logic [2:0]        vlan_pcp;
    logic              l3;
    logic              l4;
    logic [5:0]        ip_dscp;
    logic [1:0]        ip_ecn;
    logic [7:0]        ip_proto;
    logic [31:0]       src;
    logic [31:0]       dst;
    logic [15:0]       l4_src;
    logic [15:0]       l4_dst;
  } narrow_match_t;

  // verilator lint_off UNUSEDSIGNAL
  function automatic narrow_match_t narrow_match(match_t fields);
    // verilator lint_on UNUSEDSIGNAL
    narrow_match = '{
        in_port: fields.in_port,
        eth_dst: fields.eth_dst,
        eth_src: fields.eth_src,
        eth_type: fields.eth_type,
        vlan: fields.vlan,
        vlan_vid: fields.vlan_vid,
        vlan_pcp: fields.vlan_pcp,
        l3: fields.l3,
        l4: fields.l4,
        ip_dscp: fields.ip_dscp,
        ip_ecn: fields.ip_ecn,
        ip_proto: fields.ip_proto,
        src: fields.src[31:0],
        dst: fields.dst[31:0],
        l4_src: fields.l4_src,
        l4_dst: fields.l4_dst
    };
  endfunction

  function automatic match_t from_narrow_match(narrow_match_t fields);
    from_narrow_match = '{
        in_port: fields.in_port,
        eth_dst: fields.eth_dst,
        eth_src: fields.eth_src,
        eth_type: fields.eth_type,
        vlan: fields.vlan,
        vlan_vid: fields.vlan_vid,
        vlan_pcp: fields.vlan_pcp,
        l3: fields.l3,
        l4: fields.l4,
        ip_dscp: fields.ip_dscp,
        ip_ecn: fields.ip_ecn,
        ip_proto: fields.ip_proto,
        src: 128'(fields.src),
        dst: 128'(fields.dst),
        l4_src: fields.l4_src,
        l4_dst: fields.l4_dst,
        default: '0
    };
  endfunction

  // The fields that a narrow parser finds; the others are 0, and so no RAM keeps them.
  function automatic match_t narrowed(match_t fields);
    narrowed = fields;
    narrowed.nd = 1'b0;
    narrowed.src[127:32] = '0;
    narrowed.dst[127:32] = '0;
    narrowed.label = '0;
    narrowed.target = '0;
    narrowed.link = '0;
    narrowed.exthdr = '0;
  endfunction

  // What lies below the first MPLS label.
  typedef enum logic [1:0] {
    BELOW_UNKNOWN,
    BELOW_LABEL,
    BELOW_IPV4,
    BELOW_IPV6
  } below_t;

  // Where headers lie, in bytes from the packet's first one: what an action edits.
  typedef struct packed {
    logic        cut;    // a header that the one before it names is not there as a whole, or lies deeper than is looked
    logic        later;  // a fragment of an IP packet without its beginning: no l4
    logic [1:0]  tags;   // VLAN tags, 2 at most; the first one at VLAN_AT
    logic [7:0]  l3;     // with match_t.l3: ARP, IPv4, IPv6 or the first MPLS label
    logic [7:0]  l4;     // with match_t.l4
    logic [1:0]  qinq;   // of each tag, [0] the first: its TPID is 0x88a8
    logic        dei;    // bit 12 of the first tag's TCI
    logic [15:0] inner;  // TCI of the second tag
    logic [7:0]  ttl;    // of IPv4, IPv6, or what is below the first MPLS label
    logic [7:0]  link;   // byte that match_t.link begins at, with match_t.nd; 0: not there
    below_t      below;
    logic [7:0]  label_ttl;  // of the first MPLS label
    logic [15:0] l4_bytes;   // of the IP packet, from l4 on, be they there or not; 0: it is only a fragment
    logic        routed;     // IPv6 on its way to other addresses first: l4's checksum is of the last one, not of dst
  } layers_t;

  // And what of this a narrow parser finds
  function automatic layers_t narrowed_layers(layers_t layers);
    narrowed_layers = layers;
    narrowed_layers.link = '0;
    narrowed_layers.below = BELOW_UNKNOWN;
    narrowed_layers.label_ttl = '0;
    narrowed_layers.routed = 1'b0;
  endfunction

  // ------------------------------------------------------------------------------------------------------- flow tables
  localparam int unsigned TABLES_MAX = 14;
  localparam int unsigned TABLE_W = 4;
  localparam logic [TABLE_W-1:0] NO_TABLE = '1;

  localparam int unsigned PROGRAM_W = 16;  // an address in the memory of actions; 0: no program
  localparam int unsigned ENTRY_W = 16;    // a number of an entry: of exact and ternary ones alike
  localparam int unsigned PRIORITY_W = 16;
  localparam int unsigned EFFECT_W = 8;    // an address among a table's effects; 0: none
  localparam int unsigned BYTES_W = 17;    // of a packet

  // Times are of time_ns[59:20]: units of 2^20 ns, some 1.05 ms.
  localparam int unsigned TICK_LSB = 20;
  localparam int unsigned TICK_W = 40;

  // A packet on its way through the tables.
  typedef struct packed {
    match_t             fields;  // as the next table sees them
    logic [1:0]         tags;    // VLAN tags, as edited so far
    logic [15:0]        inner;   // the second tag's TCI: what the first becomes when it is taken off
    logic [BYTES_W-1:0] bytes;
    logic [TABLE_W-1:0] next;    // the table that looks at it next; NO_TABLE: none does
  } lookup_t;

  typedef struct packed {
    logic [PROGRAM_W-1:0] program_at;  // what the flow's instructions do: a word's address
    logic [EFFECT_W-1:0]  effect;      // what of it later tables see: the first of a list
    logic [TABLE_W-1:0]   next;        // Goto-Table; NO_TABLE: the last one
    logic [63:0]          metadata;    // Write-Metadata
    logic [63:0]          metadata_mask;
    logic [31:0]          idle;        // timeout in ticks; 0: none
    logic [TICK_W-1:0]    hard_at;     // tick at which it expires; 0: never
  } entry_t;

  // What later tables see of an action.
  typedef enum logic [1:0] {
    EFFECT_SET,        // field `field` becomes `value`
    EFFECT_PUSH_VLAN,  // a tag with the VID and PCP of the first one, or 0
    EFFECT_POP_VLAN,
    EFFECT_PUSH_MPLS   // to eth_type `value`: a label with no header behind it
  } effect_op_t;

  typedef struct packed {
    logic         last;   // of its list
    effect_op_t   op;
    logic [5:0]   field;  // an oxm_t
    logic [127:0] value;
  } effect_t;

  typedef enum logic [3:0] {
    FLOW_SET_ENTRY,       // entry `number` becomes `entry`, its counters 0
    FLOW_CHANGE_ENTRY,    // the same, and its counters stay
    FLOW_SET_EFFECT,      // effect `index` becomes `effect`
    FLOW_SET_MASK,        // of the exact part, which must be empty
    FLOW_EXACT_INSERT,    // key `value`, for entry `number` with `rank`
    FLOW_EXACT_CHANGE,
    FLOW_EXACT_REMOVE,
    FLOW_TERNARY_SET,     // at `index`: `value`, `mask`, for entry `number` with `rank`
    FLOW_TERNARY_CLEAR,   // at `clear_index`
    FLOW_TERNARY_MOVE,    // both, in one cycle
    FLOW_EXACT_ADD,       // FLOW_SET_ENTRY, then FLOW_EXACT_INSERT, whatever that answers
    FLOW_TERNARY_ADD      // FLOW_SET_ENTRY, then FLOW_TERNARY_SET
  } flow_op_t;

  typedef struct packed {
    flow_op_t              op;
    logic [ENTRY_W-1:0]    number;
    logic [PRIORITY_W-1:0] rank;  // the flow's priority: of two hits the higher one wins, the exact one if equal
    logic [11:0]           index;
    logic [11:0]           clear_index;
    match_t                value;
    match_t                mask;
    entry_t                entry;
    effect_t               effect;
  } flow_command_t;

  // What happens to an entry's counters.
  typedef enum logic [1:0] {
    FLOW_COUNT,
    FLOW_CLEAR,
    FLOW_READ
  } flow_event_t;

  // Of an entry
  typedef struct packed {
    logic [63:0]       packets;
    logic [63:0]       bytes;
    logic [TICK_W-1:0] used;     // tick of its last packet, or of FLOW_SET_ENTRY
  } flow_count_t;

  typedef struct packed {
    logic               hard;    // its hard timeout; otherwise its idle one
    logic [ENTRY_W-1:0] number;
  } expiry_t;

  // What a table found for a packet.
  typedef struct packed {
    logic                 looked_up;  // in this table; otherwise it goes on as it is
    logic                 hit;        // the others are those of an entry_t, valid with hit
    logic [PROGRAM_W-1:0] program_at;
    logic [EFFECT_W-1:0]  effect;
    logic [TABLE_W-1:0]   next;
    logic [63:0]          metadata;
    logic [63:0]          metadata_mask;
  } flow_result_t;

  function automatic match_t with_field(match_t fields, logic [5:0] field, logic [127:0] value);
    with_field = fields;
    unique case (field)
      OXM_METADATA: with_field.metadata = value[63:0];
      OXM_ETH_DST: with_field.eth_dst = value[47:0];
      OXM_ETH_SRC: with_field.eth_src = value[47:0];
      OXM_ETH_TYPE: with_field.eth_type = value[15:0];
      OXM_VLAN_VID: with_field.vlan_vid = value[11:0];
      OXM_VLAN_PCP: with_field.vlan_pcp = value[2:0];
      OXM_IP_DSCP: with_field.ip_dscp = value[5:0];
      OXM_IP_ECN: with_field.ip_ecn = value[1:0];
      OXM_IP_PROTO: with_field.ip_proto = value[7:0];
      OXM_IPV4_SRC, OXM_ARP_SPA: with_field.src[31:0] = value[31:0];
      OXM_IPV4_DST, OXM_ARP_TPA: with_field.dst[31:0] = value[31:0];
      OXM_TCP_SRC, OXM_UDP_SRC, OXM_SCTP_SRC, OXM_ICMPV4_TYPE, OXM_ARP_OP, OXM_ICMPV6_TYPE:
      with_field.l4_src = value[15:0];
      OXM_TCP_DST, OXM_UDP_DST, OXM_SCTP_DST, OXM_ICMPV4_CODE, OXM_ICMPV6_CODE: with_field.l4_dst = value[15:0];
      OXM_ARP_SHA, OXM_IPV6_ND_SLL, OXM_IPV6_ND_TLL: with_field.link = value[47:0];
      OXM_ARP_THA: with_field.target[47:0] = value[47:0];
      OXM_IPV6_SRC: with_field.src = value;
      OXM_IPV6_DST: with_field.dst = value;
      OXM_IPV6_FLABEL, OXM_MPLS_LABEL: with_field.label = value[19:0];
      OXM_IPV6_ND_TARGET: with_field.target = value;
      OXM_MPLS_TC: with_field.ip_dscp = 6'(value[2:0]);
      OXM_MPLS_BOS: with_field.ip_ecn = 2'(value[0]);
      OXM_TUNNEL_ID: with_field.tunnel_id = value[63:0];
      default: ;
    endcase
  endfunction

  // ----------------------------------------------------------------------------------------------------------- actions
  // Programs of actions: what the instructions of a flow, the buckets of a group or a packet-out do to a packet. One
  // program comes for each table that the packet hit; they run in the order of tables, then the action set.
  localparam int unsigned PORTS_MAX = 64;

  typedef enum logic [5:0] {
    ACT_NONE = 6'd0,
    ACT_SET_FIELD = 6'd1,        // `field`, an oxm_t, becomes `value`
    ACT_PUSH_VLAN = 6'd2,        // value[15:0]: 0x8100 or 0x88a8; VID and PCP of the first tag, or 0
    ACT_POP_VLAN = 6'd3,
    ACT_PUSH_MPLS = 6'd4,        // value[15:0]: 0x8847 or 0x8848; label and TC of the first label, TTL of what is below
    ACT_POP_MPLS = 6'd5,         // value[15:0]: the type below
    ACT_SET_NW_TTL = 6'd6,       // value[7:0]
    ACT_DEC_NW_TTL = 6'd7,       // a TTL of 1 or 0 ends the packet, with a copy to the host: REASON_TTL
    ACT_SET_MPLS_TTL = 6'd8,
    ACT_DEC_MPLS_TTL = 6'd9,
    ACT_COPY_TTL_OUT = 6'd10,    // from the IP header or second label to the first label
    ACT_COPY_TTL_IN = 6'd11,
    ACT_OUTPUT = 6'd12,          // a copy to the ports of value[63:0] but in_port; that too with value[64], alone when
                                 // value[63:0] is 0
    ACT_CONTROLLER = 6'd13,      // a copy to the host: value[15:0] bytes of it at most, value[23:16] the reason
    ACT_GROUP = 6'd14,           // runs the program of group value[15:0], and goes on behind it
    ACT_SAVE = 6'd15,            // keeps the packet as it is
    ACT_RESTORE = 6'd16,         // makes it as it was kept
    ACT_JUMP = 6'd17,            // to value[15:0]
    ACT_SELECT = 6'd18,          // to one of the value[15:0] words behind it, by the hash of the flow
    ACT_UNLESS_LIVE = 6'd19,     // to value[15:0] unless port value[31:16] is live
    ACT_METER = 6'd20,           // value[15:0]: may end the packet, or raise its drop precedence
    ACT_COUNT = 6'd21,           // the packet, on counter value[15:0]
    ACT_CLEAR = 6'd22,           // the action set
    ACT_RESUBMIT = 6'd23,        // a copy to the parser, then to program value[31:16] and table value[3:0]
    ACT_CUSTOM = 6'd24           // value[7:0]: what is done with copies from here on, a bit for each custom action
  } action_op_t;

  // A word of a program.
  typedef struct packed {
    logic         last;    // of its program
    logic         keep;    // goes to the action set, which has a place for each op, and of ACT_SET_FIELD for each field
    action_op_t   op;
    logic [5:0]   field;
    logic         out;     // then, as ACT_OUTPUT: a copy to `port`, 0 to 63, unless it is in_port
    logic [5:0]   port;
    logic [127:0] value;
  } action_t;

  // A word for packets that a narrow parser has seen: none of their fields is longer than 64 bits.
  function automatic action_t narrowed_action(action_t from);
    narrowed_action = from;
    narrowed_action.value[127:65] = '0;
  endfunction

  localparam int unsigned ACTION_W = 160;  // of a word as software writes it: its low bits are an action_t

  localparam logic [7:0] REASON_NO_MATCH = 8'd0;
  localparam logic [7:0] REASON_ACTION = 8'd1;
  localparam logic [7:0] REASON_TTL = 8'd2;

  // Which parts of the headers behind tags and labels are not as they came.
  typedef struct packed {
    logic tos;     // dscp, ecn
    logic ttl;
    logic proto;
    logic src;
    logic dst;
    logic label;   // flow label of IPv6
    logic l4_src;
    logic l4_dst;
    logic target;
    logic link;
  } edited_t;

  typedef struct packed {
    logic        qinq;  // TPID 0x88a8; otherwise 0x8100
    logic [15:0] tci;
  } tag_t;

  // A packet as edited so far: beginning is MAC addresses, tags, eth_type and labels of this; behind it come the bytes
  // that the packet came with, from `cut` on, with what is edited in them.
  typedef struct packed {
    match_t          fields;      // the values that are edited; those of L3 and L4 are of the header that it came with
    layers_t         layers;      // as it came
    logic [7:0]      l4_proto;    // ip_proto as it came: what is at layers.l4
    logic [7:0]      ttl;         // of what layers.ttl is
    logic [15:0]     eth_type;    // as it goes
    logic [1:0]      tags;        // 0 to 3
    tag_t [2:0]      tag;         // [0] the first
    logic [1:0]      labels;      // 0 to 3
    logic [2:0][31:0] label;      // [0] the first
    logic [7:0]      cut;
    edited_t         edited;
    // What is to be added to checksums, RFC 1624: HC' = ~(~HC + delta) in ones' complement, where delta is the sum of
    // the new words and the complemented old ones; 0 if none is edited. l4: of TCP, UDP, ICMP and ICMPv6 only; of SCTP
    // the bits that change in its ports.
    logic [15:0]     l3_delta;
    logic [31:0]     l4_delta;
  } edit_t;

  // An edit of what a narrow parser finds
  function automatic edit_t narrowed_edit(edit_t from);
    narrowed_edit = from;
    narrowed_edit.fields = narrowed(from.fields);
    narrowed_edit.layers = narrowed_layers(from.layers);
    narrowed_edit.edited.label = 1'b0;
    narrowed_edit.edited.target = 1'b0;
    narrowed_edit.edited.link = 1'b0;
  endfunction

  // A copy that is to be sent. Each packet has one with `last`, be it to nowhere.
  typedef struct packed {
    edit_t                edit;
    logic [PORTS_MAX-1:0] ports;
    logic                 host;
    logic                 resubmit;
    logic                 last;
    logic [BYTES_W-1:0]   bytes;       // of the packet as it came
    logic [15:0]          max_bytes;   // of the copy to the host
    logic [7:0]           reason;
    logic [PROGRAM_W-1:0] origin;      // the program of the flow that sends it to the host
    logic [63:0]          metadata;
    logic [TABLE_W-1:0]   next;        // of a copy that is resubmitted: the table, and the program before tables'
    logic [PROGRAM_W-1:0] program_at;
    logic [7:0]           custom;
  } copy_t;

  // --------------------------------------------------------------------------------------------------- ways in and out
  // Where a packet begins: what its head from the host says, or the copy that comes again.
  typedef struct packed {
    logic [PORT_W-1:0]    in_port;
    logic [TABLE_W-1:0]   next;
    logic [PROGRAM_W-1:0] program_at;  // before those of tables
    logic [63:0]          metadata;
    logic [63:0]          tunnel_id;
  } source_t;

  localparam int unsigned HOST_HEAD = 64;  // bytes before each packet of the host's

  // One cycle each, with its bytes
  typedef struct packed {
    logic               taken;    // a whole packet without error
    logic               errored;
    logic               dropped;  // a packet without error that there was no room for, or whose port is closed
    logic [BYTES_W-1:0] bytes;
  } received_t;

  // What goes with a copy behind the editor.
  typedef struct packed {
    logic [PORTS_MAX-1:0] ports;
    logic                 host;
    logic                 resubmit;
    logic [BYTES_W-1:0]   bytes;       // of the copy
    logic [15:0]          max_bytes;
    logic [7:0]           reason;
    logic [PROGRAM_W-1:0] origin;
    logic [63:0]          metadata;
    logic [TABLE_W-1:0]   next;
    logic [PROGRAM_W-1:0] program_at;
    logic [7:0]           custom;
    logic [PORT_W-1:0]    in_port;
    logic [63:0]          tunnel_id;
    logic [7:0]           payload_at;  // byte of the copy that the payload of UDP begins at; 0: there is none
  } sent_t;

  // ------------------------------------------------------------------------------------------------------------ meters
  localparam int unsigned METER_BANDS = 2;

  typedef enum logic [1:0] {
    BAND_NONE,
    BAND_DROP,
    BAND_DSCP_REMARK
  } band_kind_t;

  typedef struct packed {
    band_kind_t  kind;
    logic [31:0] rate;   // kb/s, or packets a second
    logic [31:0] burst;  // kb, or packets
    logic [2:0]  raise;  // of BAND_DSCP_REMARK: levels of drop precedence
  } band_t;

  typedef struct packed {
    logic                    on;
    logic                    packets;  // what is metered; otherwise bits
    band_t [METER_BANDS-1:0] band;
  } meter_t;

  // verilator lint_on UNUSEDPARAM
endpackage
