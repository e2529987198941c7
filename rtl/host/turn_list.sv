// SPDX-License-Identifier: Apache-2.0
// Round-robin list of numbers below ITEMS, each at most once in it: those that have work wait here for their turn. One
// that is added while in the list stays where it is; one that is added in the cycle before it is taken, or later, comes
// in again. So a user may find that a turn has no work left; none is lost.
// With NEWCOMERS, one that is added with add_first goes before all others, behind such as itself, if none of the last
// ITEMS turns was its own: so whoever waits gets one of the next ITEMS + 1 turns, whatever comes in. What is offered
// changes when one comes that goes first.
// Latency: 4 cycles, 5 from 65 items on. Throughput: a number added and one taken a cycle. Never refuses one.
module turn_list #(
    parameter int unsigned ITEMS = 16,
    parameter bit NEWCOMERS = 1'b0,
    localparam int unsigned ITEM_W = ITEMS > 1 ? $clog2(ITEMS) : 1
) (
    input  logic              clk,
    input  logic              rst,
    input  logic              add_valid,
    input  logic [ITEM_W-1:0] add_item,
    input  logic              add_first,
    output logic              m_valid,
    input  logic              m_ready,
    output logic [ITEM_W-1:0] m_item,    // leaves the list when taken
    output logic              m_first,   // with m_valid: one that goes first
    output logic              idle       // none in the list or on the way to it
);

  if (ITEMS < 1 || ITEMS > 65536) begin : gen_bad_items
    $fatal(1, "turn_list: ITEMS must be 1 to 65536, not %0d", ITEMS);
  end

  localparam int unsigned DEPTH = 2 ** ITEM_W;
  localparam int unsigned RINGS = NEWCOMERS ? 2 : 1;
  localparam int unsigned TURN_W = ITEM_W + 8;

  typedef logic [ITEM_W-1:0] item_t;

  // The list is a ring; a second one has those that go first. Each number's place is noted, and is right if it lies
  // between its ring's ends and the number is found there: so notes that are old, or were never written, do no harm,
  // and nothing has to be cleared.
  logic [1:0][ITEM_W:0] wr_q, read_q, rd_q;  // where the next is added, read to the output and taken
  logic known_valid_q, found_valid_q, known_first_q, found_first_q, conflict_q, place_first, place_first_q;
  item_t known_item_q, found_item_q, found_place_q, place;
  item_t [1:0] found;

  wire [ITEM_W:0] count = wr_q[place_first_q] - rd_q[place_first_q];
  wire item_t behind = found_place_q - rd_q[place_first_q][ITEM_W-1:0];
  wire listed = {1'b0, behind} < count && found[place_first_q] == found_item_q && !conflict_q;
  wire push = found_valid_q && !listed;
  wire push_first = NEWCOMERS && found_first_q;
  wire [1:0] pushes = {push && push_first, push && !push_first};
  logic recent;  // known_item_q had a turn not long ago
  logic [1:0] valid, takes;

  always_ff @(posedge clk) begin
    // The notes that the next two read are from before this one's.
    known_valid_q <= add_valid && !(push && add_item == found_item_q);
    found_valid_q <= known_valid_q && !(push && known_item_q == found_item_q);
    known_item_q  <= add_item;
    known_first_q <= add_first;
    found_item_q  <= known_item_q;
    found_first_q <= known_first_q && !recent && !(|takes && m_item == known_item_q);
    found_place_q <= place;
    place_first_q <= NEWCOMERS && place_first;
    conflict_q    <= pushes[place_first] && place == wr_q[place_first][ITEM_W-1:0];
    for (int unsigned i = 0; i < 2; i++) begin
      if (pushes[i]) wr_q[i] <= wr_q[i] + 1'b1;
      if (takes[i]) rd_q[i] <= rd_q[i] + 1'b1;
    end
    if (rst) begin
      known_valid_q <= 1'b0;
      found_valid_q <= 1'b0;
      wr_q          <= '0;
      rd_q          <= '0;
    end
  end

  logic [ITEM_W:0] note;
  ram_fit #(
      .WIDTH(ITEM_W + 1),
      .DEPTH(DEPTH)
  ) u_places (
      .clk,
      .wr_en  (push),
      .wr_addr(found_item_q),
      .wr_data({push_first, wr_q[push_first][ITEM_W-1:0]}),
      .rd_en  (add_valid),
      .rd_addr(add_item),
      .rd_data(note)
  );
  assign place_first = NEWCOMERS && note[ITEM_W];
  assign place       = note[ITEM_W-1:0];

  logic [RINGS-1:0] unused_idle;
  item_t [1:0] items;
  for (genvar i = 0; i < RINGS; i++) begin : gen_ring
    ram_fit #(
        .WIDTH(ITEM_W),
        .DEPTH(DEPTH)
    ) u_found (
        .clk,
        .wr_en  (pushes[i]),
        .wr_addr(wr_q[i][ITEM_W-1:0]),
        .wr_data(found_item_q),
        .rd_en  (known_valid_q),
        .rd_addr(place),
        .rd_data(found[i])
    );

    logic read;
    always_ff @(posedge clk) begin
      if (read) read_q[i] <= read_q[i] + 1'b1;
      if (rst) read_q[i] <= '0;
    end

    fifo_store #(
        .WIDTH(ITEM_W),
        .DEPTH(DEPTH),
        .BLOCK_RAM(DEPTH > 64)
    ) u_ring (
        .clk,
        .rst,
        .wr_en   (pushes[i]),
        .wr_addr (wr_q[i][ITEM_W-1:0]),
        .wr_data (found_item_q),
        .rd_avail(wr_q[i] != read_q[i]),
        .rd_addr (read_q[i][ITEM_W-1:0]),
        .rd_en   (read),
        .idle    (unused_idle[i]),
        .m_valid (valid[i]),
        .m_ready (m_ready && !(i == 0 && valid[1])),
        .m_data  (items[i])
    );
  end

  // When each had its last turn. That is a number modulo, so that some count as recent that are not.
  if (NEWCOMERS) begin : gen_recent
    logic [TURN_W-1:0] turn_q, last;
    logic taken_q;
    wire [TURN_W-1:0] since = turn_q - last;
    always_ff @(posedge clk) begin
      if (|takes) turn_q <= turn_q + 1'b1;
      taken_q <= |takes && m_item == add_item;
      if (rst) turn_q <= '0;
    end
    ram_fit #(
        .WIDTH(TURN_W),
        .DEPTH(DEPTH)
    ) u_turns (
        .clk,
        .wr_en  (|takes),
        .wr_addr(m_item),
        .wr_data(turn_q),
        .rd_en  (add_valid),
        .rd_addr(add_item),
        .rd_data(last)
    );
    assign recent = since <= TURN_W'(ITEMS) || taken_q;
  end else begin : gen_none
    assign recent    = 1'b1;
    assign valid[1]  = 1'b0;
    assign items[1]  = '0;
    assign found[1]  = '0;
    assign read_q[1] = '0;
    wire unused = &{1'b0, add_first, known_first_q, read_q[1]};
  end

  assign m_valid = |valid;
  assign m_first = valid[1];
  assign m_item  = items[valid[1]];
  assign takes   = {valid[1] && m_ready, valid[0] && m_ready && !valid[1]};
  assign idle    = !known_valid_q && !found_valid_q && wr_q == rd_q;

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst) assert (!add_valid || 32'(add_item) < ITEMS) else $error("%m: a number that can't be");
  end
`endif

endmodule
