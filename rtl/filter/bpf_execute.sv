// SPDX-License-Identifier: Apache-2.0
// The processor of a filter core: a barrel of 8 threads, a packet each, that run the programs of the packet's set one
// after the other. A thread issues one instruction every 8 cycles, the core one a cycle; nothing is speculated.
//
// Stages: 0 fetch, 1 instruction memory, 2 A and X, 3 operands and address, 4 arithmetic begins, bounds, 5 packet
// memory, 6 branch, 7 next state; 9 write back, when the same thread's next instruction is in stage 1. An instruction
// that cannot complete (a busy divider, a load whose turn went to the forwarder) is issued again 8 cycles later.
//
// A program ends with RET, with a load out of the packet or a division by 0 (both return 0), or with an error (unknown
// instruction, jump out of the program, spent budget), which returns 0 too and is reported.
module bpf_execute
  import bpf_pkg::*;
#(
    parameter int unsigned IMEM_WORDS = 1024,
    parameter int unsigned ADDR_W = 9,  // of a packet memory row
    parameter int unsigned BANK_W = 4   // of a 32-bit word in a row
) (
    input  logic              clk,
    input  logic              rst,
    input  load_t             load,

    input  logic              job_valid,
    output logic              job_ready,
    input  packet_t           job_packet,
    input  logic [ID_W-1:0]   job_id,
    input  logic [ADDR_W-1:0] job_row,

    output logic              verdict_valid,
    output logic [ID_W-1:0]   verdict_id,   // of the packet that verdict and value are about
    output verdict_t          verdict,
    output logic              value_valid,  // a program has ended and returned other than 0
    output logic [SLOT_W-1:0] value_slot,
    output logic [31:0]       value,

    // Packet memory; load_steal: its read port is needed for something else in the next cycle
    input  logic              load_steal,
    output logic              load_en,
    output logic [ADDR_W-1:0] load_row,
    output logic [ADDR_W-1:0] load_row_last,
    output logic [BANK_W-1:0] load_bank,
    output logic [1:0]        load_offset,
    output size_e             load_size,
    output logic              load_msh,
    input  logic [31:0]       load_value,

    output logic              slot_used,    // an instruction was issued
    output logic              instr_done    // and was not one to be issued again
);

  localparam int unsigned TID_W = $clog2(THREADS);
  localparam int unsigned IMEM_W = $clog2(IMEM_WORDS);

  if (IMEM_WORDS < 2 || IMEM_WORDS > (1 << BASE_W)) begin : gen_bad_imem_words
    $fatal(1, "bpf_execute: IMEM_WORDS must be 2 to %0d, not %0d", 1 << BASE_W, IMEM_WORDS);
  end
  if (ADDR_W < 1 || ADDR_W > ROW_W) begin : gen_bad_addr_w
    $fatal(1, "bpf_execute: ADDR_W must be 1 to %0d, not %0d", ROW_W, ADDR_W);
  end
  if (BANK_W < 2 || BANK_W > 6) begin : gen_bad_bank_w
    $fatal(1, "bpf_execute: BANK_W must be 2 to 6, not %0d", BANK_W);
  end

  // A thread goes round the stages as its state, its packet and its verdict so far: each fits in 64 bits, which is what
  // a simulator moves best.
  typedef struct packed {
    logic                active;
    logic                first;   // at a program's first instruction: scratch memory is 0
    logic                a_set;   // A has been written; until then it is 0
    logic                x_set;
    logic                skip;    // no program is to run: finish at once
    logic                set;
    logic [SLOT_W-1:0]   slot;
    logic [PROGRAMS-1:0] todo;    // programs still to be run after this one
    logic [PC_W-1:0]     pc;
    logic [BUDGET_W-1:0] budget;
  } state_t;

  typedef struct packed {
    logic [ID_W-1:0]   id;
    logic [ADDR_W-1:0] row;
    logic [LEN_W-1:0]  len;
  } place_t;

  function automatic logic [SLOT_W-1:0] lowest(logic [PROGRAMS-1:0] mask);
    lowest = '0;
    for (int i = PROGRAMS - 1; i >= 0; i--) if (mask[i]) lowest = SLOT_W'(i);
  endfunction

  state_t s0, s1, s2, s3, s4, s5, s6, s7, next;
  place_t p0, p1, p2, p3, p4, p5, p6, p7;
  verdict_t v0, v1, v2, v3, v4, v5, v6, v7, next_verdict;
  logic [TID_W-1:0] tid_q;  // of the thread in stage 0
  always_ff @(posedge clk) tid_q <= rst ? '0 : tid_q + 1'b1;

  // ---------------------------------------------------------------------------------------------- programs of the sets
  program_t prog0;
  ram_dist #(
      .WIDTH($bits(program_t)),
      .DEPTH(SETS * PROGRAMS)
  ) u_programs (
      .clk,
      .wr_en  (load.program_we),
      .wr_addr(load.program_addr),
      .wr_data(load.prog),
      .rd_addr({s0.set, s0.slot}),
      .rd_data(prog0)
  );

  logic [SETS-1:0][PROGRAMS-1:0] enabled_q;
  always_ff @(posedge clk) begin
    if (load.program_we) enabled_q[load.program_addr[2]][load.program_addr[1:0]] <= load.prog.mode != OFF;
    if (rst) enabled_q <= '0;
  end

  // ------------------------------------------------------------------------------------------------ stages 0, 1: fetch
  instr_t imem_data;
  ram_sdp #(
      .WIDTH($bits(instr_t)),
      .DEPTH(IMEM_WORDS)
  ) u_imem (
      .clk,
      .wr_en  (load.instr_we && 32'(load.instr_addr) < IMEM_WORDS),
      .wr_addr(load.instr_addr[IMEM_W-1:0]),
      .wr_data(load.instr),
      .rd_en  (s0.active),
      .rd_addr(IMEM_W'(prog0.base) + IMEM_W'(s0.pc)),
      .rd_data(imem_data)
  );

  logic in_range1, in_range2, measure1, measure2, measure3, measure4, measure5, measure6, measure7;
  instr_t ir2;
  always_ff @(posedge clk) begin
    s1.active <= s0.active;
    if (s0.active) begin
      s1        <= s0;
      p1        <= p0;
      v1        <= v0;
      in_range1 <= s0.pc < PC_W'(prog0.length) && s0.budget != 0;
      measure1  <= prog0.mode == MEASURE;
    end
    s2.active <= s1.active;
    if (s1.active) begin
      s2        <= s1;
      p2        <= p1;
      v2        <= v1;
      in_range2 <= in_range1;
      measure2  <= measure1;
      ir2       <= imem_data;
    end
    if (rst) begin
      s1.active <= 1'b0;
      s2.active <= 1'b0;
    end
  end

  // --------------------------------------------------------------------------------------------- stage 2: A, X, decode
  logic a_we9, x_we9;
  logic [31:0] value9, a2, x2;
  wire [TID_W-1:0] tid2 = tid_q - TID_W'(2);
  wire [TID_W-1:0] tid7 = tid_q - TID_W'(7);
  wire [TID_W-1:0] tid9 = tid_q - TID_W'(9);

  ram_dist #(
      .WIDTH(32),
      .DEPTH(THREADS)
  ) u_a (
      .clk,
      .wr_en  (a_we9),
      .wr_addr(tid9),
      .wr_data(value9),
      .rd_addr(tid2),
      .rd_data(a2)
  );
  ram_dist #(
      .WIDTH(32),
      .DEPTH(THREADS)
  ) u_x (
      .clk,
      .wr_en  (x_we9),
      .wr_addr(tid9),
      .wr_data(value9),
      .rd_addr(tid2),
      .rd_data(x2)
  );

  logic [WIRE_LEN_W-1:0] wire_len2;
  ram_dist #(
      .WIDTH(WIRE_LEN_W),
      .DEPTH(THREADS)
  ) u_wire_len (
      .clk,
      .wr_en  (job_ready),
      .wr_addr(tid7),
      .wr_data(job_packet.wire_len),
      .rd_addr(tid2),
      .rd_data(wire_len2)
  );

  instr_t ir3;
  logic [31:0] a3, x3;
  logic abort3;
  always_ff @(posedge clk) begin
    s3.active <= s2.active;
    if (s2.active) begin
      s3       <= s2;
      p3       <= p2;
      v3       <= v2;
      ir3      <= ir2;
      ir3.k    <= ir2.k | (ir2.b_len ? wire_len2 : '0);
      a3       <= a2;
      x3       <= x2;
      abort3   <= s2.skip || !in_range2 || ir2.kind == INVALID;
      measure3 <= measure2;
      if (!s2.a_set) a3 <= '0;
      if (!s2.x_set) x3 <= '0;
    end
    if (rst) s3.active <= 1'b0;
  end

  // ---------------------------------------------------------------------------------------- stage 3: operands, address
  instr_t ir4;
  logic [31:0] a4, b4;
  logic [32:0] end4;  // first byte after the loaded ones
  logic [ADDR_W-1:0] row_before4;
  logic abort4;
  always_ff @(posedge clk) begin
    s4.active <= s3.active;
    if (s3.active) begin
      s4          <= s3;
      p4          <= p3;
      v4          <= v3;
      ir4         <= ir3;
      a4          <= a3;
      b4          <= ir3.b_x ? x3 : ir3.k;
      end4        <= {1'b0, ir3.k} + (ir3.b_x ? {1'b0, x3} : '0);
      row_before4 <= p3.row - 1'b1;
      abort4      <= abort3;
      measure4    <= measure3;
    end
    if (rst) s4.active <= 1'b0;
  end

  // -------------------------------------------------------------------------------- stage 4: bounds, packet memory row
  localparam int unsigned WORD_BYTES_W = BANK_W + 2;  // offset of a byte in its row

  wire is_load4 = ir4.kind == LOAD || ir4.kind == MSH;
  wire [BANK_W-1:0] bank4 = end4[2+:BANK_W];

  instr_t ir5;
  logic outside5, stolen5, abort5;
  always_ff @(posedge clk) begin
    s5.active <= s4.active;
    load_en   <= s4.active && is_load4 && !load_steal;
    if (s4.active) begin
      s5            <= s4;
      p5            <= p4;
      v5            <= v4;
      ir5           <= ir4;
      outside5      <= is_load4 && end4 > 33'(p4.len);
      stolen5       <= is_load4 && load_steal;
      load_row      <= p4.row + ADDR_W'(end4[LEN_W-1:WORD_BYTES_W]);
      load_row_last <= (bank4 == 0 ? row_before4 : p4.row) + ADDR_W'(end4[LEN_W-1:WORD_BYTES_W]);
      load_bank     <= bank4;
      load_offset   <= end4[1:0];
      load_size     <= ir4.size;
      load_msh      <= ir4.kind == MSH;
      abort5        <= abort4;
      measure5      <= measure4;
    end
    if (rst) begin
      s5.active <= 1'b0;
      load_en   <= 1'b0;
    end
  end

  // ----------------------------------------------------------------------------------------- stages 4 to 9: arithmetic
  logic ge6, nonzero6, busy6;
  logic [31:0] logic6, result9;
  bpf_alu u_alu (
      .clk,
      .rst,
      .thread5 (tid_q - TID_W'(5)),
      .active4 (s4.active),
      .instr4  (ir4),
      .a4,
      .b4,
      .divide5 (s5.active && !abort5),
      .ge6,
      .nonzero6,
      .logic6,
      .busy6,
      .result9
  );

  instr_t ir6;
  logic outside6, stolen6, abort6;
  always_ff @(posedge clk) begin
    s6.active <= s5.active;
    if (s5.active) begin
      s6       <= s5;
      p6       <= p5;
      v6       <= v5;
      ir6      <= ir5;
      outside6 <= outside5;
      stolen6  <= stolen5;
      abort6   <= abort5;
      measure6 <= measure5;
    end
    if (rst) s6.active <= 1'b0;
  end

  // --------------------------------------------------------------------------------------------------- stage 6: branch
  wire is_div6 = ir6.kind == DIV || ir6.kind == MOD;
  wire ends6 = abort6 || ir6.kind == RET || outside6 || is_div6 && !nonzero6;
  wire again6 = !ends6 && (stolen6 || busy6);
  logic taken6;
  logic [PC_W-1:0] step6;
  always_comb begin
    unique case (ir6.cond)
      EQ:  taken6 = !nonzero6;
      GT:  taken6 = ge6 && nonzero6;
      GE:  taken6 = ge6;
      SET: taken6 = nonzero6;
    endcase
    unique case (ir6.kind)
      JUMP_IF: step6 = PC_W'(taken6 ? ir6.jt : ir6.jf);
      JUMP:    step6 = ir6.k[PC_W-1:0];
      default: step6 = '0;
    endcase
  end

  assign slot_used  = s6.active && !s6.skip;
  assign instr_done = s6.active && !s6.skip && !again6;

  logic ends7, a_we7, x_we7, error7, value_nonzero7, mem_we7, mem_rd7;
  logic [3:0] mem_index7;
  logic [LEN_W-1:0] snaplen7;
  logic [MEASURE_W-1:0] number7;
  logic [31:0] store7;
  wire writes6 = s6.active && !ends6 && !again6;
  always_ff @(posedge clk) begin
    s7             <= s6;
    p7             <= p6;
    v7             <= v6;
    s7.pc          <= again6 ? s6.pc : s6.pc + PC_W'(1) + step6;
    s7.budget      <= s6.budget - BUDGET_W'(!again6);
    s7.first       <= s6.first && again6;
    measure7       <= measure6;
    ends7          <= ends6;
    error7         <= abort6 && !s6.skip;
    value_nonzero7 <= ir6.kind == RET && !abort6 && nonzero6;
    snaplen7       <= logic6[31:LEN_W] != 0 ? '1 : logic6[LEN_W-1:0];
    number7        <= logic6[31:MEASURE_W-1] != 0 ? MEASURE_W'(MEASURES) : logic6[MEASURE_W-1:0];
    if (ir6.kind != RET || abort6) number7 <= '0;

    a_we7 <= writes6 && !ir6.to_x && ir6.kind <= MEM_RD;
    x_we7 <= writes6 && ir6.to_x && ir6.kind <= MEM_RD;

    mem_we7    <= writes6 && ir6.kind == MEM_WR;
    mem_rd7    <= ir6.kind == MEM_RD;
    mem_index7 <= ir6.jt[3:0];
    store7     <= logic6;
    if (rst) begin
      s7.active <= 1'b0;
      a_we7     <= 1'b0;
      x_we7     <= 1'b0;
      mem_we7   <= 1'b0;
    end
  end

  // ----------------------------------------------------------------------------------- stage 7: verdict and next state
  wire [PROGRAMS-1:0] slot_mask7 = PROGRAMS'(1) << s7.slot;
  always_comb begin
    next         = s7;
    next_verdict = v7;
    next.a_set = s7.a_set || a_we7;
    next.x_set = s7.x_set || x_we7;
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
      next.active = s7.active && s7.todo != 0;
      next.first  = 1'b1;
      next.pc     = '0;
      next.budget = load.budget;
      next.slot   = lowest(s7.todo);
      next.todo   = s7.todo & (s7.todo - 1'b1);
    end
  end

  assign verdict_valid = s7.active && ends7 && s7.todo == 0;
  assign verdict_id    = p7.id;
  assign verdict       = next_verdict;
  assign value_valid   = s7.active && ends7 && value_nonzero7;
  assign value_slot    = s7.slot;
  assign value         = store7;

  wire [PROGRAMS-1:0] job_todo = enabled_q[job_packet.set];
  assign job_ready = job_valid && !next.active;

  always_ff @(posedge clk) begin
    s0 <= next;
    p0 <= p7;
    v0 <= next_verdict;
    if (job_ready) begin
      s0.active <= 1'b1;
      s0.first  <= 1'b1;
      s0.a_set  <= 1'b0;
      s0.x_set  <= 1'b0;
      s0.skip   <= job_packet.bad || job_todo == 0;
      p0.id     <= job_id;
      p0.row    <= job_row;
      p0.len    <= job_packet.len;
      s0.set    <= job_packet.set;
      s0.slot   <= lowest(job_todo);
      s0.todo   <= job_packet.bad ? '0 : job_todo & (job_todo - 1'b1);
      s0.pc     <= '0;
      s0.budget <= load.budget;
      v0        <= '0;
    end
    if (rst) s0.active <= 1'b0;
  end

  // ------------------------------------------------------------------------- stages 7 to 9: scratch memory, write back
  logic first7;  // s7.first as it was before stage 6 changed it
  logic [31:0] scratch9;
  bpf_scratch u_scratch (
      .clk,
      .active    (s7.active),
      .first     (first7),
      .thread    (tid7),
      .index     (mem_index7),
      .write     (mem_we7),
      .write_data(store7),
      .read      (mem_rd7),
      .read_data (scratch9)
  );

  logic a_we8, x_we8;
  always_ff @(posedge clk) begin
    first7 <= s6.first;
    a_we8  <= a_we7;
    x_we8  <= x_we7;
    a_we9  <= a_we8;
    x_we9  <= x_we8;
    if (rst) begin
      a_we9 <= 1'b0;
      x_we9 <= 1'b0;
    end
  end
  assign value9 = result9 | scratch9 | load_value;

`ifndef SYNTHESIS
  offer_contract #(
      .WIDTH($bits(packet_t) + ID_W + ADDR_W)
  ) u_job_stays (
      .clk,
      .rst,
      .valid(job_valid),
      .ready(job_ready),
      .data ({job_packet, job_id, job_row})
  );
`endif

endmodule
