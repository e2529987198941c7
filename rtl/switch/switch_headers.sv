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
  localparam int unsigned L4_WORDS = 10;  // that fields lie in: neighbour discovery with two options

  typedef logic [6:0] place_t;  // in words behind the Ethernet header; sums stay below 128

  // What is known of a packet after a stage. Words are as on the wire, the first byte in the highest bits. No stage
  // looks at all of it.
  // verilator lint_off UNUSEDSIGNAL
  typedef struct packed {
    logic [WORDS-1:0][31:0] words;
    match_t     fields;
    logic       cut;
    logic       later;
    logic [1:0] tags;
    logic [1:0] qinq;
    logic       dei;
    logic [15:0] inner;
    logic [7:0] ttl;
    below_t     below;
    logic [7:0] label_ttl;
    logic [15:0] bytes;  // of the IP packet
    logic       more;    // fragments follow
    place_t     count;   // words that are there, later: that belong to the IP packet
    place_t     l3;
    place_t     at;      // the header that ip_proto names
    logic       walk;    // there is one to look at
    logic [2:0] rank;    // of extension headers so far, the highest in the order of RFC 2460
    logic [1:0] dests;   // destination options so far
  } state_t;
  // verilator lint_on UNUSEDSIGNAL

  localparam int unsigned SHIFT = 4 + EXTENSIONS;  // the first stage behind those of extension headers
  localparam int unsigned LATENCY = SHIFT + EXTENSIONS + 6;

  logic [LATENCY-1:0] valid_q;
  always_ff @(posedge clk) valid_q <= rst ? '0 : {valid_q[LATENCY-2:0], s_valid};

  state_t state_q[SHIFT];

  // ------------------------------------------------------------------------------------------------------------- input
  logic [HEAD-1:0][7:0] bytes_q;
  logic [PORT_W-1:0] in_port_q;
  logic ethernet_q;
  logic [5:0] behind_q;  // words behind the Ethernet header

  always_ff @(posedge clk) begin
    bytes_q    <= s_bytes;
    in_port_q  <= s_in_port;
    ethernet_q <= s_length >= 8'd14;
    behind_q   <= 6'((s_length - 8'd14) >> 2);
  end

  // ---------------------------------------------------------------------------------------- Ethernet and tags: stage 0
  function automatic logic is_tag(logic [15:0] kind);
    return kind == ETH_VLAN || kind == ETH_QINQ;
  endfunction

  wire [15:0] outer = {bytes_q[12], bytes_q[13]};
  wire [15:0] middle = {bytes_q[16], bytes_q[17]};

  always_ff @(posedge clk) begin
    automatic state_t state = '0;
    for (int unsigned i = 0; i < WORDS; i++) begin
      state.words[i] = {bytes_q[14+4*i], bytes_q[15+4*i], bytes_q[16+4*i], bytes_q[17+4*i]};
    end
    state.count          = ethernet_q ? place_t'(behind_q) : '0;
    state.walk           = ethernet_q;
    state.cut            = !ethernet_q;
    state.fields.in_port = in_port_q;
    if (ethernet_q) begin
      for (int unsigned i = 0; i < 6; i++) begin
        state.fields.eth_dst[47-8*i-:8] = bytes_q[i];
        state.fields.eth_src[47-8*i-:8] = bytes_q[6+i];
      end
      state.fields.eth_type = outer;
      if (is_tag(outer)) begin
        state.tags = state.count == 0 ? 2'd0 : is_tag(middle) && state.count > 1 ? 2'd2 : 2'd1;
        state.cut  = state.count == 0 || (is_tag(middle) && state.count == 1);
      end
      if (state.tags != 0) begin
        state.fields.vlan = 1'b1;
        {state.fields.vlan_pcp, state.dei, state.fields.vlan_vid} = state.words[0][31:16];
        state.qinq[0] = outer == ETH_QINQ;
      end
      if (state.tags == 2'd2) begin
        state.inner   = state.words[1][31:16];
        state.qinq[1] = middle == ETH_QINQ;
      end
    end
    state_q[0] <= state;
  end

  // ----------------------------------------------------------------------------------- the type behind them: stage 1
  always_ff @(posedge clk) begin
    automatic state_t state = state_q[0];
    automatic place_t tags = place_t'(state.tags);
    automatic logic [15:0] kind = state.fields.eth_type;
    automatic logic [63:0] snap = {state.words[0], state.words[1]};
    if (state.tags == 2'd1) begin
      kind = state.words[0][15:0];
      snap = {state.words[1], state.words[2]};
    end
    if (state.tags == 2'd2) begin
      kind = state.words[1][15:0];
      snap = {state.words[2], state.words[3]};
    end
    state.l3 = tags;
    state.fields.eth_type = kind;
    if (state.walk && kind < 16'h0600) begin
      state.fields.eth_type = ETH_NONE;
      if (state.count >= tags + 7'd2 && snap[63:16] == 48'haaaa_0300_0000) begin
        state.l3 = tags + 7'd2;
        if (snap[15:0] >= 16'h0600) state.fields.eth_type = snap[15:0];
      end
    end
    state_q[1] <= state;
  end

  // ------------------------------------------------------------------------------- the header that it names: stage 2
  // The words of an IPv6 header, less of others.
  localparam int unsigned L3_WORDS = 10;
  // verilator lint_off UNUSEDSIGNAL
  logic [L3_WORDS-1:0][31:0] l3_q;
  // verilator lint_on UNUSEDSIGNAL
  logic ipv4_q, ipv6_q, arp_q, mpls_q;

  always_ff @(posedge clk) begin
    automatic state_t state = state_q[1];
    automatic logic [15:0] kind = state.fields.eth_type;
    for (int unsigned i = 0; i < L3_WORDS; i++) begin
      l3_q[i] <= state.words[i];
      for (int unsigned at = 1; at < 5; at++) if (state.l3 == place_t'(at)) l3_q[i] <= state.words[i+at];
    end
    ipv4_q     <= state.walk && kind == ETH_IPV4;
    ipv6_q     <= state.walk && !NARROW && kind == ETH_IPV6;
    arp_q      <= state.walk && !NARROW && kind == ETH_ARP;
    mpls_q     <= state.walk && !NARROW && (kind == ETH_MPLS || kind == ETH_MPLS_MULTICAST);
    state_q[2] <= state;
  end

  // ----------------------------------------------------------------------------------------------- its fields: stage 3
  function automatic logic [127:0] address(logic [3:0][31:0] words);
    return {words[0], words[1], words[2], words[3]};
  endfunction

  always_ff @(posedge clk) begin
    automatic state_t state = state_q[2];
    automatic place_t there = state.count - state.l3;
    automatic place_t words = place_t'(l3_q[0][27:24]);  // of an IPv4 header
    automatic logic [13:0] total = l3_q[0][15:2];  // of an IP packet
    automatic logic ipv4 = ipv4_q && there >= 7'd5 && words >= 7'd5 && there >= words && total >= 14'(words);
    automatic logic ipv6 = 1'b0;
    automatic logic named = ipv4_q;
    automatic logic bad = 1'b0;
    state.walk = 1'b0;
    if (ipv4) begin
      state.fields.ip_proto   = l3_q[2][23:16];
      state.ttl               = l3_q[2][31:24];
      state.bytes             = l3_q[0][15:0];
      state.more              = l3_q[1][13];
      state.fields.src[31:0]  = l3_q[3];
      state.fields.dst[31:0]  = l3_q[4];
      state.later             = l3_q[1][12:0] != '0;
      {state.fields.ip_dscp, state.fields.ip_ecn} = l3_q[0][23:16];
      state.fields.l3         = 1'b1;
      state.walk              = !state.later;
      state.at                = state.l3 + words;
    end
    if (!NARROW) begin
      named |= ipv6_q || mpls_q;
      ipv6 = ipv6_q && there >= 7'd10;
      if (ipv6) begin
        total = 14'(l3_q[1][31:18]) + 14'd10;
        if (l3_q[1][31:18] > 14'd64) total = 14'd64;
        {state.fields.ip_dscp, state.fields.ip_ecn, state.fields.label} = l3_q[0][27:0];
        state.fields.ip_proto = l3_q[1][15:8];
        state.ttl             = l3_q[1][7:0];
        state.bytes           = l3_q[1][31:16] + 16'd40;  // a packet without l4 may have more than that can say
        state.fields.src      = address(l3_q[5:2]);
        state.fields.dst      = address(l3_q[9:6]);
        state.fields.l3       = 1'b1;
        state.walk            = 1'b1;
        state.at              = state.l3 + 7'd10;
      end
      if (arp_q) begin
        if (there >= 7'd7 && l3_q[0] == 32'h0001_0800 && l3_q[1][31:16] == 16'h0604) begin
          state.fields.l4_src       = l3_q[1][15:0];
          state.fields.link         = {l3_q[2], l3_q[3][31:16]};
          state.fields.src[31:0]    = {l3_q[3][15:0], l3_q[4][31:16]};
          state.fields.target[47:0] = {l3_q[4][15:0], l3_q[5]};
          state.fields.dst[31:0]    = l3_q[6];
          state.fields.l3           = 1'b1;
        end else bad = there < 7'd7;
      end
      if (mpls_q && there != '0) begin
        automatic logic [3:0] version = l3_q[1][31:28];
        automatic place_t below = place_t'(l3_q[1][27:24]);  // words of an IPv4 header
        {state.fields.label, state.fields.ip_dscp[2:0], state.fields.ip_ecn[0], state.label_ttl} = l3_q[0];
        state.fields.l3 = 1'b1;
        if (!state.fields.ip_ecn[0]) begin
          if (there >= 7'd2) {state.below, state.ttl} = {BELOW_LABEL, l3_q[1][7:0]};
        end else if (version == 4'd4) begin
          if (below >= 7'd5 && there > below && l3_q[1][15:2] >= 14'(below)) begin
            {state.below, state.ttl} = {BELOW_IPV4, l3_q[3][31:24]};
          end
        end else if (version == 4'd6 && there >= 7'd11) begin
          {state.below, state.ttl} = {BELOW_IPV6, l3_q[2][7:0]};
        end
      end
    end
    // Only what l4 looks at is compared with the count from here on.
    if ((ipv4 || ipv6) && total < 14'(there)) state.count = state.l3 + place_t'(total);
    if ((named && !state.fields.l3) || bad) state.cut = 1'b1;
    state_q[3] <= state;
  end

  // ------------------------------------------------------- extension headers: a stage each, from 4 on, of two cycles
  for (genvar i = 0; i < EXTENSIONS; i++) begin : gen_extension
    state_t before_q;
    logic [31:3] word_q;
    logic more_q;      // of a fragment header: it is not the last one
    logic short_q;     // fewer than the 2 words that each header has
    place_t room_q;    // words behind them
    place_t next_q;  // and their place

    always_ff @(posedge clk) begin
      before_q <= state_q[3+i];
      word_q   <= state_q[3+i].words[state_q[3+i].at[5:0]][31:3];
      more_q   <= state_q[3+i].words[state_q[3+i].at[5:0]][0];
      short_q  <= state_q[3+i].count < state_q[3+i].at + 7'd2;
      room_q   <= state_q[3+i].count - state_q[3+i].at - 7'd2;
      next_q <= state_q[3+i].at + 7'd2;
    end

    always_ff @(posedge clk) begin
      automatic state_t state = before_q;
      automatic exthdr_t bits = state.fields.exthdr;
      automatic logic [8:0] more = {word_q[23:16], 1'b0};  // words behind the first 2
      automatic logic extension = 1'b1;
      automatic logic [2:0] rank = 3'd0;
      unique case (state.fields.ip_proto)
        IP_HOP_BY_HOP: begin
          bits.unrep |= bits.hop;
          if (bits[6:0] == '0) bits.hop = 1'b1;
          else bits.unseq = 1'b1;
        end
        IP_DESTINATION: begin
          // At its first place or, for the final destination only, its last one.
          rank = state.rank == 3'd0 ? 3'd1 : 3'd6;
          bits.unrep |= state.dests == 2'd2;
          bits.dest = 1'b1;
          if (state.dests != 2'd2) state.dests = state.dests + 1'b1;
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
      bits.unseq |= rank < state.rank;
      if (state.walk && extension && state.fields.eth_type == ETH_IPV6) begin
        state.fields.exthdr = bits;
        if (rank > state.rank) state.rank = rank;
        if (short_q || more > 9'(room_q)) begin
          state.walk = 1'b0;
          state.cut  = 1'b1;
        end else if (state.fields.ip_proto == IP_FRAGMENT && word_q[15:3] != '0) begin
          state.walk  = 1'b0;
          state.later = 1'b1;
        end else begin
          state.more            |= state.fields.ip_proto == IP_FRAGMENT && more_q;
          state.fields.ip_proto = word_q[31:24];
          state.at              = next_q + place_t'(more);
        end
      end
      state_q[4+i] <= state;
    end
  end

  // ------------------------------------------------------- the words of l4: stages from SHIFT on, and what it is
  // By 16 words, by 4, by 1; each stage keeps what the next ones may need.
  logic [L4_WORDS+14:0][31:0] by16_q;
  logic [L4_WORDS+2:0][31:0] by4_q;
  // verilator lint_off UNUSEDSIGNAL
  logic [L4_WORDS-1:0][31:0] l4_q;  // the second one has no field
  // verilator lint_on UNUSEDSIGNAL

  typedef struct packed {
    match_t     fields;
    logic       cut;
    logic       later;
    logic [1:0] tags;
    logic [1:0] qinq;
    logic       dei;
    logic [15:0] inner;
    logic [7:0] ttl;
    below_t     below;
    logic [7:0] label_ttl;
    logic [15:0] bytes;
    logic       more;
    place_t     l3;
    place_t     at;
    place_t     there;  // words from there on
    logic       walk;
    logic       final_options;  // destination options at their last place
  } rest_t;
  rest_t [2:0] rest_q;

  function automatic logic [31:0] word_at(logic [WORDS-1:0][31:0] words, int unsigned place);
    return place < WORDS ? words[place%WORDS] : '0;
  endfunction

  // verilator lint_off UNUSEDSIGNAL
  state_t last;  // of the extension headers, how many there were is no longer needed
  // verilator lint_on UNUSEDSIGNAL
  assign last = state_q[SHIFT-1];
  always_ff @(posedge clk) begin
    for (int unsigned i = 0; i < L4_WORDS + 15; i++) begin
      unique case (last.at[5:4])
        2'd0: by16_q[i] <= word_at(last.words, i);
        2'd1: by16_q[i] <= word_at(last.words, i + 16);
        default: by16_q[i] <= word_at(last.words, i + 32);
      endcase
    end
    rest_q[0] <= '{
        fields: last.fields,
        cut: last.cut,
        later: last.later,
        tags: last.tags,
        qinq: last.qinq,
        dei: last.dei,
        inner: last.inner,
        ttl: last.ttl,
        below: last.below,
        label_ttl: last.label_ttl,
        bytes: last.bytes,
        more: last.more,
        l3: last.l3,
        at: last.at,
        there: last.count - last.at,
        walk: last.walk,
        final_options: last.rank == 3'd6
    };
    for (int unsigned i = 0; i < L4_WORDS + 3; i++) by4_q[i] <= by16_q[i+4*32'(rest_q[0].at[3:2])];
    rest_q[1] <= rest_q[0];
    for (int unsigned i = 0; i < L4_WORDS; i++) l4_q[i] <= by4_q[i+32'(rest_q[1].at[1:0])];
    rest_q[2] <= rest_q[1];
  end

  // ----------------------------------------------------------------------- which fields it has: the last stage but one
  typedef struct packed {
    rest_t      rest;
    logic       control;  // ICMP or ICMPv6
    logic [1:0] option;   // that has the link-layer address
  } whole_t;

  // verilator lint_off UNUSEDSIGNAL
  logic [L4_WORDS-1:0][31:0] whole_l4_q;
  whole_t whole_q;  // the number of words has been looked at
  // verilator lint_on UNUSEDSIGNAL

  always_ff @(posedge clk) begin
    automatic rest_t rest = rest_q[2];
    automatic logic ipv6 = !NARROW && rest.fields.eth_type == ETH_IPV6;
    automatic logic known = 1'b1;
    automatic logic control = 1'b0;
    automatic logic [1:0] option = '0;
    automatic place_t need = 7'd2;
    unique case (rest.fields.ip_proto)
      IP_TCP: need = 7'd5;
      IP_UDP: need = 7'd2;
      IP_SCTP: need = 7'd3;
      IP_ICMP: {known, control} = {2{!ipv6}};
      IP_ICMPV6: {known, control} = {2{ipv6}};
      default: known = 1'b0;
    endcase
    if (rest.walk && known) begin
      rest.fields.l4 = rest.there >= need;
      rest.cut       = rest.there < need;
    end
    if (!NARROW && rest.walk && ipv6) begin
      automatic logic [15:0] kind = l4_q[0][31:16];  // type and code
      automatic logic [15:0] wanted = kind == {8'(ND_SOLICIT), 8'd0} ? 16'h0101 : 16'h0201;  // type, and 8 bytes
      if (rest.fields.ip_proto inside {IP_HOP_BY_HOP, IP_ROUTING, IP_FRAGMENT, IP_AUTH, IP_DESTINATION}) begin
        rest.cut = 1'b1;
      end
      if (rest.fields.ip_proto == IP_NO_NEXT) rest.fields.exthdr.nonext = 1'b1;
      if (rest.fields.ip_proto == IP_ESP) begin
        rest.fields.exthdr.esp   = 1'b1;
        rest.fields.exthdr.unseq |= rest.final_options;
      end
      if (rest.fields.l4 && control && kind inside {{8'(ND_SOLICIT), 8'd0}, {8'(ND_ADVERTISE), 8'd0}}) begin
        rest.fields.nd = rest.there >= 7'd6;
        rest.cut       = rest.there < 7'd6;
        option[0]      = rest.there >= 7'd8 && l4_q[6][31:16] == wanted;
        option[1]      = rest.there >= 7'd10 && l4_q[6][23:16] == 8'd1 && l4_q[8][31:16] == wanted && !option[0];
      end
    end
    rest.bytes -= 16'({place_t'(rest.at - rest.l3), 2'b00});  // those before l4
    whole_l4_q <= l4_q;
    whole_q    <= '{rest: rest, control: control, option: option};
  end

  // ------------------------------------------------------------------------------------------- what they are: the last
  function automatic logic [7:0] byte_of(place_t place);
    return 8'({place, 2'b00}) + 8'd14;
  endfunction

  always_ff @(posedge clk) begin
    automatic match_t fields = whole_q.rest.fields;
    automatic logic [7:0] link = '0;
    if (fields.l4) begin
      fields.l4_src = whole_q.control ? 16'(whole_l4_q[0][31:24]) : whole_l4_q[0][31:16];
      fields.l4_dst = whole_q.control ? 16'(whole_l4_q[0][23:16]) : whole_l4_q[0][15:0];
    end
    if (fields.nd) fields.target = address(whole_l4_q[5:2]);
    if (whole_q.option[0]) begin
      fields.link = {whole_l4_q[6][15:0], whole_l4_q[7]};
      link        = byte_of(whole_q.rest.at) + 8'd26;
    end
    if (whole_q.option[1]) begin
      fields.link = {whole_l4_q[8][15:0], whole_l4_q[9]};
      link        = byte_of(whole_q.rest.at) + 8'd34;
    end
    m_match  <= fields;
    m_layers <= '{
        cut: whole_q.rest.cut,
        later: whole_q.rest.later,
        tags: whole_q.rest.tags,
        l3: fields.l3 ? byte_of(whole_q.rest.l3) : '0,
        l4: fields.l4 ? byte_of(whole_q.rest.at) : '0,
        qinq: whole_q.rest.qinq,
        dei: whole_q.rest.dei,
        inner: whole_q.rest.inner,
        ttl: whole_q.rest.ttl,
        link: link,
        below: whole_q.rest.below,
        label_ttl: whole_q.rest.label_ttl,
        l4_bytes: fields.l4 && !whole_q.rest.more ? whole_q.rest.bytes : '0
    };
  end

  assign m_valid = valid_q[LATENCY-1];

endmodule
