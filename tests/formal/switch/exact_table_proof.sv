// SPDX-License-Identifier: Apache-2.0
// Follows one key, whichever `mark` picks, by the answers of its operations: each is right, and each lookup of the key
// finds what it was in some cycle between the lookup and its result. So a key that was put in is found, with its
// result, whatever happens to the others, and one that isn't in is not. And each operation comes to an end.
module exact_table_proof
  import table_pkg::*;
#(
    parameter int unsigned KEY_W = 3,
    parameter int unsigned RESULT_W = 1,
    parameter int unsigned ENTRIES = 8,
    parameter int unsigned TABLES = 2,
    parameter int unsigned STASH = 2,
    parameter int unsigned MAX_MOVES = 1,
    // Begins in any state of which the invariants below hold, instead of with a reset
    parameter bit ANYWHERE = 1'b0
) (
    input logic                             clk,
    input logic                             rst,
    input logic          [       KEY_W-1:0] mark,
    input logic                             follow,     // the lookup that begins now
    input logic                             key_valid,
    input logic          [       KEY_W-1:0] key,
    input logic                             op_valid,
    input table_op_t                        op,
    input logic          [       KEY_W-1:0] op_key,
    input logic          [    RESULT_W-1:0] op_result,
    input logic          [KEY_W+RESULT_W:0] anything  // read from a RAM's place that is being written
);

  localparam int unsigned DEPTH = ENTRIES / TABLES;
  localparam int unsigned ADDR_W = $clog2(DEPTH);

  typedef logic [KEY_W-1:0] key_t;
  typedef logic [RESULT_W-1:0] result_t;
  typedef logic [TABLES-1:0][ADDR_W-1:0] addrs_t;
  typedef struct packed {
    logic    valid;
    key_t    key;
    result_t result;
  } entry_t;
  typedef enum logic [3:0] {WIPE, IDLE, VISIT, DECIDE, EVICT, WRITE, ERASE, SETTLED, NEXT, PICK} state_t;

  logic result_valid, hit, op_ready, op_done, idle;
  result_t result;
  table_answer_t op_answer;

  exact_table #(
      .KEY_W(KEY_W),
      .RESULT_W(RESULT_W),
      .ENTRIES(ENTRIES),
      .TABLES(TABLES),
      .STASH(STASH),
      .MAX_MOVES(MAX_MOVES)
  ) dut (.*);

  // The hashes of all keys, below, are there after two cycles.
  logic valid, begins;
  if (ANYWHERE) begin : gen_anywhere
    logic [1:0] cycle_q = '0;
    always_ff @(posedge clk) if (cycle_q != 2'd3) cycle_q <= cycle_q + 1'b1;
    assign valid  = cycle_q[1];
    assign begins = cycle_q == 2'd2;
  end else begin : gen_reset
    proof_reset u_reset (.clk, .rst, .valid);
    assign begins = 1'b0;
  end

  // The operation that is waited for, what the key is, and what it was since the followed lookup began: not in, or in
  // with each result.
  key_t mark_q, asked_key_q;
  table_op_t asked_q;
  result_t asked_result_q, value_q, value;
  logic waits_q, present_q, present;
  logic [2**RESULT_W:0] is, was_q, was;
  logic [EXACT_LATENCY-1:0] came_q;
  logic [3:0] stage_q;  // cycles since the lookup began; 0: none is followed
  logic [3:0] waited_q;

  wire follows = key_valid && key == mark_q && follow && stage_q[2:0] == '0;
  wire changes = op_done && op_answer == DONE && asked_key_q == mark_q;
  assign present = changes ? asked_q != REMOVE : present_q;
  assign value = changes ? asked_result_q : value_q;
  assign is = present ? (2 ** RESULT_W + 1)'(2) << value : (2 ** RESULT_W + 1)'(1);
  assign was = was_q | is;

  always_ff @(posedge clk) begin
    came_q    <= {came_q[EXACT_LATENCY-2:0], key_valid};
    present_q <= present;
    value_q   <= value;
    was_q     <= was;
    if (stage_q != '0) stage_q <= stage_q + 1'b1;
    if (stage_q == 4'(EXACT_LATENCY)) stage_q <= '0;
    if (follows) begin
      stage_q <= 4'd1;
      was_q   <= is;
    end
    waited_q <= waited_q + 1'b1;
    if (op_done) waits_q <= 1'b0;
    if (op_valid && op_ready) begin
      waits_q        <= 1'b1;
      waited_q       <= '0;
      asked_q        <= op;
      asked_key_q    <= op_key;
      asked_result_q <= op_result;
    end
    if (rst) begin
      mark_q    <= mark;
      came_q    <= '0;
      stage_q   <= '0;
      waits_q   <= 1'b0;
      present_q <= 1'b0;
    end
  end

  // The places of all keys, from the hash itself
  addrs_t [2**KEY_W-1:0] homes, sums;
  for (genvar k = 0; k < 2 ** KEY_W; k++) begin : gen_homes
    exact_hash #(.KEY_W(KEY_W), .TABLES(TABLES), .ADDR_W(ADDR_W)) u_hash (
        .clk,
        .valid(1'b1),
        .key  (key_t'(k)),
        .addr (homes[k])
    );
    assign sums[k] = gen_homes[k].u_hash.sums;
  end
  wire addrs_t home = homes[mark_q];
  wire addrs_t hand_home = homes[dut.hand_q.key];

  // What is stored
  wire state_t state = state_t'(dut.state_q);
  wire entry_t hand = dut.hand_q;
  wire entry_t pick = dut.pick_q;
  wire entry_t [STASH-1:0] stash = dut.stash_q;
  logic [STASH-1:0] free;
  always_comb for (int unsigned s = 0; s < STASH; s++) free[s] = !stash[s].valid;
  entry_t [TABLES-1:0][DEPTH-1:0] mem;
  entry_t at_target, pick_next;  // what is at the place that is written, and what is picked next
  entry_t [TABLES-1:0] word, at_home, at_hand, hand_read, hand_word;
  logic [TABLES-1:0] hand_same, hand_equal, in_place, strays, clashed, hand_reads, look_reads;
  logic [STASH-1:0] in_stash, stash_same, found_stash;

  // What the followed lookup has seen of the key in the places
  logic [TABLES-1:0] found;
  result_t [TABLES-1:0] found_result;

  for (genvar t = 0; t < TABLES; t++) begin : gen_table
    assign mem[t] = dut.gen_table[t].u_ram.mem;
    assign at_home[t] = mem[t][home[t]];
    assign at_hand[t] = mem[t][hand_home[t]];
    assign hand_read[t] = dut.gen_table[t].u_ram.rw_read_q;
    assign hand_reads[t] = dut.gen_table[t].u_ram.rw_en_q;
    assign look_reads[t] = dut.gen_table[t].u_ram.rd_en_q;
    assign hand_word[t] = dut.hand_word[t];
    assign hand_same[t] = at_hand[t].valid && at_hand[t].key == hand.key;
    assign hand_equal[t] = dut.gen_table[t].u_hand_equal.valid_q && &dut.gen_table[t].u_hand_equal.equal_q;
    assign in_place[t] = dut.wiped_q && at_home[t].valid && at_home[t].key == mark_q;
    assign word[t] = stage_q == 4'd4 ? dut.gen_table[t].u_ram.read_q : dut.gen_table[t].look_word;
    assign clashed[t] = stage_q == 4'd4 ? dut.gen_table[t].clash_q[0] : dut.gen_table[t].clash_q[1];
    always_comb begin
      strays[t] = 1'b0;
      for (int a = 0; a < DEPTH; a++) begin
        if (mem[t][a].valid && mem[t][a].key == mark_q && ADDR_W'(a) != home[t]) strays[t] = dut.wiped_q;
      end
      unique case (stage_q)
        4'd6: begin
          found[t] = dut.gen_table[t].u_look_equal.valid_q && &dut.gen_table[t].u_look_equal.equal_q;
          found_result[t] = dut.gen_table[t].compared_q;
        end
        4'd7: begin
          found[t] = dut.look_match[t];
          found_result[t] = dut.gen_table[t].result_q;
        end
        default: begin
          found[t] = word[t].valid && word[t].key == mark_q && !clashed[t] && dut.wiped_q;
          found_result[t] = word[t].result;
        end
      endcase
    end
  end
  for (genvar s = 0; s < STASH; s++) begin : gen_stash
    assign in_stash[s] = stash[s].valid && stash[s].key == mark_q;
    assign stash_same[s] = stash[s].valid && stash[s].key == hand.key;
    assign found_stash[s] = stage_q == 4'd7 ? dut.look_stash[s] :
        dut.gen_stash[s].u_look_equal.valid_q && &dut.gen_stash[s].u_look_equal.equal_q;
  end

  key_t [4:0] keys;
  for (genvar i = 0; i < 5; i++) begin : gen_keys
    assign keys[i] = dut.gen_key[i].key_q;
  end
  assign at_target = at_hand[dut.target_q];
  assign pick_next = dut.choices[dut.at_q];
  wire picked_equal = dut.u_picked_equal.valid_q && &dut.u_picked_equal.equal_q;

  // What holds in every cycle: asserted, but assumed of the state in which the proof begins ANYWHERE
`define HOLDS(x) if (begins) assume (x); else assert (x);

  wire asks = dut.asked_op_q && (state == VISIT || state == DECIDE);  // an operation's entry is in hand
  wire moves = !dut.asked_op_q && ((state == VISIT && dut.count_q != '0) || state == DECIDE);  // one of the stash is
  // Cycles of its visit that are over, and cycles since the stash's first entry was due to be picked
  wire [5:0] step = (state == DECIDE ? 6'(dut.VISIT_CYCLES) : 6'(dut.count_q)) - 6'(!dut.asked_op_q);
  wire [5:0] walked = step - 6'(dut.WALK_AT);
  wire leaves = state == SETTLED && dut.wiped_q;  // the stash, at the end
  wire hashes = (state == VISIT && dut.count_q != '0) || state == DECIDE;

  always_comb begin
    assume (op <= REMOVE);
    if (valid) begin
      // What is promised
      if (op_done) begin
        `HOLDS(waits_q)
        if (asked_key_q == mark_q) begin
          if (asked_q == INSERT) `HOLDS(present_q ? op_answer == EXISTS : op_answer == DONE || op_answer == FULL)
          else `HOLDS(op_answer == (present_q ? DONE : NOT_FOUND))
        end
        if (op_answer == FULL) begin
          `HOLDS($countones(free) == 1)
          for (int t = 0; t < TABLES; t++) `HOLDS(mem[t][homes[asked_key_q][t]].valid)
        end
      end
      `HOLDS(result_valid == came_q[EXACT_LATENCY-1])
      if (stage_q == 4'(EXACT_LATENCY)) `HOLDS(result_valid && (hit ? was[1+32'(result)] : was[0]))
      if (idle) `HOLDS(stage_q == '0 && came_q == '0 && !waits_q)

      // The operation that is waited for
      `HOLDS(waits_q == (asks || state == ERASE || op_done))
      `HOLDS(!op_done || (!asks && state != ERASE && state != WIPE && state != PICK))
      if (asks) begin
        `HOLDS(dut.op_q == asked_q && hand == {1'b1, asked_key_q, asked_result_q})
        `HOLDS(waited_q == 4'(step))
      end
      if (op_done) `HOLDS(hand.key == asked_key_q)
      if (waits_q) `HOLDS(asked_q <= REMOVE && waited_q <= 4'(dut.VISIT_CYCLES) + 4'd2)
      if (state == ERASE) begin
        `HOLDS(asked_q == REMOVE && hand.key == asked_key_q && !hand.valid)
        `HOLDS(waited_q == 4'(dut.VISIT_CYCLES) + 4'd1)
      end

      // The wipe
      `HOLDS(state <= PICK && dut.wiped_q == !(state == WIPE || (state == SETTLED && !dut.wiped_q)))
      if (!dut.wiped_q) begin
        `HOLDS(!present_q && !waits_q && free == '1 && !hand.valid)
        for (int t = 0; t < TABLES; t++) begin
          for (int a = 0; a < DEPTH; a++) begin
            if (state == SETTLED || ADDR_W'(a) < dut.wipe_at_q) `HOLDS(!mem[t][a].valid)
          end
        end
      end

      // The key is in one place or in the stash, and in both only before it leaves the one.
      if (dut.wiped_q) `HOLDS(present == (in_stash != '0 || in_place != '0))
      `HOLDS($onehot0(in_stash) && $onehot0(in_place) && strays == '0)
      for (int s = 0; s < STASH; s++) if (in_stash[s]) `HOLDS(stash[s].result == value)
      for (int t = 0; t < TABLES; t++) begin
        if (in_place[t] && in_stash == '0) `HOLDS(at_home[t].result == value)
        if (in_place[t] && in_stash != '0) begin
          `HOLDS(hand.key == mark_q && 32'(dut.target_q) == t)
          `HOLDS(leaves || (state == WRITE && !dut.evicts_q))
        end
        // A lookup that reads the place before it changes may still find what it was.
        if (in_place[t] && stage_q != '0) `HOLDS(was[1+32'(at_home[t].result)])
      end

      // What is in hand: an operation's entry or the stash's
      if (state == VISIT) `HOLDS(dut.count_q < 5'(dut.VISIT_CYCLES))
      else if (state == SETTLED) `HOLDS(dut.count_q < 5'(dut.SETTLE))
      else if (state != DECIDE) `HOLDS(dut.count_q == '0)
      if (state == EVICT || state == WRITE || state == ERASE || state == PICK || leaves) `HOLDS(!dut.asked_op_q)
      if (state == NEXT) `HOLDS(!dut.asked_op_q || free == '1)
      if (state == PICK) `HOLDS(32'(dut.at_q) == 32'(dut.slot_q) && stash[dut.slot_q].valid)
      if (state == VISIT && !dut.asked_op_q) `HOLDS(stash[dut.slot_q].valid)
      if (state == VISIT && !dut.asked_op_q && dut.count_q == '0) `HOLDS(pick == stash[dut.slot_q])
      if (moves || state == EVICT || state == WRITE || leaves) `HOLDS(hand.valid && hand == stash[dut.slot_q])
      if (state != WRITE && state != SETTLED) `HOLDS(free != '0)

      // What is known of its places and of the stash
      if (dut.wiped_q) begin
        `HOLDS(hand_reads == (hashes ? '1 : '0) && dut.u_hand_hash.valid_q == hashes)
      end
      if (asks || moves) begin
        if (step >= 1 && hashes) `HOLDS(dut.u_hand_hash.sums == sums[hand.key])
        if (step >= 2 && !step[5]) `HOLDS(dut.hand_addr == hand_home)
        for (int t = 0; t < TABLES; t++) begin
          if (step >= 3) `HOLDS(hand_read[t] == at_hand[t])
          if (step >= 4) `HOLDS(hand_word[t] == at_hand[t])
          if (asks && step == 5) `HOLDS(hand_equal[t] == hand_same[t])
          if (asks && step == 6) `HOLDS(dut.hand_match[t] == hand_same[t])
        end
      end
      if (asks) begin
        for (int s = 0; s < STASH; s++) begin
          if (walked == 6'(s)) `HOLDS(32'(dut.at_q) == s)
          if (walked == 6'(s + 1)) `HOLDS(pick == stash[s])
          if (walked == 6'(s + 2)) `HOLDS(picked_equal == stash_same[s])
          if (walked == 6'(s + 3)) `HOLDS(dut.picked_equal == stash_same[s])
          for (int i = 1; i < STASH; i++) if (walked == 6'(s + 3 + STASH - i)) `HOLDS(dut.equal_q[i] == stash_same[s])
        end
      end

      // The place that is written is empty, has the same key, or its entry goes to the stash.
      if (state == EVICT || state == WRITE || state == ERASE) `HOLDS(dut.hand_addr == hand_home)
      if (state == EVICT) `HOLDS(dut.evicts_q && pick_next == at_target && at_target.valid)
      if (state == WRITE && !dut.evicts_q) `HOLDS(!at_target.valid || at_target.key == hand.key)
      if (state == WRITE && dut.evicts_q) begin
        `HOLDS(pick == at_target && at_target.valid && pick_next == pick)
        `HOLDS(dut.next_slot_q == dut.free_slot && free != '0)
      end
      if (state == ERASE) `HOLDS(at_target.valid && at_target.key == hand.key)
      if (leaves) begin
        `HOLDS(at_target == hand)
        if (dut.evicts_q) begin
          `HOLDS(pick == stash[dut.next_slot_q] && pick_next == pick && pick.valid)
          `HOLDS(dut.next_slot_q != dut.slot_q)
        end
      end

      // The followed lookup
      `HOLDS(came_q == dut.asked_q && stage_q <= 4'(EXACT_LATENCY))
      if (stage_q != '0) `HOLDS(came_q[stage_q-1])
      for (int i = 0; i < 5; i++) if (stage_q == 4'(i + 1)) `HOLDS(keys[i] == mark_q)
      if (stage_q == 4'd2) `HOLDS(dut.u_look_hash.valid_q && dut.u_look_hash.sums == sums[mark_q])
      if (stage_q == 4'd3) `HOLDS(dut.look_addr == home)
      if (stage_q == 4'd4) begin
        `HOLDS(look_reads == '1)
        for (int t = 0; t < TABLES; t++) begin
          if (!dut.wiped_q && dut.count_q != '0) `HOLDS(!word[t].valid || clashed[t])
        end
      end
      if (stage_q >= 4'd4 && stage_q <= 4'd7) begin
        `HOLDS($onehot0(found))
        for (int t = 0; t < TABLES; t++) if (found[t]) `HOLDS(was[1+32'(found_result[t])])
      end
      // It finds the key in the stash if it has not in its place.
      if (stage_q == 4'd4 || stage_q == 4'd5) begin
        if (found == '0 && !was[0]) `HOLDS(in_stash != '0)
        if (found == '0 && !was[0] && leaves && in_stash[dut.slot_q]) `HOLDS(4'(dut.count_q) + 4'd4 <= stage_q)
      end
      if (stage_q == 4'd6 || stage_q == 4'd7) begin
        `HOLDS($onehot0(found_stash) && (found != '0 || found_stash != '0 || was[0]))
        for (int s = 0; s < STASH; s++) begin
          if (found_stash[s]) begin
            `HOLDS(stash[s].key == mark_q && was[1+32'(stash[s].result)])
            if (free[s]) `HOLDS(state == NEXT || state == PICK || state == IDLE || (state == VISIT && dut.count_q < 2))
          end
        end
      end
    end
  end

  // Operations come to an end: what is left of one falls in each cycle, to IDLE. A cycle counts 1, a visit 32.
  logic [11:0] left, left_q;
  logic [4:0] cycles;
  logic busy_q;
  wire [11:0] moves_left = 32'(dut.moves_q) < MAX_MOVES ? 12'(MAX_MOVES) - 12'(dut.moves_q) : '0;
  wire stashes = asks || state == ERASE || (state == WRITE && dut.evicts_q);
  always_comb begin
    unique case (state)
      WIPE:    cycles = '0;
      VISIT:   cycles = 5'd24 - dut.count_q;
      DECIDE:  cycles = 5'd7;
      EVICT:   cycles = 5'd6;
      SETTLED: cycles = 5'd4 - dut.count_q;
      NEXT:    cycles = 5'd26;
      PICK:    cycles = 5'd25;
      default: cycles = 5'd5;
    endcase
    left = {moves_left[6:0] + 7'($countones(~free)) + 7'(stashes), cycles};
    if (!dut.wiped_q) left = 12'd4064 + 12'(cycles);
    if (state == WIPE) left = 12'd4095 - 12'(dut.wipe_at_q);
  end
  always_ff @(posedge clk) begin
    left_q <= left;
    busy_q <= !op_ready && !rst;
  end
  always_comb begin
    if (valid) begin
      if (busy_q && !op_ready && !begins) assert (left < left_q);
      if (asks) `HOLDS(dut.moves_q == '0)
      if (state == PICK || state == VISIT || state == DECIDE || state == EVICT) `HOLDS(moves_left != '0)
    end
  end

  wire ends = stage_q == 4'(EXACT_LATENCY) && hit;
  always_comb begin
    if (valid) begin
      if (ANYWHERE) begin
        if (changes) cover (asked_q == INSERT);
        if (changes) cover (asked_q == CHANGE && value_q != value && in_place != '0);
        if (changes) cover (asked_q == REMOVE && in_stash == '0);
        if (op_done && asked_key_q == mark_q) cover (op_answer == EXISTS);
        if (op_done && asked_key_q == mark_q) cover (op_answer == NOT_FOUND);
        if (op_done && asked_key_q == mark_q) cover (op_answer == FULL);
        cover (ends && !is[1+32'(result)]);
        cover (ends && leaves && dut.evicts_q && pick.key == mark_q && dut.count_q == 5'd2);
        cover (stage_q == 4'd5 && clashed != '0 && in_stash != '0 && hit);
        cover (stage_q == 4'd7 && found == '0 && found_stash != '0 && free == '1);
        cover (stage_q == 4'd7 && found != '0 && found_stash != '0);
        cover (idle && present && in_stash != '0);
      end else begin
        cover (ends && present_q);
      end
    end
  end

endmodule

`undef HOLDS
