// SPDX-License-Identifier: Apache-2.0
// COUNTERS pairs of counters, of packets and of their bytes. After reset all become 0, one a cycle; what comes in that
// time is not counted.
// Throughput: 1 packet a cycle, of the same counter too. Numbers from COUNTERS on are not counted, and read as 0.
// A read and a clear take a cycle in which nothing is counted, and wait for one. Of two that wait, the clear comes
// first.
// Latency of a read: 4 cycles and that wait. It has what was counted before that cycle.
// Backpressure: none on packets. clear_ready is a register, low while a clear waits. One read at a time.
module counter_bank
  import switch_pkg::BYTES_W;
#(
    parameter int unsigned COUNTERS = 1024,
    parameter int unsigned NUMBER_W = 16
) (
    input  logic                clk,
    input  logic                rst,

    input  logic                count_valid,
    input  logic [NUMBER_W-1:0] count_number,
    input  logic [BYTES_W-1:0]  count_bytes,

    input  logic                clear_valid,
    output logic                clear_ready,
    input  logic [NUMBER_W-1:0] clear_number,

    input  logic                read,          // one cycle; the next one after read_valid
    input  logic [NUMBER_W-1:0] read_number,
    output logic                read_valid,    // one cycle, with the values
    output logic [63:0]         packets,
    output logic [63:0]         bytes,
    output logic                idle
);

  if (COUNTERS < 2 || 2 ** $clog2(COUNTERS) != COUNTERS) begin : gen_bad_counters
    $fatal(1, "counter_bank: COUNTERS must be a power of two from 2, not %0d", COUNTERS);
  end
  if (NUMBER_W < $clog2(COUNTERS) || NUMBER_W > 32) begin : gen_bad_number_w
    $fatal(1, "counter_bank: NUMBER_W must be log2(COUNTERS) to 32, not %0d", NUMBER_W);
  end

  localparam int unsigned ADDR_W = $clog2(COUNTERS);

  typedef struct packed {
    logic [63:0] packets;
    logic [63:0] bytes;
  } pair_t;

  typedef struct packed {
    logic               write;
    logic               read;
    logic               zero;
    logic [ADDR_W-1:0]  number;
    logic               packets;
    logic [BYTES_W-1:0] bytes;
  } step_t;

  // Step 1 reads the memory, step 3 adds, step 4 writes. The sums of the three steps before are not in what is read:
  // two are taken in step 2, the last one in step 3.
  step_t step1, step2_q, step3_q;
  logic write4_q, read4_q, write5_q;
  logic [ADDR_W-1:0] number4_q, number5_q;
  pair_t memory_pair, recent, old_q, old, sum_q, sum_before_q;
  logic same_q;
  logic clear_pending_q, read_pending_q;
  logic [NUMBER_W-1:0] clear_number_q, read_number_q;
  logic [ADDR_W:0] sweep_q;
  wire swept = sweep_q[ADDR_W];
  wire clears = !count_valid && clear_pending_q && swept;
  wire reads = !count_valid && !clear_pending_q && read_pending_q && swept;

  function automatic logic exists(logic [NUMBER_W-1:0] number);
    return number >> ADDR_W == '0;
  endfunction

  always_comb begin
    step1 = '0;
    if (count_valid) begin
      step1.write   = swept && exists(count_number);
      step1.number  = count_number[ADDR_W-1:0];
      step1.packets = 1'b1;
      step1.bytes   = count_bytes;
    end else if (clears) begin
      step1.write  = exists(clear_number_q);
      step1.zero   = 1'b1;
      step1.number = clear_number_q[ADDR_W-1:0];
    end else if (reads) begin
      step1.read   = 1'b1;
      step1.zero   = !exists(read_number_q);
      step1.number = read_number_q[ADDR_W-1:0];
    end
  end

  ram_fit #(
      .WIDTH($bits(pair_t)),
      .DEPTH(COUNTERS)
  ) u_pairs (
      .clk,
      .wr_en  (write4_q || !swept),
      .wr_addr(swept ? number4_q : sweep_q[ADDR_W-1:0]),
      .wr_data(swept ? sum_q : '0),
      .rd_en  (step1.write || step1.read),
      .rd_addr(step1.number),
      .rd_data(memory_pair)
  );

  always_comb begin
    recent = memory_pair;
    if (write5_q && number5_q == step2_q.number) recent = sum_before_q;
    if (write4_q && number4_q == step2_q.number) recent = sum_q;
    old = same_q ? sum_q : old_q;
  end

  always_ff @(posedge clk) begin
    step2_q   <= step1;
    step3_q   <= step2_q;
    write4_q  <= step3_q.write;
    read4_q   <= step3_q.read;
    number4_q <= step3_q.number;
    write5_q  <= write4_q;
    number5_q <= number4_q;
    if (step2_q.write || step2_q.read) begin
      old_q  <= recent;
      same_q <= step3_q.write && step3_q.number == step2_q.number;
    end
    if (step3_q.write || step3_q.read) begin
      sum_q.packets <= step3_q.zero ? '0 : old.packets + 64'(step3_q.packets);
      sum_q.bytes   <= step3_q.zero ? '0 : old.bytes + 64'(step3_q.bytes);
    end
    sum_before_q <= sum_q;

    if (clear_valid && !clear_pending_q) begin
      clear_pending_q <= 1'b1;
      clear_number_q  <= clear_number;
    end else if (clears) begin
      clear_pending_q <= 1'b0;
    end
    if (read) begin
      read_pending_q <= 1'b1;
      read_number_q  <= read_number;
    end else if (reads) begin
      read_pending_q <= 1'b0;
    end
    if (!swept) sweep_q <= sweep_q + 1'b1;
    if (rst) begin
      step2_q         <= '0;
      step3_q         <= '0;
      write4_q        <= 1'b0;
      read4_q         <= 1'b0;
      write5_q        <= 1'b0;
      clear_pending_q <= 1'b0;
      read_pending_q  <= 1'b0;
      sweep_q         <= '0;
    end
  end

  assign clear_ready = !clear_pending_q;
  assign read_valid  = read4_q;
  assign {packets, bytes} = sum_q;

  wire steps = step2_q.write || step2_q.read || step3_q.write || step3_q.read || write4_q || read4_q;
  assign idle = swept && !clear_pending_q && !read_pending_q && !steps;

endmodule
