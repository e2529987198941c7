// SPDX-License-Identifier: Apache-2.0
// Two counters of 64 bits for each function. `wipe` makes those of wipe_function 0.
// Latency of a read: 5 cycles; it has the events up to 3 cycles before. Throughput: an event a cycle, of the same
// counter too. Backpressure: none. One read at a time.
module policy_counters #(
    parameter int unsigned FUNCTIONS = 16,
    localparam int unsigned FUNCTION_W = FUNCTIONS > 1 ? $clog2(FUNCTIONS) : 1
) (
    input  logic                  clk,
    input  logic                  rst,
    input  logic                  wipe,           // without events
    input  logic [FUNCTION_W-1:0] wipe_function,

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

  logic kind, clears, wr_en, events_idle;
  logic [FUNCTION_W-1:0] wr_addr;
  pair_t old, changed, sum, read_pair;
  logic [3:0] reads_q;

  ram_update #(
      .WIDTH($bits(pair_t)),
      .DEPTH(FUNCTIONS),
      .TAG_W(2),
      .STEPS(1)
  ) u_pairs (
      .clk,
      .rst,
      .valid       (wipe || event_valid),
      .write       (1'b1),
      .addr        (wipe ? wipe_function : event_function),
      .tag         ({wipe, event_kind}),
      .change_valid(),
      .change_tag  ({clears, kind}),
      .old,
      .changed,
      .result      (sum),
      .read_valid  (),
      .wr_en,
      .wr_addr,
      .idle        (events_idle)
  );
  ram_through #(
      .WIDTH($bits(pair_t)),
      .DEPTH(FUNCTIONS)
  ) u_read_pairs (
      .clk,
      .wr_en,
      .wr_addr,
      .wr_data(sum),
      .rd_addr(read_function),
      .rd_data(read_pair)
  );

  assign changed = clears ? '0 : {old[1] + 64'(kind), old[0] + 64'(!kind)};

  always_ff @(posedge clk) begin
    reads_q    <= {reads_q[2:0], read};
    read_valid <= reads_q[3];
    if (reads_q[3]) counted <= read_pair;
    if (rst) begin
      reads_q    <= '0;
      read_valid <= 1'b0;
    end
  end

  assign idle = events_idle && reads_q == '0 && !read_valid;

`ifndef SYNTHESIS
  onehot_contract u_contract (
      .clk,
      .rst,
      .valid (1'b1),
      .select({wipe, event_valid})
  );
`endif

endmodule
