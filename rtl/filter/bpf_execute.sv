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
    parameter int unsigned BANK_W = 4,  // of a 32-bit word in a row
    localparam int unsigned TID_W = $clog2(THREADS)
) (
    input  logic              clk,
    input  logic              rst,
    input  logic [TID_W-1:0]  tid,          // of the thread in stage 0: another one in each cycle
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

  if (ADDR_W < 1 || ADDR_W > ROW_W) begin : gen_bad_addr_w
    $fatal(1, "bpf_execute: ADDR_W must be 1 to %0d, not %0d", ROW_W, ADDR_W);
  end
  if (BANK_W < 2 || BANK_W > 6) begin : gen_bad_bank_w
    $fatal(1, "bpf_execute: BANK_W must be 2 to 6, not %0d", BANK_W);
  end

  // A thread goes round the stages as its state, its packet and its verdict so far: each fits in 64 bits, which is what
  // a simulator moves best.
  typedef struct packed {
    logic [ID_W-1:0]   id;
    logic [ADDR_W-1:0] row;
    logic [LEN_W-1:0]  len;
  } place_t;

  thread_t s0, s1, s2, s3, s4, s5, s6;
  place_t p0, p1, p2, p3, p4, p5, p6, p7;
  verdict_t v0, v1, v2, v3, v4, v5, v6;

  // ------------------------------------------------------------------------------------------------ stages 0, 1: fetch
  logic in_range2, measure2, measure3, measure4, measure5, measure6;
  instr_t ir2;
  bpf_fetch #(
      .IMEM_WORDS(IMEM_WORDS)
  ) u_fetch (
      .clk,
      .load,
      .thread0 (s0),
      .active1 (s1.active),
      .instr2  (ir2),
      .in_range2,
      .measure2
  );

  always_ff @(posedge clk) begin
    s1.active <= s0.active;
    if (s0.active) begin
      s1 <= s0;
      p1 <= p0;
      v1 <= v0;
    end
    s2.active <= s1.active;
    if (s1.active) begin
      s2 <= s1;
      p2 <= p1;
      v2 <= v1;
    end
    if (rst) begin
      s1.active <= 1'b0;
      s2.active <= 1'b0;
    end
  end

  // --------------------------------------------------------------------------------------- stages 2, 3: A, X, operands
  logic a_we9, x_we9;
  logic [31:0] value9, a4, b4;
  logic [32:0] end4;  // first byte after the loaded ones
  instr_t ir4;
  wire [TID_W-1:0] tid7 = tid - TID_W'(7);
  wire [TID_W-1:0] tid9 = tid - TID_W'(9);
  bpf_operands u_operands (
      .clk,
      .thread2     (tid - TID_W'(2)),
      .active2     (s2.active),
      .a_set2      (s2.a_set),
      .x_set2      (s2.x_set),
      .instr2      (ir2),
      .active3     (s3.active),
      .instr4      (ir4),
      .a4,
      .b4,
      .end4,
      .thread7     (tid7),
      .wire_len_we7(job_ready),
      .wire_len7   (job_packet.wire_len),
      .thread9     (tid9),
      .a_we9,
      .x_we9,
      .value9
  );

  logic [ADDR_W-1:0] row_before4;
  logic abort3, abort4;
  always_ff @(posedge clk) begin
    s3.active <= s2.active;
    if (s2.active) begin
      s3       <= s2;
      p3       <= p2;
      v3       <= v2;
      abort3   <= s2.skip || !in_range2 || ir2.kind == INVALID;
      measure3 <= measure2;
    end
    s4.active <= s3.active;
    if (s3.active) begin
      s4          <= s3;
      p4          <= p3;
      v4          <= v3;
      row_before4 <= p3.row - 1'b1;
      abort4      <= abort3;
      measure4    <= measure3;
    end
    if (rst) begin
      s3.active <= 1'b0;
      s4.active <= 1'b0;
    end
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
      .thread5 (tid - TID_W'(5)),
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

  // -------------------------------------------------------------------------------------- stages 6, 7: branch, verdict
  logic active7, first7, a_we7, x_we7, mem_we7, mem_rd7;
  logic [3:0] mem_index7;
  logic [31:0] store7;
  bpf_retire u_retire (
      .clk,
      .rst,
      .load,
      .thread6   (s6),
      .verdict6  (v6),
      .instr6    (ir6),
      .abort6,
      .outside6,
      .stolen6,
      .measure6,
      .ge6,
      .nonzero6,
      .logic6,
      .busy6,
      .slot_used,
      .instr_done,
      .active7,
      .first7,
      .a_we7,
      .x_we7,
      .mem_we7,
      .mem_rd7,
      .mem_index7,
      .store7,
      .verdict_valid,
      .verdict,
      .value_valid,
      .value_slot,
      .job_valid,
      .job_ready,
      .job_packet,
      .thread0   (s0),
      .verdict0  (v0)
  );
  assign verdict_id = p7.id;
  assign value      = store7;
  always_ff @(posedge clk) begin
    p7 <= p6;
    p0 <= job_ready ? '{job_id, job_row, job_packet.len} : p7;
  end

  // ------------------------------------------------------------------------- stages 7 to 9: scratch memory, write back
  logic [31:0] scratch9;
  bpf_scratch u_scratch (
      .clk,
      .active    (active7),
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
