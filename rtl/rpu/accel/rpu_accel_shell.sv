// SPDX-License-Identifier: Apache-2.0
// What fills the slot of a unit's accelerator: the accelerator itself behind boundary registers, with the ports of
// rpu_slot. Every output comes from a register, so that nothing in the card depends within a cycle on what is in here.
// KIND: that of rpu_accel_kind.
// A register access is taken when reg_ready; of a read, reg_rvalid comes once with the value, before the next access.
// Latency: 1 cycle for words of tables and beats, 1 for what comes out (values, jobs, interrupt).
// Throughput: an access, a word and a beat a cycle. Backpressure: reg_ready and s_axis_tready are registers.
// What is offered is looked at with its `valid` only.
module rpu_accel_shell
  import rpu_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned KIND = 1,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,
    output logic              present,       // there is an accelerator

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
    input  logic [DATA_W-1:0] s_axis_tdata,
    input  logic [KEEP_W-1:0] s_axis_tkeep,
    input  logic              s_axis_tlast,

    output logic              irq,
    output logic              idle
);

  typedef struct packed {
    logic        write;
    logic [15:0] addr;
    logic [31:0] wdata;
    logic [3:0]  wstrb;
  } access_t;
  typedef struct packed {
    logic              last;
    logic [KEEP_W-1:0] keep;
    logic [DATA_W-1:0] data;
  } beat_t;

  access_t access, held_access_q;
  beat_t beat;
  logic access_valid, access_ready, held_q, load_q, want_valid, want_ready, jobs_idle;
  logic beat_valid, beat_ready, beats_idle, wants_irq, accel_idle;
  logic [31:0] access_rdata, load_data_q;
  logic [23:0] load_addr_q;
  accel_job_t want;

  // An access that is not taken at once waits here.
  assign access_valid = held_q || reg_valid;
  assign access       = held_q ? held_access_q : {reg_write, reg_addr, reg_wdata, reg_wstrb};
  assign reg_ready    = !held_q;
  always_ff @(posedge clk) begin
    if (reg_valid && !held_q) held_access_q <= access;
    held_q <= access_valid && !access_ready;
    if (rst) held_q <= 1'b0;
  end

  stream_queue #(
      .WIDTH($bits(beat_t)),
      .DEPTH(2)
  ) u_beats (
      .clk,
      .rst,
      .s_valid(s_axis_tvalid),
      .s_ready(s_axis_tready),
      .s_data ({s_axis_tlast, s_axis_tkeep, s_axis_tdata}),
      .m_valid(beat_valid),
      .m_ready(beat_ready),
      .m_data (beat),
      .idle   (beats_idle)
  );

  stream_reg #(
      .WIDTH($bits(accel_job_t))
  ) u_jobs (
      .clk,
      .rst,
      .s_valid(want_valid),
      .s_ready(want_ready),
      .s_data (want),
      .m_valid(job_valid),
      .m_ready(job_ready),
      .m_data (job),
      .idle   (jobs_idle)
  );

  assign present = 1'b1;
  always_ff @(posedge clk) begin
    load_q     <= load_valid;
    reg_rvalid <= access_valid && access_ready && !access.write;
    reg_rdata  <= access_rdata;
    irq        <= wants_irq;
    idle       <= accel_idle && !access_valid && beats_idle && jobs_idle && !load_q
        && !load_valid && !s_axis_tvalid;
    if (load_valid) begin
      load_addr_q <= load_addr;
      load_data_q <= load_data;
    end
    if (rst) begin
      load_q     <= 1'b0;
      reg_rvalid <= 1'b0;
      irq        <= 1'b0;
      idle       <= 1'b1;
    end
  end

  rpu_accel_kind #(
      .DATA_W(DATA_W),
      .KIND(KIND)
  ) u_accel (
      .clk,
      .rst,
      .reg_valid    (access_valid),
      .reg_ready    (access_ready),
      .reg_write    (access.write),
      .reg_addr     (access.addr),
      .reg_wdata    (access.wdata),
      .reg_wstrb    (access.wstrb),
      .reg_rdata    (access_rdata),
      .load_valid   (load_q),
      .load_addr    (load_addr_q),
      .load_data    (load_data_q),
      .job_valid    (want_valid),
      .job_ready    (want_ready),
      .job          (want),
      .s_axis_tvalid(beat_valid),
      .s_axis_tready(beat_ready),
      .s_axis_tdata (beat.data),
      .s_axis_tkeep (beat.keep),
      .s_axis_tlast (beat.last),
      .interrupt    (wants_irq),
      .idle         (accel_idle)
  );

endmodule
