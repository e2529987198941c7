// SPDX-License-Identifier: Apache-2.0
// Decides in which order words are done: the packet's programs, what they jump to and the groups that they call, then
// its action set. Each packet has a last step. A packet ends with its 1,023rd word.
// `last` of a word that jumps, selects or calls counts when control comes back, or if it goes nowhere; a group that is
// called by the last word of a program needs no level. Groups call each other 2 levels deep; what calls deeper does
// nothing. Words that are to be kept while the action set runs are left out. `out` of a word comes before it goes
// elsewhere.
// Latency: none. Throughput: a word a cycle; a cycle more for one that makes two copies. A jump, and a program's end
// that comes back from a group, cost 3 cycles, as does going on with a program longer than what is fetched at first; a
// choice or a group 5; the action set 4.
module action_sequence
  import switch_pkg::*;
  import switch_step_pkg::*;
#(
    parameter int unsigned GROUPS = 256,
    parameter bit NARROW = 1'b0  // words become narrowed_actions
) (
    input  logic                 clk,
    input  logic                 rst,
    input  logic                 group_write,
    input  logic [         15:0] group_number,
    input  logic [PROGRAM_W-1:0] group_program,
    input  logic [PORTS_MAX-1:0] live,
    input  logic                 packet_valid,
    input  logic [         15:0] packet_hash,
    output logic                 packet_taken,   // with its last step
    input  logic                 s_valid,
    output logic                 s_ready,
    input  word_t                s_word,
    output logic                 walk,
    output logic [PROGRAM_W-1:0] walk_address,
    output logic                 halt,
    input  logic                 walk_valid,
    output logic                 walk_ready,
    input  word_t                walk_word,
    output logic                 m_valid,
    input  logic                 m_ready,
    output step_t                m_step
);

  if (GROUPS < 2 || GROUPS > 65536 || 2 ** $clog2(GROUPS) != GROUPS) begin : gen_bad_groups
    $fatal(1, "action_sequence: GROUPS must be a power of two from 2 to 65536, not %0d", GROUPS);
  end

  localparam int unsigned GROUP_W = $clog2(GROUPS);
  localparam int unsigned LIMIT = 1023;
  localparam int unsigned LEVELS = 2;

  typedef enum logic [2:0] {
    PROGRAM,  // words that are fetched ahead
    WALK,     // words that were asked for
    RESOLVE,  // looks up what decides where to go on,
    DECIDE,   // and goes there
    OVER,     // nowhere: the program ends
    SET,      // the action set
    SKIP      // leaves out the rest of a packet that has ended
  } mode_t;

  mode_t mode_q;
  logic first_q;        // the packet's first step is next
  logic [9:0] count_q;  // words of the packet so far
  logic limit_q;        // the next one is the last
  logic split_q;        // the first half of the word is done
  logic closing_q;      // the program that runs is the packet's last one
  logic runs_set_q;     // the action set runs or has run
  logic [1:0] depth_q;  // groups that are to be come back from
  logic [LEVELS-1:0][PROGRAM_W-1:0] return_q;
  logic [PROGRAM_W-1:0] origin_q;

  logic set_valid, set_last, set_was_empty;
  action_t set_action;
  logic [PROGRAM_W-1:0] set_origin;

  // -------------------------------------------------------------------------------------------------------- this word
  word_t word;
  logic there, closing, done;

  always_comb begin
    word  = s_word;
    there = 1'b0;
    unique case (mode_q)
      PROGRAM: there = s_valid;
      WALK: begin
        word  = walk_word;
        there = walk_valid;
      end
      OVER: begin
        word  = '{action: '{last: 1'b1, op: ACT_NONE, default: '0}, default: '0};
        there = 1'b1;
      end
      SET: begin
        word.action  = set_action;
        word.kept    = 1'b0;
        word.control = set_action.op == ACT_GROUP;
        word.twice   = set_action.out && is_copy(set_action);
        there        = set_valid;
      end
      default: ;
    endcase
    if (NARROW) word.action = narrowed_action(word.action);
  end

  assign closing = mode_q == PROGRAM ? word.closing : closing_q;
  assign m_valid = there && packet_valid;
  assign done    = m_valid && m_ready && (!word.twice || split_q);

  wire returns = word.action.last && mode_q != SET && depth_q != '0;
  wire clears = !word.action.keep && word.action.op == ACT_CLEAR && !runs_set_q;
  wire set_empty = clears || (set_was_empty && !word.kept);
  wire programs_over = word.action.last && mode_q != SET && depth_q == '0 && (closing || runs_set_q);
  wire all_done = mode_q == SET ? set_last : programs_over && (runs_set_q || set_empty);
  wire over = (limit_q && mode_q != OVER) || (all_done && !word.control);

  always_comb begin
    m_step = 'x;  // nobody looks then
    if (m_valid) begin
      m_step.action = word.action;
      if (word.action.keep) begin
        m_step.action.op  = ACT_NONE;
        m_step.action.out = 1'b0;
      end else if (split_q) m_step.action.op = ACT_NONE;
      else if (word.twice) m_step.action.out = 1'b0;
      m_step.first = first_q;
      m_step.last  = over && (!word.twice || split_q);
      unique case (mode_q)
        PROGRAM: m_step.origin = word.starts ? word.address : origin_q;
        SET: m_step.origin = set_origin;
        default: m_step.origin = origin_q;
      endcase
    end
  end

  assign packet_taken = done && over;
  assign s_ready = (mode_q == PROGRAM && done) || mode_q == SKIP;
  assign walk_ready = mode_q == WALK && done;

  action_set u_set (
      .clk,
      .rst,
      .keep    (done && word.kept && !runs_set_q),
      .place   (word.place),
      .action  (word.action),
      .origin  (m_step.origin),
      .clear   (done && (clears || over)),
      .empty   (set_was_empty),
      .run     (mode_q == SET),
      .m_valid (set_valid),
      .m_ready (mode_q == SET && done),
      .m_action(set_action),
      .m_origin(set_origin),
      .m_last  (set_last)
  );

  // --------------------------------------------------------------------------------- what decides where to go on
  action_op_t op_q;
  logic last_q, group_q, live_q;
  logic [31:0] value_q;
  logic [15:0] index_q;
  logic [15:0] hash_q;
  logic [PROGRAM_W-1:0] behind_q, group_start;
  logic [GROUPS-1:0] known_q;
  wire calls = group_q && (last_q || depth_q != 2'(LEVELS));

  ram_sdp #(
      .WIDTH(PROGRAM_W),
      .DEPTH(GROUPS)
  ) u_groups (
      .clk,
      .wr_en  (group_write),
      .wr_addr(group_number[GROUP_W-1:0]),
      .wr_data(group_program),
      .rd_en  (mode_q == RESOLVE),
      .rd_addr(value_q[GROUP_W-1:0]),
      .rd_data(group_start)
  );

  always_ff @(posedge clk) begin
    if (done && word.control) begin
      op_q     <= word.action.op;
      last_q   <= word.action.last;
      value_q  <= word.action.value[31:0];
      behind_q <= word.address + 1'b1;
      hash_q   <= packet_hash;
    end
    if (mode_q == RESOLVE) begin
      index_q   <= 16'((32'(hash_q) * 32'(value_q[15:0])) >> 16);
      live_q    <= (value_q[31:16] - 16'd1) < 16'(PORTS_MAX) && live[6'(value_q[21:16] - 6'd1)];
      group_q   <= known_q[value_q[GROUP_W-1:0]] && 17'(value_q[15:0]) < 17'(GROUPS);
    end
    if (group_write && 17'(group_number) < 17'(GROUPS)) known_q[group_number[GROUP_W-1:0]] <= group_program != '0;
    if (rst) known_q <= '0;
  end

  // ------------------------------------------------------------------------------------------------- where to go on
  logic goes;  // elsewhere, in DECIDE

  always_comb begin
    walk = 1'b0;
    goes = 1'b0;
    walk_address = word.address + 1'b1;
    if (mode_q == DECIDE) begin
      unique case (op_q)
        ACT_SELECT: begin
          goes = 1'b1;
          walk_address = behind_q + index_q;
        end
        ACT_UNLESS_LIVE: begin
          goes = !live_q;
          walk_address = live_q ? behind_q : value_q[15:0];
        end
        default: begin
          goes = calls;
          walk_address = calls ? group_start : behind_q;
        end
      endcase
      walk = goes || !last_q;
    end else begin
      if (word.control) walk_address = word.action.value[15:0];
      else if (returns) walk_address = return_q[depth_q[1]];
      if (done && !over) begin
        if (word.control) walk = word.action.op == ACT_JUMP;
        else walk = returns || (mode_q == PROGRAM && word.ends && !word.action.last);
      end
    end
    halt = done && (over || word.control || word.action.last);
  end

  always_ff @(posedge clk) begin
    if (m_valid && m_ready) begin
      split_q <= !done;
      first_q <= packet_taken;
    end
    if (done) begin
      if (mode_q != OVER) begin
        count_q <= count_q + 1'b1;
        limit_q <= count_q == 10'(LIMIT - 2);
      end
      origin_q <= m_step.origin;
      closing_q <= closing;
      // Other words than those that are fetched ahead run behind the last one of these that their program has.
      if (over) mode_q <= closing && (mode_q != PROGRAM || word.ends) ? PROGRAM : SKIP;
      else if (word.control) mode_q <= word.action.op == ACT_JUMP ? WALK : RESOLVE;
      else if (walk) mode_q <= WALK;
      else if (programs_over) mode_q <= SET;
      else if (word.action.last && mode_q != SET) mode_q <= PROGRAM;
      if (programs_over && !word.control) runs_set_q <= 1'b1;
      if (mode_q == SET) runs_set_q <= 1'b1;
      if (returns && !word.control) depth_q <= depth_q - 1'b1;
    end
    if (mode_q == RESOLVE) mode_q <= DECIDE;
    if (mode_q == DECIDE) begin
      mode_q <= walk ? WALK : OVER;
      if (op_q == ACT_GROUP && calls && !last_q) begin
        return_q[depth_q[0]] <= behind_q;
        depth_q <= depth_q + 1'b1;
      end
    end
    if (mode_q == SKIP && s_valid && s_word.closing && s_word.ends) mode_q <= PROGRAM;
    if (rst || (done && over)) begin
      count_q    <= '0;
      limit_q    <= 1'b0;
      runs_set_q <= 1'b0;
      depth_q    <= '0;
    end
    if (rst) begin
      mode_q  <= PROGRAM;
      split_q <= 1'b0;
      first_q <= 1'b1;
    end
  end

`ifndef SYNTHESIS
  range_contract #(
      .WIDTH($bits(mode_q)),
      .MOST (32'(SKIP))
  ) u_mode (
      .clk,
      .rst,
      .valid (1'b1),
      .number(mode_q)
  );
`endif

endmodule
