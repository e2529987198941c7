// SPDX-License-Identifier: Apache-2.0
// The order in which data of pcie_read's requests may leave: those of one ID, `order`, as they were issued, in a list;
// a tag that is done leaves once it is the head of its list. Tags that may are offered: those that were heads when they
// were done, and those that were done when they became heads, in turn.
// Latency: 2 cycles from `over` to go_valid, 2 from `hand` to that of the next one.
// Backpressure: a tag waits for go_ready; no tag waits for another's ID.
module pcie_read_order #(
    parameter int unsigned TAGS = 64,
    parameter int unsigned ID_W = 6,
    parameter int unsigned KEPT_W = 8,     // what is kept of a request until it leaves
    localparam int unsigned TAG_W = $clog2(TAGS)
) (
    input  logic             clk,
    input  logic             rst,

    input  logic             issue,        // a request is sent
    input  logic [TAG_W-1:0] tag,
    input  logic [ID_W-1:0]  order,
    input  logic [KEPT_W-1:0] kept,
    input  logic             over,         // a tag is done
    input  logic [TAG_W-1:0] over_tag,

    output logic             go_valid,
    input  logic             go_ready,
    output logic [TAG_W-1:0] go_tag,
    output logic [KEPT_W-1:0] go_kept,
    input  logic             hand,         // the cycle after a tag was taken
    input  logic [TAG_W-1:0] hand_tag,
    input  logic [ID_W-1:0]  hand_order,
    output logic             idle
);

  if (TAGS < 4 || TAGS > 256 || 2 ** TAG_W != TAGS) begin : gen_bad_tags
    $fatal(1, "pcie_read_order: TAGS must be a power of two from 4 to 256, not %0d", TAGS);
  end
  if (KEPT_W < 1) begin : gen_bad_kept_w
    $fatal(1, "pcie_read_order: KEPT_W must be at least 1, not %0d", KEPT_W);
  end
  if (ID_W < 1 || ID_W > 8) begin : gen_bad_id_w
    $fatal(1, "pcie_read_order: ID_W must be 1 to 8, not %0d", ID_W);
  end

  typedef logic [TAG_W-1:0] tag_t;

  logic [TAGS-1:0] done_q, head_q;         // head: of its list
  logic [2**ID_W-1:0] listed_q;            // the order has a list
  logic [1:0] side_valid, side_room, side_idle;
  tag_t [1:0] side_tag;
  logic [1:0][KEPT_W-1:0] side_kept;
  logic turn_q;
  wire which = side_valid[turn_q] ? turn_q : !turn_q;

  // The list of an ID: its last tag, and what follows a tag, which becomes the head one cycle later. That may be issued
  // in the very cycle of `hand`, or in the one before it: a tag is put behind `before_q` in its second cycle.
  tag_t last_of_order, last_of_hand, follower, follower_q, before_q, behind_q;
  logic issued_q, follows_q, follow_q, empties_q;
  logic [ID_W-1:0] empty_order_q;          // its list is empty, seen a cycle later
  wire links = issued_q && follows_q;
  wire alone = last_of_hand == hand_tag;
  wire more = !alone || (issue && order == hand_order);

  // Whether a tag that is done is the head is seen a cycle later: if it becomes so in the cycle of `over`, it is.
  logic over_q;
  tag_t over_tag_q;
  always_ff @(posedge clk) begin
    over_q     <= over;
    over_tag_q <= over_tag;
    if (rst) over_q <= 1'b0;
  end

  for (genvar i = 0; i < 2; i++) begin : gen_tails  // one to read by who asks, one by who answers
    ram_dist #(
        .WIDTH(TAG_W),
        .DEPTH(2 ** ID_W)
    ) u_tails (
        .clk,
        .wr_en  (issue),
        .wr_addr(order),
        .wr_data(tag),
        .rd_addr(i == 0 ? order : hand_order),
        .rd_data(gen_tails[i].tail)
    );
    tag_t tail;
  end
  assign last_of_order = gen_tails[0].tail;
  assign last_of_hand  = gen_tails[1].tail;

  ram_dist #(
      .WIDTH(TAG_W),
      .DEPTH(TAGS)
  ) u_followers (
      .clk,
      .wr_en  (links),
      .wr_addr(before_q),
      .wr_data(behind_q),
      .rd_addr(hand_tag),
      .rd_data(follower)
  );
  for (genvar i = 0; i < 2; i++) begin : gen_kept  // to read by who is done, by who follows
    logic [KEPT_W-1:0] found;
    ram_dist #(
        .WIDTH(KEPT_W),
        .DEPTH(TAGS)
    ) u_kept (
        .clk,
        .wr_en  (issue),
        .wr_addr(tag),
        .wr_data(kept),
        .rd_addr(i == 0 ? over_tag_q : follower_q),
        .rd_data(found)
    );
  end
  stream_queue #(
      .WIDTH(TAG_W + KEPT_W),
      .DEPTH(TAGS)
  ) u_go_done (
      .clk,
      .rst,
      .s_valid(over_q && head_q[over_tag_q]),
      .s_ready(side_room[0]),
      .s_data ({over_tag_q, gen_kept[0].found}),
      .m_valid(side_valid[0]),
      .m_ready(go_ready && !which),
      .m_data ({side_tag[0], side_kept[0]}),
      .idle   (side_idle[0])
  );
  stream_queue #(
      .WIDTH(TAG_W + KEPT_W),
      .DEPTH(TAGS)
  ) u_go_follow (
      .clk,
      .rst,
      .s_valid(follow_q && done_q[follower_q]),
      .s_ready(side_room[1]),
      .s_data ({follower_q, gen_kept[1].found}),
      .m_valid(side_valid[1]),
      .m_ready(go_ready && which),
      .m_data ({side_tag[1], side_kept[1]}),
      .idle   (side_idle[1])
  );

  always_ff @(posedge clk) begin
    issued_q      <= issue;
    follows_q     <= listed_q[order] && !(empties_q && empty_order_q == order);
    before_q      <= last_of_order;
    behind_q      <= tag;
    follow_q      <= hand && more;
    empties_q     <= hand && !more;
    empty_order_q <= hand_order;
    follower_q    <= alone ? tag : links && before_q == hand_tag ? behind_q : follower;
    if (go_ready) turn_q <= !which;
    if (over) done_q[over_tag] <= 1'b1;
    if (issued_q) head_q[behind_q] <= !follows_q;
    if (follow_q) head_q[follower_q] <= 1'b1;
    if (empties_q) listed_q[empty_order_q] <= 1'b0;
    if (issue) begin
      done_q[tag]     <= 1'b0;
      listed_q[order] <= 1'b1;
    end
    if (rst) begin
      issued_q  <= 1'b0;
      follow_q  <= 1'b0;
      empties_q <= 1'b0;
      turn_q    <= 1'b0;
      listed_q  <= '0;
    end
  end

  assign go_valid = side_valid != '0;
  assign go_tag   = side_tag[which];
  assign go_kept  = side_kept[which];
  assign idle     = side_idle == '1 && !over_q;

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst) begin
      assert (!over_q || side_room == '1) else $error("%m: a tag is done twice");
    end
  end
`else
  wire unused = &{1'b0, side_room};
`endif

endmodule
