// SPDX-License-Identifier: Apache-2.0
// What goes on beside a frame that came in by an Ethernet port: when, by which port, and whether it is whole.
// Latency: 0 cycles. The time is that at which the first beat was offered, and stays for the whole frame.
module card_meta
  import headrace_pkg::*;
#(
    parameter int unsigned PORT = 0
) (
    input  logic        clk,
    input  logic        rst,
    input  logic [63:0] time_ns,
    input  logic        rx_tvalid,
    input  logic        rx_tready,
    input  logic        rx_tlast,
    input  rx_meta_t    rx_tuser,
    output tx_meta_t    meta
);

  if (PORT > 255) begin : gen_bad_port
    $fatal(1, "card_meta: PORT must be at most 255, not %0d", PORT);
  end

  logic inside_q;  // the first beat has been offered, the last one not taken
  logic [63:0] arrival_q;

  always_ff @(posedge clk) begin
    if (rx_tvalid) inside_q <= !(rx_tready && rx_tlast);
    if (!inside_q) arrival_q <= time_ns;
    if (rst) inside_q <= 1'b0;
  end

  assign meta = '{
          lost: '0,
          port: 8'(PORT),
          error: rx_tuser.error,
          cut: rx_tuser.cut,
          wire_len: rx_tuser.wire_len,
          timestamp_ns: inside_q ? arrival_q : time_ns
      };

endmodule
