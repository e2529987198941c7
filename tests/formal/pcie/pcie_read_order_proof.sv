// SPDX-License-Identifier: Apache-2.0
// A tag leaves once for each time that it was issued, when it is done, with what was kept of it, and after all that
// were issued before it with the same order. What may leave is offered, or another
// is, within 3 cycles.
module pcie_read_order_proof #(
    parameter int unsigned TAGS = 4,
    parameter int unsigned ID_W = 1,
    localparam int unsigned TAG_W = $clog2(TAGS)
) (
    input logic             clk,
    input logic             rst,
    input logic             issue,
    input logic [TAG_W-1:0] tag,
    input logic [ID_W-1:0]  order,
    input logic [0:0]       kept,
    input logic             over,
    input logic [TAG_W-1:0] over_tag,
    input logic             go_ready
);

  typedef logic [TAG_W-1:0] tag_t;
  typedef logic [TAGS-1:0] tags_t;

  logic valid, go_valid, hand, idle;
  logic [0:0] go_kept;
  tag_t go_tag, hand_tag;
  logic [ID_W-1:0] hand_order;

  proof_reset u_reset (.clk, .rst, .valid);
  pcie_read_order #(.TAGS(TAGS), .ID_W(ID_W), .KEPT_W(1)) dut (.*);

  // The books: who is inside, who is done, and who has to leave before a tag.
  tags_t inside_q, over_q, kept_q, same, may;
  logic [TAGS-1:0][ID_W-1:0] order_q;
  tags_t [TAGS-1:0] before_q;
  wire taken = go_valid && go_ready;

  always_comb begin
    for (int t = 0; t < TAGS; t++) begin
      same[t] = inside_q[t] && order_q[t] == order && !(taken && tag_t'(t) == go_tag);
      may[t]  = inside_q[t] && over_q[t] && before_q[t] == '0;
    end
  end

  always_ff @(posedge clk) begin
    hand       <= taken;
    hand_tag   <= go_tag;
    hand_order <= order_q[go_tag];
    if (over) over_q[over_tag] <= 1'b1;
    if (taken) begin
      inside_q[go_tag] <= 1'b0;
      for (int t = 0; t < TAGS; t++) before_q[t][go_tag] <= 1'b0;
    end
    if (issue) begin
      inside_q[tag] <= 1'b1;
      over_q[tag]   <= 1'b0;
      kept_q[tag]   <= kept;
      order_q[tag]  <= order;
      before_q[tag] <= same;
    end
    if (rst) begin
      hand     <= 1'b0;
      inside_q <= '0;
    end
  end

  // Cycles in which some tag may leave and none is offered
  logic [2:0] hidden_q;
  always_ff @(posedge clk) hidden_q <= rst || may == '0 || go_valid ? '0 : hidden_q + 1'b1;

  always_comb begin
    // A tag is free two cycles after its data have begun to leave, and done one cycle after it was issued at the
    // earliest.
    if (issue) assume (!inside_q[tag] && !(hand && hand_tag == tag));
    if (over) assume (inside_q[over_tag] && !over_q[over_tag]);
    if (rst) assume (!issue && !over);
    if (valid) begin
      if (go_valid) assert (may[go_tag] && go_kept == kept_q[go_tag]);
      assert (hidden_q < 3);
      if (idle) assert (!go_valid);

      cover (inside_q == '1 && taken && before_q[tag] != '0);
      cover (taken && issue && before_q[go_tag] == '0 && order == order_q[go_tag]);
      cover (hand && issue && order == hand_order && inside_q == '0);
      cover (hidden_q == 3'd2);
      cover (may == tags_t'(5) && over_q == '1);
    end
  end

  // What the registers hold. A tag stays in its list until `hand`, so for a cycle longer than it is inside.
  tags_t listed, hand_tags, issued, follows, done;
  tags_t [TAGS-1:0] ahead;                // of the list
  assign hand_tags = hand ? tags_t'(1) << hand_tag : '0;
  assign listed    = inside_q | hand_tags;
  assign issued    = dut.issued_q ? tags_t'(1) << dut.behind_q : '0;
  assign follows   = dut.follow_q ? tags_t'(1) << dut.follower_q : '0;
  assign done      = dut.over_q ? tags_t'(1) << dut.over_tag_q : '0;
  for (genvar t = 0; t < TAGS; t++) begin : gen_ahead
    assign ahead[t] = inside_q[t] ? before_q[t] | (order_q[t] == hand_order ? hand_tags : '0) : '0;
  end

  // The tags of the two queues.
  tags_t [1:0] queued;
  logic [1:0][TAG_W:0] held;
  logic [1:0][TAGS-1:0] stored;
  logic [1:0][TAGS-1:0][TAG_W:0] words;
  assign held[0] = dut.u_go_done.wr_q - dut.u_go_done.rd_q;
  assign held[1] = dut.u_go_follow.wr_q - dut.u_go_follow.rd_q;
  for (genvar p = 0; p < TAGS; p++) begin : gen_places
    assign words[0][p]  = dut.u_go_done.u_ram.mem[p];
    assign words[1][p]  = dut.u_go_follow.u_ram.mem[p];
    assign stored[0][p] = {1'b0, tag_t'(tag_t'(p) - dut.u_go_done.rd_q[TAG_W-1:0])} < held[0];
    assign stored[1][p] = {1'b0, tag_t'(tag_t'(p) - dut.u_go_follow.rd_q[TAG_W-1:0])} < held[1];
  end
  always_comb begin
    queued = '0;
    for (int i = 0; i < 2; i++) begin
      for (int p = 0; p < TAGS; p++) if (stored[i][p]) queued[i] |= tags_t'(1) << words[i][p][TAG_W:1];
    end

    if (valid) begin
      // The books themselves: `before_q` orders the tags of a list.
      assert ((hand_tags & inside_q) == '0);
      if (hand) assert (hand_order == order_q[hand_tag]);
      for (int t = 0; t < TAGS; t++) begin
        for (int u = 0; u < TAGS; u++) begin
          if (inside_q[t] && before_q[t][u]) assert (inside_q[u] && order_q[u] == order_q[t]);
          if (inside_q[t] && inside_q[u] && t != u && order_q[t] == order_q[u])
            assert (before_q[t][u] != before_q[u][t]);
          if (inside_q[t] && before_q[t][u]) assert (!before_q[t][t] && (before_q[u] & ~before_q[t]) == '0);
        end
      end

      // The lists
      if (dut.empties_q) assert (!hand || hand_order != dut.empty_order_q);
      for (int o = 0; o < 2 ** ID_W; o++) begin
        automatic tags_t members = '0;
        for (int t = 0; t < TAGS; t++) members[t] = listed[t] && order_q[t] == ID_W'(o);
        if (members != '0) assert (dut.listed_q[o] && !(dut.empties_q && dut.empty_order_q == ID_W'(o)));
        else assert (!dut.listed_q[o] || (dut.empties_q && dut.empty_order_q == ID_W'(o)));
        assert (dut.gen_tails[0].u_tails.mem[o] == dut.gen_tails[1].u_tails.mem[o] || members == '0);
        for (int t = 0; t < TAGS; t++) begin
          if (members[t] && tag_t'(t) == dut.gen_tails[0].u_tails.mem[o]) begin
            for (int u = 0; u < TAGS; u++) if (members[u]) assert (!ahead[u][t]);
          end else if (members[t]) begin
            assert (members[dut.gen_tails[0].u_tails.mem[o]] && ahead[dut.gen_tails[0].u_tails.mem[o]][t]);
          end
        end
      end
      // What follows a tag: the next of its list, or that is written now.
      for (int t = 0; t < TAGS; t++) begin
        for (int u = 0; u < TAGS; u++) begin
          if (listed[t] && inside_q[u] && ahead[u] == (ahead[t] | (tags_t'(1) << t)))
            assert (dut.links && dut.before_q == tag_t'(t) ? dut.behind_q == tag_t'(u)
                : dut.u_followers.mem[t] == tag_t'(u));
        end
      end
      if (dut.issued_q) begin
        assert (inside_q[dut.behind_q] && !dut.done_q[dut.behind_q] && !done[dut.behind_q]);
        if (!dut.follows_q) assert (ahead[dut.behind_q] == '0);
        else
          assert (ahead[dut.behind_q][dut.before_q]
              || (dut.follow_q && dut.follower_q == dut.behind_q && !listed[dut.before_q]));
        for (int u = 0; u < TAGS; u++) if (inside_q[u]) assert (!ahead[u][dut.behind_q]);
      end
      if (dut.follow_q) begin
        assert (inside_q[dut.follower_q] && ahead[dut.follower_q] == '0);
        if (!issued[dut.follower_q]) assert (!dut.head_q[dut.follower_q]);
      end
      if (dut.over_q) assert (inside_q[dut.over_tag_q] && over_q[dut.over_tag_q]);

      for (int t = 0; t < TAGS; t++) begin
        if (inside_q[t]) begin
          assert (dut.done_q[t] == over_q[t]);
          if (!issued[t] && !follows[t]) assert (dut.head_q[t] == (ahead[t] == '0));
          assert (dut.gen_kept[0].u_kept.mem[t] == kept_q[t] && dut.gen_kept[1].u_kept.mem[t] == kept_q[t]);
        end
        // One that may leave is in a queue, or comes in now; no other does.
        assert (3'(queued[0][t]) + 3'(queued[1][t]) + 3'(done[t] && dut.head_q[t]) + 3'(follows[t] && dut.done_q[t])
            == 3'(inside_q[t] && over_q[t] && ahead[t] == '0));
      end
      for (int i = 0; i < 2; i++) begin
        assert (32'(held[i]) <= TAGS && 32'(held[i]) == $countones(queued[i]));
        for (int p = 0; p < TAGS; p++) if (stored[i][p]) assert (words[i][p][0] == kept_q[words[i][p][TAG_W:1]]);
      end
      assert (dut.u_go_done.valid_q == (held[0] != '0) && dut.u_go_follow.valid_q == (held[1] != '0));
      assert (dut.u_go_done.ready_q || held[0] == (TAG_W + 1)'(TAGS) || may == '0);
      assert (dut.u_go_follow.ready_q || held[1] == (TAG_W + 1)'(TAGS) || may == '0);
      if (may != '0 && !go_valid) assert (hidden_q <= 3'((done & dut.head_q) != '0 || (follows & dut.done_q) != '0));

    end
  end

endmodule
