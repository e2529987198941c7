// SPDX-License-Identifier: Apache-2.0
// Finds out what it is that software asks to send, and whether what it names is there: kind, port, slot, memory.
// Latency: 1 cycle. Throughput: 1 request a cycle. Backpressure: as stream_reg's.
module rpu_send_check
  import rpu_pkg::*;
#(
    parameter int unsigned DMEM_KB = 32,
    parameter int unsigned PMEM_KB = 1024,
    parameter int unsigned SLOTS = 32,
    parameter int unsigned FUNCTIONS = 1  // of the host port
) (
    input  logic     clk,
    input  logic     rst,
    input  logic     s_valid,
    output logic     s_ready,
    input  send_t    s,
    output logic     m_valid,
    input  logic     m_ready,
    output checked_t m,
    output logic     idle
);

  if (DMEM_KB < 1 || DMEM_KB > 4096 || 2 ** $clog2(DMEM_KB) != DMEM_KB) begin : gen_bad_dmem_kb
    $fatal(1, "rpu_send_check: DMEM_KB must be a power of two from 1 to 4096, not %0d", DMEM_KB);
  end
  if (PMEM_KB < 1 || PMEM_KB > 16384 || 2 ** $clog2(PMEM_KB) != PMEM_KB) begin : gen_bad_pmem_kb
    $fatal(1, "rpu_send_check: PMEM_KB must be a power of two from 1 to 16384, not %0d", PMEM_KB);
  end
  if (SLOTS < 2 || SLOTS > 32 || 2 ** $clog2(SLOTS) != SLOTS) begin : gen_bad_slots
    $fatal(1, "rpu_send_check: SLOTS must be 2, 4, 8, 16 or 32, not %0d", SLOTS);
  end
  if (FUNCTIONS < 1 || FUNCTIONS > MAX_FUNCTIONS) begin : gen_bad_functions
    $fatal(1, "rpu_send_check: FUNCTIONS must be 1 to %0d, not %0d", MAX_FUNCTIONS, FUNCTIONS);
  end

  desc_t desc;
  checked_t checked;
  logic in_pmem, in_dmem, valid_slot, is_drop, to_dram;
  logic [24:0] desc_end;
  assign desc       = s.desc;
  assign desc_end   = (desc.data[24] ? 25'(desc.data[23:0]) : 25'(desc.data[22:0])) + 25'(desc.len);
  assign in_pmem    = desc.data[31:24] == 8'h01 && desc_end <= 25'(PMEM_KB * 1024);
  assign in_dmem    = desc.data[31:23] == 9'h001 && desc_end <= 25'(DMEM_KB * 1024);
  assign valid_slot = desc.tag <= 8'(SLOTS);
  assign is_drop    = checked.to_packet && desc.len == 0;
  assign to_dram    = (s.kind == SEND_READ && desc.tag < 8'd32) || s.kind == SEND_WRITE;

  always_comb begin
    checked.send        = s;
    checked.data_memory = in_dmem;
    checked.to_packet   = s.kind <= SEND_UNIT;
    checked.has_slot    = valid_slot && desc.tag != 0;
    checked.is_packet   = checked.to_packet && valid_slot && (in_pmem || in_dmem) && desc.len != 0
        && (s.kind == SEND_UNIT || desc.port <= PORT_LOOPBACK || is_host(desc.port, FUNCTIONS));
    checked.is_slots    = s.kind == SEND_SLOTS && checked.has_slot;
    checked.is_empty    = to_dram && desc.len == 0;
    checked.is_read     = to_dram && s.kind == SEND_READ && (in_pmem || in_dmem) && desc.len != 0;
    checked.is_write    = to_dram && s.kind == SEND_WRITE && (in_pmem || in_dmem) && desc.len != 0;
    checked.valid       = checked.is_packet || (is_drop && valid_slot) || checked.is_slots || checked.is_empty
        || checked.is_read || checked.is_write;
  end

  stream_reg #(
      .WIDTH($bits(checked_t))
  ) u_checked (
      .clk,
      .rst,
      .s_valid,
      .s_ready,
      .s_data (checked),
      .m_valid,
      .m_ready,
      .m_data (m),
      .idle
  );

endmodule
