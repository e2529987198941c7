// SPDX-License-Identifier: Apache-2.0
// Round-robin list of numbers below ITEMS, each at most once in it: those that have work wait here for their turn. One
// that is added while in the list stays where it is; one that is added in the cycle in which it is taken, or later,
// comes in again.
// Latency: 4 cycles, 5 from 65 items on. Throughput: a number added and one taken a cycle. Never refuses one.
module turn_list #(
    parameter int unsigned ITEMS = 16,
    localparam int unsigned ITEM_W = ITEMS > 1 ? $clog2(ITEMS) : 1
) (
    input  logic              clk,
    input  logic              rst,
    input  logic              add_valid,
    input  logic [ITEM_W-1:0] add_item,
    output logic              m_valid,
    input  logic              m_ready,
    output logic [ITEM_W-1:0] m_item,    // leaves the list when taken
    output logic              idle       // none in the list or on the way to it
);

  if (ITEMS < 1 || ITEMS > 65536) begin : gen_bad_items
    $fatal(1, "turn_list: ITEMS must be 1 to 65536, not %0d", ITEMS);
  end

  localparam int unsigned DEPTH = 2 ** ITEM_W;

  typedef logic [ITEM_W-1:0] item_t;

  // The list is a ring. Each number's place in it is noted, and is right if it lies between the ring's ends and the
  // number is found there: so notes that are old, or were never written, do no harm, and nothing has to be cleared.
  logic [ITEM_W:0] wr_q, read_q, rd_q;  // where the next is added, read to the output and taken
  logic known_valid_q, found_valid_q, conflict_q;
  item_t known_item_q, found_item_q, found_place_q, place, found;

  wire [ITEM_W:0] count = wr_q - rd_q;
  wire item_t behind = found_place_q - rd_q[ITEM_W-1:0];
  wire listed = {1'b0, behind} < count && found == found_item_q && !conflict_q;
  wire push = found_valid_q && !listed;

  always_ff @(posedge clk) begin
    // The notes that the next two read are from before this one's.
    known_valid_q <= add_valid && !(push && add_item == found_item_q);
    found_valid_q <= known_valid_q && !(push && known_item_q == found_item_q);
    known_item_q  <= add_item;
    found_item_q  <= known_item_q;
    found_place_q <= place;
    conflict_q    <= push && place == wr_q[ITEM_W-1:0];
    if (push) wr_q <= wr_q + 1'b1;
    if (m_valid && m_ready) rd_q <= rd_q + 1'b1;
    if (rst) begin
      known_valid_q <= 1'b0;
      found_valid_q <= 1'b0;
      wr_q          <= '0;
      rd_q          <= '0;
    end
  end

  ram_fit #(
      .WIDTH(ITEM_W),
      .DEPTH(DEPTH)
  ) u_places (
      .clk,
      .wr_en  (push),
      .wr_addr(found_item_q),
      .wr_data(wr_q[ITEM_W-1:0]),
      .rd_en  (add_valid),
      .rd_addr(add_item),
      .rd_data(place)
  );

  ram_fit #(
      .WIDTH(ITEM_W),
      .DEPTH(DEPTH)
  ) u_found (
      .clk,
      .wr_en  (push),
      .wr_addr(wr_q[ITEM_W-1:0]),
      .wr_data(found_item_q),
      .rd_en  (known_valid_q),
      .rd_addr(place),
      .rd_data(found)
  );

  logic read, unused_idle;
  always_ff @(posedge clk) begin
    if (read) read_q <= read_q + 1'b1;
    if (rst) read_q <= '0;
  end

  fifo_store #(
      .WIDTH(ITEM_W),
      .DEPTH(DEPTH),
      .BLOCK_RAM(DEPTH > 64)
  ) u_ring (
      .clk,
      .rst,
      .wr_en   (push),
      .wr_addr (wr_q[ITEM_W-1:0]),
      .wr_data (found_item_q),
      .rd_avail(wr_q != read_q),
      .rd_addr (read_q[ITEM_W-1:0]),
      .rd_en   (read),
      .idle    (unused_idle),
      .m_valid,
      .m_ready,
      .m_data  (m_item)
  );

  assign idle = !known_valid_q && !found_valid_q && wr_q == rd_q;

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst) assert (!add_valid || 32'(add_item) < ITEMS) else $error("%m: a number that can't be");
  end
`endif

endmodule
