// SPDX-License-Identifier: Apache-2.0
// The processor of a unit with its instruction memory: VexRiscv, whose instruction cache is filled from the memory at a
// word a cycle, and which offers loads and stores on its data bus.
// Instruction addresses: bit 25 says nothing; beyond the memory there are illegal instructions, and imem_error.
// Data bus: an access is offered (bus_valid) until bus_ready; one of bytes (bus_strb) when it writes. bus_rvalid comes
// with a read's data, in a later cycle, before the next access is offered. With bus_error, the processor takes
// exception 5.
// The host writes and reads the instruction memory a word at a time; what the cache holds is forgotten by `core_rst`
// only. A read takes 1 cycle, and is refused (host_ready) while the cache is being filled.
module rpu_core #(
    parameter int unsigned IMEM_KB = 64
) (
    input  logic        clk,
    input  logic        rst,
    input  logic        core_rst,

    output logic        bus_valid,
    input  logic        bus_ready,
    output logic        bus_write,
    output logic [31:0] bus_addr,       // of the word
    output logic [31:0] bus_wdata,
    output logic [3:0]  bus_strb,
    input  logic        bus_rvalid,
    input  logic [31:0] bus_rdata,
    input  logic        bus_error,

    input  logic        timer_irq,
    input  logic        external_irq,
    output logic        imem_error,     // an instruction was fetched from where there is none
    output logic [31:0] imem_error_addr,
    output logic [31:0] program_counter, // of the oldest instruction under way
    output logic [31:0] bus_pc,         // of that whose access is offered

    input  logic        host_valid,
    output logic        host_ready,
    input  logic        host_write,
    input  logic [23:0] host_addr,      // of a byte
    input  logic [31:0] host_wdata,
    output logic [31:0] host_rdata,     // in the cycle after

    input  logic        debug_valid,
    output logic        debug_ready,
    input  logic        debug_write,
    input  logic [7:0]  debug_addr,
    input  logic [31:0] debug_wdata,
    output logic [31:0] debug_rdata     // in the cycle after
);

  if (IMEM_KB < 4 || IMEM_KB > 1024 || 2 ** $clog2(IMEM_KB) != IMEM_KB) begin : gen_bad_imem_kb
    $fatal(1, "rpu_core: IMEM_KB must be a power of two from 4 to 1024, not %0d", IMEM_KB);
  end

  localparam int unsigned WORDS = IMEM_KB * 256;
  localparam int unsigned ADDR_W = $clog2(WORDS);

  // Instructions: the word after the one that is read is looked up ahead, so that a line comes at a word a cycle.
  logic fetch, fetch_ack, known, have_q, have_known_q;
  logic [29:0] fetch_addr, next_addr, have_addr_q;
  logic [31:0] word;
  logic host_read;

  assign fetch_ack = fetch && have_q && have_addr_q == fetch_addr;
  assign next_addr = fetch_ack ? fetch_addr + 1'b1 : fetch_addr;
  assign known    = next_addr[22:0] < 23'(WORDS) && {next_addr[29:24], 1'b0} == '0;

  assign host_ready = host_write || !fetch;
  assign host_read  = host_valid && !host_write && host_ready;

  ram_sdp #(
      .WIDTH(32),
      .DEPTH(WORDS)
  ) u_imem (
      .clk,
      .wr_en  (host_valid && host_write),
      .wr_addr(host_addr[ADDR_W+1:2]),
      .wr_data(host_wdata),
      .rd_en  (fetch || host_read),
      .rd_addr(host_read ? host_addr[ADDR_W+1:2] : next_addr[ADDR_W-1:0]),
      .rd_data(word)
  );
  assign host_rdata = word;

  always_ff @(posedge clk) begin
    have_q        <= fetch;
    have_addr_q   <= next_addr;
    have_known_q <= known;
    if (rst) have_q <= 1'b0;
  end
  assign imem_error = fetch_ack && !have_known_q;
  assign imem_error_addr = {fetch_addr, 2'b00};

  logic pipeline_valid;
  logic [31:0] pipeline_pc;
  always_ff @(posedge clk) begin
    if (pipeline_valid) program_counter <= pipeline_pc;
    if (rst || core_rst) program_counter <= '0;
  end

  // Outputs that nobody needs here stay open; the processor's own checks are not of this project's looks.
  // verilator lint_off PINCONNECTEMPTY
  logic unused_cyc;
  VexRiscv u_cpu (
      .clk,
      .reset                        (rst || core_rst),
      .debugReset                   (rst),
      .externalResetVector          (32'd0),
      .timerInterrupt               (timer_irq),
      .softwareInterrupt            (1'b0),
      .externalInterruptArray       ({31'd0, external_irq}),
      .debug_bus_cmd_valid          (debug_valid),
      .debug_bus_cmd_ready          (debug_ready),
      .debug_bus_cmd_payload_wr     (debug_write),
      .debug_bus_cmd_payload_address(debug_addr),
      .debug_bus_cmd_payload_data   (debug_wdata),
      .debug_bus_rsp_data           (debug_rdata),
      .debug_resetOut               (),
      .pipeline_PC                  (pipeline_pc),
      .pipeline_valid               (pipeline_valid),
      .execute_stage_PC             (bus_pc),
      .iBusWishbone_CYC             (unused_cyc),
      .iBusWishbone_STB             (fetch),
      .iBusWishbone_ACK             (fetch_ack),
      .iBusWishbone_WE              (),
      .iBusWishbone_ADR             (fetch_addr),
      .iBusWishbone_DAT_MISO        (have_known_q ? word : '0),
      .iBusWishbone_DAT_MOSI        (),
      .iBusWishbone_SEL             (),
      .iBusWishbone_ERR             (1'b0),
      .iBusWishbone_CTI             (),
      .iBusWishbone_BTE             (),
      .dBusWishbone_CYC             (bus_valid),
      .dBusWishbone_STB             (),
      .dBusWishbone_ACK             (bus_ready),
      .dBusWishbone_WE              (bus_write),
      .dBusWishbone_ADR             (bus_addr[31:2]),
      .dBusWishbone_DAT_MISO        (bus_rdata),
      .dBusWishbone_DAT_MOSI        (bus_wdata),
      .dBusWishbone_SEL             (bus_strb),
      .dBusWishbone_ERR             (bus_error),
      .dBusWishbone_RSP             (bus_rvalid),
      .dBusWishbone_CTI             (),
      .dBusWishbone_BTE             ()
  );
  // verilator lint_on PINCONNECTEMPTY
  assign bus_addr[1:0] = 2'b00;

endmodule
