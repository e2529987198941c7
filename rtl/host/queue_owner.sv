// SPDX-License-Identifier: Apache-2.0
// Which function a queue belongs to: number / PAIRS, by a product with the reciprocal, which is exact.
// Combinational.
module queue_owner #(
    parameter int unsigned QUEUES = 16,
    parameter int unsigned PAIRS = 1,
    localparam int unsigned FUNCTIONS = (QUEUES + PAIRS - 1) / PAIRS,
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1,
    localparam int unsigned FUNCTION_W = FUNCTIONS > 1 ? $clog2(FUNCTIONS) : 1
) (
    input  logic [QUEUE_W-1:0]    number,   // of the queue
    output logic [FUNCTION_W-1:0] owner
);

  if (QUEUES < 1 || QUEUES > 2 ** 16) begin : gen_bad_queues
    $fatal(1, "queue_owner: QUEUES must be 1 to 65536, not %0d", QUEUES);
  end
  if (PAIRS < 1 || PAIRS > 8) begin : gen_bad_pairs
    $fatal(1, "queue_owner: PAIRS must be 1 to 8, not %0d", PAIRS);
  end

  localparam int unsigned SHIFT = QUEUE_W + $clog2(PAIRS);
  localparam int unsigned PRODUCT_W = SHIFT + QUEUE_W + 1;
  localparam logic [PRODUCT_W-1:0] RECIPROCAL = PRODUCT_W'((2 ** SHIFT + PAIRS - 1) / PAIRS);
  assign owner = FUNCTION_W'((PRODUCT_W'(number) * RECIPROCAL) >> SHIFT);

endmodule
