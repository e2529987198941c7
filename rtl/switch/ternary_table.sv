// SPDX-License-Identifier: Apache-2.0
// Ternary content-addressable memory of distributed RAM. An entry matches a key that equals its value in all bits that
// are set in its mask; of the entries that match the one with the lowest index is the result. Software keeps entries
// in the order of their priorities: to compare stored ones would take an adder for each entry.
//
// The key is cut into chunks of CHUNK_W bits; each addresses a RAM that has a bit for each entry, which says that the
// entry can match. The AND of the words, and of the entries' valid bits, are the entries that match. The RAMs' read
// ports are always the lookups': what a write must keep of a word comes from copies of the RAMs in block RAM.
//
// Operations, one at a time: op_set writes entry op_index, op_clear removes entry op_clear_index; both are less than
// ENTRIES. With both, the one appears in the cycle in which the other goes: so an entry is changed or moved without a
// lookup that sees none or two. An entry that is written at its own place is removed first, while its bits change.
// op_done comes with the change of the valid bits: each lookup that begins with it or later sees the new state, and one
// before it the old or the new, never part of each. Reset removes all entries.
//
// Latency: 2 cycles, 1 for each level of the AND tree (4 chunks, then 8 nodes each), and that of first_set;
// KEY_W = 264, CHUNK_W = 5, ENTRIES = 128: 8 cycles. Throughput: 1 lookup a cycle. Backpressure: none for lookups;
// op_ready is low while an operation is done: 1 cycle, or at most 520 and the tree's levels when it writes.
module ternary_table
  import table_pkg::*;
#(
    parameter int unsigned KEY_W = 264,
    parameter int unsigned ENTRIES = 128,
    parameter int unsigned CHUNK_W = 5,  // 5 suits RAMs of 32 words (AMD, Intel), 4 those of 16 (ECP5)
    localparam int unsigned INDEX_W = ENTRIES > 1 ? $clog2(ENTRIES) : 1
) (
    input  logic               clk,
    input  logic               rst,
    input  logic               key_valid,
    input  logic [  KEY_W-1:0] key,
    output logic               result_valid,
    output logic               hit,
    output logic [INDEX_W-1:0] index,           // valid with hit
    input  logic               op_valid,
    output logic               op_ready,
    input  logic               op_set,
    input  logic [INDEX_W-1:0] op_index,
    input  logic [  KEY_W-1:0] op_value,
    input  logic [  KEY_W-1:0] op_mask,
    input  logic               op_clear,
    input  logic [INDEX_W-1:0] op_clear_index,
    output logic               op_done,
    output logic               idle
);

  if (KEY_W < 1) begin : gen_bad_key_w
    $fatal(1, "ternary_table: KEY_W must be at least 1, not %0d", KEY_W);
  end
  if (ENTRIES < 1 || ENTRIES > 4096) begin : gen_bad_entries
    $fatal(1, "ternary_table: ENTRIES must be 1 to 4096, not %0d", ENTRIES);
  end
  if (CHUNK_W < 2 || CHUNK_W > 6) begin : gen_bad_chunk_w
    $fatal(1, "ternary_table: CHUNK_W must be 2 to 6, not %0d", CHUNK_W);
  end

  localparam int unsigned CHUNKS = (KEY_W + CHUNK_W - 1) / CHUNK_W;
  localparam int unsigned WORDS = 2 ** CHUNK_W;
  // Copies of RAMs share block RAMs of 512 words, which are written at the same time.
  localparam int unsigned BANKS = (CHUNKS * WORDS + 511) / 512;
  localparam int unsigned SHARE = (CHUNKS + BANKS - 1) / BANKS;  // chunks of a bank
  localparam int unsigned STEPS = SHARE * WORDS;
  localparam int unsigned STEP_W = $clog2(STEPS);

  function automatic int unsigned nodes(int unsigned level);
    nodes = (CHUNKS + 3) / 4;
    for (int unsigned i = 0; i < level; i++) nodes = (nodes + 7) / 8;
  endfunction

  localparam int unsigned LEVELS = ternary_levels(KEY_W, CHUNK_W);
  localparam int unsigned LATENCY = ternary_latency(KEY_W, ENTRIES, CHUNK_W);
  // From the last step until no lookup is under way that has read before the word was written.
  localparam int unsigned SETTLE = 1 + LEVELS;

  // Operations

  typedef enum logic [1:0] {
    IDLE,
    WALK,
    WAIT,
    COMMIT
  } state_t;

  state_t state_q;
  logic set_q, clear_q;
  logic [ENTRIES-1:0] column_q, cleared_q, valid_q;
  typedef logic [SHARE-1:0][CHUNK_W-1:0] bank_t;  // the lowest chunk is the one at hand
  logic [STEP_W-1:0] step_q;
  logic [$clog2(SETTLE+1)-1:0] wait_q;

  function automatic logic [ENTRIES-1:0] one_hot(logic [INDEX_W-1:0] place);
    logic [ENTRIES-1:0] bits;
    for (int unsigned i = 0; i < ENTRIES; i++) bits[i] = 32'(place) == i;
    return bits;
  endfunction

  wire chunk_ends = &step_q[CHUNK_W-1:0];

  assign op_ready = state_q == IDLE;

  always_ff @(posedge clk) begin
    op_done <= state_q == COMMIT;
    unique case (state_q)
      IDLE: begin
        set_q <= op_set;
        clear_q <= op_clear;
        step_q <= '0;
        wait_q <= '0;
        if (op_valid) begin
          state_q <= op_set ? WALK : COMMIT;
          column_q <= one_hot(op_index);
          cleared_q <= one_hot(op_clear_index);
          if (op_set) valid_q <= valid_q & ~one_hot(op_index);
        end
      end
      WALK: begin
        step_q <= step_q + 1'b1;
        if (step_q == STEP_W'(STEPS - 1)) state_q <= WAIT;
      end
      WAIT: begin
        wait_q <= wait_q + 1'b1;
        if (32'(wait_q) == SETTLE) state_q <= COMMIT;
      end
      COMMIT: begin
        valid_q <= (valid_q & ~(clear_q ? cleared_q : '0)) | (set_q ? column_q : '0);
        state_q <= IDLE;
      end
    endcase
    if (rst) begin
      state_q <= IDLE;
      valid_q <= '0;
      op_done <= 1'b0;
    end
  end

  // Each step goes to the copies, whose words come after two cycles, and is written with the entry's bit a cycle later.

  localparam int unsigned FULL_W = BANKS * SHARE * CHUNK_W;

  logic [2:0] walks_q;
  logic [CHUNKS-1:0] write_q;
  logic [2:0][STEP_W-1:0] steps_q;
  wire walking = state_q == WALK || walks_q != '0;

  always_ff @(posedge clk) begin
    walks_q <= {walks_q[1:0], state_q == WALK};
    if (walking) begin
      steps_q <= {steps_q[1:0], step_q};
      for (int unsigned chunk = 0; chunk < CHUNKS; chunk++) begin
        write_q[chunk] <= walks_q[1] && 32'(steps_q[1] >> CHUNK_W) == chunk % SHARE;
      end
    end
    if (rst) begin
      walks_q <= '0;
      write_q <= '0;
    end
  end

  for (genvar bank = 0; bank < BANKS; bank++) begin : gen_bank
    localparam int unsigned FIRST = bank * SHARE * CHUNK_W;

    bank_t value_q, mask_q;
    logic [1:0] fits_q;  // the entry matches a chunk of that value
    logic [ENTRIES-1:0] read, kept_q, word_q;

    always_ff @(posedge clk) begin
      if (state_q == IDLE && op_valid) begin
        value_q <= bank_t'(FULL_W'(op_value) >> FIRST);
        mask_q  <= bank_t'(FULL_W'(op_mask) >> FIRST);
      end
      if (state_q == WALK && chunk_ends) begin
        value_q <= value_q >> CHUNK_W;
        mask_q  <= mask_q >> CHUNK_W;
      end
    end

    always_ff @(posedge clk) begin
      if (walking) begin
        fits_q <= {fits_q[0], ((value_q[0] ^ step_q[CHUNK_W-1:0]) & mask_q[0]) == '0};
        kept_q <= read;
        word_q <= (kept_q & ~column_q) | (fits_q[1] ? column_q : '0);
      end
    end

    ram_sdp #(
        .WIDTH(ENTRIES),
        .DEPTH(STEPS)
    ) u_copy (
        .clk,
        .wr_en  (walks_q[2]),
        .wr_addr(steps_q[2]),
        .wr_data(word_q),
        .rd_en  (state_q == WALK),
        .rd_addr(step_q),
        .rd_data(read)
    );
  end

  // Lookups

  logic [CHUNKS*CHUNK_W-1:0] key_q;
  logic [ENTRIES-1:0] match_q;
  logic [LATENCY-1:0] asked_q;

  for (genvar chunk = 0; chunk < 4 * nodes(0); chunk++) begin : gen_chunk
    wire [ENTRIES-1:0] word;

    if (chunk < CHUNKS) begin : gen_ram
      // Not a ram_dist: a simulator looks once whether any of them is written.
      (* ram_style = "distributed" *)
      logic [ENTRIES-1:0] mem[WORDS];

      always_ff @(posedge clk) begin
        if (walks_q[2]) if (write_q[chunk]) mem[steps_q[2][CHUNK_W-1:0]] <= gen_bank[chunk/SHARE].word_q;
      end
      assign word = mem[key_q[chunk*CHUNK_W+:CHUNK_W]];
    end else begin : gen_none
      assign word = '1;
    end
  end

  // A register for each node, not one for all: a simulator copies all of a wide one to assign parts of it.

  for (genvar level = 0; level < LEVELS; level++) begin : gen_level
    for (genvar node = 0; node < (level == LEVELS - 1 ? 1 : 8 * nodes(level + 1)); node++) begin : gen_node
      logic [ENTRIES-1:0] and_q;

      if (node >= nodes(level)) begin : gen_none
        assign and_q = '1;
      end else if (level == 0) begin : gen_leaf
        always_ff @(posedge clk) begin
          if (asked_q[0]) begin
            and_q <= gen_chunk[4*node].word & gen_chunk[4*node+1].word
                   & gen_chunk[4*node+2].word & gen_chunk[4*node+3].word;
          end
        end
      end else begin : gen_inner
        always_ff @(posedge clk) begin
          if (asked_q[level]) begin
            and_q <= gen_level[level-1].gen_node[8*node].and_q & gen_level[level-1].gen_node[8*node+1].and_q
                   & gen_level[level-1].gen_node[8*node+2].and_q & gen_level[level-1].gen_node[8*node+3].and_q
                   & gen_level[level-1].gen_node[8*node+4].and_q & gen_level[level-1].gen_node[8*node+5].and_q
                   & gen_level[level-1].gen_node[8*node+6].and_q & gen_level[level-1].gen_node[8*node+7].and_q;
          end
        end
      end
    end
  end

  first_set #(
      .WIDTH(ENTRIES)
  ) u_first (
      .clk,
      .valid(asked_q[LEVELS+1]),
      .bits (match_q),
      .any  (hit),
      .index(index)
  );

  always_ff @(posedge clk) begin
    if (key_valid) key_q <= (CHUNKS * CHUNK_W)'(key);
    if (asked_q[LEVELS]) match_q <= gen_level[LEVELS-1].gen_node[0].and_q & valid_q;
    asked_q <= {asked_q[LATENCY-2:0], key_valid};
    if (rst) asked_q <= '0;
  end

  assign result_valid = asked_q[LATENCY-1];
  assign idle = asked_q == '0 && state_q == IDLE && !op_done;

endmodule
