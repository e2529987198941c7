// SPDX-License-Identifier: Apache-2.0
// Whether the driver wants an interrupt for what became used: what its event suppression structure (VIRTIO 1.2, 2.8.10)
// says about `slots` descriptors of the ring from `from` on.
// Latency: 3 cycles. Throughput: 1 a cycle.
module interrupt_decide
  import host_pkg::*;
(
    input  logic        clk,
    input  logic [31:0] structure,    // {flags, {wrap counter, index}}
    input  logic        event_index,  // agreed upon; else an index counts as always
    input  logic [15:0] size,
    input  place_t      from,
    input  logic [16:0] slots,        // two laps and more as any number from 65,536 on
    output logic        wanted
);

  // How far it is from `from` to the driver's place, within the two laps after which a place with its wrap counter
  // comes again.
  place_t place;
  assign place = structure[15:0];
  logic [17:0] way_q, laps_q, distance_q;
  logic [16:0] slots_q, slots_q2;
  logic never_q, never_q2, always_q, always_q2;

  always_ff @(posedge clk) begin
    way_q  <= 18'(place.index) - 18'(from.index);
    laps_q <= '0;
    if (place.wrap != from.wrap) laps_q <= 18'(size);
    else if (place.index < from.index) laps_q <= 18'(size) << 1;
    slots_q    <= slots;
    never_q    <= structure[17:16] == 2'd1;
    always_q   <= structure[17:16] != 2'd1 && !(structure[17:16] == 2'd2 && event_index);
    distance_q <= way_q + laps_q;
    slots_q2   <= slots_q;
    never_q2   <= never_q;
    always_q2  <= always_q;
    wanted     <= !never_q2 && (always_q2 || distance_q < 18'(slots_q2));
  end

  wire unused = &{1'b0, structure[31:18]};

endmodule
