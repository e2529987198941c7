// SPDX-License-Identifier: Apache-2.0
// Registers of accelerators that make one 32-bit result of each job, in order:
//   0x00  read: results that wait [7:0], jobs that may be started [15:8], errors [23:16]
//         write: bit 0 starts a job, bit 7 clears the errors
//   0x04  LEN: bytes of the next job, 0 to 65535    0x08  ADDR: where they begin in packet memory
//   0x0C  START: what the next job starts from; 0 again after each start
//   0x10  RESULT: a read waits for the result of the oldest job and takes it
//   0x14  LEN, and starts the job                    0x18  interrupt while: bit 0 results wait, bit 1 errors
//   0xFFC identification                             0xFF8 version
// Errors: bit 0, a job was started when JOBS results were still to be read: it is left out; bit 1, a result was read
// that no job makes: it is 0. Latency of an access: none, or until there is the result.
module accel_results
  import rpu_pkg::*;
#(
    parameter logic [31:0] IDENTIFICATION = "TEST",
    parameter int unsigned JOBS = 8                // whose results are not yet read
) (
    input  logic        clk,
    input  logic        rst,

    input  logic        reg_valid,
    input  logic        reg_write,
    input  logic [15:0] reg_addr,
    input  logic [31:0] reg_wdata,
    input  logic [3:0]  reg_wstrb,
    output logic        reg_ready,
    output logic [31:0] reg_rdata,

    output logic        start_valid,
    input  logic        start_ready,
    output accel_job_t  start_job,
    output logic [31:0] start_value,

    input  logic        result_valid,    // always taken
    input  logic [31:0] result,

    output logic        interrupt,
    output logic        idle             // every job that was started has its result
);

  if (IDENTIFICATION == '0) begin : gen_bad_identification
    $fatal(1, "accel_results: IDENTIFICATION must be 4 characters");
  end
  if (JOBS < 4 || JOBS > 128 || 2 ** $clog2(JOBS) != JOBS) begin : gen_bad_jobs
    $fatal(1, "accel_results: JOBS must be a power of two from 4 to 128, not %0d", JOBS);
  end

  localparam logic [13:0] CTRL = 14'h000, LEN = 14'h001, ADDR = 14'h002, START = 14'h003, RESULT = 14'h004;
  localparam logic [13:0] LEN_START = 14'h005, INTERRUPT = 14'h006, VERSION = 14'h3FE, IDENT = 14'h3FF;

  logic [15:0] len_q;
  logic [23:0] addr_q;
  logic [31:0] start_q;
  logic [1:0] interrupt_q, errors_q, errors_d;
  logic [7:0] unread_q, waiting_q;  // jobs whose result is still to be read, and results that are there
  logic oldest_valid, pop, full, wants, read_result, done;
  logic [31:0] oldest;

  wire [13:0] word = reg_addr[15:2];
  wire read = reg_valid && !reg_write;
  wire write = reg_valid && reg_write;

  function automatic logic [31:0] merge(logic [31:0] old);
    for (int unsigned i = 0; i < 4; i++) merge[8*i+:8] = reg_wstrb[i] ? reg_wdata[8*i+:8] : old[8*i+:8];
  endfunction
  wire [31:0] new_len = merge(32'(len_q));

  // A store of the whole word or of its low half starts a job, not one of a part of the length.
  assign wants       = write && ((word == CTRL && reg_wstrb[0] && reg_wdata[0]) || (word == LEN_START && reg_wstrb[1]));
  assign full        = unread_q == 8'(JOBS);
  assign start_valid = wants && !full;
  assign start_job   = '{addr: addr_q, len: word == CTRL ? len_q : new_len[15:0]};
  assign start_value = start_q;
  assign read_result = read && word == RESULT;
  assign pop         = read_result && oldest_valid;

  always_comb begin
    done = 1'b1;
    if (start_valid) done = start_ready;
    if (read_result) done = oldest_valid || unread_q == '0;
  end
  assign reg_ready = done;

  always_comb begin
    unique case (word)
      CTRL:      reg_rdata = {8'd0, 6'd0, errors_q, 8'(JOBS) - unread_q, waiting_q};
      LEN:       reg_rdata = 32'(len_q);
      ADDR:      reg_rdata = 32'(addr_q);
      START:     reg_rdata = start_q;
      RESULT:    reg_rdata = oldest_valid ? oldest : '0;
      INTERRUPT: reg_rdata = 32'(interrupt_q);
      VERSION:   reg_rdata = 32'd1;
      // As bytes in memory the identification reads from left to right.
      IDENT:     reg_rdata = {<<8{IDENTIFICATION}};
      default:   reg_rdata = '0;
    endcase
  end

  stream_queue #(
      .WIDTH(32),
      .DEPTH(JOBS)
  ) u_results (
      .clk,
      .rst,
      .s_valid(result_valid),
      .s_ready(),  // there is room for the result of every job that was started
      .s_data (result),
      .m_valid(oldest_valid),
      .m_ready(pop),
      .m_data (oldest),
      .idle   ()
  );

  always_comb begin
    errors_d = errors_q;
    if (write && word == CTRL && reg_wstrb[0] && reg_wdata[7]) errors_d = '0;
    if (wants && full) errors_d[0] = 1'b1;
    if (read_result && unread_q == '0) errors_d[1] = 1'b1;
  end

  wire started = start_valid && start_ready;
  always_ff @(posedge clk) begin
    if (write && (word == LEN || word == LEN_START)) len_q <= new_len[15:0];
    if (write && word == ADDR) addr_q <= 24'(merge(32'(addr_q)));
    if (write && word == START) start_q <= merge(start_q);
    if (started) start_q <= '0;
    if (write && word == INTERRUPT && reg_wstrb[0]) interrupt_q <= reg_wdata[1:0];
    errors_q <= errors_d;
    if (started && !pop) unread_q <= unread_q + 1'b1;
    if (pop && !started) unread_q <= unread_q - 1'b1;
    if (result_valid && !pop) waiting_q <= waiting_q + 1'b1;
    if (pop && !result_valid) waiting_q <= waiting_q - 1'b1;
    if (rst) begin
      len_q       <= '0;
      addr_q      <= '0;
      start_q     <= '0;
      interrupt_q <= '0;
      errors_q    <= '0;
      unread_q    <= '0;
      waiting_q   <= '0;
    end
  end

  assign interrupt = (interrupt_q[0] && oldest_valid) || (interrupt_q[1] && errors_q != '0);
  assign idle      = unread_q == waiting_q;

`ifndef SYNTHESIS
  offer_contract #(
      .WIDTH(17)
  ) u_contract (
      .clk,
      .rst,
      .valid(reg_valid),
      .ready(reg_ready),
      .data ({reg_write, reg_addr})
  );
`endif

endmodule
