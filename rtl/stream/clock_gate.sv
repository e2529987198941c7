// SPDX-License-Identifier: Apache-2.0
// A clock for a part that often has nothing to do: `gated` ticks at the end of a cycle in which `work` is high, in the
// HOLD cycles after, and in reset. With GATED 0 it is clk itself, and synthesis finds nothing here; simulations then
// check that the gate could have been closed: while it would be, `watched`, which the part drives, stays as it is.
// With GATED 1 it is an integrated clock gate; it looks at `work` while clk falls.
//
// - A gate's clk is never another gate's `gated`.
// - Logic that reads registers of two clocks belongs to both: a queue and who reads it share a gate.
// - What runs freely, such as a timer or a random generator, stops behind a gate: it stays outside, or counts as work.
// - `work` is high in the first cycle that the part must see: it has the part's inputs in it, not only its registers.
module clock_gate #(
    parameter bit          GATED = 1'b0,
    parameter int unsigned HOLD = 2,
    parameter int unsigned WATCHED = 1
) (
    input  logic               clk,
    // Clock gates see no use of `watched`, and synthesis none of the others.
    // verilator lint_off UNUSEDSIGNAL
    input  logic               rst,
    input  logic               work,
    input  logic [WATCHED-1:0] watched,
    // verilator lint_on UNUSEDSIGNAL
    output logic               gated
);

  if (HOLD < 1) begin : gen_bad_hold
    $fatal(1, "clock_gate: HOLD must be at least 1, not %0d", HOLD);
  end
  if (WATCHED < 1) begin : gen_bad_watched
    $fatal(1, "clock_gate: WATCHED must be at least 1, not %0d", WATCHED);
  end

  if (GATED) begin : gen_gate
    logic [HOLD:0] work_q;  // [i]: i cycles ago

    always_ff @(negedge clk) work_q <= {work_q[HOLD-1:0], work || rst};

    assign gated = clk && work_q != '0;
  end else begin : gen_no_gate
    assign gated = clk;

`ifndef SYNTHESIS
    logic checks, closed_q;
    logic [HOLD-1:0] work_q;
    logic [WATCHED-1:0] watched_q;
    wire closed = !work && work_q == '0;

    first_reset u_first_reset (.clk, .rst, .checks);

    always_ff @(posedge clk) begin
      work_q   <= HOLD'({work_q, work || rst});
      closed_q <= closed && !rst;
      if (closed && !closed_q) watched_q <= watched;
      if (checks && closed && closed_q) begin
        assert (watched == watched_q) else $error("%m: something changed behind a closed gate");
      end
    end
`endif
  end

endmodule
