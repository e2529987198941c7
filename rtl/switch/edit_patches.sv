// SPDX-License-Identifier: Apache-2.0
// What an edit lays over a copy of a packet: the front, at its beginning; bytes of the L3 header and of the L4 one,
// which are turned to where they lie in the copy; and where the checksums are that change.
// An edit goes through three stages of registers, into each of which `load` lets it.
// Latency: 3 loads. Throughput: an edit a cycle. Backpressure: `load`.
module edit_patches
  import switch_pkg::*;
  import editor_pkg::*;
#(
    parameter bit NARROW = 1'b0,  // edits are narrowed_edits
    localparam int unsigned WORDS = NARROW ? PATCH_WORDS_NARROW : PATCH_WORDS
) (
    input  logic         clk,
    input  logic   [2:0] load,
    // Of what the packet was like, not all is needed.
    // verilator lint_off UNUSEDSIGNAL
    input  edit_t        edit,
    // verilator lint_on UNUSEDSIGNAL
    input  word_t        shift,  // of what comes behind the front
    input  logic         none,   // the packet is too short for its headers: nothing is edited
    output patch_t       front,  // valid for words below PATCH_WORDS
    output patch_word_t [WORDS-1:0] l3,  // valid for WORDS words from l3_at on
    output word_t        l3_at,
    output patch_word_t [WORDS-1:0] l4,
    output word_t        l4_at,
    output sum_t         l3_sum,
    output sum_t         l4_sum,
    output sum_t         crc_sum  // the second half of a CRC, whose first one is l4_sum
);

  // A patch before it is turned.
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

  // What lies in a header, turned: by 4 words at a time, then by single ones.
  localparam int unsigned INDEX_W = $clog2(WORDS);
  localparam logic [INDEX_W-1:0] SINGLE = INDEX_W'(3);
  typedef patch_word_t [WORDS-1:0] header_t;
  typedef logic [INDEX_W-1:0] index_t;

  function automatic header_t turned(header_t patch, index_t words);
    for (int unsigned i = 0; i < WORDS; i++) turned[i] = patch[index_t'(i)-words];
  endfunction

  // The low `size` bytes of a value, from byte `at` on.
  function automatic bytes_t with_bytes(bytes_t into, int unsigned at, int unsigned size, logic [127:0] value,
                                        logic enable);
    with_bytes = into;
    for (int unsigned i = 0; i < 16; i++) begin
      if (i < size) begin
        with_bytes.bytes[6'(at+size-1-i)]  = value[8*i+:8];
        with_bytes.enable[6'(at+size-1-i)] = enable;
      end
    end
  endfunction

  // ------------------------------------------------------------------------------------------------------------- front
  // Halfwords from byte 12 on: tags, type, labels. The type stays, be it one or a length, if it is not edited.
  localparam int unsigned HALVES = 13;

  // verilator lint_off UNUSEDSIGNAL
  function automatic patch_t front_of(edit_t from);
    automatic bytes_t all = '0;
    automatic logic [5:0][15:0] tags;
    automatic logic [5:0][15:0] labels;
    automatic logic type_stays = from.eth_type == from.fields.eth_type && from.labels == '0
        && from.cut == 8'd14 + {4'b0, from.layers.tags, 2'b0};
    for (int unsigned i = 0; i < 3; i++) begin
      tags[2*i]     = from.tag[i].qinq ? ETH_QINQ : ETH_VLAN;
      tags[2*i+1]   = from.tag[i].tci;
      labels[2*i]   = from.label[i][31:16];
      labels[2*i+1] = from.label[i][15:0];
    end
    all = with_bytes(all, 0, 6, 128'(from.fields.eth_dst), 1'b1);
    all = with_bytes(all, 6, 6, 128'(from.fields.eth_src), 1'b1);
    for (int unsigned p = 0; p < HALVES; p++) begin
      for (int unsigned t = 0; t < 4; t++) begin
        if (32'(from.tags) == t) begin
          if (p < 2 * t) all = with_bytes(all, 12 + 2 * p, 2, 128'(tags[p%6]), 1'b1);
          if (p == 2 * t) all = with_bytes(all, 12 + 2 * p, 2, 128'(from.eth_type), !type_stays);
          if (p > 2 * t) begin
            all = with_bytes(all, 12 + 2 * p, 2, 128'(labels[(p+5-2*t)%6]), p <= 2 * t + 2 * 32'(from.labels));
          end
        end
      end
    end
    return patch_of(all);
  endfunction

  // --------------------------------------------------------------------------------------------------------- L3 and L4
  function automatic logic labelled(edit_t from);
    return !NARROW && from.fields.l3 && from.fields.eth_type inside {ETH_MPLS, ETH_MPLS_MULTICAST};
  endfunction

  // Byte 2 of these is the header's first one.
  function automatic patch_t l3_of(edit_t from);
    automatic bytes_t all = '0;
    automatic match_t fields = from.fields;
    automatic edited_t edited = from.edited;
    automatic logic [7:0] tos = {fields.ip_dscp, fields.ip_ecn};
    if (fields.l3 && fields.eth_type == ETH_IPV4) begin
      all = with_bytes(all, 2 + 1, 1, 128'(tos), edited.tos);
      all = with_bytes(all, 2 + 8, 1, 128'(from.ttl), edited.ttl);
      all = with_bytes(all, 2 + 9, 1, 128'(fields.ip_proto), edited.proto);
      all = with_bytes(all, 2 + 12, 4, fields.src, edited.src);
      all = with_bytes(all, 2 + 16, 4, fields.dst, edited.dst);
    end
    if (!NARROW && fields.l3 && fields.eth_type == ETH_IPV6) begin
      all.low = 1'b1;  // the version stays
      all = with_bytes(all, 2 + 0, 1, 128'(tos[7:4]), edited.tos);
      all = with_bytes(all, 2 + 1, 1, 128'({tos[3:0], fields.label[19:16]}), edited.tos || edited.label);
      all = with_bytes(all, 2 + 2, 2, 128'(fields.label[15:0]), edited.label);
      all = with_bytes(all, 2 + 6, 1, 128'(fields.ip_proto), edited.proto);
      all = with_bytes(all, 2 + 7, 1, 128'(from.ttl), edited.ttl);
      all = with_bytes(all, 2 + 8, 16, fields.src, edited.src);
      all = with_bytes(all, 2 + 24, 16, fields.dst, edited.dst);
    end
    if (labelled(from)) begin
      all = with_bytes(all, 2 + 4 + 3, 1, 128'(from.ttl), edited.ttl && from.layers.below == BELOW_LABEL);
      all = with_bytes(all, 2 + 4 + 7, 1, 128'(from.ttl), edited.ttl && from.layers.below == BELOW_IPV6);
      all = with_bytes(all, 2 + 4 + 8, 1, 128'(from.ttl), edited.ttl && from.layers.below == BELOW_IPV4);
    end
    if (!NARROW && fields.l3 && fields.eth_type == ETH_ARP) begin
      all = with_bytes(all, 2 + 6, 2, 128'(fields.l4_src), edited.l4_src);
      all = with_bytes(all, 2 + 8, 6, 128'(fields.link), edited.link);
      all = with_bytes(all, 2 + 14, 4, fields.src, edited.src);
      all = with_bytes(all, 2 + 18, 6, fields.target, edited.target);
      all = with_bytes(all, 2 + 24, 4, fields.dst, edited.dst);
    end
    return patch_of(all);
  endfunction

  function automatic patch_t l4_of(edit_t from, logic control);
    automatic bytes_t all = '0;
    automatic match_t fields = from.fields;
    automatic edited_t edited = from.edited;
    automatic logic [7:0] link = from.layers.link - from.layers.l4;  // 26 or 34: in the first option or the second
    if (fields.l4 && control) begin
      all = with_bytes(all, 2 + 0, 1, 128'(fields.l4_src), edited.l4_src);
      all = with_bytes(all, 2 + 1, 1, 128'(fields.l4_dst), edited.l4_dst);
    end
    if (fields.l4 && !control) begin
      all = with_bytes(all, 2 + 0, 2, 128'(fields.l4_src), edited.l4_src);
      all = with_bytes(all, 2 + 2, 2, 128'(fields.l4_dst), edited.l4_dst);
    end
    if (fields.nd) begin
      all = with_bytes(all, 2 + 8, 16, fields.target, edited.target);
      all = with_bytes(all, 2 + 26, 6, 128'(fields.link), edited.link && link == 8'd26);
      all = with_bytes(all, 2 + 34, 6, 128'(fields.link), edited.link && link == 8'd34);
    end
    return patch_of(all);
  endfunction
  // verilator lint_on UNUSEDSIGNAL

  // ------------------------------------------------------------------------------------------------------------ stages
  // Registers of their own for each stage: a simulator copies all of an array to write a part of it.
  patch_t front0_q, front1_q, front2_q;
  header_t l30_q, l31_q, l32_q, l40_q, l41_q, l42_q;
  word_t [2:0] l3_at_q, l4_at_q;
  sum_t [2:0] l3_sum_q, l4_sum_q, crc_sum_q;  // `at` of the first stage is behind the header's place

  always_ff @(posedge clk) begin
    if (load[0]) begin
      automatic logic below = labelled(edit) && edit.layers.below == BELOW_IPV4 && edit.edited.ttl;
      automatic logic tcp = edit.l4_proto == IP_TCP;
      automatic logic sctp = edit.l4_proto == IP_SCTP && edit.layers.l4_bytes != '0;
      automatic logic udp = edit.l4_proto == IP_UDP;
      automatic logic control = edit.l4_proto == IP_ICMP || edit.l4_proto == IP_ICMPV6;
      front0_q  <= none ? '0 : front_of(edit);
      l30_q     <= none ? '0 : header_t'(l3_of(edit));
      l40_q     <= none ? '0 : header_t'(l4_of(edit, control));
      l3_at_q[0]  <= edit.layers.l3[7:2] + shift;
      l4_at_q[0]  <= edit.layers.l4[7:2] + shift;
      l3_sum_q[0] <= '{
          there: ((edit.fields.l3 && edit.fields.eth_type == ETH_IPV4) || below) && !none,
          at: below ? 6'd4 : 6'd3,
          half: 1'b0,
          udp: 1'b0,
          crc: 1'b0,
          delta: edit.l3_delta
      };
      l4_sum_q[0] <= '{
          there: edit.fields.l4 && !none && (tcp || udp || control || sctp),
          at: tcp ? 6'd4 : udp || sctp ? 6'd2 : 6'd1,
          half: tcp || sctp,
          udp: udp,
          crc: sctp,
          delta: edit.l4_delta[15:0]
      };
      crc_sum_q[0] <= '{
          there: edit.fields.l4 && !none && sctp,
          at: 6'd3,
          half: 1'b0,
          udp: 1'b0,
          crc: 1'b1,
          delta: '0
      };
    end
  end

  always_ff @(posedge clk) begin
    if (load[1]) begin
      front1_q     <= front0_q;
      l31_q        <= turned(l30_q, index_t'(l3_at_q[0]) & ~SINGLE);
      l41_q        <= turned(l40_q, index_t'(l4_at_q[0]) & ~SINGLE);
      l3_at_q[1]     <= l3_at_q[0];
      l4_at_q[1]     <= l4_at_q[0];
      l3_sum_q[1]    <= l3_sum_q[0];
      l4_sum_q[1]    <= l4_sum_q[0];
      l3_sum_q[1].at <= l3_sum_q[0].at + l3_at_q[0];
      l4_sum_q[1].at <= l4_sum_q[0].at + l4_at_q[0];
      crc_sum_q[1]   <= crc_sum_q[0];
      crc_sum_q[1].at <= crc_sum_q[0].at + l4_at_q[0];
    end
  end

  always_ff @(posedge clk) begin
    if (load[2]) begin
      front2_q  <= front1_q;
      l32_q     <= turned(l31_q, index_t'(l3_at_q[1]) & SINGLE);
      l42_q     <= turned(l41_q, index_t'(l4_at_q[1]) & SINGLE);
      l3_at_q[2]  <= l3_at_q[1];
      l4_at_q[2]  <= l4_at_q[1];
      l3_sum_q[2] <= l3_sum_q[1];
      l4_sum_q[2] <= l4_sum_q[1];
      crc_sum_q[2] <= crc_sum_q[1];
    end
  end

  assign front  = front2_q;
  assign l3     = l32_q;
  assign l4     = l42_q;
  assign l3_at  = l3_at_q[2];
  assign l4_at  = l4_at_q[2];
  assign l3_sum = l3_sum_q[2];
  assign l4_sum = l4_sum_q[2];
  assign crc_sum = crc_sum_q[2];

endmodule
