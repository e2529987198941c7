// SPDX-License-Identifier: Apache-2.0
// bpf_decode with the fields of its result as ports.
module bpf_decode_fields
  import bpf_pkg::*;
(
    input  logic [15:0] code,
    input  logic [7:0]  jt,
    input  logic [7:0]  jf,
    input  logic [31:0] k,
    output logic [3:0]  kind,
    output logic        b_x,
    output logic        b_len,
    output logic        to_x,
    output logic        sub,
    output logic [1:0]  op,
    output logic [1:0]  cond,
    output logic [1:0]  size,
    output logic [7:0]  instr_jt,
    output logic [7:0]  instr_jf,
    output logic [31:0] instr_k
);

  instr_t instr;
  bpf_decode u_decode (
      .code,
      .jt,
      .jf,
      .k,
      .instr
  );

  assign kind     = instr.kind;
  assign b_x      = instr.b_x;
  assign b_len    = instr.b_len;
  assign to_x     = instr.to_x;
  assign sub      = instr.sub;
  assign op       = instr.op;
  assign cond     = instr.cond;
  assign size     = instr.size;
  assign instr_jt = instr.jt;
  assign instr_jf = instr.jf;
  assign instr_k  = instr.k;

endmodule
