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

  // A word as it goes, with which of its halves, or bytes, are laid over; the first one in the highest bits.
  function automatic patch_word_t by_bytes(logic [31:0] word, logic [3:0] enable);
    return '{
      low: 1'b0,
      enable: {enable[0], enable[1], enable[2], enable[3]},
      bytes: {word[7:0], word[15:8], word[23:16], word[31:24]}
    };
  endfunction

  function automatic patch_word_t by_halves(logic [31:0] word, logic [1:0] enable);
    return by_bytes(word, {{2{enable[1]}}, {2{enable[0]}}});
  endfunction

  // What lies in a header, turned: by 4 words at a time, then by single ones.
  localparam int unsigned INDEX_W = $clog2(WORDS);
  localparam logic [INDEX_W-1:0] SINGLE = INDEX_W'(3);
  typedef patch_word_t [WORDS-1:0] header_t;
  typedef logic [INDEX_W-1:0] index_t;

  function automatic header_t turned(header_t patch, index_t words);
    for (int unsigned i = 0; i < WORDS; i++) turned[i] = patch[index_t'(i)-words];
  endfunction

  // ------------------------------------------------------------------------------------------------------------- front
  // Addresses, and halfwords: tags, type, labels. The type stays, be it one or a length, if it is not edited.
  localparam int unsigned HALVES = 14;

  // verilator lint_off UNUSEDSIGNAL
  function automatic patch_t front_of(edit_t from);
    automatic logic [5:0][15:0] tags, labels;
    automatic logic [HALVES-1:0][15:0] halves;
    automatic logic [HALVES-1:0] enable;
    automatic logic [11:0] behind = 12'((1 << 2 * from.labels) - 1);
    automatic logic edits_type = from.eth_type != from.fields.eth_type || from.labels != '0
        || from.cut != 8'd14 + {4'b0, from.layers.tags, 2'b0};
    for (int unsigned i = 0; i < 3; i++) begin
      {tags[2*i], tags[2*i+1]}     = {from.tag[i].qinq ? ETH_QINQ : ETH_VLAN, from.tag[i].tci};
      {labels[2*i], labels[2*i+1]} = from.label[i];
    end
    unique case (from.tags)
      2'd0: halves = {16'd0, labels, labels, from.eth_type};
      2'd1: halves = {16'd0, labels[3:0], labels, from.eth_type, tags[1:0]};
      2'd2: halves = {16'd0, labels[1:0], labels, from.eth_type, tags[3:0]};
      2'd3: halves = {16'd0, labels, from.eth_type, tags};
    endcase
    unique case (from.tags)
      2'd0: enable = {1'b0, behind, edits_type};
      2'd1: enable = {1'b0, behind[9:0], edits_type, 2'b11};
      2'd2: enable = {1'b0, behind[7:0], edits_type, 4'b1111};
      2'd3: enable = {1'b0, behind[5:0], edits_type, 6'b111111};
    endcase
    front_of    = '0;
    front_of[0] = by_halves(from.fields.eth_dst[47:16], 2'b11);
    front_of[1] = by_halves({from.fields.eth_dst[15:0], from.fields.eth_src[47:32]}, 2'b11);
    front_of[2] = by_halves(from.fields.eth_src[31:0], 2'b11);
    for (int unsigned i = 0; i < HALVES / 2; i++) begin
      front_of[3+i] = by_halves({halves[2*i], halves[2*i+1]}, {enable[2*i], enable[2*i+1]});
    end
  endfunction

  // --------------------------------------------------------------------------------------------------------- L3 and L4
  function automatic logic labelled(edit_t from);
    return !NARROW && from.fields.l3 && from.fields.eth_type inside {ETH_MPLS, ETH_MPLS_MULTICAST};
  endfunction

  // Byte 2 of these is the header's first one.
  function automatic patch_t l3_of(edit_t from);
    automatic match_t fields = from.fields;
    automatic edited_t edited = from.edited;
    automatic logic [7:0] tos = {fields.ip_dscp, fields.ip_ecn};
    l3_of = '0;
    if (fields.l3 && fields.eth_type == ETH_IPV4) begin
      l3_of[0] = by_bytes({24'd0, tos}, {3'd0, edited.tos});
      l3_of[2] = by_bytes({16'd0, from.ttl, fields.ip_proto}, {2'd0, edited.ttl, edited.proto});
      l3_of[3] = by_halves({16'd0, fields.src[31:16]}, {1'b0, edited.src});
      l3_of[4] = by_halves({fields.src[15:0], fields.dst[31:16]}, {edited.src, edited.dst});
      l3_of[5] = by_halves({fields.dst[15:0], 16'd0}, {edited.dst, 1'b0});
    end
    if (!NARROW && fields.l3 && fields.eth_type == ETH_IPV6) begin
      l3_of[0] = by_bytes({20'd0, tos, fields.label[19:16]}, {2'd0, edited.tos, edited.tos || edited.label});
      l3_of[0].low = 1'b1;  // the version stays
      l3_of[1] = by_halves({fields.label[15:0], 16'd0}, {edited.label, 1'b0});
      l3_of[2] = by_bytes({fields.ip_proto, from.ttl, fields.src[127:112]},
                          {edited.proto, edited.ttl, {2{edited.src}}});
      for (int unsigned i = 0; i < 3; i++) begin
        l3_of[3+i] = by_halves(fields.src[111-32*i-:32], {2{edited.src}});
        l3_of[7+i] = by_halves(fields.dst[111-32*i-:32], {2{edited.dst}});
      end
      l3_of[6]  = by_halves({fields.src[15:0], fields.dst[127:112]}, {edited.src, edited.dst});
      l3_of[10] = by_halves({fields.dst[15:0], 16'd0}, {edited.dst, 1'b0});
    end
    if (labelled(from)) begin
      l3_of[2] = by_bytes({4{from.ttl}}, {1'b0, edited.ttl && from.layers.below == BELOW_LABEL, 2'd0});
      l3_of[3] = by_bytes({4{from.ttl}}, {1'b0, edited.ttl && from.layers.below == BELOW_IPV6,
                                          edited.ttl && from.layers.below == BELOW_IPV4, 1'b0});
    end
    if (!NARROW && fields.l3 && fields.eth_type == ETH_ARP) begin
      l3_of[2] = by_halves({fields.l4_src, fields.link[47:32]}, {edited.l4_src, edited.link});
      l3_of[3] = by_halves(fields.link[31:0], {2{edited.link}});
      l3_of[4] = by_halves(fields.src[31:0], {2{edited.src}});
      l3_of[5] = by_halves(fields.target[47:16], {2{edited.target}});
      l3_of[6] = by_halves({fields.target[15:0], fields.dst[31:16]}, {edited.target, edited.dst});
      l3_of[7] = by_halves({fields.dst[15:0], 16'd0}, {edited.dst, 1'b0});
    end
  endfunction

  function automatic patch_t l4_of(edit_t from, logic control);
    automatic match_t fields = from.fields;
    automatic edited_t edited = from.edited;
    automatic logic [7:0] link = from.layers.link - from.layers.l4;  // 26 or 34: in the first option or the second
    l4_of = '0;
    if (fields.l4 && control) begin
      l4_of[0] = by_bytes({16'd0, fields.l4_src[7:0], fields.l4_dst[7:0]}, {2'd0, edited.l4_src, edited.l4_dst});
    end
    if (fields.l4 && !control) begin
      l4_of[0] = by_halves({16'd0, fields.l4_src}, {1'b0, edited.l4_src});
      l4_of[1] = by_halves({fields.l4_dst, 16'd0}, {edited.l4_dst, 1'b0});
    end
    if (fields.nd) begin
      l4_of[2] = by_halves({16'd0, fields.target[127:112]}, {1'b0, edited.target});
      for (int unsigned i = 0; i < 3; i++) l4_of[3+i] = by_halves(fields.target[111-32*i-:32], {2{edited.target}});
      l4_of[6] = by_halves({fields.target[15:0], 16'd0}, {edited.target, 1'b0});
      for (int unsigned i = 7; i < 11; i += 2) begin
        automatic logic here = edited.link && link == (i == 7 ? 8'd26 : 8'd34);
        l4_of[i]   = by_halves(fields.link[47:16], {2{here}});
        l4_of[i+1] = by_halves({fields.link[15:0], 16'd0}, {here, 1'b0});
      end
    end
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
