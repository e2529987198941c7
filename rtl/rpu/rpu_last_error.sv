// SPDX-License-Identifier: Apache-2.0
// The last error of a packet processor: where its access, packet or slot lies, and where the core was.
// What may have been wrong is registered with each cycle; the cycle after, it is taken if something was.
// Where several things go wrong at once, the core's access comes first.
// Latency: 2 cycles.
module rpu_last_error
  import rpu_pkg::*;
(
    input  logic        clk,
    input  logic        rst,

    input  logic        wrong,           // something is; which of these, else a slot that was told:
    input  logic        access,          // the core's load or store
    input  logic        imem,            // its fetch
    input  logic        beyond,          // a packet reaches beyond packet memory
    input  logic        descriptor,      // one that software sent
    input  logic [31:0] bus_addr,
    input  logic [31:0] bus_pc,
    input  logic [31:0] pc,
    input  logic [31:0] imem_addr,
    input  logic [23:0] packet_addr,
    input  logic [31:0] sent,
    input  logic [23:0] slot_addr,

    output logic [31:0] error_addr,
    output logic [31:0] error_pc
);

  typedef struct packed {
    logic [31:0] bus_pc;
    logic [31:0] pc;
    logic [31:0] bus_addr;
    logic [31:0] imem_addr;
    logic [23:0] packet_addr;
    logic [31:0] sent;
    logic [23:0] slot_addr;
    logic        any;
    logic        access;
    logic        imem;
    logic        beyond;
    logic        descriptor;
  } errors_t;
  errors_t errors_q;

  always_ff @(posedge clk) begin
    errors_q <= '{
        bus_pc: bus_pc,
        pc: pc,
        bus_addr: bus_addr,
        imem_addr: imem_addr,
        packet_addr: packet_addr,
        sent: sent,
        slot_addr: slot_addr,
        any: wrong,
        access: access,
        imem: imem,
        beyond: beyond,
        descriptor: descriptor
    };
    if (errors_q.any) begin
      error_pc <= errors_q.access ? errors_q.bus_pc : errors_q.pc;
      if (errors_q.access) error_addr <= errors_q.bus_addr;
      else if (errors_q.imem) error_addr <= errors_q.imem_addr;
      else if (errors_q.beyond) error_addr <= PMEM_BASE | 32'(errors_q.packet_addr);
      else if (errors_q.descriptor) error_addr <= errors_q.sent;
      else error_addr <= PMEM_BASE | 32'(errors_q.slot_addr);
    end
    if (rst) begin
      errors_q.any <= 1'b0;
      error_addr   <= '0;
      error_pc     <= '0;
    end
  end

endmodule
