// SPDX-License-Identifier: Apache-2.0
// The slot of a unit's accelerator, as synthesis of the card sees it: a black box, which is filled with an
// rpu_accel_shell at run time. Its ports and their timing are described there; beats of a narrower card are in the
// lowest bits. An empty slot drives `present` low, and nobody looks at its other outputs.
// verilator lint_off UNDRIVEN
// verilator lint_off UNUSEDSIGNAL
(* blackbox *)
module rpu_slot
  import rpu_pkg::*;
(
    input  logic              clk,
    input  logic              rst,
    output logic              present,

    input  logic              reg_valid,
    output logic              reg_ready,
    input  logic              reg_write,
    input  logic [15:0]       reg_addr,
    input  logic [31:0]       reg_wdata,
    input  logic [3:0]        reg_wstrb,
    output logic              reg_rvalid,
    output logic [31:0]       reg_rdata,

    input  logic              load_valid,
    input  logic [23:0]       load_addr,
    input  logic [31:0]       load_data,

    output logic              job_valid,
    input  logic              job_ready,
    output accel_job_t        job,

    input  logic              s_axis_tvalid,
    output logic              s_axis_tready,
    input  logic [511:0]      s_axis_tdata,
    input  logic [63:0]       s_axis_tkeep,
    input  logic              s_axis_tlast,

    output logic              irq,
    output logic              idle
);

endmodule
// verilator lint_on UNUSEDSIGNAL
// verilator lint_on UNDRIVEN
