// SPDX-License-Identifier: Apache-2.0
// Stands for a processor with firmware: sleeps until a packet, a doorbell or a byte from the console comes, works for
// some cycles, and writes a byte to the console: "p", the doorbell's, or the console's own. It is idle while it sleeps.
// What comes while it works is missed, but for bytes from the console, which wait.
module loop_core (
    input  logic        clk,
    input  logic        rst,

    input  logic        awake,    // 0: takes notice of nothing
    input  logic [15:0] work,     // cycles, at least 1
    input  logic        packet,
    input  logic        doorbell,
    input  logic [ 7:0] value,    // to be written, and by which core
    input  logic [ 7:0] core,

    output logic        console_tx_valid,
    input  logic        console_tx_ready,
    output logic [ 7:0] console_tx_data,
    output logic [ 7:0] console_tx_core,
    input  logic        console_rx_valid,
    output logic        console_rx_ready,
    input  logic [ 7:0] console_rx_data,
    input  logic [ 7:0] console_rx_core,

    output logic        idle
);

  logic [15:0] work_q;

  assign idle = work_q == 0 && !console_tx_valid;
  assign console_rx_ready = awake && work_q == 0 && !(console_tx_valid && !console_tx_ready) && !packet && !doorbell;

  always_ff @(posedge clk) begin
    if (console_tx_ready) console_tx_valid <= 1'b0;
    if (work_q == 1) console_tx_valid <= 1'b1;
    if (work_q != 0) begin
      work_q <= work_q - 1'b1;
    end else if (awake && !(console_tx_valid && !console_tx_ready) && (packet || doorbell || console_rx_valid)) begin
      work_q <= work;
      console_tx_data <= doorbell ? value : packet ? "p" : console_rx_data;
      console_tx_core <= doorbell ? core : packet ? '0 : console_rx_core;
    end
    if (rst) begin
      work_q <= '0;
      console_tx_valid <= 1'b0;
    end
  end

endmodule
