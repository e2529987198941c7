// SPDX-License-Identifier: Apache-2.0
// A core that is offered is free: ready, and not in use by another frame, nor by the same port's or the other port's
// last one.
module filter_dispatch_proof #(
    parameter int unsigned CORES = 3,
    localparam int unsigned CORE_W = CORES > 1 ? $clog2(CORES) : 1
) (
    input logic             clk,
    input logic             rst,
    input logic [CORES-1:0] core_ready,
    input logic [CORES-1:0] core_listed,
    input logic [1:0]       wanted,
    input logic [1:0]       go            // the port starts its frame if a core is offered
);

  logic valid;
  logic [1:0] offered;
  logic idle;
  logic [1:0][CORE_W-1:0] offered_core;
  wire [1:0] taken = wanted & go & offered;

  proof_reset u_reset (.clk, .rst, .valid);
  filter_dispatch #(.CORES(CORES)) dut (.*);

  // A core is used from the cycle after it was taken until the last beat of its frame has gone to it; three cycles
  // later its readiness speaks of that frame too, and once ready it stays so until it is taken.
  logic [CORES-1:0] used_q, settling_q1, settling_q2, settling_q3, was_ready_q, picked;
  wire [CORES-1:0] speaks = ~used_q & ~settling_q1 & ~settling_q2 & ~settling_q3;

  always_comb begin
    picked = '0;
    for (int port = 0; port < 2; port++) if (taken[port]) picked |= CORES'(1) << offered_core[port];
  end

  always_ff @(posedge clk) begin
    used_q      <= (used_q | picked) & ~core_listed;
    settling_q1 <= core_listed;
    settling_q2 <= settling_q1;
    settling_q3 <= settling_q2;
    was_ready_q <= speaks & core_ready & ~picked;
    if (rst) begin
      used_q      <= '0;
      settling_q1 <= '0;
      settling_q2 <= '0;
      settling_q3 <= '0;
      was_ready_q <= '0;
    end
  end

  always_comb begin
    assume ((core_listed & ~used_q) == '0);
    assume ((was_ready_q & ~core_ready) == '0);
    if (valid && !rst) begin
      for (int port = 0; port < 2; port++) begin
        if (offered[port]) begin
          assert (32'(offered_core[port]) < CORES);
          assert (speaks[offered_core[port]]);
          assert (core_ready[offered_core[port]]);
        end
      end
      if (taken == 2'b11) assert (offered_core[0] != offered_core[1]);
      cover (taken == 2'b11);
      cover (&used_q);
      cover (taken[1] && offered_core[1] == CORE_W'(CORES - 1) && !wanted[0]);
    end
  end

  // What the halves hold back is free as well, which makes the above hold from any state.
  for (genvar half = 0; half < 2; half++) begin : gen_half
    always_comb begin
      if (valid && !rst && dut.valid_q[half]) begin
        assert (32'(dut.core_q[half]) < CORES && dut.core_q[half][0] == half[0]);
        assert (speaks[dut.core_q[half]] && core_ready[dut.core_q[half]]);
      end
    end
  end

  always_comb begin
    if (valid && !rst) begin
      assert (dut.assigned_q == used_q);
      assert (dut.settling_q == {settling_q3, settling_q2, settling_q1});
    end
  end

endmodule
