// SPDX-License-Identifier: Apache-2.0
// Who was added waits for a turn, and between that and the turn no other has two. One that is added while it waits
// comes in again only if its turn is in that cycle or in the next.
module turn_list_proof #(
    parameter int unsigned ITEMS = 3,
    parameter bit NEWCOMERS = 1'b0,
    localparam int unsigned ITEM_W = $clog2(ITEMS),
    localparam int unsigned DEPTH = 2 ** ITEM_W
) (
    input logic              clk,
    input logic              rst,
    input logic [ITEM_W-1:0] mark,       // whose wait is followed
    input logic              add_valid,
    input logic [ITEM_W-1:0] add_item,
    input logic              add_first,
    input logic              m_ready
);

  logic valid, m_valid, m_first, idle;
  logic [ITEM_W-1:0] m_item;

  proof_reset u_reset (.clk, .rst, .valid);
  turn_list #(.ITEMS(ITEMS), .NEWCOMERS(NEWCOMERS)) dut (.*);
  if (!NEWCOMERS) begin : gen_stable
    proof_stable #(.WIDTH(ITEM_W)) u_stable (.clk, .rst, .valid(m_valid && valid), .ready(m_ready), .data(m_item));
  end

  wire taken = m_valid && m_ready;

  logic [ITEMS-1:0] adds, takes, added_q, waits_q, may_q;
  assign adds  = ITEMS'(add_valid) << add_item;
  assign takes = ITEMS'(taken) << m_item;

  // Turns since the marked one began to wait, and whose they were.
  logic [ITEM_W-1:0] marked_q;
  logic followed_q;
  logic [ITEMS-1:0] had_q;
  logic [ITEM_W:0] turns_q;
  logic [2:0] hidden_q;  // cycles in which one waits and none is on offer

  always_ff @(posedge clk) begin
    added_q  <= adds;
    waits_q  <= (waits_q & ~takes) | adds;
    may_q    <= (may_q & ~takes) | adds | (takes & added_q);
    hidden_q <= waits_q == '0 || m_valid ? '0 : hidden_q + 1'b1;
    if (followed_q) begin
      if (taken) begin
        had_q[m_item] <= 1'b1;
        turns_q       <= turns_q + 1'b1;
        if (m_item == marked_q) followed_q <= 1'b0;
      end
    end else if (add_valid && add_item == mark && (!waits_q[mark] || takes[mark])) begin
      followed_q <= 1'b1;
      marked_q   <= mark;
      had_q      <= '0;
      turns_q    <= '0;
    end
    if (rst) begin
      added_q    <= '0;
      waits_q    <= '0;
      may_q      <= '0;
      hidden_q   <= '0;
      followed_q <= 1'b0;
    end
  end

  always_comb begin
    assume (32'(add_item) < ITEMS && 32'(mark) < ITEMS);
    if (valid) begin
      if (m_valid) assert (32'(m_item) < ITEMS && may_q[m_item]);
      if (followed_q) assert (32'(turns_q) < ITEMS && waits_q[marked_q]);
      if (followed_q && taken) assert (!had_q[m_item]);
      if (idle) assert (waits_q == '0 && !m_valid);
      assert (hidden_q < 4);

      cover (waits_q == '1 && taken && adds == takes);
      cover (followed_q && 32'(turns_q) == ITEMS - 1 && takes[marked_q]);
      cover (m_valid && !waits_q[m_item]);
      cover (hidden_q == 3'd2);
      cover (idle && dut.wr_q[0] == (ITEM_W + 1)'(2 * DEPTH - 1));
      if (NEWCOMERS) cover (taken && m_first && waits_q == '1);
    end
  end

  // What the registers hold: each ring's numbers stand once in it, where their note says, and in the other not.
  typedef logic [ITEM_W-1:0] item_t;
  item_t [1:0][DEPTH-1:0] ring, out;   // as found again, as they go out
  logic [1:0][DEPTH-1:0] stored;       // the place has one that waits
  logic [1:0] offered;
  item_t [1:0] offered_item;
  logic [DEPTH-1:0][ITEM_W:0] notes;
  logic [1:0][ITEM_W:0] held;
  for (genvar p = 0; p < DEPTH; p++) begin : gen_places
    assign notes[p] = dut.u_places.gen_dist.u_ram.mem[p];
    for (genvar i = 0; i < 2; i++) begin : gen_rings
      if (i == 0 || NEWCOMERS) begin : gen_some
        assign ring[i][p] = dut.gen_ring[i].u_found.gen_dist.u_ram.mem[p];
        assign out[i][p]  = dut.gen_ring[i].u_ring.gen_dist.u_ram.mem[p];
      end else begin : gen_no
        assign ring[i][p] = '0;
        assign out[i][p]  = '0;
      end
      assign stored[i][p] = {1'b0, item_t'(item_t'(p) - dut.rd_q[i][ITEM_W-1:0])} < held[i];
    end
  end
  for (genvar i = 0; i < 2; i++) begin : gen_ends
    assign held[i] = dut.wr_q[i] - dut.rd_q[i];
    assign offered[i] = dut.valid[i];
    assign offered_item[i] = dut.items[i];
  end

  function automatic logic [ITEM_W:0] note_of(item_t item);
    return {NEWCOMERS && notes[item][ITEM_W], notes[item][ITEM_W-1:0]};
  endfunction

  logic [1:0][ITEM_W:0] left;    // of the ring, not yet read to its output
  logic marked_stored;
  item_t place;
  logic in_first;
  logic [ITEMS-1:0] found_mask, known_mask, stored_mask, ahead_mask, first_mask;
  assign found_mask = ITEMS'(dut.found_valid_q) << dut.found_item_q;
  assign known_mask = ITEMS'(dut.known_valid_q) << dut.known_item_q;
  always_comb begin
    stored_mask = '0;
    ahead_mask  = '0;
    first_mask  = '0;
    for (int i = 0; i < 2; i++) begin
      left[i] = dut.wr_q[i] - dut.read_q[i];
      for (int p = 0; p < DEPTH; p++) if (stored[i][p]) stored_mask |= ITEMS'(1) << ring[i][p];
    end
    for (int p = 0; p < DEPTH; p++) if (stored[1][p]) first_mask |= ITEMS'(1) << ring[1][p];
    // Before the marked one, in its ring: all others while it is not in a ring itself.
    marked_stored = stored_mask[marked_q];
    place         = notes[marked_q][ITEM_W-1:0];
    in_first      = NEWCOMERS && notes[marked_q][ITEM_W];
    for (int p = 0; p < DEPTH; p++) begin
      if (stored[in_first][p] && (!marked_stored || item_t'(item_t'(p) - dut.rd_q[in_first][ITEM_W-1:0])
          < item_t'(place - dut.rd_q[in_first][ITEM_W-1:0])))
        ahead_mask |= ITEMS'(1) << ring[in_first][p];
    end

    if (valid) begin
      if (dut.known_valid_q) assert (32'(dut.known_item_q) < ITEMS && added_q[dut.known_item_q]);
      if (dut.found_valid_q) assert (32'(dut.found_item_q) < ITEMS);
      for (int i = 0; i < 1 + 32'(NEWCOMERS); i++) begin
        assert (32'(held[i]) <= ITEMS && left[i] == held[i] - (ITEM_W + 1)'(offered[i]));
        assert (held[i] != '0 || !offered[i]);
        if (offered[i]) assert (offered_item[i] == ring[i][dut.rd_q[i][ITEM_W-1:0]]);
        for (int p = 0; p < DEPTH; p++) begin
          if (stored[i][p]) begin
            assert (32'(ring[i][p]) < ITEMS && ring[i][p] == out[i][p]);
            assert (notes[ring[i][p]] == {NEWCOMERS && i == 1, item_t'(p)});
            assert (may_q[ring[i][p]]);
          end
        end
      end
      if (!NEWCOMERS) assert (dut.wr_q[1] == '0 && dut.rd_q[1] == '0);
      // The notes of those on the way are right.
      if (dut.known_valid_q) assert ({dut.place_first, dut.place} == note_of(dut.known_item_q));
      if (dut.found_valid_q) begin
        assert ({dut.place_first_q, dut.found_place_q} == note_of(dut.found_item_q));
        assert (dut.listed == stored_mask[dut.found_item_q]);
        assert (may_q[dut.found_item_q]);
      end
      // Nobody who waits is forgotten.
      assert ((waits_q & ~(stored_mask | found_mask | known_mask)) == '0);
      assert ((stored_mask & ~may_q) == '0);
      if (hidden_q > 1) assert (stored_mask != '0);
      if (hidden_q == 3'd1) assert (stored_mask != '0 || dut.found_valid_q);
      if (hidden_q > 2) assert (m_valid);
      if (followed_q) begin
        assert (32'(marked_q) < ITEMS && !had_q[marked_q] && 32'(turns_q) == $countones(had_q));
        // Whoever goes before the marked one had no turn since it waits.
        if (marked_stored) assert ((ahead_mask & had_q) == '0);
        else if (found_mask[marked_q]) assert ((stored_mask & had_q) == '0);
        else assert (had_q == '0);
        assert ((first_mask & had_q) == '0);
        if (dut.found_valid_q && dut.push_first) assert (!had_q[dut.found_item_q]);
      end
    end
  end

  // The last turns of those that had one since the marked one waits are known.
  if (NEWCOMERS) begin : gen_turns
    always_comb begin
      if (valid && dut.known_valid_q && !dut.gen_recent.taken_q)
        assert (dut.gen_recent.last == dut.gen_recent.u_turns.gen_dist.u_ram.mem[dut.known_item_q]);
      if (valid && followed_q) begin
        for (int unsigned i = 0; i < ITEMS; i++) begin
          logic [ITEM_W+7:0] since;
          since = dut.gen_recent.turn_q - dut.gen_recent.u_turns.gen_dist.u_ram.mem[i];
          if (had_q[i]) assert (32'(since) <= 32'(turns_q));
        end
      end
    end
  end

endmodule
