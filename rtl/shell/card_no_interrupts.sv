// SPDX-License-Identifier: Apache-2.0
// Interrupt ports of a card that doesn't use them: `card_no_interrupts u_no_interrupts (.*);` in its top. Wires only.
module card_no_interrupts (
    output logic        irq_valid,
    output logic [15:0] irq_function,
    output logic [15:0] irq_vector
);

  assign irq_valid    = 1'b0;
  assign irq_function = '0;
  assign irq_vector   = '0;

endmodule
