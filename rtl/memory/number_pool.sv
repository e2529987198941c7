// SPDX-License-Identifier: Apache-2.0
// Numbers from 0 to COUNT - 1 that are lent out: each is with one borrower at most.
// Latency: a number that comes back is on offer 4 cycles later at most. Throughput: one lent and one back a cycle.
// Backpressure: `lend_valid` is low while none is there.
module number_pool #(
    parameter int unsigned COUNT = 16,
    localparam int unsigned NUMBER_W = $clog2(COUNT),
    localparam int unsigned COUNT_W = $clog2(COUNT + 1)
) (
    input  logic                clk,
    input  logic                rst,
    output logic                lend_valid,
    input  logic                lend_ready,
    output logic [NUMBER_W-1:0] lend,
    input  logic                back_valid,
    input  logic [NUMBER_W-1:0] back,
    output logic [COUNT_W-1:0]  free,        // numbers that are not lent
    output logic                idle         // all of them
);

  if (COUNT < 4 || COUNT > 2 ** 16) begin : gen_bad_count
    $fatal(1, "number_pool: COUNT must be 4 to 65536, not %0d", COUNT);
  end

  // Numbers that were never lent come from a counter.
  logic [COUNT_W-1:0] new_q, free_q;
  logic returned_valid, returned_room;
  logic [NUMBER_W-1:0] returned;
  wire some_new = new_q != COUNT_W'(COUNT);
  wire taken = lend_valid && lend_ready;
  assign lend_valid = some_new || returned_valid;
  assign lend       = some_new ? NUMBER_W'(new_q) : returned;
  assign free       = free_q;
  assign idle       = free_q == COUNT_W'(COUNT);

  always_ff @(posedge clk) begin
    if (taken && some_new) new_q <= new_q + 1'b1;
    free_q <= free_q + COUNT_W'(back_valid) - COUNT_W'(taken);
    if (rst) begin
      new_q  <= '0;
      free_q <= COUNT_W'(COUNT);
    end
  end

  stream_fifo #(
      .WIDTH(NUMBER_W),
      .DEPTH(COUNT)
  ) u_returned (
      .clk,
      .rst,
      .s_valid(back_valid),
      .s_ready(returned_room),
      .s_data (back),
      .m_valid(returned_valid),
      .m_ready(lend_ready && !some_new),
      .m_data (returned),
      .count  (),
      .idle   ()
  );

`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst) assert (!back_valid || returned_room) else $error("%m: a number is back twice");
`else
  wire unused = &{1'b0, returned_room};
`endif

endmodule
