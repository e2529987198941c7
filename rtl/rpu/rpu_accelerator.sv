// SPDX-License-Identifier: Apache-2.0
// The accelerator of a unit, behind a decoupler. KIND: 0 none, 1 to 4 that of rpu_accel_kind, built in, 15 a slot that
// is filled at run time. A built-in accelerator and the same one in a slot take the same cycles.
// While there is none or `isolate` is high, registers read as 0.
// Latency: rpu_accel_shell's, and the accelerator's; backpressure: rpu_decoupler.
module rpu_accelerator
  import rpu_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned KIND = 0,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,
    input  logic              isolate,
    output logic              there,           // there is one, isolated or not
    output logic              closed,          // what there is, is isolated, or there is none
    output logic [31:0]       identification,  // of what is there: its register 0xFFC
    input  logic              reg_valid,
    output logic              reg_ready,
    input  logic              reg_write,
    input  logic [15:0]       reg_addr,
    input  logic [31:0]       reg_wdata,
    input  logic [3:0]        reg_wstrb,
    output logic [31:0]       reg_rdata,
    input  logic              load_valid,
    input  logic [23:0]       load_addr,
    input  logic [31:0]       load_data,
    output logic              job_valid,
    input  logic              job_ready,
    output accel_job_t        job,
    input  logic              s_axis_tvalid,
    output logic              s_axis_tready,
    input  logic [DATA_W-1:0] s_axis_tdata,
    input  logic [KEEP_W-1:0] s_axis_tkeep,
    input  logic              s_axis_tlast,
    output logic              irq,
    output logic              idle
);

  localparam int unsigned SLOT = 15;

  if (KIND > 4 && KIND != SLOT) begin : gen_bad_kind
    $fatal(1, "rpu_accelerator: KIND must be 0 to 4 or 15, not %0d", KIND);
  end

  if (KIND == 0) begin : gen_none
    assign there          = 1'b0;
    assign closed         = 1'b1;
    assign identification = '0;
    assign reg_ready      = 1'b1;
    assign reg_rdata      = '0;
    assign job_valid      = 1'b0;
    assign job            = '0;
    assign s_axis_tready  = 1'b1;
    assign irq            = 1'b0;
    assign idle           = 1'b1;
  end else begin : gen_some
    logic slot_rst, slot_present, slot_reg_valid, slot_reg_ready, slot_reg_write, slot_reg_rvalid, slot_load_valid;
    logic slot_job_valid, slot_job_ready, slot_tvalid, slot_tready, slot_interrupt, slot_idle;
    logic [15:0] slot_reg_addr;
    logic [31:0] slot_reg_rdata;
    accel_job_t slot_job;

    assign there = slot_present;
    rpu_decoupler u_decoupler (.*);

    if (KIND == SLOT) begin : gen_slot
      rpu_slot u_slot (
          .clk,
          .rst          (slot_rst),
          .present      (slot_present),
          .reg_valid    (slot_reg_valid),
          .reg_ready    (slot_reg_ready),
          .reg_write    (slot_reg_write),
          .reg_addr     (slot_reg_addr),
          .reg_wdata,
          .reg_wstrb,
          .reg_rvalid   (slot_reg_rvalid),
          .reg_rdata    (slot_reg_rdata),
          .load_valid   (slot_load_valid),
          .load_addr,
          .load_data,
          .job_valid    (slot_job_valid),
          .job_ready    (slot_job_ready),
          .job          (slot_job),
          .s_axis_tvalid(slot_tvalid),
          .s_axis_tready(slot_tready),
          .s_axis_tdata (512'(s_axis_tdata)),
          .s_axis_tkeep (64'(s_axis_tkeep)),
          .s_axis_tlast,
          .irq          (slot_interrupt),
          .idle         (slot_idle)
      );
    end else begin : gen_shell
      rpu_accel_shell #(
          .DATA_W(DATA_W),
          .KIND(KIND)
      ) u_shell (
          .clk,
          .rst          (slot_rst),
          .present      (slot_present),
          .reg_valid    (slot_reg_valid),
          .reg_ready    (slot_reg_ready),
          .reg_write    (slot_reg_write),
          .reg_addr     (slot_reg_addr),
          .reg_wdata,
          .reg_wstrb,
          .reg_rvalid   (slot_reg_rvalid),
          .reg_rdata    (slot_reg_rdata),
          .load_valid   (slot_load_valid),
          .load_addr,
          .load_data,
          .job_valid    (slot_job_valid),
          .job_ready    (slot_job_ready),
          .job          (slot_job),
          .s_axis_tvalid(slot_tvalid),
          .s_axis_tready(slot_tready),
          .s_axis_tdata,
          .s_axis_tkeep,
          .s_axis_tlast,
          .irq          (slot_interrupt),
          .idle         (slot_idle)
      );
    end
  end

endmodule
