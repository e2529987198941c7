// SPDX-License-Identifier: Apache-2.0
// Counters of an Ethernet port, as OpenFlow tells them. Each pulse counts a packet. Latency: 1 cycle, to `value` too,
// which follows `select` within the cycle. Never stalls.
module port_counters
  import switch_pkg::BYTES_W;
(
    input  logic               clk,
    input  logic               rst,

    input  logic               rx_valid,
    input  logic [BYTES_W-1:0] rx_bytes,
    input  logic               rx_dropped,
    input  logic               rx_error,
    input  logic               tx_valid,
    input  logic [BYTES_W-1:0] tx_bytes,
    input  logic               tx_dropped,

    input  logic               read,
    input  logic [3:0]         select,      // 0 to 6: packets, bytes, dropped, errors received; packets, bytes, dropped
    output logic [63:0]        value        // sent; others are 0
);

  logic [63:0] rx_packets_q, rx_bytes_q, rx_dropped_q, rx_errors_q, tx_packets_q, tx_bytes_q, tx_dropped_q;

  always_ff @(posedge clk) begin
    if (rx_valid) begin
      rx_packets_q <= rx_packets_q + 1'b1;
      rx_bytes_q   <= rx_bytes_q + 64'(rx_bytes);
    end
    if (rx_dropped) rx_dropped_q <= rx_dropped_q + 1'b1;
    if (rx_error) rx_errors_q <= rx_errors_q + 1'b1;
    if (tx_valid) begin
      tx_packets_q <= tx_packets_q + 1'b1;
      tx_bytes_q   <= tx_bytes_q + 64'(tx_bytes);
    end
    if (tx_dropped) tx_dropped_q <= tx_dropped_q + 1'b1;
    if (rst) begin
      rx_packets_q <= '0;
      rx_bytes_q   <= '0;
      rx_dropped_q <= '0;
      rx_errors_q  <= '0;
      tx_packets_q <= '0;
      tx_bytes_q   <= '0;
      tx_dropped_q <= '0;
    end
  end

  always_comb begin
    value = 'x;  // nobody looks then
    if (read) begin
      unique case (select)
        4'd0: value = rx_packets_q;
        4'd1: value = rx_bytes_q;
        4'd2: value = rx_dropped_q;
        4'd3: value = rx_errors_q;
        4'd4: value = tx_packets_q;
        4'd5: value = tx_bytes_q;
        4'd6: value = tx_dropped_q;
        default: value = '0;
      endcase
    end
  end

endmodule
