// SPDX-License-Identifier: Apache-2.0
// Multiplies a number of 48 bits by one of 32, in two steps of 16 bits.
// Latency: `done` is high 4 cycles after `start`, and `product` stays until the next start. One at a time.
module link_multiply (
    input  logic        clk,
    input  logic        rst,
    input  logic        start,
    input  logic [47:0] a,
    input  logic [31:0] b,
    output logic        done,
    output logic [79:0] product
);

  logic [3:0] step_q;
  logic [47:0] a_q;
  logic [31:0] b_q;
  logic [63:0] part_q;

  always_ff @(posedge clk) begin
    step_q <= {step_q[2:0], start};
    if (start) begin
      a_q <= a;
      b_q <= b;
    end
    if (step_q[0]) b_q <= b_q >> 16;
    part_q <= a_q * b_q[15:0];
    if (step_q[1]) product <= 80'(part_q);
    if (step_q[2]) product <= product + {part_q, 16'b0};
    if (rst) step_q <= '0;
  end

  assign done = step_q[3];

endmodule
