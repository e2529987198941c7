// SPDX-License-Identifier: Apache-2.0
// Gives the packets at the heads of all sources their units. A head wants a unit of its own, or leaves the choice:
// - round robin: in rounds, in each of which every unit that may and has a free slot gets a packet;
// - least loaded: a unit with the fewest outstanding packets. When these have just got one, a unit of the lowest four
//   counts takes the next, so that nothing has to wait for the count.
// In a cycle each unit gets a packet at most, and of the heads that leave the choice two are served, in turn.
// Combinational from heads and free slots to grants.
module rpu_policy
  import rpu_fabric_pkg::*;
#(
    parameter int unsigned UNITS = 8,
    parameter int unsigned HEADS = 5
) (
    input  logic                            clk,
    input  logic                            rst,
    input  logic                            least_loaded,
    input  logic [HEADS-1:0]                want_any,
    input  logic [HEADS-1:0]                want_unit,
    input  logic [HEADS-1:0][   UNIT_W-1:0] wanted,
    input  logic [HEADS-1:0][    UNITS-1:0] may,          // units that this head's packet may go to
    input  logic [UNITS-1:0]                offered,      // the unit has a free slot
    input  logic [UNITS-1:0][  COUNT_W-1:0] outstanding,
    output logic [HEADS-1:0]                granted,
    output logic [HEADS-1:0][   UNIT_W-1:0] unit,
    output logic [UNITS-1:0]                taken
);

  if (UNITS < 1 || UNITS > MAX_UNITS) begin : gen_bad_units
    $fatal(1, "rpu_policy: UNITS must be 1 to %0d, not %0d", MAX_UNITS, UNITS);
  end
  if (HEADS < 2 || HEADS > 8) begin : gen_bad_heads
    $fatal(1, "rpu_policy: HEADS must be 2 to 8, not %0d", HEADS);
  end

  localparam int unsigned HEAD_W = $clog2(HEADS);
  typedef logic [UNITS-1:0] mask_t;
  typedef logic [UNIT_W-1:0] unit_t;

  function automatic unit_t lowest(mask_t mask);
    lowest = '0;
    for (int i = int'(UNITS) - 1; i >= 0; i--) if (mask[i]) lowest = unit_t'(i);
  endfunction

  function automatic unit_t highest(mask_t mask);
    highest = '0;
    for (int unsigned i = 0; i < UNITS; i++) if (mask[i]) highest = unit_t'(i);
  endfunction

  logic [HEAD_W-1:0] turn_q;  // this head goes first
  mask_t round_q;             // these have not had a packet in this round
  mask_t least_q, near_q;     // fewest outstanding, and the lowest four counts, of a cycle ago
  mask_t recent_q;            // got a packet in the cycle before: least_q does not know of it

  // ------------------------------------------------------------------------------------------- heads with a unit
  logic [HEADS-1:0] own;
  mask_t claimed;

  function automatic logic [HEAD_W-1:0] after(logic [HEAD_W-1:0] head, int unsigned steps);
    int unsigned sum = 32'(head) + steps;
    return HEAD_W'(sum >= HEADS ? sum - HEADS : sum);
  endfunction

  always_comb begin
    own     = '0;
    claimed = '0;
    for (int unsigned i = 0; i < HEADS; i++) begin
      automatic logic [HEAD_W-1:0] head = after(turn_q, i);
      if (want_unit[head]) begin
        automatic mask_t mine = mask_t'(1) << wanted[head] & may[head] & offered & ~claimed;
        own[head] = mine != '0;
        claimed |= mine;
      end
    end
  end

  // ------------------------------------------------------------------------------------------- heads without
  logic [HEAD_W-1:0] first, second;
  logic one, two;  // such heads
  mask_t able_first, able_second, chosen_first, chosen_second;

  always_comb begin
    first  = '0;
    second = '0;
    one    = 1'b0;
    two    = 1'b0;
    for (int unsigned i = 0; i < HEADS; i++) begin
      automatic logic [HEAD_W-1:0] head = after(turn_q, i);
      if (want_any[head]) begin
        if (!one) first = head;
        else if (!two) second = head;
        two = one;
        one = 1'b1;
      end
    end
  end

  // Those of the units to choose from that are best, and of these those left in this round.
  function automatic mask_t choice(mask_t able, logic least, mask_t fewest, mask_t few, mask_t round);
    mask_t best;
    best = !least ? able : (able & fewest) != '0 ? able & fewest : (able & few) != '0 ? able & few : able;
    return (best & round) != '0 ? best & round : best;
  endfunction

  wire mask_t fewest = least_q & ~recent_q;
  wire mask_t few = near_q & ~recent_q;
  unit_t unit_first, unit_second;
  logic got_first, got_second;

  assign able_first    = one ? offered & ~claimed & may[first] : '0;
  assign able_second   = two ? offered & ~claimed & may[second] : '0;
  assign chosen_first  = choice(able_first, least_loaded, fewest, few, round_q);
  assign chosen_second = choice(able_second, least_loaded, fewest, few, round_q);
  assign unit_first    = lowest(chosen_first);
  assign unit_second   = highest(chosen_second);
  assign got_first     = chosen_first != '0;
  assign got_second    = chosen_second != '0 && !(got_first && unit_first == unit_second);

  always_comb begin
    granted = own;
    unit    = wanted;
    taken   = claimed;
    if (got_first) begin
      granted[first] = 1'b1;
      unit[first]    = unit_first;
    end
    if (got_second) begin
      granted[second] = 1'b1;
      unit[second]    = unit_second;
    end
    for (int unsigned u = 0; u < UNITS; u++) begin
      if (got_first && unit_first == unit_t'(u)) taken[u] = 1'b1;
      if (got_second && unit_second == unit_t'(u)) taken[u] = 1'b1;
    end
  end

  // ------------------------------------------------------------------------------------------- rounds and counts
  mask_t everyone, least_d, near_d;

  always_comb begin
    everyone = '0;
    for (int unsigned i = 0; i < HEADS; i++) everyone |= may[i];
    everyone &= offered;
    least_d = everyone;
    near_d  = everyone;
    for (int unsigned i = 0; i < UNITS; i++) begin
      for (int unsigned j = 0; j < UNITS; j++) begin
        if (everyone[j] && outstanding[j] < outstanding[i]) least_d[i] = 1'b0;
        if (everyone[j] && outstanding[j][COUNT_W-1:2] < outstanding[i][COUNT_W-1:2]) near_d[i] = 1'b0;
      end
    end
  end

  function automatic mask_t renewed(mask_t able, mask_t round);
    return (able & round) == '0 ? able : '0;
  endfunction

  always_ff @(posedge clk) begin
    least_q  <= least_d;
    near_q   <= near_d;
    recent_q <= taken;
    // A head of whose units none is left begins a new round of them.
    round_q  <= (round_q | renewed(able_first, round_q) | renewed(able_second, round_q)) & ~taken;
    if (granted != '0 || one) turn_q <= after(turn_q, 1);
    if (rst) begin
      round_q <= '1;
      turn_q  <= '0;
    end
  end

endmodule
