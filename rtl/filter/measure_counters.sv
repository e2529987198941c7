// SPDX-License-Identifier: Apache-2.0
// MEASURES pairs of counters (packets, bytes), one pair counted up each cycle, readable at any time.
// A read takes a cycle in which nothing is counted: `read_wait` asks for one. After reset all are wiped (`ready`).
module measure_counters
  import bpf_pkg::MEASURES;
#(
    parameter int unsigned BYTES_W = 32,
    localparam int unsigned ADDR_W = $clog2(MEASURES)
) (
    input  logic               clk,
    input  logic               rst,
    output logic               ready,

    input  logic               count_valid,
    input  logic [ADDR_W-1:0]  count_index,
    input  logic [BYTES_W-1:0] count_bytes,

    input  logic               read_req,      // one cycle
    input  logic [ADDR_W-1:0]  read_index,
    output logic               read_wait,
    output logic               read_done,     // one cycle, with the values
    output logic [63:0]        read_packets,
    output logic [63:0]        read_bytes,
    output logic               idle
);

  if (BYTES_W < 1 || BYTES_W > 64) begin : gen_bad_bytes_w
    $fatal(1, "measure_counters: BYTES_W must be 1 to 64, not %0d", BYTES_W);
  end

  typedef struct packed {
    logic [63:0] packets;
    logic [63:0] bytes;
  } pair_t;

  typedef struct packed {
    logic               valid;
    logic               read;
    logic [ADDR_W-1:0]  index;
    logic [BYTES_W-1:0] bytes;
  } step_t;

  // Step 1 reads the memory, step 2 adds, step 3 writes. The sums of the last two additions are not in what step 1
  // read.
  step_t step1, step2_q, step3_q, step4_q;
  pair_t memory_pair, old, sum_q, sum_before_q;
  logic read_pending_q;
  logic [ADDR_W-1:0] read_index_q;
  logic [ADDR_W:0] wipe_at_q;

  assign ready     = wipe_at_q[ADDR_W];
  assign idle      = ready && !read_pending_q && !step2_q.valid && !step3_q.valid && !read_done;
  assign read_wait = read_pending_q;

  always_comb begin
    step1 = '{valid: count_valid, read: 1'b0, index: count_index, bytes: count_bytes};
    if (!count_valid && read_pending_q) step1 = '{valid: 1'b1, read: 1'b1, index: read_index_q, bytes: '0};
  end

  ram_sdp #(
      .WIDTH($bits(pair_t)),
      .DEPTH(MEASURES)
  ) u_pairs (
      .clk,
      .wr_en  (step3_q.valid && !step3_q.read || !ready),
      .wr_addr(ready ? step3_q.index : wipe_at_q[ADDR_W-1:0]),
      .wr_data(ready ? sum_q : '0),
      .rd_en  (step1.valid),
      .rd_addr(step1.index),
      .rd_data(memory_pair)
  );

  always_comb begin
    old = memory_pair;
    if (step4_q.valid && step4_q.index == step2_q.index) old = sum_before_q;
    if (step3_q.valid && step3_q.index == step2_q.index) old = sum_q;
  end

  always_ff @(posedge clk) begin
    step2_q      <= step1;
    step3_q      <= step2_q;
    step4_q      <= step3_q;
    sum_before_q <= sum_q;
    if (step2_q.valid) begin
      sum_q.packets <= old.packets + 64'(!step2_q.read);
      sum_q.bytes   <= old.bytes + 64'(step2_q.bytes);
    end

    read_done <= step2_q.valid && step2_q.read;
    if (step2_q.read) {read_packets, read_bytes} <= old;
    if (read_req) begin
      read_pending_q <= 1'b1;
      read_index_q   <= read_index;
    end else if (!count_valid) begin
      read_pending_q <= 1'b0;
    end

    if (!ready) wipe_at_q <= wipe_at_q + 1'b1;
    if (rst) begin
      step2_q        <= '0;
      step3_q        <= '0;
      step4_q        <= '0;
      wipe_at_q      <= '0;
      read_pending_q <= 1'b0;
      read_done      <= 1'b0;
    end
  end

endmodule
