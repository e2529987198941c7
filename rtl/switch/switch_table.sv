// SPDX-License-Identifier: Apache-2.0
// Flow table of an OpenFlow switch: looks packets up that have it as their next table, and lets the others through. An
// exact_table, whose key is AND-ed with a mask, and a ternary_table are asked at once; of two hits the one with the
// higher rank counts, the exact one if they are equal. It names an entry, which is counted and read. A packet waits in
// LUT RAM meanwhile. All packets take the same way, in order, and count when they are looked up.
//
// Operations, one at a time: `op` stays offered while it is done, op_ready takes it, and op_done comes a cycle later:
// each lookup that begins with it or later sees the new state; one before it the old or the new, never part of each.
// NOT_FOUND also answers numbers and indices out of range. An entry is written, and its counters are set to 0, between
// two lookups and after the ones that began before the end of the last operation: a number that no lookup finds any
// more can be given to another flow, and what was found before is not counted on it. An operation that also inserts a
// key does so when the entry is written. In the same way an effect is written when all packets that came before are
// through: that waits for m_ready. The mask is not defined until it is set.
//
// Entries, counters and the host's reads of them share ports with lookups, which go first: the others wait for a cycle
// without a hit. When none has come in 64 cycles, s_ready is low for one.
//
// Latency: 7 cycles more than the ternary table, with n effects n + 1 more; CHUNK_W = 4 or 5, TERNARY = 128: 15.
// Throughput: 1 packet a cycle; one with n effects takes n + 2. Backpressure: s_ready is a register, low while 16
// packets are inside.
//
//  s -+-> u_states: the packet -----------------------------------------------------+
//     +-> u_asked: its bytes, whether it is for this table -+                       v
//     +-> & mask -> exact_table ---> wait ------------------+-> number -+-> u_entries -> u_results -> flow_effects -> m
//     +-> ternary_table -> u_ranks: rank, number -----------+           +-> flow_counters, flow_timeouts
//  op -> state_q: writes the mask, exact_table, ternary_table and u_ranks, an entry or an effect
module switch_table
  import switch_pkg::*;
  import table_pkg::*;
#(
    parameter int unsigned TABLES = 8,
    parameter int unsigned EXACT = 4096,    // entries of the exact part, a power of two
    parameter int unsigned TERNARY = 128,
    parameter int unsigned EFFECTS = 256,
    parameter int unsigned CHUNK_W = 5,     // of the ternary part
    parameter bit          NARROW = 1'b0    // keys are narrow_match_t
) (
    input  logic                                      clk,
    input  logic                                      rst,
    input  logic                        [TABLE_W-1:0] own_number,  // of this table, constant
    input  logic                               [63:0] time_ns,
    input  logic                                      s_valid,
    output logic                                      s_ready,
    input  lookup_t                                   s_lookup,
    input  logic          [TABLES-1:0][PROGRAM_W-1:0] s_programs,
    output logic                                      m_valid,
    input  logic                                      m_ready,
    output lookup_t                                   m_lookup,
    output logic          [TABLES-1:0][PROGRAM_W-1:0] m_programs,
    input  logic                                      op_valid,
    output logic                                      op_ready,
    input  flow_command_t                             op,
    output logic                                      op_done,
    output table_answer_t                             op_answer,   // valid with op_done
    input  logic                                      count_read,  // not again before count_valid
    // verilator lint_off UNUSEDSIGNAL
    input  logic                        [ENTRY_W-1:0] count_number,
    // verilator lint_on UNUSEDSIGNAL
    output logic                                      count_valid,
    output flow_count_t                               count,
    output logic                                      expired_valid,
    input  logic                                      expired_ready,
    output expiry_t                                   expired,
    output logic                                      looked_up,
    output logic                                      matched,
    output logic                               [63:0] wake_ns,     // all ones: no timer
    output logic                                      rests,       // its clock may stop until something comes
    output logic                                      idle
);

  localparam int unsigned ENTRIES = EXACT + TERNARY;

  if (TABLES < 1 || TABLES > TABLES_MAX) begin : gen_bad_tables
    $fatal(1, "switch_table: TABLES must be 1 to %0d, not %0d", TABLES_MAX, TABLES);
  end
  if (EXACT < 16 || EXACT > 32768 || 2 ** $clog2(EXACT) != EXACT) begin : gen_bad_exact
    $fatal(1, "switch_table: EXACT must be a power of two, 16 to 32768, not %0d", EXACT);
  end
  if (TERNARY < 1 || TERNARY > 4096) begin : gen_bad_ternary
    $fatal(1, "switch_table: TERNARY must be 1 to 4096, not %0d", TERNARY);
  end
  if (EFFECTS < 2 || EFFECTS > 2 ** EFFECT_W) begin : gen_bad_effects
    $fatal(1, "switch_table: EFFECTS must be 2 to %0d, not %0d", 2 ** EFFECT_W, EFFECTS);
  end
  if (CHUNK_W < 2 || CHUNK_W > 6) begin : gen_bad_chunk_w
    $fatal(1, "switch_table: CHUNK_W must be 2 to 6, not %0d", CHUNK_W);
  end

  localparam int unsigned KEY_W = NARROW ? $bits(narrow_match_t) : $bits(match_t);
  localparam int unsigned NUMBER_W = $clog2(ENTRIES);
  localparam int unsigned INDEX_W = TERNARY > 1 ? $clog2(TERNARY) : 1;
  localparam int unsigned ADDR_W = $clog2(EFFECTS);
  localparam int unsigned RANK_CYCLES = 2;
  localparam int unsigned FOUND = ternary_latency(KEY_W, TERNARY, CHUNK_W) + RANK_CYCLES;  // cycles to both results
  localparam int unsigned WAIT = FOUND - EXACT_LATENCY;
  localparam int unsigned DEPTH = 16;  // at least the FOUND + 4 packets that are inside without stalls
  localparam int unsigned SETTLE = FOUND + 2;  // until a lookup that began before has read its entry
  localparam int unsigned PATIENCE_W = 6;

  if (FOUND < EXACT_LATENCY || FOUND + 4 > DEPTH) begin : gen_bad_depth
    $fatal(1, "switch_table: results after %0d cycles don't go with the exact part's and the queues'", FOUND);
  end

  typedef logic [KEY_W-1:0] key_t;

  typedef struct packed {
    logic [PRIORITY_W-1:0] rank;
    logic [NUMBER_W-1:0]   number;
  } found_t;

  typedef struct packed {
    logic [PROGRAM_W-1:0] program_at;
    logic [EFFECT_W-1:0]  effect;
    logic [TABLE_W-1:0]   next;
    logic [63:0]          metadata;
    logic [63:0]          metadata_mask;
  } stored_t;

  typedef struct packed {
    logic               mine;
    logic [BYTES_W-1:0] bytes;
  } asked_t;

  typedef enum logic [3:0] {
    REST,
    START,
    OFFER,   // to the exact or ternary part
    SETTLED, // lookups are through that began before the last operation ended, or this one was taken by the part
    SLOT,    // writes the entry, in a cycle without a hit
    ARM,     // sets its timeouts
    DRAIN,   // packets that came before are through: writes the effect
    AWAIT,   // the exact or ternary part
    TAKE
  } state_t;

  function automatic key_t key_of(match_t fields);
    return NARROW ? KEY_W'(narrow_match(fields)) : KEY_W'(fields);
  endfunction

  state_t state_q;
  key_t mask_q;
  logic refused_q;
  logic written_q;  // the operation has written its entry
  table_answer_t answer_q;
  logic [$clog2(SETTLE+1)-1:0] settle_q;
  logic [4:0] accepted_q, finished_q, mark_q;

  logic accepts, finished, effects_idle;
  logic states_ready, states_valid, states_idle;
  logic bubble_q;
  lookup_t state_lookup;
  logic [TABLES-1:0][PROGRAM_W-1:0] state_programs;

  // Packets wait, and are asked for

  logic asked_room, asked_there, results_room, results_valid, results_ready;
  flow_result_t result;
  asked_t asked;
  logic exact_valid, ternary_valid;

  assign s_ready = states_ready && !bubble_q;
  assign accepts = s_valid && s_ready;

  wire takes = results_valid && results_ready;

  stream_queue #(
      .WIDTH($bits(lookup_t) + TABLES * PROGRAM_W),
      .DEPTH(DEPTH)
  ) u_states (
      .clk,
      .rst,
      .s_valid(s_valid && !bubble_q),
      .s_ready(states_ready),
      .s_data ({s_programs, s_lookup}),
      .m_valid(states_valid),
      .m_ready(takes),
      .m_data ({state_programs, state_lookup}),
      .idle   (states_idle)
  );

  // What counting needs, sooner than the packet goes on
  stream_queue #(
      .WIDTH($bits(asked_t)),
      .DEPTH(DEPTH)
  ) u_asked (
      .clk,
      .rst,
      .s_valid(accepts),
      .s_ready(asked_room),  // as many as u_states at most
      .s_data ({s_lookup.next == own_number, s_lookup.bytes}),
      .m_valid(asked_there),
      .m_ready(ternary_valid),
      .m_data (asked),
      .idle   ()
  );

  // The exact part, whose results wait for the ternary part's

  logic exact_result, exact_hit, exact_ready, exact_done, exact_idle;
  found_t exact_found;
  table_answer_t exact_answer;
  table_op_t exact_op;

  wire key_t key = key_of(s_lookup.fields);
  wire key_t op_value = key_of(op.value);
  wire for_exact = op.op inside {FLOW_EXACT_INSERT, FLOW_EXACT_CHANGE, FLOW_EXACT_REMOVE, FLOW_EXACT_ADD};
  wire for_entry = op.op inside {FLOW_SET_ENTRY, FLOW_CHANGE_ENTRY};
  wire adds = op.op inside {FLOW_EXACT_ADD, FLOW_TERNARY_ADD};
  wire writes = (for_entry || adds) && !written_q;

  always_comb begin
    unique case (op.op)
      FLOW_EXACT_INSERT, FLOW_EXACT_ADD: exact_op = INSERT;
      FLOW_EXACT_CHANGE: exact_op = CHANGE;
      default: exact_op = REMOVE;
    endcase
  end

  exact_table #(
      .KEY_W   (KEY_W),
      .RESULT_W($bits(found_t)),
      .ENTRIES (EXACT)
  ) u_exact (
      .clk,
      .rst,
      .key_valid   (accepts),
      .key         (key & mask_q),
      .result_valid(exact_result),
      .hit         (exact_hit),
      .result      (exact_found),
      .op_valid    (state_q == OFFER && for_exact),
      .op_ready    (exact_ready),
      .op          (exact_op),
      .op_key      (op_value & mask_q),
      .op_result   ({op.rank, op.number[NUMBER_W-1:0]}),
      .op_done     (exact_done),
      .op_answer   (exact_answer),
      .idle        (exact_idle)
  );

  for (genvar i = 0; i <= WAIT; i++) begin : gen_wait
    logic valid, hit;
    found_t found;

    if (i == 0) begin : gen_first
      assign valid = exact_result;
      assign hit   = exact_hit;
      assign found = exact_found;
    end else begin : gen_next
      always_ff @(posedge clk) begin
        valid <= gen_wait[i-1].valid && !rst;
        if (gen_wait[i-1].valid) begin
          hit   <= gen_wait[i-1].hit;
          found <= gen_wait[i-1].found;
        end
      end
    end
  end

  wire waited_hit = gen_wait[WAIT].hit;
  wire found_t waited = gen_wait[WAIT].found;
  assign exact_valid = gen_wait[WAIT].valid;

  // The ternary part, and rank and number of its entries

  logic ternary_result, ternary_hit, ternary_ready, ternary_done, ternary_idle;
  logic [INDEX_W-1:0] ternary_index;
  logic [RANK_CYCLES-1:0] ternary_valid_q, ternary_hit_q;
  found_t ternary_found;

  wire settled = state_q == SETTLED && 32'(settle_q) == SETTLE;
  wire ternary_sets = op.op inside {FLOW_TERNARY_SET, FLOW_TERNARY_MOVE, FLOW_TERNARY_ADD};

  ternary_table #(
      .KEY_W  (KEY_W),
      .ENTRIES(TERNARY),
      .CHUNK_W(CHUNK_W)
  ) u_ternary (
      .clk,
      .rst,
      .key_valid     (accepts),
      .key,
      .result_valid  (ternary_result),
      .hit           (ternary_hit),
      .index         (ternary_index),
      .op_valid      (state_q == OFFER && !for_exact),
      .op_ready      (ternary_ready),
      .op_set        (ternary_sets),
      .op_index      (op.index[INDEX_W-1:0]),
      .op_value,
      .op_mask       (key_of(op.mask)),
      .op_clear      (op.op inside {FLOW_TERNARY_CLEAR, FLOW_TERNARY_MOVE}),
      .op_clear_index(op.clear_index[INDEX_W-1:0]),
      .op_done       (ternary_done),
      .idle          (ternary_idle)
  );

  // Written while no lookup can find the entry: ternary_table has removed it SETTLE cycles ago, and takes longer to
  // write the new one.
  ram_sdp #(
      .WIDTH  ($bits(found_t)),
      .DEPTH  (TERNARY),
      .OUT_REG(1'b1)
  ) u_ranks (
      .clk,
      .wr_en  (settled && ternary_sets && !writes),
      .wr_addr(op.index[INDEX_W-1:0]),
      .wr_data({op.rank, op.number[NUMBER_W-1:0]}),
      .rd_en  (ternary_result),
      .rd_addr(ternary_index),
      .rd_data(ternary_found)
  );

  always_ff @(posedge clk) begin
    ternary_valid_q <= {ternary_valid_q[0], ternary_result};
    ternary_hit_q   <= {ternary_hit_q[0], ternary_hit};
    if (rst) ternary_valid_q <= '0;
  end

  assign ternary_valid = ternary_valid_q[1];

  // Which entry it is. It is read and counted in the next cycle; where there is none, an operation or a read of the
  // host's can have the RAMs.

  logic [2:0] found_q, mine_q, hit_q;
  logic [NUMBER_W-1:0] number_q;
  logic [BYTES_W-1:0] bytes_q;
  logic asks_q;  // a read of the host's
  logic [NUMBER_W-1:0] asks_number_q;
  logic [PATIENCE_W-1:0] patience_q;
  stored_t stored;

  wire exact_wins = waited_hit && !(ternary_hit_q[1] && ternary_found.rank > waited.rank);
  wire changes = state_q == SLOT && !hit_q[0];
  wire answers = asks_q && state_q != SLOT && !hit_q[0];

  always_ff @(posedge clk) begin
    found_q <= {found_q[1:0], ternary_valid};
    mine_q  <= {mine_q[1:0], asked.mine};
    hit_q   <= {hit_q[1:0], ternary_valid && asked.mine && (waited_hit || ternary_hit_q[1])};
    if (ternary_valid) begin
      number_q <= exact_wins ? waited.number : ternary_found.number;
      bytes_q  <= asked.bytes;
    end
    if (rst) begin
      found_q <= '0;
      hit_q   <= '0;
    end
  end

  assign looked_up = found_q[0] && mine_q[0];
  assign matched   = hit_q[0];

  ram_sdp #(
      .WIDTH  ($bits(stored_t)),
      .DEPTH  (ENTRIES),
      .OUT_REG(1'b1)
  ) u_entries (
      .clk,
      .wr_en  (changes),
      .wr_addr(op.number[NUMBER_W-1:0]),
      .wr_data({op.entry.program_at, op.entry.effect, op.entry.next, op.entry.metadata, op.entry.metadata_mask}),
      .rd_en  (hit_q[0]),
      .rd_addr(number_q),
      .rd_data(stored)
  );

  stream_queue #(
      .WIDTH($bits(flow_result_t)),
      .DEPTH(DEPTH)
  ) u_results (
      .clk,
      .rst,
      .s_valid(found_q[2]),
      .s_ready(results_room),  // as many as u_states at most
      .s_data ({mine_q[2], hit_q[2], stored}),
      .m_valid(results_valid),
      .m_ready(results_ready),
      .m_data (result),
      .idle   ()
  );

  flow_effects #(
      .TABLES (TABLES),
      .EFFECTS(EFFECTS)
  ) u_effects (
      .clk,
      .rst,
      .own_number,
      .s_valid   (results_valid),
      .s_ready   (results_ready),
      .s_lookup  (state_lookup),
      .s_programs(state_programs),
      .s_result  (result),
      .m_valid,
      .m_ready,
      .m_lookup,
      .m_programs,
      .finished,
      .wr_en     (state_q == DRAIN && finished_q == mark_q),
      .wr_addr   (op.index[ADDR_W-1:0]),
      .wr_effect (op.effect),
      .idle      (effects_idle)
  );

  // Counters and timeouts

  flow_event_t event_kind;
  logic event_valid;
  logic [NUMBER_W-1:0] event_number;
  logic [63:0] read_packets, read_bytes;
  logic [TICK_W-1:0] read_used, used_q;
  logic counters_idle, timeouts_idle, timeouts_rest, arm_ready;

  always_comb begin
    event_valid  = hit_q[0] || answers || (changes && op.op != FLOW_CHANGE_ENTRY);
    event_kind   = hit_q[0] ? FLOW_COUNT : changes ? FLOW_CLEAR : FLOW_READ;
    event_number = hit_q[0] ? number_q : changes ? op.number[NUMBER_W-1:0] : asks_number_q;
  end

  flow_counters #(
      .ENTRIES(ENTRIES)
  ) u_counters (
      .clk,
      .rst,
      .event_valid,
      .event_kind,
      .event_number,
      .event_bytes (bytes_q),
      .read_valid  (count_valid),
      .read_packets,
      .read_bytes,
      .idle        (counters_idle)
  );

  flow_timeouts #(
      .ENTRIES(ENTRIES)
  ) u_timeouts (
      .clk,
      .rst,
      .time_ns,
      .use_valid  (event_valid && !answers),
      .use_number (event_number),
      .read_valid (answers),
      .read_number(asks_number_q),
      .read_used,
      .set_valid  (state_q == ARM),
      .set_ready  (arm_ready),
      .set_number (op.number[NUMBER_W-1:0]),
      .set_idle   (op.entry.idle),
      .set_hard_at(op.entry.hard_at),
      .expired_valid,
      .expired_ready,
      .expired,
      .wake_ns,
      .rests      (timeouts_rest),
      .idle       (timeouts_idle)
  );

  assign count = '{packets: read_packets, bytes: read_bytes, used: used_q};

  always_ff @(posedge clk) begin
    used_q <= read_used;
    if (count_read) asks_number_q <= count_number[NUMBER_W-1:0];
    asks_q <= count_read || (asks_q && !answers);
    patience_q <= asks_q || state_q == SLOT ? patience_q + 1'b1 : '0;
    bubble_q <= &patience_q;
    if (rst) begin
      asks_q   <= 1'b0;
      bubble_q <= 1'b0;
    end
  end

  // Operations

  wire number_wrong = 32'(op.number) >= ENTRIES;
  wire index_wrong = 32'(op.index) >= TERNARY;
  wire clear_wrong = 32'(op.clear_index) >= TERNARY;
  wire effect_wrong = 32'(op.entry.effect) >= EFFECTS;
  logic wrong;

  always_comb begin
    unique case (op.op)
      FLOW_SET_ENTRY, FLOW_CHANGE_ENTRY, FLOW_EXACT_ADD: wrong = number_wrong || effect_wrong;
      FLOW_SET_EFFECT: wrong = 32'(op.index) >= EFFECTS;
      FLOW_SET_MASK, FLOW_EXACT_REMOVE: wrong = 1'b0;
      FLOW_EXACT_INSERT, FLOW_EXACT_CHANGE: wrong = number_wrong;
      FLOW_TERNARY_SET: wrong = number_wrong || index_wrong;
      FLOW_TERNARY_ADD: wrong = number_wrong || index_wrong || effect_wrong;
      FLOW_TERNARY_CLEAR: wrong = clear_wrong;
      FLOW_TERNARY_MOVE: wrong = number_wrong || index_wrong || clear_wrong;
      default: wrong = 1'b1;
    endcase
  end

  always_ff @(posedge clk) begin
    if (accepts) accepted_q <= accepted_q + 1'b1;
    if (finished) finished_q <= finished_q + 1'b1;
    op_done <= state_q == TAKE;
    if (state_q == OFFER || state_q == TAKE) settle_q <= '0;
    else if (32'(settle_q) != SETTLE) settle_q <= settle_q + 1'b1;
    unique case (state_q)
      REST: begin
        refused_q <= wrong;
        written_q <= 1'b0;
        if (op_valid) state_q <= START;
      end
      START: begin
        mark_q   <= accepted_q;
        answer_q <= refused_q ? NOT_FOUND : DONE;
        if (refused_q) state_q <= TAKE;
        else if (op.op == FLOW_SET_MASK) state_q <= TAKE;
        else if (op.op == FLOW_SET_EFFECT) state_q <= DRAIN;
        else if (for_entry || adds) state_q <= SETTLED;
        else state_q <= OFFER;
      end
      OFFER: if (for_exact ? exact_ready : ternary_ready) state_q <= ternary_sets ? SETTLED : AWAIT;
      SETTLED: if (settled) state_q <= writes ? SLOT : AWAIT;
      SLOT: begin
        written_q <= 1'b1;
        if (!hit_q[0]) state_q <= ARM;
      end
      ARM: if (arm_ready) state_q <= adds ? OFFER : TAKE;
      DRAIN: if (finished_q == mark_q) state_q <= TAKE;
      AWAIT: begin
        if (exact_done) answer_q <= exact_answer;
        if (exact_done || ternary_done) state_q <= TAKE;
      end
      TAKE: state_q <= REST;
      default: state_q <= REST;
    endcase
    if (rst) begin
      state_q <= REST;
      op_done <= 1'b0;
      accepted_q <= '0;
      finished_q <= '0;
    end
  end

  always_ff @(posedge clk) if (state_q == START && op.op == FLOW_SET_MASK) mask_q <= key_of(op.mask);

  assign op_ready  = state_q == TAKE;
  assign op_answer = answer_q;

  assign idle = states_idle && effects_idle && exact_idle && ternary_idle && counters_idle && timeouts_idle && !asks_q
      && !count_read && state_q == REST && !op_done;
  assign rests = idle && timeouts_rest && 32'(settle_q) == SETTLE;

`ifndef SYNTHESIS
  offer_contract #(
      .WIDTH($bits(flow_command_t))
  ) u_op (
      .clk,
      .rst,
      .valid(op_valid),
      .ready(op_ready),
      .data (op)
  );
  ready_contract #(
      .WIDTH(4)
  ) u_ready (
      .clk,
      .rst,
      .valid({accepts, ternary_valid, found_q[2], takes}),
      .ready({asked_room, asked_there, results_room, states_valid})
  );
  range_contract #(
      .WIDTH($bits(number_q)),
      .MOST (ENTRIES - 1)
  ) u_number (
      .clk,
      .rst,
      .valid (hit_q[0]),
      .number(number_q)
  );
  range_contract #(
      .WIDTH($bits(state_q)),
      .MOST (32'(TAKE))
  ) u_state (
      .clk,
      .rst,
      .valid (1'b1),
      .number(state_q)
  );

  logic checks;
  first_reset u_first_reset (.clk, .rst, .checks);

  always_ff @(posedge clk) begin
    if (checks) assert (exact_valid == ternary_valid) else $error("%m: results of one lookup come in different cycles");
  end
`endif

endmodule
