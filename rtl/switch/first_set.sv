// SPDX-License-Identifier: Apache-2.0
// Finds the lowest bit that is set, by a tree of nodes of eight inputs with a register after each level.
// Latency: a cycle for each begun factor of eight in WIDTH (128: 3). Throughput: a word a cycle. Backpressure: none.
module first_set #(
    parameter int unsigned WIDTH = 128,
    localparam int unsigned INDEX_W = WIDTH > 1 ? $clog2(WIDTH) : 1
) (
    input  logic               clk,
    input  logic               valid,
    input  logic [  WIDTH-1:0] bits,
    output logic               any,    // of the bits that came so many cycles before with `valid`
    output logic [INDEX_W-1:0] index  // valid with any
);

  if (WIDTH < 1) begin : gen_bad_width
    $fatal(1, "first_set: WIDTH must be at least 1, not %0d", WIDTH);
  end

  localparam int unsigned LEVELS = (INDEX_W + 2) / 3;
  localparam int unsigned FULL_W = 3 * LEVELS;

  for (genvar level = 0; level < LEVELS; level++) begin : gen_level
    localparam int unsigned NODES = (WIDTH + 8 ** (level + 1) - 1) / 8 ** (level + 1);

    logic [8*NODES-1:0] some;
    logic [8*NODES-1:0][FULL_W-1:0] place;
    logic [NODES-1:0] any_q;
    logic [NODES-1:0][FULL_W-1:0] index_q;
    logic valid_in;
    // verilator lint_off UNUSEDSIGNAL
    logic valid_q;  // not of the last level
    // verilator lint_on UNUSEDSIGNAL

    if (level == 0) begin : gen_leaves
      assign some     = (8 * NODES)'(bits);
      assign place    = '0;
      assign valid_in = valid;
    end else begin : gen_inner
      assign some     = (8 * NODES)'(gen_level[level-1].any_q);
      assign place    = (8 * NODES * FULL_W)'(gen_level[level-1].index_q);
      assign valid_in = gen_level[level-1].valid_q;
    end

    always_ff @(posedge clk) begin
      valid_q <= valid_in;
      if (valid_in) begin
        for (int unsigned node = 0; node < NODES; node++) begin
          any_q[node] <= |some[8*node+:8];
          for (int unsigned i = 8; i > 0; i--) begin
            if (some[8*node+i-1]) index_q[node] <= place[8*node+i-1] | FULL_W'((i - 1) << 3 * level);
          end
        end
      end
    end
  end

  assign any   = gen_level[LEVELS-1].any_q[0];
  assign index = gen_level[LEVELS-1].index_q[0][INDEX_W-1:0];

  if (FULL_W > INDEX_W) begin : gen_unused
    wire unused = &{1'b0, gen_level[LEVELS-1].index_q[0][FULL_W-1:INDEX_W]};
  end

endmodule
