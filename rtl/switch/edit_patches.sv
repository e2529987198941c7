// SPDX-License-Identifier: Apache-2.0
// What an edit lays over a copy of a packet: the front, at its beginning; bytes of the L3 header and of the L4 one,
// which are turned to where they lie in the copy; and where the checksums are that change.
// An edit goes through three stages of registers, into each of which `load` lets it.
// Latency: 3 loads. Throughput: an edit a cycle. Backpressure: `load`.
module edit_patches
  import switch_pkg::*;
  import editor_pkg::*;
(
    input  logic         clk,
    input  logic   [2:0] load,
    // Of what the packet was like, not all is needed.
    // verilator lint_off UNUSEDSIGNAL
    input  edit_t        edit,
    // verilator lint_on UNUSEDSIGNAL
    input  word_t        shift,  // of what comes behind the front
    input  logic         none,   // the packet is too short for its headers: nothing is edited
    output patch_t       front,  // valid for words below PATCH_WORDS
    output patch_t       l3,     // valid for PATCH_WORDS words from l3_at on
    output word_t        l3_at,
    output patch_t       l4,
    output word_t        l4_at,
    output sum_t         l3_sum,
    output sum_t         l4_sum
);

  // A patch before it is turned: byte 2 is the header's first one.
  localparam int unsigned BYTES = 4 * PATCH_WORDS;
  typedef struct packed {
    logic                  low;
    logic [BYTES-1:0]      enable;
    logic [BYTES-1:0][7:0] bytes;
  } bytes_t;

  function automatic patch_t patch_of(bytes_t from);
    for (int unsigned i = 0; i < PATCH_WORDS; i++) begin
      patch_of[i] = {i == 0 && from.low, from.enable[4*i+:4], from.bytes[4*i+:4]};
    end
  endfunction

  function automatic patch_t turned(patch_t patch, logic [3:0] words);
    for (int unsigned i = 0; i < PATCH_WORDS; i++) turned[i] = patch[4'(i)-words];
  endfunction

  function automatic logic [15:0][7:0] wire_order(logic [127:0] value);
    for (int unsigned i = 0; i < 16; i++) wire_order[i] = value[127-8*i-:8];
  endfunction

  // The first SIZE bytes of `value` in the order of the wire, at the header's byte `at`.
  function automatic bytes_t with_bytes(bytes_t into, int unsigned at, int unsigned size, logic [15:0][7:0] value,
                                        logic enable);
    with_bytes = into;
    for (int unsigned i = 0; i < 16; i++) begin
      if (i < size) begin
        with_bytes.bytes[2+at+i]  = value[16-size+i];
        with_bytes.enable[2+at+i] = enable;
      end
    end
  endfunction

  wire ipv4 = edit.fields.l3 && edit.fields.eth_type == ETH_IPV4 && !none;
  wire ipv6 = edit.fields.l3 && edit.fields.eth_type == ETH_IPV6 && !none;
  wire arp = edit.fields.l3 && edit.fields.eth_type == ETH_ARP && !none;
  wire upper = edit.fields.l4 && !none;
  wire control = edit.fields.ip_proto == IP_ICMP || edit.fields.ip_proto == IP_ICMPV6;

  wire [15:0][7:0] src = wire_order(edit.fields.src);
  wire [15:0][7:0] dst = wire_order(edit.fields.dst);
  wire [15:0][7:0] target = wire_order(edit.fields.target);
  wire [15:0][7:0] link = wire_order(128'(edit.fields.link));
  wire [15:0][7:0] l4_src = wire_order(128'(edit.fields.l4_src));
  wire [15:0][7:0] l4_dst = wire_order(128'(edit.fields.l4_dst));
  wire [15:0][7:0] ttl = wire_order(128'(edit.ttl));
  wire [15:0][7:0] proto = wire_order(128'(edit.fields.ip_proto));
  wire [7:0] tos = {edit.fields.ip_dscp, edit.fields.ip_ecn};

  // ------------------------------------------------------------------------------------------------------------- front
  // Halfwords from byte 12 on: tags, type, labels. The type stays, be it one or a length, if it is not edited.
  localparam int unsigned HALVES = 13;
  wire type_stays = edit.eth_type == edit.fields.eth_type && edit.labels == '0
      && edit.cut == 8'd14 + {4'b0, edit.layers.tags, 2'b0};

  patch_t front_d;
  always_comb begin
    automatic bytes_t all = '0;
    automatic logic [5:0][15:0] tags;
    automatic logic [5:0][15:0] labels;
    for (int unsigned i = 0; i < 3; i++) begin
      tags[2*i]     = edit.tag[i].qinq ? ETH_QINQ : ETH_VLAN;
      tags[2*i+1]   = edit.tag[i].tci;
      labels[2*i]   = edit.label[i][31:16];
      labels[2*i+1] = edit.label[i][15:0];
    end
    for (int unsigned i = 0; i < 6; i++) begin
      all.bytes[i]   = edit.fields.eth_dst[47-8*i-:8];
      all.bytes[6+i] = edit.fields.eth_src[47-8*i-:8];
    end
    all.enable[11:0] = '1;
    for (int unsigned p = 0; p < HALVES; p++) begin
      for (int unsigned t = 0; t < 4; t++) begin
        if (32'(edit.tags) == t) begin
          automatic logic [15:0] half = edit.eth_type;
          automatic logic enable = !type_stays;
          if (p < 2 * t) half = tags[p%6];
          if (p > 2 * t) half = labels[(p+11-2*t)%6];  // 11 is 6 * 2 - 1
          if (p < 2 * t) enable = 1'b1;
          if (p > 2 * t) enable = p <= 2 * t + 2 * 32'(edit.labels);
          all.bytes[12+2*p]     = half[15:8];
          all.bytes[13+2*p]     = half[7:0];
          all.enable[12+2*p+:2] = {2{enable}};
        end
      end
    end
    if (none) all.enable = '0;
    front_d = patch_of(all);
  end

  // ---------------------------------------------------------------------------------------------------------------- L3
  patch_t l3_d;
  always_comb begin
    automatic bytes_t all = '0;
    if (ipv4) begin
      all = with_bytes(all, 1, 1, wire_order(128'(tos)), edit.edited.tos);
      all = with_bytes(all, 8, 1, ttl, edit.edited.ttl);
      all = with_bytes(all, 9, 1, proto, edit.edited.proto);
      all = with_bytes(all, 12, 4, src, edit.edited.src);
      all = with_bytes(all, 16, 4, dst, edit.edited.dst);
    end
    if (ipv6) begin
      all.low = 1'b1;  // the version stays
      all = with_bytes(all, 0, 1, wire_order(128'(tos[7:4])), edit.edited.tos);
      all = with_bytes(all, 1, 1, wire_order(128'({tos[3:0], edit.fields.label[19:16]})),
                       edit.edited.tos || edit.edited.label);
      all = with_bytes(all, 2, 2, wire_order(128'(edit.fields.label[15:0])), edit.edited.label);
      all = with_bytes(all, 6, 1, proto, edit.edited.proto);
      all = with_bytes(all, 7, 1, ttl, edit.edited.ttl);
      all = with_bytes(all, 8, 16, src, edit.edited.src);
      all = with_bytes(all, 24, 16, dst, edit.edited.dst);
    end
    if (arp) begin
      all = with_bytes(all, 6, 2, l4_src, edit.edited.l4_src);
      all = with_bytes(all, 8, 6, link, edit.edited.link);
      all = with_bytes(all, 14, 4, src, edit.edited.src);
      all = with_bytes(all, 18, 6, target, edit.edited.target);
      all = with_bytes(all, 24, 4, dst, edit.edited.dst);
    end
    l3_d = patch_of(all);
  end

  // ---------------------------------------------------------------------------------------------------------------- L4
  wire [7:0] link_at = edit.layers.link - edit.layers.l4;  // 26 or 34, in the first option or the second one

  patch_t l4_d;
  always_comb begin
    automatic bytes_t all = '0;
    if (upper && control) begin
      all = with_bytes(all, 0, 1, l4_src, edit.edited.l4_src);
      all = with_bytes(all, 1, 1, l4_dst, edit.edited.l4_dst);
    end
    if (upper && !control) begin
      all = with_bytes(all, 0, 2, l4_src, edit.edited.l4_src);
      all = with_bytes(all, 2, 2, l4_dst, edit.edited.l4_dst);
    end
    if (upper && edit.fields.nd) begin
      all = with_bytes(all, 8, 16, target, edit.edited.target);
      all = with_bytes(all, 26, 6, link, edit.edited.link && link_at == 8'd26);
      all = with_bytes(all, 34, 6, link, edit.edited.link && link_at == 8'd34);
    end
    l4_d = patch_of(all);
  end

  // ------------------------------------------------------------------------------------------------------------ stages
  patch_t [2:0] front_q, l3_q, l4_q;
  word_t [2:0] l3_at_q, l4_at_q;
  sum_t [2:0] l3_sum_q, l4_sum_q;  // `at` of the first stage is behind the header's place

  always_ff @(posedge clk) begin
    if (load[0]) begin
      automatic logic tcp = edit.fields.ip_proto == IP_TCP;
      automatic logic udp = edit.fields.ip_proto == IP_UDP;
      front_q[0]  <= front_d;
      l3_q[0]     <= l3_d;
      l4_q[0]     <= l4_d;
      l3_at_q[0]  <= edit.layers.l3[7:2] + shift;
      l4_at_q[0]  <= edit.layers.l4[7:2] + shift;
      l3_sum_q[0] <= '{there: ipv4, at: 6'd3, half: 1'b0, udp: 1'b0, delta: edit.l3_delta};
      l4_sum_q[0] <= '{
          there: upper && (tcp || udp || control),
          at: tcp ? 6'd4 : udp ? 6'd2 : 6'd1,
          half: tcp,
          udp: udp,
          delta: edit.l4_delta
      };
    end
    if (load[1]) begin
      front_q[1]     <= front_q[0];
      l3_q[1]        <= turned(l3_q[0], l3_at_q[0][3:0] & 4'b1100);
      l4_q[1]        <= turned(l4_q[0], l4_at_q[0][3:0] & 4'b1100);
      l3_at_q[1]     <= l3_at_q[0];
      l4_at_q[1]     <= l4_at_q[0];
      l3_sum_q[1]    <= l3_sum_q[0];
      l4_sum_q[1]    <= l4_sum_q[0];
      l3_sum_q[1].at <= l3_sum_q[0].at + l3_at_q[0];
      l4_sum_q[1].at <= l4_sum_q[0].at + l4_at_q[0];
    end
    if (load[2]) begin
      front_q[2]  <= front_q[1];
      l3_q[2]     <= turned(l3_q[1], l3_at_q[1][3:0] & 4'b0011);
      l4_q[2]     <= turned(l4_q[1], l4_at_q[1][3:0] & 4'b0011);
      l3_at_q[2]  <= l3_at_q[1];
      l4_at_q[2]  <= l4_at_q[1];
      l3_sum_q[2] <= l3_sum_q[1];
      l4_sum_q[2] <= l4_sum_q[1];
    end
  end

  assign front  = front_q[2];
  assign l3     = l3_q[2];
  assign l4     = l4_q[2];
  assign l3_at  = l3_at_q[2];
  assign l4_at  = l4_at_q[2];
  assign l3_sum = l3_sum_q[2];
  assign l4_sum = l4_sum_q[2];

endmodule
