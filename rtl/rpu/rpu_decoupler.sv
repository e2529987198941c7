// SPDX-License-Identifier: Apache-2.0
// Between a unit and the slot of its accelerator. While `isolate` is high or the slot is empty it is closed: nothing of
// the slot gets in, and the slot is held in reset. Registers read as 0 and swallow what is written, no words of tables
// get there, the rest of jobs that were accepted is drained.
// Closing leaves nothing half done: an access under way ends as one of a closed slot, a job that was offered is still
// taken, and the slot opens again only when every job that was taken has had its last beat.
// On opening, the identification is read (0xFFC); accesses of the unit wait for that, 2 cycles.
// Latency: none. Backpressure: that of the slot; none while it is closed.
module rpu_decoupler
  import rpu_pkg::*;
(
    input  logic        clk,
    input  logic        rst,           // the unit's: its jobs are forgotten
    input  logic        isolate,
    output logic        closed,
    output logic [31:0] identification, // 0: none, or it is not known yet

    input  logic        reg_valid,     // a read ends with its value
    output logic        reg_ready,
    input  logic        reg_write,
    input  logic [15:0] reg_addr,
    output logic [31:0] reg_rdata,
    input  logic        load_valid,
    output logic        job_valid,
    input  logic        job_ready,
    output accel_job_t  job,
    input  logic        s_axis_tvalid,
    output logic        s_axis_tready,
    input  logic        s_axis_tlast,
    output logic        irq,
    output logic        idle,

    output logic        slot_rst,      // the slot; what isn't here goes there directly
    input  logic        slot_present,
    output logic        slot_reg_valid,
    input  logic        slot_reg_ready,
    output logic        slot_reg_write,
    output logic [15:0] slot_reg_addr,
    input  logic        slot_reg_rvalid,
    input  logic [31:0] slot_reg_rdata,
    output logic        slot_load_valid,
    input  logic        slot_job_valid,
    output logic        slot_job_ready,
    input  accel_job_t  slot_job,
    output logic        slot_tvalid,
    input  logic        slot_tready,
    input  logic        slot_interrupt,
    input  logic        slot_idle
);

  localparam logic [15:0] IDENTIFICATION = 16'h0FFC;

  logic closed_q, known_q, asked_q, held_q, owes;
  logic [31:0] identification_q;
  logic [7:0] jobs_q;                 // that were taken and have not had their last beat
  accel_job_t job_q;

  assign closed         = closed_q || !slot_present;
  assign identification = known_q ? identification_q : '0;
  assign slot_rst       = rst || closed;

  // Accesses: a read is asked for once, and ends with its value.
  assign slot_reg_valid = !closed && !asked_q && (reg_valid || !known_q);
  assign slot_reg_write = known_q && reg_write;
  assign slot_reg_addr  = known_q ? reg_addr : IDENTIFICATION;
  assign reg_ready      = closed || (known_q && (reg_write ? slot_reg_ready : asked_q && slot_reg_rvalid));
  assign reg_rdata      = closed ? '0 : slot_reg_rdata;

  assign slot_load_valid = load_valid && !closed;

  // Jobs: the one that was offered last is kept, for the case that its slot is closed meanwhile.
  assign job_valid      = closed ? held_q : slot_job_valid;
  assign job            = closed ? job_q : slot_job;
  assign slot_job_ready = job_ready && !closed;

  assign slot_tvalid   = s_axis_tvalid && !closed;
  assign s_axis_tready = closed || slot_tready;

  assign owes      = held_q || jobs_q != '0;
  assign irq       = slot_interrupt && !closed;
  assign idle      = closed ? !owes : slot_idle && known_q && !asked_q;

  always_ff @(posedge clk) begin
    closed_q <= isolate || (closed && owes);
    if (slot_reg_rvalid && !known_q) identification_q <= slot_reg_rdata;
    known_q <= known_q || (asked_q && slot_reg_rvalid);
    asked_q <= asked_q ? !slot_reg_rvalid : slot_reg_valid && slot_reg_ready && !slot_reg_write;
    job_q   <= job;
    held_q  <= job_valid && !job_ready;
    jobs_q  <= jobs_q + 8'(job_valid && job_ready) - 8'(s_axis_tvalid && s_axis_tready && s_axis_tlast);
    if (rst || closed) begin
      known_q <= 1'b0;
      asked_q <= 1'b0;
    end
    if (rst) begin
      closed_q <= 1'b1;
      held_q   <= 1'b0;
      jobs_q   <= '0;
    end
  end

`ifndef SYNTHESIS
  offer_contract #(
      .WIDTH($bits(accel_job_t))
  ) u_jobs (
      .clk,
      .rst,
      .valid(job_valid),
      .ready(job_ready),
      .data (job)
  );

  always_ff @(posedge clk) begin
    assert (rst || !s_axis_tvalid || jobs_q != '0) else $error("%m: a beat of no job");
    assert (rst || jobs_q != '1) else $error("%m: more jobs than can be counted");
  end
`endif

endmodule
