// SPDX-License-Identifier: Apache-2.0
// Types of the filter engine: decoded instructions, programs, and what a core says of a packet.
package bpf_pkg;

  localparam int unsigned PROGRAMS = 4;  // filter programs that can run on a packet at once
  localparam int unsigned THREADS = 8;  // packets in execution in one core
  localparam int unsigned SETS = 2;  // program sets: one runs while the other is loaded
  localparam int unsigned LEN_W = 17;  // frame length in bytes: an IP packet of 65,535 and its link layer
  localparam int unsigned WIRE_LEN_W = 32;  // length on the wire; captures may say anything
  localparam int unsigned ROW_W = 13;  // row (beat) of a core's packet memory
  localparam int unsigned ID_W = 6;  // packet of a core
  localparam int unsigned SLOT_W = $clog2(PROGRAMS);
  localparam int unsigned PC_W = 14;  // program counter; signed, so that a jump out of the program on either side shows
  localparam int unsigned BASE_W = 15;  // address in instruction memory
  localparam int unsigned LENGTH_W = 13;  // instructions of a program
  localparam int unsigned BUDGET_W = 16;
  localparam int unsigned MEASURES = 1024;
  localparam int unsigned MEASURE_W = 11;  // counter number; MEASURES stands for every value out of range

  typedef enum logic [3:0] {
    SUM,      // A + B, A - B
    LOGIC,    // A & B, A | B, A ^ B, B
    MUL,      // A * B
    LSH,
    RSH,
    DIV,
    MOD,
    LOAD,     // packet[K or X + K]
    MSH,      // 4 * (packet[K] & 15)
    MEM_RD,   // scratch memory
    MEM_WR,
    JUMP_IF,
    JUMP,
    RET,
    INVALID   // stops the program with an error
  } kind_e;

  typedef enum logic [1:0] {AND, OR, XOR, PASS_B} logic_e;
  typedef enum logic [1:0] {EQ, GT, GE, SET} cond_e;
  typedef enum logic [1:0] {BYTE, HALF, WORD} size_e;

  // An instruction as it stands in instruction memory: decoded once, when it is loaded.
  typedef struct packed {
    kind_e       kind;
    logic        b_x;    // B is X, and packet addresses count from X; otherwise B is K
    logic        b_len;  // B is the packet's length on the wire
    logic        to_x;   // the result goes to X; otherwise to A
    logic        sub;
    logic_e      op;
    cond_e       cond;
    size_e       size;
    logic [7:0]  jt;     // scratch memory index for MEM_RD and MEM_WR
    logic [7:0]  jf;
    logic [31:0] k;      // end of the loaded bytes for LOAD and MSH
  } instr_t;

  typedef enum logic [1:0] {OFF, FILTER, MEASURE} mode_e;

  typedef struct packed {
    mode_e               mode;
    logic                reserved;
    logic [LENGTH_W-1:0] length;
    logic                reserved2;
    logic [BASE_W-1:0]   base;
  } program_t;

  // A program set's slot is written in every core at once, and so is an instruction.
  typedef struct packed {
    logic                instr_we;
    logic [BASE_W-1:0]   instr_addr;
    instr_t              instr;
    logic                program_we;
    logic [2:0]          program_addr;  // {set, slot}
    program_t            prog;
    logic [BUDGET_W-1:0] budget;
  } load_t;

  // A thread of a core as it goes round the stages.
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
  } thread_t;

  // A packet in a core's memory.
  typedef struct packed {
    logic [WIRE_LEN_W-1:0] wire_len;
    logic [LEN_W-1:0]      len;
    logic                  set;
    logic                  bad;       // in error or too long: not kept, gets no verdict
  } packet_t;

  typedef struct packed {
    logic [PROGRAMS-1:0]  errors;
    logic [PROGRAMS-1:0]  matched;
    logic [LEN_W-1:0]     snaplen;  // longest that a matching program asked for, up to what LEN_W can say
    logic [MEASURE_W-1:0] measure;
  } verdict_t;

  // A packet that a core has finished with.
  typedef struct packed {
    packet_t           pkt;
    verdict_t          verdict;
    logic [ID_W-1:0]   id;
    logic [ROW_W-1:0]  row;      // where it starts
  } finished_t;

endpackage
