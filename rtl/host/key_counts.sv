// SPDX-License-Identifier: Apache-2.0
// How many things of each key are under way: one end adds those that begin, the other takes off those that are over.
// After reset all become 0, a key a cycle; `ready` is low as long.
// Latency: a look tells its count 2 cycles later, with all that was added or taken off 2 cycles before the look.
// Throughput: an addition and a subtraction every other cycle, looks in every one. Backpressure: none.
module key_counts #(
    parameter int unsigned KEYS = 16,
    parameter int unsigned WIDTH = 8,    // no count gets to 2^WIDTH
    parameter int unsigned LOOKS = 1,
    localparam int unsigned KEY_W = KEYS > 1 ? $clog2(KEYS) : 1
) (
    input  logic                        clk,
    input  logic                        rst,
    output logic                        ready,
    input  logic                        add_valid,
    input  logic [KEY_W-1:0]            add_key,
    input  logic                        sub_valid,
    input  logic [KEY_W-1:0]            sub_key,
    input  logic [LOOKS-1:0][KEY_W-1:0] look_key,
    output logic [LOOKS-1:0][WIDTH-1:0] look_count
);

  if (KEYS < 1 || KEYS > 2 ** 16) begin : gen_bad_keys
    $fatal(1, "key_counts: KEYS must be 1 to 65536, not %0d", KEYS);
  end
  if (WIDTH < 1 || WIDTH > 32) begin : gen_bad_width
    $fatal(1, "key_counts: WIDTH must be 1 to 32, not %0d", WIDTH);
  end
  if (LOOKS < 1) begin : gen_bad_looks
    $fatal(1, "key_counts: LOOKS must be at least 1, not %0d", LOOKS);
  end

  logic [KEY_W-1:0] wipe_at_q;
  logic ready_q;
  assign ready = ready_q;

  always_ff @(posedge clk) begin
    if (!ready_q) wipe_at_q <= wipe_at_q + 1'b1;
    if (wipe_at_q == KEY_W'(KEYS - 1)) ready_q <= 1'b1;
    if (rst) begin
      wipe_at_q <= '0;
      ready_q   <= 1'b0;
    end
  end

  // Both ends count up, each in memory of its own, and the difference is what is under way.
  logic [1:0] step, step_q;
  logic [1:0][KEY_W-1:0] key, key_q;
  logic [1:0][LOOKS-1:0][WIDTH-1:0] seen;
  assign step = {sub_valid, add_valid};
  assign key  = {sub_key, add_key};

  for (genvar end_of = 0; end_of < 2; end_of++) begin : gen_end
    logic [LOOKS:0][KEY_W-1:0] rd_key;
    logic [LOOKS:0][WIDTH-1:0] word;
    assign rd_key = {look_key, key[end_of]};

    for (genvar copy = 0; copy <= int'(LOOKS); copy++) begin : gen_copy
      ram_through #(
          .WIDTH(WIDTH),
          .DEPTH(KEYS)
      ) u_count (
          .clk,
          .wr_en  (!ready_q || step_q[end_of]),
          .wr_addr(ready_q ? key_q[end_of] : wipe_at_q),
          .wr_data(ready_q ? word[0] + 1'b1 : '0),
          .rd_addr(rd_key[copy]),
          .rd_data(word[copy])
      );
    end

    always_ff @(posedge clk) begin
      step_q[end_of] <= step[end_of];
      key_q[end_of]  <= key[end_of];
      if (rst) step_q[end_of] <= 1'b0;
    end
    assign seen[end_of] = word[LOOKS:1];
  end

  always_ff @(posedge clk) begin
    for (int unsigned i = 0; i < LOOKS; i++) look_count[i] <= seen[0][i] - seen[1][i];
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst) assert ((step & step_q) == '0) else $error("%m: two additions or subtractions in successive cycles");
    if (!rst) assert (ready_q || step == '0) else $error("%m: counts before all are 0");
  end
`endif

endmodule
