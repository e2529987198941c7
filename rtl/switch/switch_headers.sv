// SPDX-License-Identifier: Apache-2.0
// Reads the match fields out of the beginning of a packet.
// Ethernet, with the type in an 802.3 frame's SNAP header or 0x05ff; up to two VLAN tags (0x8100, 0x88a8), of which the
// first is matched; behind them ARP, IPv4, IPv6 or the first MPLS label, below which a TTL is read; TCP, UDP, SCTP,
// ICMP and ICMPv6 with neighbour discovery, of whose options the first two are read (the second if the first has
// 8 bytes). At most EXTENSIONS extension headers of IPv6 are passed by.
// A header is there if all its bytes (of IPv4: and options, of TCP: without) lie within the packet and within what its
// IP header says the packet's length is; a length beyond the packet's end is no fault. ARP must be of Ethernet and
// IPv4. Fragments but the first one have no l4, and over IPv6 the ip_proto 44. ip_proto behind extension headers that
// can't be passed by is the next one's; exthdr tells of a header as soon as the one before names it.
// Latency: 22 cycles (NARROW: 10). Throughput: a packet a cycle. Never stalls.
//
//  bytes -> Ethernet, tags -> type -> L3 header -> its fields -> IPv6 extension headers (two cycles each; NARROW: none)
//        -> words of L4, by 16 -> by 4 -> by 1 -> which fields there are -> what they are -> match_t, layers_t
module switch_headers
  import switch_pkg::*;
#(
    parameter bit NARROW = 1'b0,
    localparam int unsigned WORDS = NARROW ? HEAD_WORDS_NARROW : HEAD_WORDS,
    localparam int unsigned HEAD = 14 + 4 * WORDS
) (
    input  logic                 clk,
    input  logic                 rst,
    input  logic                 s_valid,
    input  logic [PORT_W-1:0]    s_in_port,
    input  logic [7:0]           s_length,   // at most HEAD
    input  logic [HEAD-1:0][7:0] s_bytes,    // the first one in the lowest bits; those from the length on are ignored
    output logic                 m_valid,
    output match_t               m_match,
    output layers_t              m_layers
);

  localparam int unsigned EXTENSIONS = NARROW ? 0 : 6;
  localparam int unsigned L3_WORDS = 10;  // of an IPv6 header, less of others
  localparam int unsigned L3_REACH = L3_WORDS + 4;  // the words that they can lie in
  localparam int unsigned L4_WORDS = 10;  // that fields lie in: neighbour discovery with two options

  typedef logic [6:0] place_t;  // in words behind the Ethernet header; sums stay below 128

  // What later stages need of a packet waits in LUT RAM, at its slot: registers of each stage would be many, and a
  // simulator would copy them all. There are more slots than packets inside.
  localparam int unsigned SLOT_W = NARROW ? 4 : 5;
  typedef logic [SLOT_W-1:0] slot_t;

  // Ethernet and tags
  typedef struct packed {
    logic [PORT_W-1:0] in_port;
    logic [47:0] eth_dst;
    logic [47:0] eth_src;
    logic [15:0] eth_type;
    logic        vlan;
    logic [2:0]  vlan_pcp;
    logic [11:0] vlan_vid;
    logic        dei;
    logic [1:0]  tags;
    logic [1:0]  qinq;
    logic [15:0] inner;
    logic        cut;
    logic        walk;   // there is a header to look at
    place_t      count;  // words that are there
    place_t      l3;
    slot_t       slot;
  } link_t;

  // What does not change any more from stage 3 on
  typedef struct packed {
    match_t     fields;     // but those of what follows
    logic [1:0] tags;
    logic [1:0] qinq;
    logic       dei;
    logic [15:0] inner;
    logic [7:0] ttl;
    below_t     below;
    logic [7:0] label_ttl;
    place_t     l3;
  } known_t;

  // What does: in 64 bits, which a simulator has in one word.
  typedef struct packed {
    logic       cut;
    logic       later;
    logic       more;      // fragments follow
    logic       walk;      // there is a header to look at
    logic       ipv6;
    logic       routed;
    exthdr_t    exthdr;
    logic [7:0] ip_proto;
    place_t     count;     // words that belong to the IP packet
    place_t     at;        // the header that ip_proto names
    logic [2:0] rank;      // of extension headers so far, the highest in the order of RFC 2460
    logic [1:0] dests;     // destination options so far
    slot_t      slot;
    logic [15:0] ends;     // bytes from the Ethernet header's end to that of the IP packet, modulo 2^16
  } walk_t;

  localparam int unsigned WALKED = 4 + 2 * EXTENSIONS;  // the first stage behind those of extension headers
  localparam int unsigned LATENCY = WALKED + 6;

  logic [LATENCY-1:0] valid_q;  // [i]: a packet is in the registers before stage i
  always_ff @(posedge clk) valid_q <= rst ? '0 : {valid_q[LATENCY-2:0], s_valid};

  (* ram_style = "distributed" *)
  logic [WORDS-1:0][31:0] words_mem[2**SLOT_W];  // as on the wire, the first byte in the highest bits
  (* ram_style = "distributed" *)
  known_t known_mem[2**SLOT_W];

  // ------------------------------------------------------------------------------------------------------------- input
  logic [HEAD-1:0][7:0] bytes_q;
  logic [PORT_W-1:0] in_port_q;
  logic ethernet_q;
  logic [5:0] behind_q;  // words behind the Ethernet header
  slot_t slot_q;

  always_ff @(posedge clk) begin
    if (s_valid) begin
      bytes_q    <= s_bytes;
      in_port_q  <= s_in_port;
      ethernet_q <= s_length >= 8'd14;
      behind_q   <= 6'((s_length - 8'd14) >> 2);
    end
    if (valid_q[0]) slot_q <= slot_q + 1'b1;
    if (rst) slot_q <= '0;
  end

  // ---------------------------------------------------------------------------------------- Ethernet and tags: stage 0
  function automatic logic is_tag(logic [15:0] kind);
    return kind == ETH_VLAN || kind == ETH_QINQ;
  endfunction

  wire [15:0] outer = {bytes_q[12], bytes_q[13]};
  wire [15:0] middle = {bytes_q[16], bytes_q[17]};
  link_t link0_q;
  logic [L3_REACH-1:0][31:0] words0_q;

  always_ff @(posedge clk) begin
    if (valid_q[0]) begin
      automatic logic [WORDS-1:0][31:0] words;
      automatic link_t link = '0;
      for (int unsigned i = 0; i < WORDS; i++) begin
        words[i] = {bytes_q[14+4*i], bytes_q[15+4*i], bytes_q[16+4*i], bytes_q[17+4*i]};
      end
      link.slot    = slot_q;
      link.count   = ethernet_q ? place_t'(behind_q) : '0;
      link.walk    = ethernet_q;
      link.cut     = !ethernet_q;
      link.in_port = in_port_q;
      if (ethernet_q) begin
        for (int unsigned i = 0; i < 6; i++) begin
          link.eth_dst[47-8*i-:8] = bytes_q[i];
          link.eth_src[47-8*i-:8] = bytes_q[6+i];
        end
        link.eth_type = outer;
        if (is_tag(outer)) begin
          link.tags = link.count == 0 ? 2'd0 : is_tag(middle) && link.count > 1 ? 2'd2 : 2'd1;
          link.cut  = link.count == 0 || (is_tag(middle) && link.count == 1);
        end
        if (link.tags != 0) begin
          link.vlan = 1'b1;
          {link.vlan_pcp, link.dei, link.vlan_vid} = words[0][31:16];
          link.qinq[0] = outer == ETH_QINQ;
        end
        if (link.tags == 2'd2) begin
          link.inner   = words[1][31:16];
          link.qinq[1] = middle == ETH_QINQ;
        end
      end
      link0_q           <= link;
      words0_q          <= words[L3_REACH-1:0];
      words_mem[slot_q] <= words;
    end
  end

  // ----------------------------------------------------------------------------------- the type behind them: stage 1
  link_t link1_q;
  logic [L3_REACH-1:0][31:0] words1_q;

  always_ff @(posedge clk) begin
    if (valid_q[1]) begin
      automatic place_t tags = place_t'(link0_q.tags);
      automatic logic [15:0] kind = link0_q.eth_type;
      automatic logic [63:0] snap = {words0_q[0], words0_q[1]};
      if (link0_q.tags == 2'd1) begin
        kind = words0_q[0][15:0];
        snap = {words0_q[1], words0_q[2]};
      end
      if (link0_q.tags == 2'd2) begin
        kind = words0_q[1][15:0];
        snap = {words0_q[2], words0_q[3]};
      end
      link1_q          <= link0_q;
      link1_q.l3       <= tags;
      link1_q.eth_type <= kind;
      if (link0_q.walk && kind < 16'h0600) begin
        link1_q.eth_type <= ETH_NONE;
        if (link0_q.count >= tags + 7'd2 && snap[63:16] == 48'haaaa_0300_0000) begin
          link1_q.l3 <= tags + 7'd2;
          if (snap[15:0] >= 16'h0600) link1_q.eth_type <= snap[15:0];
        end
      end
      words1_q <= words0_q;
    end
  end

  // ------------------------------------------------------------------------------- the header that it names: stage 2
  // verilator lint_off UNUSEDSIGNAL
  link_t link2_q;  // `walk` has been looked at
  logic [L3_WORDS-1:0][31:0] l3_q;  // NARROW: an IPv6 header's have no field
  // verilator lint_on UNUSEDSIGNAL
  logic ipv4_q, ipv6_q, arp_q, mpls_q;

  always_ff @(posedge clk) begin
    if (valid_q[2]) begin
      automatic logic [15:0] kind = link1_q.eth_type;
      unique case (link1_q.l3)
        7'd1: l3_q <= words1_q[1+:L3_WORDS];
        7'd2: l3_q <= words1_q[2+:L3_WORDS];
        7'd3: l3_q <= words1_q[3+:L3_WORDS];
        7'd4: l3_q <= words1_q[4+:L3_WORDS];
        default: l3_q <= words1_q[0+:L3_WORDS];
      endcase
      ipv4_q  <= link1_q.walk && kind == ETH_IPV4;
      ipv6_q  <= link1_q.walk && !NARROW && kind == ETH_IPV6;
      arp_q   <= link1_q.walk && !NARROW && kind == ETH_ARP;
      mpls_q  <= link1_q.walk && !NARROW && (kind == ETH_MPLS || kind == ETH_MPLS_MULTICAST);
      link2_q <= link1_q;
    end
  end

  // ----------------------------------------------------------------------------------------------- its fields: stage 3
  function automatic logic [127:0] address(logic [3:0][31:0] words);
    return {words[0], words[1], words[2], words[3]};
  endfunction

  walk_t walk3_q;

  always_ff @(posedge clk) begin
    if (valid_q[3]) begin
      automatic known_t known = '0;
      automatic walk_t walk = '0;
      automatic place_t there = link2_q.count - link2_q.l3;
      automatic place_t words = place_t'(l3_q[0][27:24]);  // of an IPv4 header
      automatic logic [13:0] total = l3_q[0][15:2];  // of an IP packet
      automatic logic ipv4 = ipv4_q && there >= 7'd5 && words >= 7'd5 && there >= words && total >= 14'(words);
      automatic logic ipv6 = 1'b0;
      automatic logic named = ipv4_q;
      automatic logic bad = 1'b0;
      automatic logic [15:0] bytes = l3_q[0][15:0];
      known.fields.in_port  = link2_q.in_port;
      known.fields.eth_dst  = link2_q.eth_dst;
      known.fields.eth_src  = link2_q.eth_src;
      known.fields.eth_type = link2_q.eth_type;
      known.fields.vlan     = link2_q.vlan;
      known.fields.vlan_pcp = link2_q.vlan_pcp;
      known.fields.vlan_vid = link2_q.vlan_vid;
      known.tags            = link2_q.tags;
      known.qinq            = link2_q.qinq;
      known.dei             = link2_q.dei;
      known.inner           = link2_q.inner;
      known.l3              = link2_q.l3;
      if (ipv4) begin
        known.fields.src[31:0] = l3_q[3];
        known.fields.dst[31:0] = l3_q[4];
        known.fields.l3        = 1'b1;
        known.ttl              = l3_q[2][31:24];
        {known.fields.ip_dscp, known.fields.ip_ecn} = l3_q[0][23:16];
        walk.ip_proto = l3_q[2][23:16];
        walk.more     = l3_q[1][13];
        walk.later    = l3_q[1][12:0] != '0;
        walk.walk     = !walk.later;
        walk.at       = link2_q.l3 + words;
      end
      if (!NARROW) begin
        named |= ipv6_q || mpls_q;
        ipv6 = ipv6_q && there >= 7'd10;
        if (ipv6) begin
          total = 14'(l3_q[1][31:18]) + 14'd10;
          if (l3_q[1][31:18] > 14'd64) total = 14'd64;
          bytes = l3_q[1][31:16] + 16'd40;  // a packet without l4 may have more than that can say
          {known.fields.ip_dscp, known.fields.ip_ecn, known.fields.label} = l3_q[0][27:0];
          known.fields.src = address(l3_q[5:2]);
          known.fields.dst = address(l3_q[9:6]);
          known.fields.l3  = 1'b1;
          known.ttl        = l3_q[1][7:0];
          walk.ip_proto    = l3_q[1][15:8];
          walk.walk        = 1'b1;
          walk.at          = link2_q.l3 + 7'd10;
        end
        if (arp_q) begin
          if (there >= 7'd7 && l3_q[0] == 32'h0001_0800 && l3_q[1][31:16] == 16'h0604) begin
            known.fields.l4_src       = l3_q[1][15:0];
            known.fields.link         = {l3_q[2], l3_q[3][31:16]};
            known.fields.src[31:0]    = {l3_q[3][15:0], l3_q[4][31:16]};
            known.fields.target[47:0] = {l3_q[4][15:0], l3_q[5]};
            known.fields.dst[31:0]    = l3_q[6];
            known.fields.l3           = 1'b1;
          end else bad = there < 7'd7;
        end
        if (mpls_q && there != '0) begin
          automatic logic [3:0] version = l3_q[1][31:28];
          automatic place_t below = place_t'(l3_q[1][27:24]);  // words of an IPv4 header
          {known.fields.label, known.fields.ip_dscp[2:0], known.fields.ip_ecn[0], known.label_ttl} = l3_q[0];
          known.fields.l3 = 1'b1;
          if (!known.fields.ip_ecn[0]) begin
            if (there >= 7'd2) {known.below, known.ttl} = {BELOW_LABEL, l3_q[1][7:0]};
          end else if (version == 4'd4) begin
            if (below >= 7'd5 && there > below && l3_q[1][15:2] >= 14'(below)) begin
              {known.below, known.ttl} = {BELOW_IPV4, l3_q[3][31:24]};
            end
          end else if (version == 4'd6 && there >= 7'd11) begin
            {known.below, known.ttl} = {BELOW_IPV6, l3_q[2][7:0]};
          end
        end
      end
      // Only what l4 looks at is compared with the count from here on.
      walk.count = link2_q.count;
      if ((ipv4 || ipv6) && total < 14'(there)) walk.count = link2_q.l3 + place_t'(total);
      walk.cut  = link2_q.cut || (named && !known.fields.l3) || bad;
      walk.ipv6 = ipv6;
      walk.slot = link2_q.slot;
      walk.ends = bytes + 16'({link2_q.l3, 2'b00});
      walk3_q                 <= walk;
      known_mem[link2_q.slot] <= known;
    end
  end

  // ------------------------------------------------------- extension headers: a stage each, from 4 on, of two cycles
  for (genvar i = 0; i < EXTENSIONS; i++) begin : gen_extension
    walk_t before_q, walk_q;
    logic [31:3] word_q;
    logic more_q;      // of a fragment header: it is not the last one
    logic left_q;      // of a routing header: segments are left
    logic short_q;     // fewer than the 2 words that each header has
    place_t room_q;    // words behind them
    place_t next_q;    // and their place
    walk_t walk;

    if (i == 0) begin : gen_first
      assign walk = walk3_q;
    end else begin : gen_next
      assign walk = gen_extension[i-1].walk_q;
    end

    always_ff @(posedge clk) begin
      if (valid_q[4+2*i]) begin
        before_q <= walk;
        word_q   <= words_mem[walk.slot][walk.at[5:0]][31:3];
        more_q   <= words_mem[walk.slot][walk.at[5:0]][0];
        left_q   <= words_mem[walk.slot][walk.at[5:0]][7:0] != '0;
        short_q  <= walk.count < walk.at + 7'd2;
        room_q   <= walk.count - walk.at - 7'd2;
        next_q   <= walk.at + 7'd2;
      end
    end

    always_ff @(posedge clk) begin
      if (valid_q[5+2*i]) begin
        automatic walk_t after = before_q;
        automatic exthdr_t bits = before_q.exthdr;
        automatic logic [8:0] more = {word_q[23:16], 1'b0};  // words behind the first 2
        automatic logic extension = 1'b1;
        automatic logic [2:0] rank = 3'd0;
        unique case (before_q.ip_proto)
          IP_HOP_BY_HOP: begin
            bits.unrep |= bits.hop;
            if (bits[6:0] == '0) bits.hop = 1'b1;
            else bits.unseq = 1'b1;
          end
          IP_DESTINATION: begin
            // At its first place or, for the final destination only, its last one.
            rank = before_q.rank == 3'd0 ? 3'd1 : 3'd6;
            bits.unrep |= before_q.dests == 2'd2;
            bits.dest = 1'b1;
            if (before_q.dests != 2'd2) after.dests = before_q.dests + 1'b1;
          end
          IP_ROUTING: begin
            rank = 3'd2;
            bits.unrep |= bits.router;
            bits.router = 1'b1;
          end
          IP_FRAGMENT: begin
            rank = 3'd3;
            more = '0;
            bits.unrep |= bits.frag;
            bits.frag = 1'b1;
          end
          IP_AUTH: begin
            rank = 3'd4;
            more = 9'(word_q[23:16]);
            bits.unrep |= bits.auth;
            bits.auth = 1'b1;
          end
          default: extension = 1'b0;
        endcase
        bits.unseq |= rank < before_q.rank;
        if (before_q.walk && extension && before_q.ipv6) begin
          after.exthdr = bits;
          if (rank > before_q.rank) after.rank = rank;
          if (short_q || more > 9'(room_q)) begin
            after.walk = 1'b0;
            after.cut  = 1'b1;
          end else if (before_q.ip_proto == IP_FRAGMENT && word_q[15:3] != '0) begin
            after.walk  = 1'b0;
            after.later = 1'b1;
          end else begin
            after.more     |= before_q.ip_proto == IP_FRAGMENT && more_q;
            after.routed   |= before_q.ip_proto == IP_ROUTING && left_q;
            after.ip_proto = word_q[31:24];
            after.at       = next_q + place_t'(more);
          end
        end
        walk_q <= after;
      end
    end
  end

  // ------------------------------------------------------------ the words of l4: three stages, by 16 words, by 4, by 1
  // Each keeps what the next ones may need.
  logic [L4_WORDS+14:0][31:0] by16_q;
  logic [L4_WORDS+2:0][31:0] by4_q;
  // verilator lint_off UNUSEDSIGNAL
  logic [L4_WORDS-1:0][31:0] l4_q;  // the second one has no field
  // verilator lint_on UNUSEDSIGNAL

  typedef struct packed {
    logic       cut;
    logic       later;
    logic       more;
    logic       walk;
    logic       ipv6;
    logic       routed;
    exthdr_t    exthdr;
    logic [7:0] ip_proto;
    place_t     at;
    place_t     there;  // words from there on
    logic       final_options;  // destination options at their last place
    slot_t      slot;
    logic [15:0] ends;
  } rest_t;
  rest_t rest0_q, rest1_q, rest2_q;

  // verilator lint_off UNUSEDSIGNAL
  walk_t last;  // of the extension headers, how many there were is no longer needed
  // verilator lint_on UNUSEDSIGNAL
  if (EXTENSIONS == 0) begin : gen_no_extensions
    assign last = walk3_q;
  end else begin : gen_extensions
    assign last = gen_extension[EXTENSIONS-1].walk_q;
  end

  always_ff @(posedge clk) begin
    if (valid_q[WALKED]) begin
      for (int unsigned i = 0; i < L4_WORDS + 15; i++) begin
        unique case (last.at[5:4])
          2'd0: by16_q[i] <= i < WORDS ? words_mem[last.slot][i%WORDS] : '0;
          2'd1: by16_q[i] <= i + 16 < WORDS ? words_mem[last.slot][(i+16)%WORDS] : '0;
          default: by16_q[i] <= i + 32 < WORDS ? words_mem[last.slot][(i+32)%WORDS] : '0;
        endcase
      end
      rest0_q <= '{
          cut: last.cut,
          later: last.later,
          more: last.more,
          walk: last.walk,
          ipv6: last.ipv6,
          routed: last.routed,
          exthdr: last.exthdr,
          ip_proto: last.ip_proto,
          at: last.at,
          there: last.count - last.at,
          final_options: last.rank == 3'd6,
          slot: last.slot,
          ends: last.ends
      };
    end
    if (valid_q[WALKED+1]) begin
      for (int unsigned i = 0; i < L4_WORDS + 3; i++) by4_q[i] <= by16_q[i+4*32'(rest0_q.at[3:2])];
      rest1_q <= rest0_q;
    end
    if (valid_q[WALKED+2]) begin
      for (int unsigned i = 0; i < L4_WORDS; i++) l4_q[i] <= by4_q[i+32'(rest1_q.at[1:0])];
      rest2_q <= rest1_q;
    end
  end

  // ----------------------------------------------------------------------- which fields it has: the last stage but one
  typedef struct packed {
    logic       cut;
    logic       later;
    logic       whole;    // no fragments follow
    logic       l4;
    logic       nd;
    logic       control;  // ICMP or ICMPv6
    logic       routed;
    logic [1:0] option;   // that has the link-layer address
    exthdr_t    exthdr;
    logic [7:0] ip_proto;
    place_t     at;
    slot_t      slot;
    logic [15:0] bytes;   // of the IP packet, from l4 on
  } what_t;

  // verilator lint_off UNUSEDSIGNAL
  logic [L4_WORDS-1:0][31:0] what_l4_q;
  // verilator lint_on UNUSEDSIGNAL
  what_t what_q;

  always_ff @(posedge clk) begin
    if (valid_q[WALKED+3]) begin
      automatic what_t what = '{
          cut: rest2_q.cut,
          later: rest2_q.later,
          whole: !rest2_q.more,
          routed: rest2_q.routed,
          exthdr: rest2_q.exthdr,
          ip_proto: rest2_q.ip_proto,
          at: rest2_q.at,
          slot: rest2_q.slot,
          bytes: rest2_q.ends - 16'({rest2_q.at, 2'b00}),
          default: '0
      };
      automatic logic known = 1'b1;
      automatic place_t need = 7'd2;
      unique case (rest2_q.ip_proto)
        IP_TCP: need = 7'd5;
        IP_UDP: need = 7'd2;
        IP_SCTP: need = 7'd3;
        IP_ICMP: {known, what.control} = {2{!rest2_q.ipv6}};
        IP_ICMPV6: {known, what.control} = {2{rest2_q.ipv6}};
        default: known = 1'b0;
      endcase
      if (rest2_q.walk && known) begin
        what.l4  = rest2_q.there >= need;
        what.cut = rest2_q.there < need;
      end
      if (!NARROW && rest2_q.walk && rest2_q.ipv6) begin
        automatic logic [15:0] kind = l4_q[0][31:16];  // type and code
        automatic logic [15:0] wanted = kind == {8'(ND_SOLICIT), 8'd0} ? 16'h0101 : 16'h0201;  // type, and 8 bytes
        if (rest2_q.ip_proto inside {IP_HOP_BY_HOP, IP_ROUTING, IP_FRAGMENT, IP_AUTH, IP_DESTINATION}) begin
          what.cut = 1'b1;
        end
        if (rest2_q.ip_proto == IP_NO_NEXT) what.exthdr.nonext = 1'b1;
        if (rest2_q.ip_proto == IP_ESP) begin
          what.exthdr.esp   = 1'b1;
          what.exthdr.unseq |= rest2_q.final_options;
        end
        if (what.l4 && what.control && kind inside {{8'(ND_SOLICIT), 8'd0}, {8'(ND_ADVERTISE), 8'd0}}) begin
          what.nd        = rest2_q.there >= 7'd6;
          what.cut       = rest2_q.there < 7'd6;
          what.option[0] = rest2_q.there >= 7'd8 && l4_q[6][31:16] == wanted;
          what.option[1] = rest2_q.there >= 7'd10 && l4_q[6][23:16] == 8'd1 && l4_q[8][31:16] == wanted
              && !what.option[0];
        end
      end
      what_l4_q <= l4_q;
      what_q    <= what;
    end
  end

  // ------------------------------------------------------------------------------------------- what they are: the last
  function automatic logic [7:0] byte_of(place_t place);
    return 8'({place, 2'b00}) + 8'd14;
  endfunction

  always_ff @(posedge clk) begin
    if (valid_q[WALKED+4]) begin
      automatic known_t known = known_mem[what_q.slot];
      automatic match_t fields = known.fields;
      automatic logic [7:0] link = '0;
      fields.exthdr   = what_q.exthdr;
      fields.ip_proto = what_q.ip_proto;
      fields.l4       = what_q.l4;
      fields.nd       = what_q.nd;
      if (what_q.l4) begin
        fields.l4_src = what_q.control ? 16'(what_l4_q[0][31:24]) : what_l4_q[0][31:16];
        fields.l4_dst = what_q.control ? 16'(what_l4_q[0][23:16]) : what_l4_q[0][15:0];
      end
      if (what_q.nd) fields.target = address(what_l4_q[5:2]);
      if (what_q.option[0]) begin
        fields.link = {what_l4_q[6][15:0], what_l4_q[7]};
        link        = byte_of(what_q.at) + 8'd26;
      end
      if (what_q.option[1]) begin
        fields.link = {what_l4_q[8][15:0], what_l4_q[9]};
        link        = byte_of(what_q.at) + 8'd34;
      end
      m_match  <= fields;
      m_layers <= '{
          cut: what_q.cut,
          later: what_q.later,
          tags: known.tags,
          l3: fields.l3 ? byte_of(known.l3) : '0,
          l4: what_q.l4 ? byte_of(what_q.at) : '0,
          qinq: known.qinq,
          dei: known.dei,
          inner: known.inner,
          ttl: known.ttl,
          link: link,
          below: known.below,
          label_ttl: known.label_ttl,
          l4_bytes: what_q.l4 && what_q.whole ? what_q.bytes : '0,
          routed: what_q.l4 && what_q.routed
      };
    end
  end

  assign m_valid = valid_q[LATENCY-1];

endmodule
