// SPDX-License-Identifier: Apache-2.0
// Which slots of a unit are free and which have a packet. A free one is always offered; it is taken in the cycle in
// which `take` is high. A release that can't be is told and changes nothing.
// A snapshot notes the slots that are taken; `drained` is high when all of them have been released.
// Latency: 2 cycles from a release to the offer. Throughput: 1 slot a cycle. Never stalls.
module rpu_slot_book
  import rpu_pkg::*, rpu_fabric_pkg::*;
#(
    parameter int unsigned SLOTS = 32
) (
    input  logic               clk,
    input  logic               rst,
    input  logic               flush,          // there are no slots; releases are not heard
    input  logic               snapshot,
    input  logic               release_valid,  // taken at once
    input  release_t           release_s,
    output logic               offered,
    output logic [        7:0] offered_slot,
    input  logic               take,           // only while one is offered
    output logic [COUNT_W-1:0] slots,          // that exist
    output logic [COUNT_W-1:0] outstanding,    // taken
    output logic [        1:0] epoch,          // another one after each flush, and when all slots are made anew
    output logic               drained,
    output logic               error,          // one cycle after a release that can't be
    output logic               idle            // no slot is taken
);

  if (SLOTS < 1 || SLOTS > MAX_SLOTS) begin : gen_bad_slots
    $fatal(1, "rpu_slot_book: SLOTS must be 1 to %0d, not %0d", MAX_SLOTS, SLOTS);
  end

  localparam int unsigned INDEX_W = SLOTS > 1 ? $clog2(SLOTS) : 1;

  // Bit i is slot i + 1. A slot that exists is in the pool, offered, or taken.
  logic [SLOTS-1:0] pool_q, taken_q, old_q;
  logic offered_q, flush_q, error_q;
  logic [INDEX_W-1:0] offer_q, lowest;
  logic [COUNT_W-1:0] slots_q, count_q;
  logic [1:0] epoch_q;

  wire in_range = release_s.slot != '0 && release_s.slot <= 8'(SLOTS);
  wire [INDEX_W-1:0] index = INDEX_W'(release_s.slot - 8'd1);
  wire all = release_valid && release_s.all && !flush;
  wire one = release_valid && !release_s.all && !flush;
  wire freed = one && in_range && taken_q[index];
  wire [SLOTS-1:0] freed_mask = SLOTS'(freed) << index;
  wire [SLOTS-1:0] take_mask = SLOTS'(take) << offer_q;

  always_comb begin
    lowest = '0;
    for (int i = int'(SLOTS) - 1; i >= 0; i--) if (pool_q[i]) lowest = INDEX_W'(i);
  end

  always_ff @(posedge clk) begin
    if (take || !offered_q) begin
      offered_q <= pool_q != '0;
      offer_q   <= lowest;
      pool_q    <= (pool_q & ~(SLOTS'(1) << lowest)) | freed_mask;
    end else begin
      pool_q <= pool_q | freed_mask;
    end
    taken_q <= (taken_q | take_mask) & ~freed_mask;
    old_q   <= (snapshot ? taken_q | take_mask : old_q) & ~freed_mask;
    count_q <= count_q + COUNT_W'(take) - COUNT_W'(freed);
    error_q <= (one && !freed) || (all && release_s.slot > 8'(SLOTS));
    flush_q <= flush;
    if (all || (flush && !flush_q)) epoch_q <= epoch_q + 1'b1;
    if (all) begin
      offered_q <= 1'b0;
      taken_q   <= '0;
      old_q     <= '0;
      count_q   <= '0;
      slots_q   <= in_range ? COUNT_W'(release_s.slot) : release_s.slot == '0 ? '0 : COUNT_W'(SLOTS);
      for (int unsigned i = 0; i < SLOTS; i++) pool_q[i] <= 8'(i) < release_s.slot;
    end
    if (rst || flush) begin
      offered_q <= 1'b0;
      pool_q    <= '0;
      taken_q   <= '0;
      old_q     <= '0;
      count_q   <= '0;
      slots_q   <= '0;
      error_q   <= 1'b0;
    end
    if (rst) begin
      epoch_q <= '0;
      flush_q <= 1'b0;
    end
  end

  assign offered      = offered_q && !flush;
  assign offered_slot = 8'(offer_q) + 8'd1;
  assign slots        = slots_q;
  assign outstanding  = count_q;
  assign epoch        = epoch_q;
  assign drained      = old_q == '0;
  assign error        = error_q;
  assign idle         = count_q == '0;

`ifndef SYNTHESIS
  logic checks;
  first_reset u_first_reset (.clk, .rst, .checks);

  always_ff @(posedge clk) begin
    if (checks) assert (!take || offered) else $error("%m: a slot was taken that was not offered");
  end
`endif

endmodule
