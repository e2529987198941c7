// SPDX-License-Identifier: Apache-2.0
// An accelerator slot in a card's model: what the harness has loaded into it takes a step at each clock edge, with the
// inputs that it has before. Nothing is stepped while the slot is empty, or while nothing would change.
// verilator lint_off UNUSEDSIGNAL
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

  typedef struct packed {
    logic rst;
    logic reg_valid;
    logic load_valid;
    logic job_ready;
    logic tvalid;
    logic reg_write;
    logic tlast;
  } flags_t;
  typedef struct packed {
    logic present;
    logic reg_ready;
    logic reg_rvalid;
    logic job_valid;
    logic tready;
    logic irq;
    logic idle;
  } answer_t;

  // sim/model/model.cpp
  import "DPI-C" context function chandle hr_slot_make();
  import "DPI-C" function bit hr_slot_sleeps(
      input chandle slot,
      input byte unsigned flags
  );
  import "DPI-C" function byte unsigned hr_slot_step(
      input chandle slot,
      input byte unsigned flags,
      input int unsigned addr,
      input int unsigned wdata,
      input byte unsigned wstrb,
      input int unsigned load_addr,
      input int unsigned load_data,
      input bit [511:0] tdata,
      input bit [63:0] tkeep,
      output int unsigned rdata,
      output longint unsigned job
  );

  chandle slot;
  initial slot = hr_slot_make();

  answer_t answer;
  logic [31:0] rdata;
  logic [63:0] wanted;

  // verilator lint_off BLKSEQ
  always_ff @(posedge clk) begin
    automatic flags_t flags = '{
        rst: rst,
        reg_valid: reg_valid,
        load_valid: load_valid,
        job_ready: job_ready,
        tvalid: s_axis_tvalid,
        reg_write: reg_write,
        tlast: s_axis_tlast
    };
    if (!hr_slot_sleeps(slot, {1'b0, flags})) begin
      answer = 7'(hr_slot_step(
          slot, {1'b0, flags}, 32'(reg_addr), reg_wdata, {4'd0, reg_wstrb}, 32'(load_addr), load_data, s_axis_tdata,
          s_axis_tkeep, rdata, wanted
      ));
      present       <= answer.present;
      reg_ready     <= answer.reg_ready;
      reg_rvalid    <= answer.reg_rvalid;
      reg_rdata     <= rdata;
      job_valid     <= answer.job_valid;
      job           <= wanted[$bits(accel_job_t)-1:0];
      s_axis_tready <= answer.tready;
      irq           <= answer.irq;
      idle          <= answer.idle;
    end
  end
  // verilator lint_on BLKSEQ

endmodule
// verilator lint_on UNUSEDSIGNAL
