// SPDX-License-Identifier: Apache-2.0
// Does the steps of packets, one after another, and makes their copies. Its edit_t is what a packet is after the steps
// so far; the deltas in it are 0 here.
// A field is set if the packet came with its header: of L3 and L4 that which it came with, be there labels before it or
// not; of VLAN and MPLS the first tag and label there is now. Labels are there that were pushed, and the first one that
// came; the TTL of what came below that is known until it is cut off. What has no room is left out: a fourth tag or
// label, or cutting more than the packet's first 252 bytes. A packet whose TTL runs out, as it is before that, or that
// its meter drops makes no copies from there on but an empty last one.
// Latency: 2 cycles from a step to its copy. Throughput: a step a cycle; of ACT_METER as long as the answer takes.
// Backpressure: m_room says that there is room for 4 copies.
module action_execute
  import switch_pkg::*;
  import switch_step_pkg::*;
#(
    parameter bit NARROW = 1'b0  // packets are narrowed_arrivals
) (
    input  logic                 clk,
    input  logic                 rst,
    input  logic [PORTS_MAX-1:0] enabled,
    input  logic                 s_valid,
    output logic                 s_ready,
    input  step_t                s_step,
    input  arrival_t             s_packet,       // the step's
    input  sums_t                s_sums,
    output logic                 m_valid,
    input  logic                 m_room,
    output copy_t                m_copy,
    output kinds_t               m_kinds,
    output sums_t                m_sums,
    output logic                 meter_valid,
    input  logic                 meter_ready,
    output logic [         15:0] meter_number,
    output logic [  BYTES_W-1:0] meter_bytes,
    input  logic                 meter_answer,
    input  logic                 meter_drop,
    input  logic [          2:0] meter_raise,
    output logic                 count_valid,
    output logic [         15:0] count_number,
    output logic [  BYTES_W-1:0] count_bytes,
    output logic                 idle
);

  // Fields that take the value
  typedef struct packed {
    logic eth_dst;
    logic eth_src;
    logic eth_type;
    logic vlan_vid;
    logic vlan_pcp;
    logic dscp;
    logic ecn;
    logic proto;
    logic src;
    logic src_high;   // but for the low 32 bits
    logic dst;
    logic dst_high;
    logic l4_src;
    logic l4_dst;
    logic flow_label;
    logic target;
    logic target_high; // but for the low 48 bits
    logic link;
    logic label;
    logic tc;
    logic bos;
    logic tunnel_id;
  } puts_t;

  // verilator lint_off UNUSEDSIGNAL
  function automatic puts_t puts_of(logic [5:0] field, kinds_t kinds);
    // verilator lint_on UNUSEDSIGNAL
    puts_of = '0;
    unique case (field)
      OXM_ETH_DST: puts_of.eth_dst = 1'b1;
      OXM_ETH_SRC: puts_of.eth_src = 1'b1;
      OXM_ETH_TYPE: puts_of.eth_type = 1'b1;
      OXM_VLAN_VID: puts_of.vlan_vid = 1'b1;
      OXM_VLAN_PCP: puts_of.vlan_pcp = 1'b1;
      OXM_IP_DSCP: puts_of.dscp = kinds.ipv4 || kinds.ipv6;
      OXM_IP_ECN: puts_of.ecn = kinds.ipv4 || kinds.ipv6;
      OXM_IP_PROTO: puts_of.proto = kinds.proto;
      OXM_IPV4_SRC: puts_of.src = kinds.ipv4;
      OXM_IPV4_DST: puts_of.dst = kinds.ipv4;
      OXM_TCP_SRC: puts_of.l4_src = kinds.tcp;
      OXM_TCP_DST: puts_of.l4_dst = kinds.tcp;
      OXM_UDP_SRC: puts_of.l4_src = kinds.udp;
      OXM_UDP_DST: puts_of.l4_dst = kinds.udp;
      OXM_SCTP_SRC: puts_of.l4_src = kinds.sctp;
      OXM_SCTP_DST: puts_of.l4_dst = kinds.sctp;
      OXM_ICMPV4_TYPE: puts_of.l4_src = kinds.icmp;
      OXM_ICMPV4_CODE: puts_of.l4_dst = kinds.icmp;
      OXM_ARP_OP: puts_of.l4_src = kinds.arp;
      OXM_ARP_SPA: puts_of.src = kinds.arp;
      OXM_ARP_TPA: puts_of.dst = kinds.arp;
      OXM_ARP_SHA: puts_of.link = kinds.arp;
      OXM_ARP_THA: puts_of.target = kinds.arp;
      OXM_IPV6_SRC: {puts_of.src, puts_of.src_high} = {2{kinds.ipv6}};
      OXM_IPV6_DST: {puts_of.dst, puts_of.dst_high} = {2{kinds.ipv6}};
      OXM_IPV6_FLABEL: puts_of.flow_label = kinds.ipv6;
      OXM_ICMPV6_TYPE: puts_of.l4_src = kinds.icmpv6;
      OXM_ICMPV6_CODE: puts_of.l4_dst = kinds.icmpv6;
      OXM_IPV6_ND_TARGET: {puts_of.target, puts_of.target_high} = {2{kinds.nd}};
      OXM_IPV6_ND_SLL: puts_of.link = kinds.sll;
      OXM_IPV6_ND_TLL: puts_of.link = kinds.tll;
      OXM_MPLS_LABEL: puts_of.label = 1'b1;
      OXM_MPLS_TC: puts_of.tc = 1'b1;
      OXM_MPLS_BOS: puts_of.bos = 1'b1;
      OXM_TUNNEL_ID: puts_of.tunnel_id = 1'b1;
      default: ;
    endcase
  endfunction

  function automatic logic is_mpls(logic [15:0] kind);
    return kind inside {ETH_MPLS, ETH_MPLS_MULTICAST};
  endfunction

  localparam logic [7:0] CUT_MAX = 8'd252;

  // verilator lint_off UNUSEDSIGNAL
  function automatic edit_t as_it_came(arrival_t packet);
    // verilator lint_on UNUSEDSIGNAL
    as_it_came                 = '0;
    as_it_came.fields          = packet.fields;
    as_it_came.fields.metadata = '0;
    as_it_came.layers          = packet.layers;
    as_it_came.l4_proto        = packet.fields.ip_proto;
    as_it_came.ttl             = packet.layers.ttl;
    as_it_came.eth_type        = packet.fields.eth_type;
    as_it_came.tags            = packet.layers.tags;
    if (packet.layers.tags != '0) begin
      as_it_came.tag[0].qinq = packet.layers.qinq[0];
      as_it_came.tag[0].tci  = {packet.fields.vlan_pcp, packet.layers.dei, packet.fields.vlan_vid};
    end
    if (packet.layers.tags[1]) as_it_came.tag[1] = {packet.layers.qinq[1], packet.layers.inner};
    as_it_came.cut = 8'd14 + 8'({packet.layers.tags, 2'b00});
    if (packet.kinds.label) begin
      as_it_came.labels = 2'd1;
      as_it_came.label[0] = {
        packet.fields.label, packet.fields.ip_dscp[2:0], packet.fields.ip_ecn[0], packet.layers.label_ttl
      };
      as_it_came.cut = 8'd18 + 8'({packet.layers.tags, 2'b00});
    end
  endfunction

  // ------------------------------------------------------------------------------------------------------- the packet
  edit_t edit_q, saved_q;
  logic mpls_type_q, saved_mpls_type_q;  // its eth_type is of MPLS
  logic under_q, saved_under_q;          // edit_q.ttl is of what lies under its labels
  kinds_t kinds_q;
  sums_t sums_q;
  logic [BYTES_W-1:0] bytes_q;
  logic [63:0] metadata_q;
  logic [PORTS_MAX-1:0] in_port_q;
  logic quiet_q;     // makes no copies to the host
  logic dead_q;      // makes no copies any more
  logic is_saved_q;
  logic [7:0] custom_q;

  // --------------------------------------------------------------------------------------------------------- the step
  logic valid_q;
  // verilator lint_off UNUSEDSIGNAL
  step_t step_q;        // `first` is done when it comes in
  logic [63:0] is_q;    // its op, a bit for each
  // verilator lint_on UNUSEDSIGNAL
  logic mpls_value_q;   // its value is an eth_type of MPLS
  puts_t puts_q;
  logic asked_q, answered_q, drop_q;
  logic [2:0] raise_q;
  wire meters = is_q[ACT_METER];
  wire run = valid_q && m_room && (!meters || dead_q || answered_q);

  assign s_ready      = !valid_q || run;
  assign meter_valid  = valid_q && meters && !dead_q && !asked_q;
  assign meter_number = step_q.action.value[15:0];
  assign meter_bytes  = bytes_q;
  assign idle         = !valid_q && !m_valid && !count_valid;

  logic copy_valid_q;
  copy_t copy_q;

  always_ff @(posedge clk) begin
    if (meter_answer) begin
      answered_q <= 1'b1;
      drop_q     <= meter_drop;
      raise_q    <= meter_raise;
    end
    if (meter_valid && meter_ready) asked_q <= 1'b1;

    copy_valid_q <= 1'b0;
    count_valid  <= 1'b0;
    if (run) begin
      automatic edit_t next = edit_q;
      automatic copy_t copy = '0;
      automatic logic [127:0] value = step_q.action.value;
      automatic logic ip = (kinds_q.ipv4 || kinds_q.ipv6) && edit_q.labels == '0;
      automatic logic mpls = edit_q.labels != '0;
      automatic logic mpls_type = mpls_type_q;
      automatic logic under = under_q;
      automatic logic makes = step_q.action.out;
      automatic logic ends = 1'b0;    // the packet
      automatic logic expires = 1'b0;

      if (puts_q.eth_dst) next.fields.eth_dst = value[47:0];
      if (puts_q.eth_src) next.fields.eth_src = value[47:0];
      if (puts_q.eth_type) next.eth_type = value[15:0];
      if (puts_q.eth_type) mpls_type = mpls_value_q;
      if (puts_q.vlan_vid && edit_q.tags != '0) next.tag[0].tci[11:0] = value[11:0];
      if (puts_q.vlan_pcp && edit_q.tags != '0) next.tag[0].tci[15:13] = value[2:0];
      if (puts_q.dscp) next.fields.ip_dscp = value[5:0];
      if (puts_q.ecn) next.fields.ip_ecn = value[1:0];
      if (puts_q.proto) next.fields.ip_proto = value[7:0];
      if (puts_q.src) next.fields.src[31:0] = value[31:0];
      if (puts_q.src_high) next.fields.src[127:32] = value[127:32];
      if (puts_q.dst) next.fields.dst[31:0] = value[31:0];
      if (puts_q.dst_high) next.fields.dst[127:32] = value[127:32];
      if (puts_q.l4_src) next.fields.l4_src[7:0] = value[7:0];
      if (puts_q.l4_dst) next.fields.l4_dst[7:0] = value[7:0];
      if (puts_q.l4_src && !kinds_q.icmp && !kinds_q.icmpv6) next.fields.l4_src[15:8] = value[15:8];
      if (puts_q.l4_dst && !kinds_q.icmp && !kinds_q.icmpv6) next.fields.l4_dst[15:8] = value[15:8];
      if (puts_q.flow_label) next.fields.label = value[19:0];
      if (puts_q.target) next.fields.target[47:0] = value[47:0];
      if (puts_q.target_high) next.fields.target[127:48] = value[127:48];
      if (puts_q.link) next.fields.link = value[47:0];
      if (puts_q.label && mpls) next.label[0][31:12] = value[19:0];
      if (puts_q.tc && mpls) next.label[0][11:9] = value[2:0];
      if (puts_q.bos && mpls) next.label[0][8] = value[0];
      if (puts_q.tunnel_id) next.fields.tunnel_id = value[63:0];
      next.edited.tos    |= puts_q.dscp || puts_q.ecn;
      next.edited.proto  |= puts_q.proto;
      next.edited.src    |= puts_q.src;
      next.edited.dst    |= puts_q.dst;
      next.edited.label  |= puts_q.flow_label;
      next.edited.l4_src |= puts_q.l4_src;
      next.edited.l4_dst |= puts_q.l4_dst;
      next.edited.target |= puts_q.target;
      next.edited.link   |= puts_q.link;

      unique case (1'b1)
        is_q[ACT_PUSH_VLAN]:
        if (edit_q.tags != 2'd3) begin
          next.tags = edit_q.tags + 1'b1;
          next.tag  = {edit_q.tag[1:0], value[15:0] == ETH_QINQ, edit_q.tag[0].tci & 16'hefff};
        end
        is_q[ACT_POP_VLAN]:
        if (edit_q.tags != '0) begin
          next.tags = edit_q.tags - 1'b1;
          next.tag  = {17'd0, edit_q.tag[2:1]};
        end
        is_q[ACT_PUSH_MPLS]:
        if (edit_q.labels != 2'd3) begin
          next.eth_type = value[15:0];
          mpls_type     = mpls_value_q;
          next.labels   = edit_q.labels + 1'b1;
          next.label    = {edit_q.label[1:0], edit_q.label[0][31:9], !mpls && !mpls_type_q, edit_q.label[0][7:0]};
          if (ip) next.label[0][7:0] = edit_q.ttl;
        end
        is_q[ACT_POP_MPLS]:
        if (mpls) begin
          next.eth_type = value[15:0];
          mpls_type     = mpls_value_q;
          next.labels   = edit_q.labels - 1'b1;
          next.label    = {32'd0, edit_q.label[2:1]};
        end else if (mpls_type_q && kinds_q.label && edit_q.cut <= CUT_MAX - 8'd4) begin
          next.eth_type = value[15:0];
          mpls_type     = mpls_value_q;
          next.cut      = edit_q.cut + 8'd4;
          under         = 1'b0;
          next.edited.ttl = 1'b0;
        end
        is_q[ACT_SET_NW_TTL]:
        if (ip) begin
          next.ttl = value[7:0];
          next.edited.ttl = 1'b1;
        end
        is_q[ACT_DEC_NW_TTL]:
        if (ip) begin
          expires = edit_q.ttl <= 8'd1;
          if (!expires) next.ttl = edit_q.ttl - 1'b1;
          if (!expires) next.edited.ttl = 1'b1;
        end
        is_q[ACT_SET_MPLS_TTL]: if (mpls) next.label[0][7:0] = value[7:0];
        is_q[ACT_DEC_MPLS_TTL]:
        if (mpls) begin
          expires = edit_q.label[0][7:0] <= 8'd1;
          if (!expires) next.label[0][7:0] = edit_q.label[0][7:0] - 1'b1;
        end
        is_q[ACT_COPY_TTL_OUT]:
        if (edit_q.labels[1]) next.label[0][7:0] = edit_q.label[1][7:0];
        else if (mpls && under_q) next.label[0][7:0] = edit_q.ttl;
        is_q[ACT_COPY_TTL_IN]:
        if (edit_q.labels[1]) next.label[1][7:0] = edit_q.label[0][7:0];
        else if (mpls && under_q) begin
          next.ttl = edit_q.label[0][7:0];
          next.edited.ttl = 1'b1;
        end
        is_q[ACT_OUTPUT]: begin
          makes = 1'b1;
          copy.ports = (value[63:0] & ~in_port_q) | (in_port_q & {PORTS_MAX{value[64]}});
        end
        is_q[ACT_CONTROLLER]: begin
          makes     = 1'b1;
          copy.host = !quiet_q;
        end
        is_q[ACT_RESUBMIT]: begin
          makes = 1'b1;
          copy.resubmit = 1'b1;
        end
        is_q[ACT_RESTORE]:
        if (is_saved_q) begin
          next        = saved_q;
          mpls_type   = saved_mpls_type_q;
          under       = saved_under_q;
          next.layers = edit_q.layers;
          next.l4_proto = edit_q.l4_proto;
          next.fields.in_port = edit_q.fields.in_port;
          next.fields.exthdr = edit_q.fields.exthdr;
        end
        is_q[ACT_METER]: begin
          ends = drop_q;
          // Of assured forwarding, RFC 2597
          if ((kinds_q.ipv4 || kinds_q.ipv6) && edit_q.fields.ip_dscp[5:3] inside {[3'd1 : 3'd4]}
              && edit_q.fields.ip_dscp[2:1] != '0 && !edit_q.fields.ip_dscp[0] && raise_q != '0) begin
            automatic logic [3:0] raised = 4'(edit_q.fields.ip_dscp[2:1]) + 4'(raise_q);
            next.fields.ip_dscp[2:1] = raised > 4'd3 ? 2'd3 : raised[1:0];
            next.edited.tos = 1'b1;
          end
        end
        default: ;
      endcase
      if (step_q.action.out) copy.ports = (PORTS_MAX'(1) << step_q.action.port) & ~in_port_q;
      copy.ports &= enabled;
      copy.max_bytes = value[15:0];
      copy.reason    = value[23:16];
      if (expires) begin
        copy           = '0;
        copy.host      = !quiet_q;
        copy.max_bytes = '1;
        copy.reason    = REASON_TTL;
      end
      if (dead_q || (ends && !expires)) begin
        copy.ports = '0;
        copy.host = 1'b0;
        copy.resubmit = 1'b0;
      end
      if (NARROW) next = narrowed_edit(next);
      copy.edit       = next;
      copy.last       = step_q.last;
      copy.origin     = step_q.origin;
      copy.metadata   = metadata_q;
      copy.bytes      = bytes_q;
      copy.next       = value[TABLE_W-1:0];
      copy.program_at = value[31:16];
      copy.custom     = is_q[ACT_CUSTOM] ? value[7:0] : custom_q;

      if (is_q[ACT_SAVE]) begin
        saved_q    <= edit_q;
        saved_mpls_type_q <= mpls_type_q;
        saved_under_q     <= under_q;
        is_saved_q <= 1'b1;
      end
      edit_q       <= next;
      mpls_type_q  <= mpls_type;
      under_q      <= under;
      dead_q       <= dead_q || expires || ends;
      copy_valid_q <= step_q.last || (!dead_q && (makes || expires));
      copy_q       <= copy;
      m_kinds      <= kinds_q;
      m_sums       <= sums_q;
      count_valid  <= is_q[ACT_COUNT] && !dead_q;
      count_number <= value[15:0];
      count_bytes  <= bytes_q;
      asked_q      <= 1'b0;
      answered_q   <= 1'b0;
      if (is_q[ACT_CUSTOM]) custom_q <= value[7:0];
    end

    if (s_ready) begin
      valid_q <= s_valid;
      if (s_valid) begin
        step_q   <= s_step;
        is_q     <= 64'(1) << s_step.action.op;
        mpls_value_q <= is_mpls(s_step.action.value[15:0]);
        puts_q   <= s_step.action.op == ACT_SET_FIELD ? puts_of(s_step.action.field, s_packet.kinds) : '0;
        if (s_step.first) begin
          edit_q     <= as_it_came(s_packet);
          mpls_type_q <= is_mpls(s_packet.fields.eth_type);
          under_q    <= s_packet.kinds.ipv4 || s_packet.kinds.ipv6 || s_packet.kinds.below;
          kinds_q    <= s_packet.kinds;
          sums_q     <= s_sums;
          bytes_q    <= s_packet.bytes;
          metadata_q <= s_packet.metadata;
          in_port_q  <= port_bit(s_packet.fields.in_port);
          quiet_q    <= s_packet.quiet;
          dead_q     <= 1'b0;
          is_saved_q <= 1'b0;
          custom_q   <= '0;
        end
      end
    end
    if (rst) begin
      valid_q      <= 1'b0;
      copy_valid_q <= 1'b0;
      count_valid  <= 1'b0;
      asked_q      <= 1'b0;
      answered_q   <= 1'b0;
    end
  end

  assign m_valid = copy_valid_q;
  assign m_copy  = copy_q;

`ifndef SYNTHESIS
  offer_contract #(
      .WIDTH($bits(step_t))
  ) u_step (
      .clk,
      .rst,
      .valid(s_valid),
      .ready(s_ready),
      .data (s_step)
  );
`endif

endmodule
