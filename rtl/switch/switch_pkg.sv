// SPDX-License-Identifier: Apache-2.0
// The OpenFlow switch: what is matched of a packet, and where its headers lie.
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

  // OXM 39, IPV6_EXTHDR, the highest bit first.
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

  // Every basic match field of OpenFlow 1.3, by the numbers of OXM, but PBB_ISID (37) and TUNNEL_ID (38). Fields that
  // no packet has together share bits; eth_type and ip_proto say which they are, and l3, l4 and nd whether they are
  // there. What is not there is 0.
  typedef struct packed {
    logic [63:0]       metadata;  // 2; 0 from the parser
    logic [PORT_W-1:0] in_port;   // 0, and 1 (IN_PHY_PORT), which is the same
    logic [47:0]       eth_dst;   // 3
    logic [47:0]       eth_src;   // 4
    logic [15:0]       eth_type;  // 5, that behind the tags
    logic              vlan;      // 6, VLAN_VID: its bit OFPVID_PRESENT
    logic [11:0]       vlan_vid;  // 6: the others, of the first tag
    logic [2:0]        vlan_pcp;  // 7
    logic              l3;        // the header that eth_type names is there: ARP, IPv4, IPv6 or an MPLS label
    logic              l4;        // the header that ip_proto names is there: TCP, UDP, SCTP, ICMP or ICMPv6
    logic              nd;        // a neighbour solicitation or advertisement
    logic [5:0]        ip_dscp;   // 8; MPLS_TC (35) in its low 3 bits
    logic [1:0]        ip_ecn;    // 9; MPLS_BOS (36) in its low bit
    logic [7:0]        ip_proto;  // 10
    logic [127:0]      src;       // 26, IPV6_SRC; IPV4_SRC (11) or ARP_SPA (22) in its low 32 bits
    logic [127:0]      dst;       // 27, IPV6_DST; IPV4_DST (12) or ARP_TPA (23) in its low 32 bits
    logic [15:0]       l4_src;    // 13, 15, 17: of TCP, UDP, SCTP; 19, 29: type of ICMP, ICMPv6; ARP_OP (21)
    logic [15:0]       l4_dst;    // 14, 16, 18: of TCP, UDP, SCTP; 20, 30: code of ICMP, ICMPv6
    logic [19:0]       label;     // 28, IPV6_FLABEL; MPLS_LABEL (34)
    logic [127:0]      target;    // 31, IPV6_ND_TARGET; ARP_THA (25) in its low 48 bits
    logic [47:0]       link;      // 32, IPV6_ND_SLL, of a solicitation; 33, IPV6_ND_TLL, of an advert; ARP_SHA (24)
    exthdr_t           exthdr;    // 39
  } match_t;

  // Where headers lie, in bytes from the packet's first one: what an action edits.
  typedef struct packed {
    logic       cut;   // a header that the one before it names is not there as a whole, or lies deeper than is looked
    logic       later; // a fragment of an IP packet without its beginning: no l4
    logic [1:0] tags;  // VLAN tags, 2 at most; the first one at VLAN_AT
    logic [7:0] l3;    // with match_t.l3: ARP, IPv4, IPv6 or the first MPLS label
    logic [7:0] l4;    // with match_t.l4
  } layers_t;

  // verilator lint_on UNUSEDPARAM
endpackage
