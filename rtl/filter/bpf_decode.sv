// SPDX-License-Identifier: Apache-2.0
// Decodes an instruction of struct bpf_insn into the form that the cores execute, on its way into their memories.
// Combinational. What no bpf_filter() executes, and jumps that leave any program, become INVALID.
module bpf_decode
  import bpf_pkg::*;
(
    input  logic [15:0] code,
    input  logic [7:0]  jt,
    input  logic [7:0]  jf,
    input  logic [31:0] k,
    output instr_t      instr
);

  localparam logic [2:0] LD = 0, LDX = 1, ST = 2, STX = 3, ALU = 4, JMP = 5, RETURN = 6, MISC = 7;
  localparam logic [2:0] IMM = 0, ABS = 1, IND = 2, MEMORY = 3, LEN = 4, MSH_MODE = 5;

  wire [2:0] mode = code[7:5];
  wire is_x = code[3];

  logic [32:0] load_end;
  always_comb begin
    unique case (code[4:3])
      2'b00: load_end = k + 33'd4;
      2'b01: load_end = k + 33'd2;
      default: load_end = k + 33'd1;
    endcase
  end

  always_comb begin
    instr       = '0;
    instr.kind  = INVALID;
    instr.jt    = jt;
    instr.jf    = jf;
    instr.k     = k;
    instr.op    = PASS_B;
    instr.size  = code[4:3] == 2'b00 ? WORD : code[4:3] == 2'b01 ? HALF : BYTE;

    if (code[15:8] == 0) begin
      case (code[2:0])
        LD, LDX: begin
          instr.to_x = code[0];
          if (mode == IMM && code[4:3] == 0) begin
            instr.kind = LOGIC;
          end else if (mode == MEMORY && code[4:3] == 0 && k < 16) begin
            instr.kind = MEM_RD;
            instr.jt   = k[7:0];
          end else if (mode == LEN && code[4:3] == 0) begin
            instr.kind  = LOGIC;
            instr.b_len = 1'b1;
          end else if ((code[0] ? mode == MSH_MODE && code[4:3] == 2'b10 :
                        (mode == ABS || mode == IND) && code[4:3] != 2'b11)) begin
            instr.kind = code[0] ? MSH : LOAD;
            instr.b_x  = mode == IND;
            instr.k    = load_end[31:0];
            if (load_end[32]) begin  // beyond every packet: the program ends with 0
              instr.kind = RET;
              instr.b_x  = 1'b0;
              instr.k    = '0;
            end
          end
        end

        ST, STX: begin
          if (code[7:3] == 0 && k < 16) begin
            instr.kind = MEM_WR;
            instr.jt   = k[7:0];
            instr.b_x  = code[0];
            instr.op   = code[0] ? PASS_B : OR;
            instr.k    = '0;
          end
        end

        ALU: begin
          instr.b_x = is_x;
          case (code[7:4])
            4'h0: instr.kind = SUM;
            4'h1: begin
              instr.kind = SUM;
              instr.sub  = 1'b1;
            end
            4'h2: instr.kind = MUL;
            4'h3: instr.kind = DIV;
            4'h4: begin
              instr.kind = LOGIC;
              instr.op   = OR;
            end
            4'h5: begin
              instr.kind = LOGIC;
              instr.op   = AND;
            end
            4'h6: instr.kind = LSH;
            4'h7: instr.kind = RSH;
            4'h8:
            if (!is_x) begin  // -A = A * -1
              instr.kind = MUL;
              instr.k    = '1;
            end
            4'h9: instr.kind = MOD;
            4'hA: begin
              instr.kind = LOGIC;
              instr.op   = XOR;
            end
            default: ;
          endcase
        end

        JMP: begin
          instr.b_x = is_x;
          instr.sub = 1'b1;
          instr.op  = code[7:4] == 4'h4 ? AND : XOR;
          case (code[7:4])
            4'h0: if (!is_x && (k[31:12] == 0 || &k[31:12])) instr.kind = JUMP;
            4'h1: begin
              instr.kind = JUMP_IF;
              instr.cond = EQ;
            end
            4'h2: begin
              instr.kind = JUMP_IF;
              instr.cond = GT;
            end
            4'h3: begin
              instr.kind = JUMP_IF;
              instr.cond = GE;
            end
            4'h4: begin
              instr.kind = JUMP_IF;
              instr.cond = SET;
            end
            default: ;
          endcase
        end

        RETURN: begin
          if (code[7:3] == 0) begin
            instr.kind = RET;
          end else if (code[7:3] == 5'b00010) begin  // A | 0
            instr.kind = RET;
            instr.op   = OR;
            instr.k    = '0;
          end
        end

        default: begin  // MISC
          instr.kind = code[7:3] == 5'b00000 || code[7:3] == 5'b10000 ? LOGIC : INVALID;
          instr.to_x = !code[7];  // TAX: A | 0; TXA: X
          instr.b_x  = code[7];
          instr.op   = code[7] ? PASS_B : OR;
          instr.k    = '0;
        end
      endcase
    end
    if (instr.b_len) instr.k = '0;
  end

  wire unused = &{1'b0, MISC};

endmodule
