// SPDX-License-Identifier: Apache-2.0
// Two counters of 64 bits for each function. `sweep` makes those of sweep_function 0.
// Latency of a read: 5 cycles; it has the events up to 3 cycles before. Throughput: an event a cycle, of the same
// counter too. Backpressure: none. One read at a time.
module policy_counters #(
    parameter int unsigned FUNCTIONS = 16,
    localparam int unsigned FUNCTION_W = FUNCTIONS > 1 ? $clog2(FUNCTIONS) : 1
) (
    input  logic                  clk,
    input  logic                  rst,
    input  logic                  sweep,          // without events
    input  logic [FUNCTION_W-1:0] sweep_function,

    input  logic                  event_valid,
    input  logic [FUNCTION_W-1:0] event_function,
    input  logic                  event_kind,

    input  logic                  read,           // one cycle; the next one after read_valid
    input  logic [FUNCTION_W-1:0] read_function,  // stays until then
    output logic                  read_valid,     // one cycle; the values stay until the next read
    output logic [1:0][63:0]      counted,
    output logic                  idle
);

  if (FUNCTIONS < 1 || FUNCTIONS > 65536) begin : gen_bad_functions
    $fatal(1, "policy_counters: FUNCTIONS must be 1 to 65536, not %0d", FUNCTIONS);
  end

  typedef logic [1:0][63:0] pair_t;

  // Step 1 has what the RAM read; step 2 writes. The sums of the two steps before are not in what was read: whether
  // they are of the same function is known as step 1 begins.
  logic step1_q, step2_q, kind1_q, same1_q, same_before1_q;
  logic [FUNCTION_W-1:0] function1_q, function2_q;
  pair_t found, old, sum_q, sum_before_q, read_pair;
  logic [3:0] reads_q;

  ram_fit #(
      .WIDTH($bits(pair_t)),
      .DEPTH(FUNCTIONS)
  ) u_pairs (
      .clk,
      .wr_en  (sweep || step2_q),
      .wr_addr(sweep ? sweep_function : function2_q),
      .wr_data(sweep ? '0 : sum_q),
      .rd_en  (event_valid),
      .rd_addr(event_function),
      .rd_data(found)
  );
  ram_through #(
      .WIDTH($bits(pair_t)),
      .DEPTH(FUNCTIONS)
  ) u_read_pairs (
      .clk,
      .wr_en  (sweep || step2_q),
      .wr_addr(sweep ? sweep_function : function2_q),
      .wr_data(sweep ? '0 : sum_q),
      .rd_addr(read_function),
      .rd_data(read_pair)
  );

  always_comb begin
    old = found;
    if (same_before1_q) old = sum_before_q;
    if (same1_q) old = sum_q;
  end

  always_ff @(posedge clk) begin
    step1_q        <= event_valid;
    step2_q        <= step1_q;
    function1_q    <= event_function;
    function2_q    <= function1_q;
    kind1_q        <= event_kind;
    same1_q        <= step1_q && function1_q == event_function;
    same_before1_q <= step2_q && function2_q == event_function;
    sum_q[0]       <= old[0] + 64'(!kind1_q);
    sum_q[1]       <= old[1] + 64'(kind1_q);
    sum_before_q   <= sum_q;
    reads_q        <= {reads_q[2:0], read};
    read_valid     <= reads_q[3];
    if (reads_q[3]) counted <= read_pair;
    if (rst) begin
      step1_q    <= 1'b0;
      step2_q    <= 1'b0;
      reads_q    <= '0;
      read_valid <= 1'b0;
    end
  end

  assign idle = !step1_q && !step2_q && reads_q == '0 && !read_valid;

endmodule
