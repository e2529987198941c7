// SPDX-License-Identifier: Apache-2.0
// The host's accesses to the memories of a packet processor, one word at a time: the address chooses the memory, and
// the word of a line that a load gets.
// A store to instruction memory's upper half goes to the accelerator, which takes it at once.
// Latency: a memory's. Backpressure: a load holds the next access off until its data is there.
module rpu_host_access #(
    parameter int unsigned DATA_W = 512
) (
    input  logic              clk,
    input  logic              rst,

    input  logic              host_valid,
    output logic              host_ready,
    input  logic              host_write,
    input  logic [31:0]       host_addr,
    input  logic [31:0]       host_wdata,
    output logic              host_rvalid,
    output logic [31:0]       host_rdata,

    output logic              load_valid,     // to the accelerator
    output logic [23:0]       load_addr,
    output logic [31:0]       load_data,

    output logic              imem_valid,     // instruction memory; a load's data comes in the next cycle
    input  logic              imem_ready,
    input  logic [31:0]       imem_rdata,
    output logic              dmem_valid,     // data memory
    input  logic              dmem_ready,
    input  logic              dmem_done,      // a load's data is there
    input  logic [DATA_W-1:0] dmem_rdata,
    output logic              pmem_valid,     // packet memory
    input  logic              pmem_ready,
    input  logic              pmem_done,
    input  logic [DATA_W-1:0] pmem_rdata
);

  if (DATA_W < 64 || DATA_W > 1024 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "rpu_host_access: DATA_W must be a power of two from 64 to 1024, not %0d", DATA_W);
  end

  localparam int unsigned BYTE_W = $clog2(DATA_W / 8);
  localparam int unsigned WORD_W = $clog2(DATA_W / 32);

  typedef enum logic [1:0] {INSTRUCTIONS, DATA, PACKETS, NOTHING} memory_t;
  memory_t memory, memory_q;
  logic waits_q;
  logic [WORD_W-1:0] word_q;

  always_comb begin
    casez (host_addr[25:23])
      3'b1??: memory = INSTRUCTIONS;
      3'b01?: memory = PACKETS;
      3'b001: memory = DATA;
      default: memory = NOTHING;
    endcase
    case (memory)
      INSTRUCTIONS: host_ready = imem_ready;
      DATA: host_ready = dmem_ready;
      PACKETS: host_ready = pmem_ready;
      default: host_ready = 1'b1;
    endcase
    if (waits_q) host_ready = 1'b0;
  end
  assign load_valid = host_valid && host_write && memory == INSTRUCTIONS && host_addr[24];
  assign load_addr  = host_addr[23:0];
  assign load_data  = host_wdata;
  assign imem_valid = host_valid && memory == INSTRUCTIONS && !host_addr[24] && !waits_q;
  assign dmem_valid = host_valid && memory == DATA && !waits_q;
  assign pmem_valid = host_valid && memory == PACKETS && !waits_q;

  always_ff @(posedge clk) begin
    if (!waits_q) begin
      waits_q  <= host_valid && host_ready && !host_write;
      memory_q <= memory;
      word_q   <= WORD_W'(host_addr[BYTE_W-1:0] >> 2);
    end else if (host_rvalid) waits_q <= 1'b0;
    if (rst) waits_q <= 1'b0;
  end
  always_comb begin
    host_rdata = 'x;  // so that a simulator chooses a word only for a load
    if (waits_q) begin
      case (memory_q)
        DATA: host_rdata = dmem_rdata[32*word_q+:32];
        PACKETS: host_rdata = pmem_rdata[32*word_q+:32];
        INSTRUCTIONS: host_rdata = imem_rdata;
        default: host_rdata = '0;
      endcase
    end
    case (memory_q)
      DATA: host_rvalid = dmem_done;
      PACKETS: host_rvalid = pmem_done;
      default: host_rvalid = waits_q;
    endcase
  end

endmodule
