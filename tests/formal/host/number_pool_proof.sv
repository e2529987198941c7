// SPDX-License-Identifier: Apache-2.0
// Only numbers that are lent come back.
module number_pool_proof #(
    parameter int unsigned COUNT = 4,
    localparam int unsigned NUMBER_W = $clog2(COUNT),
    localparam int unsigned COUNT_W = $clog2(COUNT + 1)
) (
    input logic                clk,
    input logic                rst,
    input logic                lend_ready,
    input logic                back_valid,
    input logic [NUMBER_W-1:0] back
);

  logic valid, lend_valid, idle;
  logic [NUMBER_W-1:0] lend;
  logic [COUNT_W-1:0] free;

  proof_reset u_reset (.clk, .rst, .valid);
  number_pool #(.COUNT(COUNT)) dut (.*);

  // Who has been lent; cycles in which a number was there and none on offer.
  logic [COUNT-1:0] lent_q;
  logic [2:0] hidden_q;
  wire taken = lend_valid && lend_ready;

  always_ff @(posedge clk) begin
    if (taken) lent_q[lend] <= 1'b1;
    if (back_valid) lent_q[back] <= 1'b0;
    hidden_q <= &lent_q || lend_valid ? '0 : hidden_q + 1'b1;
    if (rst) begin
      lent_q   <= '0;
      hidden_q <= '0;
    end
  end

  always_comb begin
    if (valid) begin
      assume (!back_valid || (32'(back) < COUNT && lent_q[back]));
      if (lend_valid) assert (32'(lend) < COUNT && !lent_q[lend]);
      assert (32'(free) + $countones(lent_q) == COUNT);
      assert (idle == (lent_q == '0));
      assert (hidden_q < 4);

      cover (free == '0);
      cover (taken && back_valid && free == COUNT_W'(COUNT - 2) && dut.new_q == COUNT_W'(COUNT));
      cover (idle && dut.new_q == COUNT_W'(COUNT));
      cover (hidden_q != '0);
    end
  end

  // A number is in one place: lent, not yet lent for the first time, or among those that came back.
  wire [NUMBER_W-1:0] wr = dut.u_returned.wr_q;
  wire [NUMBER_W-1:0] rd = dut.u_returned.rd_q;
  int unsigned stored;
  assign stored = 32'(wr) - 32'(rd) + (wr < rd ? COUNT : 0);
  logic [COUNT-1:0] in_memory;
  always_comb begin
    for (int unsigned i = 0; i < COUNT; i++) in_memory[i] = (i + (i < 32'(rd) ? COUNT : 0) - 32'(rd)) < stored;
    if (valid) begin
      assert (32'(wr) < COUNT && 32'(rd) < COUNT && 32'(dut.new_q) <= COUNT);
      assert (32'(dut.u_returned.count_q) == stored + 32'(dut.returned_valid));
      assert (32'(free) == COUNT - 32'(dut.new_q) + 32'(dut.u_returned.count_q));
      assert (dut.returned_room || 32'(dut.u_returned.count_q) == COUNT || dut.idle);
      if (!lend_valid && !(&lent_q)) assert (32'(hidden_q) < 2);
      for (int unsigned number = 0; number < COUNT; number++) begin
        int unsigned places;
        places = 32'(lent_q[number]) + 32'(number >= 32'(dut.new_q))
            + 32'(dut.returned_valid && 32'(dut.returned) == number);
        for (int unsigned i = 0; i < COUNT; i++)
          places += 32'(in_memory[i] && 32'(dut.u_returned.u_store.gen_dist.u_ram.mem[i]) == number);
        assert (places == 1);
      end
    end
  end

endmodule
