// SPDX-License-Identifier: Apache-2.0
// Where a processor's loads and stores go: I/O registers, the accelerator's registers, data memory, packet memory. With
// address bit 26, the bytes of a loaded word come in reverse order.
// Latency of a load: 1 cycle from registers (while the core sleeps, more) and data memory, 3 from packet memory, from
// the accelerator 1 and what that takes. Stores are taken at once; one to the accelerator waits for the one before.
// A store into the broadcast region, the end of data memory, goes to the other units as well, and waits for room there.
// What lies outside of all, and the accelerator's registers where there is none, but for what it is (0xFF8, 0xFFC: 0),
// is an error: a load ends with bus_error, and `access_error` says of which kind loads and
// stores were (instruction, data, packet memory, registers).
module rpu_bus
  import rpu_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned DMEM_KB = 32,
    parameter int unsigned PMEM_KB = 1024,
    parameter int unsigned BROADCAST_KB = 8
) (
    input  logic              clk,
    input  logic              rst,

    input  logic              bus_valid,
    output logic              bus_ready,
    input  logic              bus_write,
    input  logic [31:0]       bus_addr,
    input  logic [31:0]       bus_wdata,
    input  logic [3:0]        bus_strb,
    output logic              bus_rvalid,
    output logic [31:0]       bus_rdata,
    output logic              bus_error,
    output logic [3:0]        access_error,

    output logic              io_valid,
    input  logic              io_ready,
    input  logic [31:0]       io_rdata,
    input  logic              io_wait,       // not yet
    output logic              io_elsewhere,  // an access to anything else

    input  logic              accel_there,   // there is an accelerator
    output logic              reg_valid,     // its registers
    input  logic              reg_ready,
    output logic              reg_write,
    output logic [15:0]       reg_addr,
    output logic [31:0]       reg_wdata,
    output logic [3:0]        reg_wstrb,
    input  logic [31:0]       reg_rdata,

    output logic              dmem_write,    // both memories serve the processor first; of this one's turns any store
    output logic              dmem_read,     // and load takes one: no address has to be looked at for that
    output logic [23:0]       dmem_addr,
    output logic [31:0]       dmem_wdata,
    output logic [3:0]        dmem_wstrb,
    input  logic              dmem_done,
    input  logic [DATA_W-1:0] dmem_rdata,
    output logic              pmem_write,
    output logic              pmem_read,
    output logic [23:0]       pmem_addr,
    output logic [31:0]       pmem_wdata,
    output logic [3:0]        pmem_wstrb,
    input  logic              pmem_done,
    input  logic [DATA_W-1:0] pmem_rdata,

    output logic              broadcast_valid,
    input  logic              broadcast_ready,
    output word_t             broadcast
);

  if (DATA_W < 32 || DATA_W > 1024 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "rpu_bus: DATA_W must be a power of two from 32 to 1024, not %0d", DATA_W);
  end
  if (PMEM_KB < 1 || PMEM_KB > 16384 || 2 ** $clog2(PMEM_KB) != PMEM_KB) begin : gen_bad_pmem_kb
    $fatal(1, "rpu_bus: PMEM_KB must be a power of two from 1 to 16384, not %0d", PMEM_KB);
  end
  if (DMEM_KB < 1 || DMEM_KB > 4096 || 2 ** $clog2(DMEM_KB) != DMEM_KB) begin : gen_bad_dmem_kb
    $fatal(1, "rpu_bus: DMEM_KB must be a power of two from 1 to 4096, not %0d", DMEM_KB);
  end
  if (BROADCAST_KB > DMEM_KB || (BROADCAST_KB & (BROADCAST_KB - 1)) != 0) begin : gen_bad_broadcast_kb
    $fatal(1, "rpu_bus: BROADCAST_KB must be 0 or a power of two up to DMEM_KB, not %0d", BROADCAST_KB);
  end

  localparam int unsigned BYTE_W = $clog2(DATA_W / 8);
  localparam int unsigned WORD_W = BYTE_W > 2 ? BYTE_W - 2 : 1;
  localparam int unsigned WORDS = DATA_W / 32;
  localparam logic [23:0] DMEM_BYTES = 24'(DMEM_KB * 1024);
  localparam logic [23:0] BROADCAST_FROM = 24'((DMEM_KB - BROADCAST_KB) * 1024);
  localparam logic [24:0] PMEM_BYTES = 25'(PMEM_KB * 1024);

  typedef enum logic [2:0] {NONE, REGISTERS, ACCELERATOR, DATA, PACKET, WRONG} source_t;

  function automatic logic [WORD_W-1:0] word_of(logic [23:0] addr);
    return WORDS == 1 ? '0 : WORD_W'(addr >> 2);
  endfunction

  source_t target, source_q;
  logic taken, swap_q;
  logic [3:0] wrong;
  logic [23:0] offset;
  logic [WORD_W-1:0] word_q;
  logic accel_busy_q, in_broadcast, paused_q;

  assign offset       = bus_addr[24] ? bus_addr[23:0] : {1'b0, bus_addr[22:0]};
  assign in_broadcast = target == DATA && bus_write && BROADCAST_KB != 0
      && ((offset ^ BROADCAST_FROM) & ~(24'(BROADCAST_KB * 1024) - 1'b1)) == '0;

  always_comb begin
    wrong = '0;
    if (bus_addr[31:27] != '0) wrong[3] = 1'b1;
    else if (bus_addr[25]) wrong[0] = 1'b1;
    else if (bus_addr[24]) wrong[2] = {1'b0, offset} >= PMEM_BYTES;
    else if (bus_addr[23]) wrong[1] = offset >= DMEM_BYTES;
    else if (!bus_addr[22]) wrong[3] = bus_addr[21:9] != '0;
    else wrong[3] = !accel_there && (bus_write || bus_addr[15:3] != 13'h1FF);
    if (wrong != '0) target = WRONG;
    else if (bus_addr[24]) target = PACKET;
    else if (bus_addr[23]) target = DATA;
    else target = bus_addr[22] ? ACCELERATOR : REGISTERS;

    case (target)
      REGISTERS: bus_ready = io_ready;
      ACCELERATOR: bus_ready = !accel_busy_q || reg_ready;
      DATA: bus_ready = !in_broadcast || (broadcast_ready && !paused_q);
      default: bus_ready = 1'b1;
    endcase
  end
  assign taken           = bus_valid && bus_ready;
  assign io_valid        = bus_valid && target == REGISTERS;
  assign io_elsewhere    = taken && target != REGISTERS;
  assign broadcast_valid = bus_valid && in_broadcast;
  assign broadcast       = '{addr: offset, data: bus_wdata, strb: bus_strb};
  assign access_error    = taken ? wrong : '0;

  // Data memory, in the same cycle. What waits leaves the memory to others; a store into the broadcast region tries
  // every second cycle.
  assign dmem_write = bus_valid && bus_write && !paused_q;
  assign dmem_read  = bus_valid && !bus_write && !paused_q;
  assign dmem_addr  = offset;
  assign dmem_wdata = bus_wdata;
  assign dmem_wstrb = target == DATA && (!in_broadcast || (broadcast_ready && !paused_q)) ? bus_strb : '0;

  // Packet memory and the accelerator, a cycle later
  logic pmem_valid_q, pmem_write_q;
  assign pmem_write = pmem_valid_q && pmem_write_q;
  assign pmem_read  = pmem_valid_q && !pmem_write_q;

  always_ff @(posedge clk) begin
    paused_q     <= bus_valid && !bus_ready && !(in_broadcast && paused_q);
    pmem_valid_q <= taken && target == PACKET;
    if (taken && target == PACKET) begin
      pmem_write_q <= bus_write;
      pmem_addr    <= offset;
      pmem_wdata   <= bus_wdata;
      pmem_wstrb   <= bus_strb;
    end
    if (taken && target == ACCELERATOR) begin
      reg_write <= bus_write;
      reg_addr  <= bus_addr[15:0];
      reg_wdata <= bus_wdata;
      reg_wstrb <= bus_strb;
    end
    accel_busy_q <= (taken && target == ACCELERATOR) || (accel_busy_q && !reg_ready);
    if (taken && !bus_write) begin
      source_q <= target;
      swap_q   <= bus_addr[26];
      word_q   <= word_of(offset);
    end else if (bus_rvalid) source_q <= NONE;
    if (rst) begin
      paused_q     <= 1'b0;
      pmem_valid_q <= 1'b0;
      accel_busy_q <= 1'b0;
      source_q     <= NONE;
    end
  end
  assign reg_valid = accel_busy_q;

  // Back to the processor
  logic [31:0] value;
  always_comb begin
    bus_rvalid = 1'b1;
    value      = '0;
    case (source_q)
      REGISTERS: begin
        value      = io_rdata;
        bus_rvalid = !io_wait;
      end
      ACCELERATOR: begin
        value      = reg_rdata;
        bus_rvalid = reg_ready && !reg_write;
      end
      DATA: begin
        value      = dmem_rdata[32*word_q+:32];
        bus_rvalid = dmem_done;
      end
      PACKET: begin
        value      = pmem_rdata[32*word_q+:32];
        bus_rvalid = pmem_done;
      end
      WRONG: value = '0;
      default: bus_rvalid = 1'b0;
    endcase
  end
  assign bus_rdata = swap_q ? {value[7:0], value[15:8], value[23:16], value[31:24]} : value;
  assign bus_error = source_q == WRONG;

endmodule
