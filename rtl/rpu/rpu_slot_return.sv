// SPDX-License-Identifier: Apache-2.0
// The slots that a unit gives back: those of packets that software has sent or dropped, and those of packets that were
// too long for them and of which software knows nothing. The latter wait here, a bit each, so that what comes in never
// waits for what goes out.
// Latency: none; of a packet that was too long, 2 cycles. Backpressure: from release_ready to s_ready.
module rpu_slot_return
  import rpu_pkg::*;
(
    input  logic        clk,
    input  logic        rst,
    input  logic        too_long,
    input  logic [7:0]  long_slot,
    input  logic [31:0] active,         // slots with packets, from slot 1
    input  logic        s_end,          // as rpu_transmit
    input  logic [7:0]  s_ended,
    input  logic        s_valid,
    output logic        s_ready,
    input  release_t    s,
    output logic        slot_end,
    output logic [7:0]  slot_ended,
    output logic        release_valid,
    input  logic        release_ready,
    output release_t    released,
    output logic        idle
);

  logic [31:0] waiting_q;
  logic [4:0] lowest;
  logic valid_q, offered_q, take, show;
  logic [7:0] slot_q;

  always_comb begin
    lowest = '0;
    for (int i = 31; i >= 0; i--) if (waiting_q[i]) lowest = 5'(i);
  end

  // A slot that software has given back meanwhile, of which it knew nothing, is free already.
  assign take          = waiting_q != '0 && !s_end && !valid_q;
  wire ends = take && active[lowest];
  assign slot_end      = s_end || ends;
  assign slot_ended    = s_end ? s_ended : 8'(lowest) + 8'd1;
  assign show          = valid_q && (offered_q || !s_valid);
  assign release_valid = s_valid || valid_q;
  assign released      = show ? '{all: 1'b0, slot: slot_q} : s;
  assign s_ready       = release_ready && !show;

  always_ff @(posedge clk) begin
    waiting_q <= (waiting_q & ~(32'(take) << lowest)) | 32'(too_long) << (long_slot[4:0] - 5'd1);
    if (ends) slot_q <= slot_ended;
    valid_q   <= ends || (valid_q && !(show && release_ready));
    offered_q <= show && !release_ready;
    if (rst) begin
      waiting_q <= '0;
      valid_q   <= 1'b0;
      offered_q <= 1'b0;
    end
  end

  assign idle = waiting_q == '0 && !valid_q;

endmodule
