// SPDX-License-Identifier: Apache-2.0
// Does to a packet's lookup what a flow table found for it: the next table, metadata, the program of the flow, and the
// effects that later tables see. A list of effects goes on until one is the last, or to the last address.
//
// Of VLAN tags the first two are known. A tag that is pushed before two makes the last one unknown: when two have then
// been taken off, the first tag has the VID and PCP of the one that went last.
//
// Latency: 1 cycle; with n effects n + 2. Throughput: 1 packet a cycle; with n effects one in n + 2. Backpressure:
// s_ready is combinational from m_ready.
module flow_effects
  import switch_pkg::*;
#(
    parameter int unsigned TABLES = 8,
    parameter int unsigned EFFECTS = 256,
    localparam int unsigned ADDR_W = $clog2(EFFECTS)
) (
    input  logic                                     clk,
    input  logic                                     rst,
    input  logic                       [TABLE_W-1:0] own_number,  // of the table, constant
    input  logic                                     s_valid,
    output logic                                     s_ready,
    input  lookup_t                                  s_lookup,
    input  logic         [TABLES-1:0][PROGRAM_W-1:0] s_programs,
    input  flow_result_t                             s_result,
    output logic                                     m_valid,
    input  logic                                     m_ready,
    output lookup_t                                  m_lookup,
    output logic         [TABLES-1:0][PROGRAM_W-1:0] m_programs,
    output logic                                     finished,  // a packet has passed its effects
    input  logic                                     wr_en,
    input  logic                        [ADDR_W-1:0] wr_addr,
    input  effect_t                                  wr_effect,
    output logic                                     idle
);

  if (TABLES < 1 || TABLES > TABLES_MAX) begin : gen_bad_tables
    $fatal(1, "flow_effects: TABLES must be 1 to %0d, not %0d", TABLES_MAX, TABLES);
  end
  if (EFFECTS < 2 || EFFECTS > 2 ** EFFECT_W) begin : gen_bad_effects
    $fatal(1, "flow_effects: EFFECTS must be 2 to %0d, not %0d", 2 ** EFFECT_W, EFFECTS);
  end

  function automatic lookup_t with_effect(lookup_t lookup, effect_op_t kind, logic [5:0] field, logic [127:0] value);
    automatic match_t fields = lookup.fields;
    with_effect = lookup;
    unique case (kind)
      EFFECT_SET: with_effect.fields = with_field(fields, field, value);
      EFFECT_PUSH_VLAN: begin
        if (lookup.tags != '1) with_effect.tags = lookup.tags + 1'b1;
        with_effect.inner = {fields.vlan_pcp, 1'b0, fields.vlan_vid};
        with_effect.fields.vlan = 1'b1;
      end
      EFFECT_POP_VLAN: begin
        if (lookup.tags != '0) with_effect.tags = lookup.tags - 1'b1;
        with_effect.fields.vlan = lookup.tags[1];
        with_effect.fields.vlan_vid = lookup.tags[1] ? lookup.inner[11:0] : '0;
        with_effect.fields.vlan_pcp = lookup.tags[1] ? lookup.inner[15:13] : '0;
      end
      EFFECT_PUSH_MPLS: begin
        automatic logic labelled = fields.l3 && (fields.eth_type == ETH_MPLS || fields.eth_type == ETH_MPLS_MULTICAST);
        with_effect.fields.eth_type = value[15:0];
        with_effect.fields.l3 = 1'b1;
        with_effect.fields.l4 = 1'b0;
        with_effect.fields.nd = 1'b0;
        with_effect.fields.ip_dscp = labelled ? 6'(fields.ip_dscp[2:0]) : '0;
        with_effect.fields.ip_ecn = {1'b0, !labelled};
        with_effect.fields.ip_proto = '0;
        with_effect.fields.src = '0;
        with_effect.fields.dst = '0;
        with_effect.fields.l4_src = '0;
        with_effect.fields.l4_dst = '0;
        with_effect.fields.label = labelled ? fields.label : '0;
        with_effect.fields.target = '0;
        with_effect.fields.link = '0;
        with_effect.fields.exthdr = '0;
      end
    endcase
  endfunction

  effect_t effect;
  logic busy_q;
  logic [ADDR_W-1:0] addr_q;
  logic [1:0] reads_q, ends_q;

  wire takes = s_valid && s_ready;
  wire edits = s_result.hit && s_result.effect != '0;
  wire applies = busy_q && reads_q[1];
  wire ends = applies && (effect.last || ends_q[1]);
  wire [ADDR_W-1:0] addr = busy_q ? addr_q : ADDR_W'(s_result.effect);

  ram_sdp #(
      .WIDTH  ($bits(effect_t)),
      .DEPTH  (EFFECTS),
      .OUT_REG(1'b1)
  ) u_effects (
      .clk,
      .wr_en,
      .wr_addr,
      .wr_data(wr_effect),
      .rd_en  (busy_q || takes),
      .rd_addr(addr),
      .rd_data(effect)
  );

  always_ff @(posedge clk) begin
    if (m_ready) m_valid <= 1'b0;
    if (takes) begin
      automatic logic [TABLES-1:0][PROGRAM_W-1:0] programs = s_programs;
      for (int unsigned i = 0; i < TABLES; i++) begin
        if (own_number == TABLE_W'(i) && s_result.looked_up) programs[i] = s_result.hit ? s_result.program_at : '0;
      end
      m_programs <= programs;
      m_valid <= !edits;
      busy_q  <= edits;
      reads_q <= 2'b01;
    end else begin
      reads_q[1] <= reads_q[0];
    end
    if (busy_q || takes) begin
      addr_q <= addr + 1'b1;
      ends_q <= {ends_q[0], 32'(addr) == EFFECTS - 1};
    end
    if (takes || applies) begin
      automatic lookup_t next = s_lookup;
      if (s_result.looked_up) next.next = s_result.hit ? s_result.next : NO_TABLE;
      if (s_result.hit) begin
        next.fields.metadata = (next.fields.metadata & ~s_result.metadata_mask)
            | (s_result.metadata & s_result.metadata_mask);
      end
      if (busy_q) next = with_effect(m_lookup, effect.op, effect.field, effect.value);
      m_lookup <= next;
    end
    if (ends) begin
      m_valid <= 1'b1;
      busy_q  <= 1'b0;
    end
    if (rst) begin
      m_valid <= 1'b0;
      busy_q  <= 1'b0;
    end
  end

  assign s_ready  = !busy_q && (!m_valid || m_ready);
  assign finished = (takes && !edits) || ends;
  assign idle     = !m_valid && !busy_q;

endmodule
