// SPDX-License-Identifier: Apache-2.0
// A packet's action set: a place for each op, of ACT_SET_FIELD for each field and one for both ways of output, kept in
// the order in which OpenFlow runs them (1.3.5, 5.10). A word takes the place of the one that was there. Words of ops
// that no action set has are left out, and those of output if there is a group.
// Latency: 2 cycles from `run` to the first word, which takes it out. Throughput: a word a cycle.
module action_set
  import switch_pkg::*;
(
    input  logic                 clk,
    input  logic                 rst,
    input  logic                 keep,        // action and origin
    input  action_t              action,
    input  logic [PROGRAM_W-1:0] origin,
    input  logic                 clear,
    output logic                 empty,       // once `keep` and `clear` are done
    input  logic                 run,
    output logic                 m_valid,
    input  logic                 m_ready,
    output action_t              m_action,    // with `last`, without `keep`
    output logic [PROGRAM_W-1:0] m_origin,
    output logic                 m_last
);

  localparam int unsigned PLACES = 64;
  localparam int unsigned PLACE_W = 6;
  localparam logic [PLACE_W-1:0] FIELDS = 6'd10;  // place of field 0
  localparam logic [PLACE_W-1:0] GROUP = 6'd61;
  localparam logic [PLACE_W-1:0] OUTPUT = 6'd62;
  localparam logic [PLACE_W-1:0] NOWHERE = 6'd63;

  // verilator lint_off UNUSEDSIGNAL
  function automatic logic [PLACE_W-1:0] place_of(action_t word);
    // verilator lint_on UNUSEDSIGNAL
    unique case (word.op)
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
      ACT_SET_FIELD: return word.field < 6'd40 ? FIELDS + word.field : NOWHERE;
      ACT_CUSTOM: return 6'd60;
      ACT_GROUP: return GROUP;
      ACT_OUTPUT, ACT_CONTROLLER: return OUTPUT;
      default: return NOWHERE;
    endcase
  endfunction

  logic [PLACES-2:0] present_q, behind;
  logic [PLACE_W-1:0] first;
  logic valid_q, last_q;
  wire [PLACE_W-1:0] place = place_of(action);
  wire keeps = keep && place != NOWHERE;
  logic empty_q;
  wire takes = run && (!valid_q || m_ready) && !empty_q;

  always_comb begin
    first = '0;
    for (int unsigned i = PLACES - 1; i > 0; i--) if (present_q[i-1]) first = PLACE_W'(i - 1);
    behind = first == GROUP ? '0 : present_q & (present_q - 1'b1);
  end

  assign empty = clear || (empty_q && !keeps);

  always_ff @(posedge clk) begin
    if (keeps) present_q[place] <= 1'b1;
    if (keeps) empty_q <= 1'b0;
    if (takes) begin
      present_q <= behind;
      empty_q   <= behind == '0;
      last_q    <= behind == '0;
    end
    if (takes || m_ready) valid_q <= takes;
    if (rst || clear) begin
      present_q <= '0;
      empty_q   <= 1'b1;
      valid_q   <= 1'b0;
    end
  end

  action_t kept;
  always_comb begin
    kept = action;
    kept.last = 1'b1;
    kept.keep = 1'b0;
  end

  ram_sdp #(
      .WIDTH($bits(action_t) + PROGRAM_W),
      .DEPTH(PLACES)
  ) u_words (
      .clk,
      .wr_en  (keeps),
      .wr_addr(place),
      .wr_data({kept, origin}),
      .rd_en  (takes),
      .rd_addr(first),
      .rd_data({m_action, m_origin})
  );

  assign m_valid = valid_q;
  assign m_last  = last_q;

endmodule
