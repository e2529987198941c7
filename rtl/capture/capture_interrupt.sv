// SPDX-License-Identifier: Apache-2.0
// Interrupts of the capture engine: vector 0 when enough bytes wait for the host or a record has waited long enough,
// vector 1 on an error. Causes are levels; an interrupt goes out once each time the host arms it.
module capture_interrupt (
    input  logic        clk,
    input  logic        rst,
    input  logic [63:0] time_ns,
    input  logic [31:0] producer,
    input  logic [31:0] consumer,
    input  logic [31:0] watermark,
    input  logic [31:0] timeout_ns,  // 0: none
    input  logic        error,
    input  logic [1:0]  armed,
    output logic [1:0]  disarm,

    output logic        irq_valid,
    input  logic        irq_ready,
    output logic [15:0] irq_function,
    output logic [15:0] irq_vector,
    output logic        idle         // no interrupt and no timer
);

  // A wait begins when a record comes to an empty ring, and anew when the host takes some out but not all.
  logic waits_q;
  logic [63:0] since_q;
  logic [31:0] consumer_q;
  logic due_q, full_q;

  always_ff @(posedge clk) begin
    waits_q    <= producer != consumer;
    consumer_q <= consumer;
    if (!waits_q || consumer != consumer_q) since_q <= time_ns;
    due_q  <= waits_q && timeout_ns != 0 && time_ns - since_q >= 64'(timeout_ns);
    full_q <= waits_q && producer - consumer >= watermark;
    if (irq_ready) irq_valid <= 1'b0;
    disarm <= '0;
    if (!irq_valid && disarm == '0) begin
      if (armed[1] && error) begin
        irq_valid  <= 1'b1;
        irq_vector <= 16'd1;
        disarm     <= 2'b10;
      end else if (armed[0] && (due_q || full_q)) begin
        irq_valid  <= 1'b1;
        irq_vector <= 16'd0;
        disarm     <= 2'b01;
      end
    end
    if (rst) begin
      waits_q   <= 1'b0;
      due_q     <= 1'b0;
      full_q    <= 1'b0;
      irq_valid <= 1'b0;
      disarm    <= '0;
    end
  end

  assign irq_function = '0;
  assign idle = !irq_valid && disarm == '0 && waits_q == (producer != consumer) && consumer == consumer_q
      && !(armed[0] && waits_q && timeout_ns != 0) && !(armed[0] && full_q) && !(armed[1] && error);

endmodule
