// SPDX-License-Identifier: Apache-2.0
// When a ring's interrupt is due: once for each time the host arms it, as soon as enough descriptors are done since the
// last one, or one of them for long enough.
module ring_interrupt (
    input  logic        clk,
    input  logic        rst,
    input  logic [63:0] time_ns,
    input  logic [31:0] done,        // counts up, or begins anew
    input  logic        on,
    input  logic [31:0] enough,
    input  logic [31:0] timeout_ns,  // 0: none
    input  logic        armed,
    output logic        disarm,

    output logic        irq_valid,
    input  logic        irq_ready,
    output logic        watch,       // a timer runs,
    output logic [63:0] wake_ns,     // and rings then
    output logic        idle         // no interrupt; a timer may run
);

  logic [31:0] told_q;
  logic [63:0] since_q;
  logic waits_q, on_q, raise;
  wire [31:0] fresh = done - told_q;
  wire late = timeout_ns != 0 && time_ns >= wake_ns;
  assign raise   = armed && !irq_valid && !disarm && waits_q && fresh != 0 && (fresh >= enough || late);
  assign wake_ns = since_q + 64'(timeout_ns);
  assign watch   = armed && waits_q && timeout_ns != 0;

  always_ff @(posedge clk) begin
    on_q    <= on;
    waits_q <= on_q && fresh != 0 && !raise;
    if (!waits_q) since_q <= time_ns;
    disarm <= raise;
    if (irq_ready) irq_valid <= 1'b0;
    if (raise) begin
      irq_valid <= 1'b1;
      told_q    <= done;
    end
    if (!on_q) told_q <= done;
    if (rst) begin
      on_q      <= 1'b0;
      waits_q   <= 1'b0;
      disarm    <= 1'b0;
      irq_valid <= 1'b0;
      told_q    <= '0;
    end
  end

  assign idle = !irq_valid && !disarm && on_q == on && waits_q == (on_q && fresh != 0) && !raise;

endmodule
