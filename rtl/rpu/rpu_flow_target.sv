// SPDX-License-Identifier: Apache-2.0
// The unit that packets of a flow go to: that of the hash's entry in a table, which begins as entry modulo UNITS. If
// that unit is not usable, or there is none of its number, the entry's number chooses among those that are: so the
// flows of usable units stay where they are, and those of one that is not are spread over the others. All flows of an
// entry go to the same unit: who keeps flows in order needs not know more of them than their entry.
// Combinational. `ready` is low for 2**ENTRY_W cycles after reset, while the table gets its first contents.
module rpu_flow_target
  import rpu_fabric_pkg::*;
#(
    parameter int unsigned UNITS = 8
) (
    input  logic              clk,
    input  logic              rst,
    input  table_write_t      write,
    input  logic [ENTRY_W-1:0] entry,  // the lowest bits of the flow's hash
    input  logic [ UNITS-1:0] usable,
    output logic              found,   // there is a usable unit
    output logic [UNIT_W-1:0] unit,
    output logic              ready
);

  if (UNITS < 1 || UNITS > MAX_UNITS) begin : gen_bad_units
    $fatal(1, "rpu_flow_target: UNITS must be 1 to %0d, not %0d", MAX_UNITS, UNITS);
  end

  logic [ENTRY_W:0] wipe_at_q;
  logic [UNIT_W-1:0] wipe_unit_q, listed;
  wire wipe = !wipe_at_q[ENTRY_W];

  always_ff @(posedge clk) begin
    if (wipe) begin
      wipe_at_q   <= wipe_at_q + 1'b1;
      wipe_unit_q <= wipe_unit_q == UNIT_W'(UNITS - 1) ? '0 : wipe_unit_q + 1'b1;
    end
    if (rst) begin
      wipe_at_q   <= '0;
      wipe_unit_q <= '0;
    end
  end

  ram_dist #(
      .WIDTH(UNIT_W),
      .DEPTH(2 ** ENTRY_W)
  ) u_table (
      .clk,
      .wr_en  (wipe || write.valid),
      .wr_addr(wipe ? wipe_at_q[ENTRY_W-1:0] : write.entry),
      .wr_data(wipe ? wipe_unit_q : write.unit),
      .rd_addr(entry),
      .rd_data(listed)
  );

  // The unit of the table, one of four that the highest bits of the entry's products name, and at last the first usable
  // one after these. The factors spread the entries of up to three units that go well over the others.
  localparam int unsigned TRIES = 4;
  localparam logic [TRIES-1:0][ENTRY_W-1:0] FACTORS = {7'd119, 7'd27, 7'd97, 7'd59};
  localparam int unsigned TRY_W = UNITS > 1 ? $clog2(UNITS) : 1;
  logic [MAX_UNITS-1:0] mask;
  logic [TRIES-1:0][UNIT_W-1:0] named;

  always_comb begin
    mask            = '0;
    mask[UNITS-1:0] = usable;
    for (int unsigned i = 0; i < TRIES; i++) begin
      named[i] = UNIT_W'((entry * FACTORS[i]) >> (ENTRY_W - TRY_W));
      if (32'(named[i]) >= UNITS) named[i] = named[i] - UNIT_W'(UNITS);
    end
    unit = '0;
    for (int i = int'(UNITS) - 1; i >= 0; i--) if (mask[i]) unit = UNIT_W'(i);
    for (int i = int'(UNITS) - 1; i >= 0; i--) if (mask[i] && UNIT_W'(i) > named[0]) unit = UNIT_W'(i);
    for (int i = int'(TRIES) - 1; i >= 0; i--) if (mask[named[i]]) unit = named[i];
    if (mask[listed]) unit = listed;
  end

  assign found = usable != '0;
  assign ready = !wipe;

endmodule
