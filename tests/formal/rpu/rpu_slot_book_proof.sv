// SPDX-License-Identifier: Apache-2.0
// A slot is taken only while it is offered; releases come at any time, also of slots that are free or don't exist.
module rpu_slot_book_proof
  import rpu_pkg::*, rpu_fabric_pkg::*;
#(
    parameter int unsigned SLOTS = 3
) (
    input logic     clk,
    input logic     rst,
    input logic     flush,
    input logic     snapshot,
    input logic     release_valid,
    input release_t release_s,
    input logic     take
);

  logic valid, offered, drained, error, idle;
  logic [7:0] offered_slot;
  logic [COUNT_W-1:0] slots, outstanding;
  logic [1:0] epoch;

  proof_reset u_reset (.clk, .rst, .valid);
  rpu_slot_book #(.SLOTS(SLOTS)) dut (.*);

  // Bit i is slot i + 1: those that exist, that have a packet, and that a snapshot waits for.
  logic [SLOTS-1:0] exists_q, packet_q, old_q, released;
  logic all, one, wrong_q, flush_q;
  logic anew_q;  // the slots are no longer those of the cycle before
  logic [1:0] epoch_q, hidden_q;  // the latter: cycles in which a slot was free and none offered
  wire [SLOTS-1:0] taken = SLOTS'(take) << (offered_slot - 8'd1);

  assign all = release_valid && release_s.all && !flush;
  assign one = release_valid && !release_s.all && !flush;
  always_comb begin
    for (int unsigned i = 0; i < SLOTS; i++) released[i] = one && 32'(release_s.slot) == i + 1 && packet_q[i];
  end

  always_ff @(posedge clk) begin
    packet_q <= (packet_q | taken) & ~released;
    old_q    <= (snapshot ? packet_q | taken : old_q) & ~released;
    wrong_q  <= !rst && ((one && released == '0) || (all && 32'(release_s.slot) > SLOTS));
    hidden_q <= offered || exists_q == packet_q ? '0 : hidden_q + 1'b1;
    epoch_q  <= rst ? '0 : epoch;
    anew_q   <= !rst && (all || (flush && !flush_q));
    flush_q  <= flush && !rst;
    if (rst || flush || all) begin
      packet_q <= '0;
      old_q    <= '0;
      hidden_q <= '0;
      for (int unsigned i = 0; i < SLOTS; i++) exists_q[i] <= !rst && !flush && i < 32'(release_s.slot);
    end
  end

  always_comb begin
    if (valid) begin
      assume (!take || offered);
      if (offered) begin
        assert (offered_slot != '0 && 32'(offered_slot) <= SLOTS);
        assert (exists_q[offered_slot-1] && !packet_q[offered_slot-1]);
      end
      if (flush) assert (!offered);
      assert (32'(slots) == $countones(exists_q));
      assert (32'(outstanding) == $countones(packet_q));
      assert (idle == (packet_q == '0));
      assert (drained == (old_q == '0));
      assert (error == wrong_q);
      assert (hidden_q < 2);
      assert (epoch == epoch_q + 2'(anew_q));

      if (SLOTS > 1) begin
        cover (take && outstanding == COUNT_W'(SLOTS - 1) && released != '0);
        cover (&packet_q && !drained && old_q != packet_q);
      end
      cover (hidden_q == 2'd1);
      cover (all && !idle && !drained);
      cover (error && outstanding != '0);
    end
  end

  // A slot that exists is in the pool, offered or taken.
  wire [SLOTS-1:0] offer = SLOTS'(dut.offered_q) << dut.offer_q;
  always_comb begin
    if (valid) begin
      assert ((dut.pool_q | offer | packet_q) == exists_q);
      assert ((dut.pool_q & offer) == '0 && (dut.pool_q & packet_q) == '0 && (offer & packet_q) == '0);
      assert (dut.taken_q == packet_q);
      assert (!dut.offered_q || 32'(dut.offer_q) < SLOTS);
      assert (dut.old_q == old_q && (old_q & ~packet_q) == '0);
      assert (dut.flush_q == flush_q);
      assert (hidden_q == '0 || dut.offered_q);
    end
  end

endmodule
