// SPDX-License-Identifier: Apache-2.0
// The side of s_clk: what it hands to the crossing, which has room when it likes. Each frame that begins after the
// reset is handed over whole, or is dropped and counted here, or breaks off with one end that drops it, which the store
// behind the crossing counts.
module stream_elastic_proof #(
    parameter bit DROP_WHEN_FULL = 1'b1
) (
    input logic       clk,
    input logic       rst,
    input logic       room,           // in the crossing
    input logic       s_axis_tvalid,
    input logic [7:0] s_axis_tdata,
    input logic [0:0] s_axis_tkeep,
    input logic       s_axis_tlast,
    input logic [0:0] s_axis_tuser
);

  logic valid, s_axis_tready, s_dropped;

  proof_reset u_reset (.clk, .rst, .valid);
  stream_elastic #(
      .DATA_W(8), .USER_W(1), .DEPTH(4), .DROP_WHEN_FULL(DROP_WHEN_FULL)
  ) dut (
      .s_clk(clk), .s_rst(rst), .s_axis_tvalid, .s_axis_tready, .s_axis_tdata, .s_axis_tkeep, .s_axis_tlast,
      .s_axis_tuser, .s_dropped,
      .m_clk(clk), .m_rst(rst), .m_axis_tvalid(), .m_axis_tready(1'b1), .m_axis_tdata(), .m_axis_tkeep(),
      .m_axis_tlast(), .m_axis_tuser(), .m_dropped(), .m_idle()
  );

  wire taken = s_axis_tvalid && s_axis_tready;
  wire push = dut.cross_valid && room && !rst;
  wire bad = dut.cross_s.bad;
  wire last = dut.cross_s.last;
  wire passed = push && !bad;

  logic inside_q = 1'b0;  // amid a frame of the input
  logic passed_q;         // of which all beats so far were handed over
  logic open_q;           // the crossing has had no end of its last frame
  logic broken_q;         // nor will it have the rest
  logic [1:0] begun_q;    // frames of whose fate nothing was seen
  wire breaks = taken && !passed && inside_q && passed_q;

  always_ff @(posedge clk) begin
    if (taken) begin
      inside_q <= !s_axis_tlast;
      passed_q <= passed && (!inside_q || passed_q);
    end
    if (push) open_q <= !last;
    if (push && bad) broken_q <= 1'b0;
    if (breaks) broken_q <= 1'b1;
    begun_q <= begun_q + 2'(taken && !inside_q) - 2'(push && last) - 2'(s_dropped);
    if (rst) begin
      passed_q <= 1'b0;
      open_q   <= 1'b0;
      broken_q <= 1'b0;
      begun_q  <= '0;
      if (!DROP_WHEN_FULL) inside_q <= 1'b0;  // an input that waits is reset as well
    end
  end

  // Of the cycle before
  logic had_room_q, was_broken_q, was_inside_q, was_taken_q, was_rst_q;
  always_ff @(posedge clk) begin
    had_room_q   <= room;
    was_broken_q <= broken_q;
    was_inside_q <= inside_q;
    was_taken_q  <= taken && !rst;
    was_rst_q    <= rst;
  end

  always_comb begin
    if (valid && !rst) begin
      // A beat is handed over when it is taken, as it is, if all of its frame before it were: so in order, and once.
      if (passed) begin
        assert (taken && last == s_axis_tlast && dut.cross_s.data == s_axis_tdata);
        assert (dut.cross_s.keep == s_axis_tkeep && dut.cross_s.user == s_axis_tuser);
        assert (inside_q ? passed_q : !open_q);
      end
      // A frame that breaks off is ended as soon as there is room, and no other.
      if (push && bad) assert (last && broken_q);
      if (broken_q) assert (dut.cross_valid && bad);

      // What is dropped has to be: no room for its first beat, or an end is owed that goes first.
      if (s_dropped) assert (was_taken_q && !was_inside_q && (!had_room_q || was_broken_q));
      if (breaks) assert (!room);
      if (DROP_WHEN_FULL) assert (s_axis_tready);
      else assert (s_axis_tready == room && !s_dropped && !bad && taken == passed);

      cover (passed && last && inside_q && was_taken_q);
    end

    if (valid) begin
      // Each frame has one fate: all that began ended in the crossing or were counted, but for one that goes on there.
      assert (begun_q == 2'(open_q) + 2'(s_dropped));

      // What the registers hold
      assert (dut.inside_q == inside_q && dut.abort_q == broken_q);
      if (inside_q) assert (dut.skip_q == !passed_q);
      assert (open_q == (broken_q || (inside_q && passed_q)));
      if (broken_q) assert (!(inside_q && passed_q));
      if (!DROP_WHEN_FULL) assert (!broken_q && (!inside_q || passed_q));
    end
  end

  if (DROP_WHEN_FULL) begin : gen_drops
    always_comb begin
      if (valid && !rst) begin
        cover (s_dropped && !was_broken_q);
        cover (s_dropped && was_broken_q && open_q);  // a frame comes while the end of another waits
        cover (push && bad && inside_q);
        cover (push && bad && !inside_q && taken);
        cover (was_broken_q && !broken_q && passed && !inside_q);
        cover (was_rst_q && taken && inside_q && room);  // the rest of a frame that the reset fell into
      end
    end
  end else begin : gen_waits
    always_comb if (valid && !rst) cover (s_axis_tvalid && !s_axis_tready && inside_q);
  end

endmodule
