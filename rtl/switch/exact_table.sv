// SPDX-License-Identifier: Apache-2.0
// Hash table in block RAM: cuckoo hashing (Pagh and Rodler, 2001) with TABLES tables, in each of which a key has one
// place, and a stash of STASH entries in registers. A lookup reads all places of its key at once.
//
// A new entry comes into the stash, so that lookups find it, and from there to one of its places. If all are taken, it
// takes one of them, whose entry has come into the stash before and goes on like it, MAX_MOVES times at most; what then
// has no place stays in the stash until a later operation finds it one. An entry leaves the stash when all lookups that
// read its place before it was written are through: so an entry that moves is always found.
//
// Operations, one at a time: op_done comes with the answer when each lookup that begins with it or later sees the new
// state; one before it sees the old or the new. FULL: all places of the key are taken, and the stash has a single free
// entry, which moves and changes need. After reset op_ready is low and no key is found until all places are empty.
//
// Latency: 8 cycles. Throughput: 1 lookup a cycle. Backpressure: none for lookups; op_ready is low while entries move:
// with STASH = 4, 14 cycles for an insertion, and 13 for each move.
//
//  key -+-> exact_hash -> RAM of each table -> key_equal -+-> result
//       +-> key_equal with each entry of the stash -------+
//
//  IDLE -> VISIT -> DECIDE -> EVICT -> WRITE -> SETTLED -> NEXT -> PICK: the next entry of the stash
//   ^               hash, read and compare, as a lookup                |
//   +------------------------------------------------------------------+
module exact_table
  import table_pkg::*;
#(
    parameter int unsigned KEY_W = 264,
    parameter int unsigned RESULT_W = 16,
    parameter int unsigned ENTRIES = 4096,
    parameter int unsigned TABLES = 4,
    parameter int unsigned STASH = 4,
    parameter int unsigned MAX_MOVES = 128
) (
    input  logic                         clk,
    input  logic                         rst,
    input  logic                         key_valid,
    input  logic          [   KEY_W-1:0] key,
    output logic                         result_valid,
    output logic                         hit,
    output logic          [RESULT_W-1:0] result,        // valid with hit
    input  logic                         op_valid,
    output logic                         op_ready,
    input  table_op_t                    op,
    input  logic          [   KEY_W-1:0] op_key,
    input  logic          [RESULT_W-1:0] op_result,
    output logic                         op_done,
    output table_answer_t                op_answer,     // valid with op_done
    output logic                         idle
);

  if (KEY_W < 1) begin : gen_bad_key_w
    $fatal(1, "exact_table: KEY_W must be at least 1, not %0d", KEY_W);
  end
  if (RESULT_W < 1) begin : gen_bad_result_w
    $fatal(1, "exact_table: RESULT_W must be at least 1, not %0d", RESULT_W);
  end
  if (TABLES < 2 || TABLES > 8 || 2 ** $clog2(TABLES) != TABLES) begin : gen_bad_tables
    $fatal(1, "exact_table: TABLES must be 2, 4 or 8, not %0d", TABLES);
  end
  if (ENTRIES < 4 * TABLES || 2 ** $clog2(ENTRIES) != ENTRIES) begin : gen_bad_entries
    $fatal(1, "exact_table: ENTRIES must be a power of two, at least 4 for each of TABLES, not %0d", ENTRIES);
  end
  if (STASH < 2 || STASH > 16) begin : gen_bad_stash
    $fatal(1, "exact_table: STASH must be 2 to 16, not %0d", STASH);
  end
  if (MAX_MOVES < 1 || MAX_MOVES > 65535) begin : gen_bad_max_moves
    $fatal(1, "exact_table: MAX_MOVES must be 1 to 65535, not %0d", MAX_MOVES);
  end

  localparam int unsigned DEPTH = ENTRIES / TABLES;
  localparam int unsigned ADDR_W = $clog2(DEPTH);
  localparam int unsigned TABLE_W = $clog2(TABLES);
  localparam int unsigned SLOT_W = $clog2(STASH);
  localparam int unsigned PICK_W = $clog2(STASH + TABLES);
  localparam int unsigned VISIT_CYCLES = (STASH > 4 ? STASH : 4) + 2;  // hash, read and compare
  localparam int unsigned WALK_AT = VISIT_CYCLES - STASH - 2;  // cycle that picks the first of the stash
  localparam int unsigned SETTLE = 4;  // from a place's write until no lookup can need the stash's copy

  typedef struct packed {
    logic                valid;
    logic [KEY_W-1:0]    key;
    logic [RESULT_W-1:0] result;
  } entry_t;

  typedef enum logic [3:0] {
    WIPE,    // empties all places
    IDLE,
    VISIT,   // compares the entry in hand with its places and the stash
    DECIDE,
    EVICT,   // picks the entry at the place
    WRITE,   // writes the place, whose entry goes to the stash
    ERASE,   // empties the place
    SETTLED, // waits, then frees the stash's entry
    NEXT,    // the next entry of the stash
    PICK     // picks it
  } state_t;

  state_t state_q;
  table_op_t op_q;
  entry_t hand_q, pick_q;
  logic [PICK_W-1:0] at_q;  // what is picked: of the stash, and behind it of the places
  logic asked_op_q;  // what is in hand is an operation's, not from the stash
  logic evicts_q, wiped_q;
  logic [SLOT_W-1:0] slot_q, next_slot_q;  // of the entry in hand and of the one that it replaces
  logic [TABLE_W-1:0] target_q;
  logic [ADDR_W-1:0] wipe_at_q;
  logic [4:0] count_q;
  logic [15:0] moves_q, random_q;
  entry_t [STASH-1:0] stash_q;
  entry_t stash_entry;  // what is written there
  logic [STASH-1:0] stash_write;

  // Places

  logic [TABLES-1:0] write;
  logic [TABLES-1:0][ADDR_W-1:0] hand_addr, look_addr;
  entry_t [TABLES-1:0] hand_word;
  logic [TABLES-1:0] hand_match, look_match, taken;
  logic [STASH-1:0] hand_stash, look_stash;
  logic [TABLES-1:0][RESULT_W-1:0] results;

  logic [EXACT_LATENCY-1:0] asked_q;  // [i]: a lookup came i + 1 cycles ago
  wire visits = state_q == VISIT;

  // Registers of their own: a simulator copies all of a wide one to assign parts of it.
  for (genvar i = 0; i < 5; i++) begin : gen_key
    logic [KEY_W-1:0] key_q;

    if (i == 0) begin : gen_first
      always_ff @(posedge clk) if (key_valid) key_q <= key;
    end else begin : gen_next
      always_ff @(posedge clk) if (asked_q[i-1]) key_q <= gen_key[i-1].key_q;
    end
  end

  exact_hash #(
      .KEY_W (KEY_W),
      .TABLES(TABLES),
      .ADDR_W(ADDR_W)
  ) u_hand_hash (
      .clk,
      .valid(visits),
      .key  (hand_q.key),
      .addr (hand_addr)
  );

  exact_hash #(
      .KEY_W (KEY_W),
      .TABLES(TABLES),
      .ADDR_W(ADDR_W)
  ) u_look_hash (
      .clk,
      .valid(asked_q[0]),
      .key  (gen_key[0].key_q),
      .addr (look_addr)
  );

  for (genvar t = 0; t < TABLES; t++) begin : gen_table
    wire [ADDR_W-1:0] addr = state_q == WIPE ? wipe_at_q : hand_addr[t];
    entry_t look_word;
    logic [1:0] clash_q;  // the place was written as it was read
    logic [RESULT_W-1:0] compared_q, result_q;

    assign taken[t] = hand_word[t].valid;
    assign write[t] = state_q == WIPE || ((state_q == WRITE || state_q == ERASE) && target_q == TABLE_W'(t));

    ram_tdp #(
        .WIDTH  ($bits(entry_t)),
        .DEPTH  (DEPTH),
        .OUT_REG(1'b1)
    ) u_ram (
        .clk,
        .rd_en     (asked_q[2]),
        .rd_addr   (look_addr[t]),
        .rd_data   (look_word),
        .rw_en     (visits || write[t]),
        .rw_addr   (addr),
        .rw_write  (write[t]),
        .rw_wr_data(hand_q),
        .rw_rd_data(hand_word[t])
    );

    key_equal #(
        .KEY_W(KEY_W)
    ) u_look_equal (
        .clk,
        .valid(look_word.valid && !clash_q[1] && wiped_q && asked_q[4]),
        .a    (look_word.key),
        .b    (gen_key[4].key_q),
        .equal(look_match[t])
    );

    key_equal #(
        .KEY_W(KEY_W)
    ) u_hand_equal (
        .clk,
        .valid(hand_word[t].valid && visits),
        .a    (hand_word[t].key),
        .b    (hand_q.key),
        .equal(hand_match[t])
    );

    always_ff @(posedge clk) begin
      clash_q <= {clash_q[0], write[t] && addr == look_addr[t]};
      if (asked_q[4]) compared_q <= look_word.result;
      if (asked_q[5]) result_q <= compared_q;
    end
    assign results[t] = result_q;
  end

  for (genvar s = 0; s < STASH; s++) begin : gen_stash
    key_equal #(
        .KEY_W(KEY_W)
    ) u_look_equal (
        .clk,
        .valid(stash_q[s].valid && asked_q[4]),
        .a    (stash_q[s].key),
        .b    (gen_key[4].key_q),
        .equal(look_stash[s])
    );
  end

  // Lookups. What the stash has is newer. A freed entry of the stash gets no other key while it is compared: between
  // lie the cycles of a visit.

  always_ff @(posedge clk) begin
    if (asked_q[6]) begin
      automatic logic [RESULT_W-1:0] stashed = '0, placed = '0;
      for (int unsigned s = 0; s < STASH; s++) if (look_stash[s]) stashed |= stash_q[s].result;
      for (int unsigned t = 0; t < TABLES; t++) if (look_match[t]) placed |= results[t];
      hit    <= |look_stash || |look_match;
      result <= |look_stash ? stashed : placed;
    end
    asked_q <= {asked_q[EXACT_LATENCY-2:0], key_valid};
    if (rst) asked_q <= '0;
  end

  assign result_valid = asked_q[EXACT_LATENCY-1];

  // Operations

  // A visit picks the entries of the stash one after the other, and compares them.

  wire entry_t [STASH+TABLES-1:0] choices = {hand_word, stash_q};
  logic picked_equal;
  logic [STASH-1:1] equal_q;

  key_equal #(
      .KEY_W(KEY_W)
  ) u_picked_equal (
      .clk,
      .valid(pick_q.valid && visits),
      .a    (pick_q.key),
      .b    (hand_q.key),
      .equal(picked_equal)
  );

  always_ff @(posedge clk) begin
    if (state_q != IDLE) pick_q <= choices[at_q];
    equal_q <= (STASH - 1)'({picked_equal, equal_q} >> 1);
  end

  assign hand_stash = {picked_equal, equal_q};

  logic [STASH-1:0] occupied;
  logic [SLOT_W-1:0] free_slot, used_slot;
  logic [TABLE_W-1:0] empty_table, match_table, victim;
  logic two_free, found, full, keeps;

  always_comb begin
    {free_slot, used_slot, empty_table, match_table, occupied, two_free, found, victim, full, keeps} = 'x;
    stash_entry = 'x;
    stash_write = '0;
    if (state_q != IDLE) begin
      free_slot = '0;
      used_slot = '0;
      empty_table = '0;
      match_table = '0;
      for (int unsigned s = 0; s < STASH; s++) begin
        occupied[s] = stash_q[s].valid;
        if (!stash_q[s].valid) free_slot = SLOT_W'(s);
        if (stash_q[s].valid) used_slot = SLOT_W'(s);
      end
      for (int unsigned t = 0; t < TABLES; t++) begin
        if (!taken[t]) empty_table = TABLE_W'(t);
        if (hand_match[t]) match_table = TABLE_W'(t);
      end
      two_free = (~occupied & (~occupied - 1'b1)) != '0;
      found = |hand_match || |hand_stash;
      // Not the place from which the entry in hand has just come.
      victim = random_q[TABLE_W-1:0] == target_q ? random_q[TABLE_W-1:0] + 1'b1 : random_q[TABLE_W-1:0];
      full = op_q == INSERT && &taken && !two_free;
      keeps = state_q == DECIDE ? asked_op_q && op_q != REMOVE && (op_q == INSERT) != found && !full
          : state_q == WRITE && evicts_q;
      stash_entry = state_q == DECIDE ? hand_q : pick_q;
      for (int unsigned s = 0; s < STASH; s++) begin
        stash_write[s] = keeps && (state_q == DECIDE && |hand_stash ? hand_stash[s] : 32'(free_slot) == s);
      end
    end
  end

  assign op_ready = state_q == IDLE;

  always_ff @(posedge clk) begin
    if (state_q != IDLE) random_q <= {random_q[14:0], random_q[15] ^ random_q[14] ^ random_q[12] ^ random_q[3]};
    op_done <= 1'b0;
    for (int unsigned s = 0; s < STASH; s++) if (stash_write[s]) stash_q[s] <= stash_entry;
    unique case (state_q)
      WIPE: begin
        hand_q.valid <= 1'b0;
        wipe_at_q <= wipe_at_q + 1'b1;
        if (&wipe_at_q) state_q <= SETTLED;
      end
      IDLE: begin
        if (op_valid) hand_q <= {1'b1, op_key, op_result};
        op_q <= op;
        at_q <= '0;
        asked_op_q <= 1'b1;
        moves_q <= '0;
        if (op_valid) state_q <= VISIT;
      end
      VISIT: begin
        count_q <= count_q + 1'b1;
        at_q <= PICK_W'(32'(count_q) + 1 - WALK_AT);
        if (count_q == '0 && !asked_op_q) hand_q <= pick_q;
        if (32'(count_q) == VISIT_CYCLES - 1) state_q <= DECIDE;
      end
      DECIDE: begin
        count_q <= '0;
        asked_op_q <= 1'b0;
        evicts_q <= &taken;
        target_q <= &taken ? victim : empty_table;
        at_q <= PICK_W'(STASH + 32'(victim));
        state_q <= &taken ? EVICT : WRITE;
        if (asked_op_q) begin
          slot_q <= free_slot;
          op_done <= 1'b1;
          op_answer <= DONE;
          if ((op_q == INSERT) == found) begin
            op_answer <= found ? EXISTS : NOT_FOUND;
            state_q   <= IDLE;
          end else if (full) begin
            op_answer <= FULL;
            state_q   <= IDLE;
          end else if (|hand_stash) begin
            for (int unsigned s = 0; s < STASH; s++) if (op_q == REMOVE && hand_stash[s]) stash_q[s].valid <= 1'b0;
            state_q <= NEXT;
          end else if (op_q == REMOVE) begin
            op_done <= 1'b0;  // comes when the place has been written
            hand_q.valid <= 1'b0;
            target_q <= match_table;
            state_q <= ERASE;
          end else if (op_q == CHANGE) begin
            evicts_q <= 1'b0;
            target_q <= match_table;
            state_q  <= WRITE;
          end
        end
      end
      EVICT: begin
        next_slot_q <= free_slot;
        moves_q <= moves_q + 1'b1;
        state_q <= WRITE;
      end
      WRITE: state_q <= SETTLED;
      ERASE: begin
        op_done <= 1'b1;
        state_q <= NEXT;
      end
      SETTLED: begin
        count_q <= count_q + 1'b1;
        if (32'(count_q) == SETTLE - 1) begin
          count_q <= '0;
          wiped_q <= 1'b1;
          state_q <= NEXT;
          if (wiped_q) begin
            for (int unsigned s = 0; s < STASH; s++) if (32'(slot_q) == s) stash_q[s].valid <= 1'b0;
            if (evicts_q) begin
              slot_q  <= next_slot_q;
              state_q <= 32'(moves_q) < MAX_MOVES ? VISIT : IDLE;
            end
          end
        end
      end
      NEXT: begin
        at_q <= PICK_W'(used_slot);
        slot_q <= used_slot;
        state_q <= |occupied && 32'(moves_q) < MAX_MOVES ? PICK : IDLE;
      end
      PICK: state_q <= VISIT;
      default: state_q <= WIPE;
    endcase
    if (rst) begin
      state_q <= WIPE;
      hand_q.valid <= 1'b0;
      wipe_at_q <= '0;
      wiped_q <= 1'b0;
      count_q <= '0;
      op_done <= 1'b0;
      random_q <= 16'h1;
      for (int unsigned s = 0; s < STASH; s++) stash_q[s].valid <= 1'b0;
    end
  end

  assign idle = asked_q == '0 && state_q == IDLE && !op_done;

endmodule
