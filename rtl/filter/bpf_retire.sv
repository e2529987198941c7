// SPDX-License-Identifier: Apache-2.0
// The end of an instruction of a filter core, stages 6 and 7 of bpf_execute: whether it is done, where its program goes
// on, what the packet's verdict is then, and what the thread does next: the packet's next program, or a new packet.
// Digits at the end of a name are the stage that it belongs to.
// Latency: 2 cycles from stage 6 to stage 0. Throughput: an instruction a cycle. Backpressure: a job waits until a
// thread without a packet comes by.
module bpf_retire
  import bpf_pkg::*;
(
    input  logic              clk,
    input  logic              rst,
    input  load_t             load,

    input  thread_t           thread6,
    input  verdict_t          verdict6,
    input  instr_t            instr6,
    input  logic              abort6,         // it can't be executed
    input  logic              outside6,       // a load out of the packet
    input  logic              stolen6,        // a load whose turn went to the forwarder
    input  logic              measure6,
    input  logic              ge6,
    input  logic              nonzero6,
    input  logic [31:0]       logic6,
    input  logic              busy6,
    output logic              slot_used,
    output logic              instr_done,

    output logic              active7,
    output logic              first7,
    output logic              a_we7,
    output logic              x_we7,
    output logic              mem_we7,
    output logic              mem_rd7,
    output logic [3:0]        mem_index7,
    output logic [31:0]       store7,         // also the value that a program returns
    output logic              verdict_valid,
    output verdict_t          verdict,
    output logic              value_valid,
    output logic [SLOT_W-1:0] value_slot,

    input  logic              job_valid,
    output logic              job_ready,
    input  packet_t           job_packet,
    output thread_t           thread0,
    output verdict_t          verdict0
);

  function automatic logic [SLOT_W-1:0] lowest(logic [PROGRAMS-1:0] mask);
    lowest = '0;
    for (int i = PROGRAMS - 1; i >= 0; i--) if (mask[i]) lowest = SLOT_W'(i);
  endfunction

  // --------------------------------------------------------------------------------------------------- stage 6: branch
  logic ends6, again6, taken6;
  logic [PC_W-1:0] step6;
  always_comb begin
    {ends6, again6, taken6, step6} = 'x;  // nobody looks then
    if (thread6.active) begin
      ends6 = abort6 || instr6.kind == RET || outside6 || (instr6.kind == DIV || instr6.kind == MOD) && !nonzero6;
      again6 = !ends6 && (stolen6 || busy6);
      unique case (instr6.cond)
        EQ:  taken6 = !nonzero6;
        GT:  taken6 = ge6 && nonzero6;
        GE:  taken6 = ge6;
        SET: taken6 = nonzero6;
      endcase
      unique case (instr6.kind)
        JUMP_IF: step6 = PC_W'(taken6 ? instr6.jt : instr6.jf);
        JUMP:    step6 = instr6.k[PC_W-1:0];
        default: step6 = '0;
      endcase
    end
  end

  assign slot_used  = thread6.active && !thread6.skip;
  assign instr_done = thread6.active && !thread6.skip && !again6;

  logic ends7, error7, measure7, value_nonzero7;
  thread_t s7, next;
  verdict_t v7, next_verdict;
  logic [LEN_W-1:0] snaplen7;
  logic [MEASURE_W-1:0] number7;
  wire writes6 = !ends6 && !again6;
  always_ff @(posedge clk) begin
    s7.active <= thread6.active;
    a_we7     <= 1'b0;
    x_we7     <= 1'b0;
    mem_we7   <= 1'b0;
    mem_rd7   <= 1'b0;
    if (thread6.active) begin
      s7             <= thread6;
      v7             <= verdict6;
      s7.pc          <= again6 ? thread6.pc : thread6.pc + PC_W'(1) + step6;
      s7.budget      <= thread6.budget - BUDGET_W'(!again6);
      s7.first       <= thread6.first && again6;
      first7         <= thread6.first;
      measure7       <= measure6;
      ends7          <= ends6;
      error7         <= abort6 && !thread6.skip;
      value_nonzero7 <= instr6.kind == RET && !abort6 && nonzero6;
      snaplen7       <= logic6[31:LEN_W] != 0 ? '1 : logic6[LEN_W-1:0];
      number7        <= logic6[31:MEASURE_W-1] != 0 ? MEASURE_W'(MEASURES) : logic6[MEASURE_W-1:0];
      if (instr6.kind != RET || abort6) number7 <= '0;

      a_we7 <= writes6 && !instr6.to_x && instr6.kind <= MEM_RD;
      x_we7 <= writes6 && instr6.to_x && instr6.kind <= MEM_RD;

      mem_we7    <= writes6 && instr6.kind == MEM_WR;
      mem_rd7    <= instr6.kind == MEM_RD;
      mem_index7 <= instr6.jt[3:0];
      store7     <= logic6;
    end
    if (rst) begin
      s7.active <= 1'b0;
      a_we7     <= 1'b0;
      x_we7     <= 1'b0;
      mem_we7   <= 1'b0;
    end
  end

  // ----------------------------------------------------------------------------------- stage 7: verdict and next state
  logic [PROGRAMS-1:0] slot_mask7;
  always_comb begin
    {next, next_verdict, slot_mask7} = 'x;  // nobody looks then
    next.active = 1'b0;
    if (s7.active) begin
      next         = s7;
      next_verdict = v7;
      next.a_set = s7.a_set || a_we7;
      next.x_set = s7.x_set || x_we7;
      slot_mask7 = PROGRAMS'(1) << s7.slot;
      if (ends7) begin
        next.a_set = 1'b0;
        next.x_set = 1'b0;
        if (error7) next_verdict.errors = v7.errors | slot_mask7;
        if (measure7) begin
          next_verdict.measure = number7;
        end else if (value_nonzero7) begin
          next_verdict.matched = v7.matched | slot_mask7;
          if (snaplen7 > v7.snaplen) next_verdict.snaplen = snaplen7;
        end
        next.active = s7.todo != 0;
        next.first  = 1'b1;
        next.pc     = '0;
        next.budget = load.budget;
        next.slot   = lowest(s7.todo);
        next.todo   = s7.todo & (s7.todo - 1'b1);
      end
    end
  end

  assign verdict_valid = s7.active && ends7 && s7.todo == 0;
  assign verdict       = next_verdict;
  assign value_valid   = s7.active && ends7 && value_nonzero7;
  assign value_slot    = s7.slot;

  logic [SETS-1:0][PROGRAMS-1:0] enabled_q;
  always_ff @(posedge clk) begin
    if (load.program_we) enabled_q[load.program_addr[2]][load.program_addr[1:0]] <= load.prog.mode != OFF;
    if (rst) enabled_q <= '0;
  end
  assign job_ready = job_valid && !next.active;

  always_ff @(posedge clk) begin
    thread0  <= next;
    verdict0 <= next_verdict;
    if (job_ready) begin
      automatic logic [PROGRAMS-1:0] job_todo = enabled_q[job_packet.set];
      thread0.active <= 1'b1;
      thread0.first  <= 1'b1;
      thread0.a_set  <= 1'b0;
      thread0.x_set  <= 1'b0;
      thread0.skip   <= job_packet.bad || job_todo == 0;
      thread0.set    <= job_packet.set;
      thread0.slot   <= lowest(job_todo);
      thread0.todo   <= job_packet.bad ? '0 : job_todo & (job_todo - 1'b1);
      thread0.pc     <= '0;
      thread0.budget <= load.budget;
      verdict0       <= '0;
    end
    if (rst) thread0.active <= 1'b0;
  end

  assign active7 = s7.active;

endmodule
