// SPDX-License-Identifier: Apache-2.0
// A frame is judged one cycle after its last beat, when `dropped` tells its fate; until then its beats may not come
// out.
module packet_fifo_proof #(
    parameter int unsigned DEPTH = 4,
    parameter bit DROP_WHEN_FULL = 1'b1,
    parameter bit BLOCK_RAM = 1'b0,
    localparam int unsigned ADDR_W = $clog2(DEPTH)
) (
    input logic       clk,
    input logic       rst,
    input logic       mark,
    input logic       s_axis_tvalid,
    input logic [7:0] s_axis_tdata,
    input logic [0:0] s_axis_tkeep,
    input logic       s_axis_tlast,
    input logic [0:0] s_axis_tuser,
    input logic       s_drop,
    input logic       m_axis_tready
);

  localparam int unsigned LATENCY = BLOCK_RAM ? 3 : 2;

  typedef logic [10:0] beat_t;
  typedef logic [ADDR_W+1:0] count_t;  // 0 to more than DEPTH + 2

  logic valid, s_axis_tready, m_axis_tvalid, m_axis_tlast, dropped, idle;
  logic [7:0] m_axis_tdata;
  logic [0:0] m_axis_tkeep, m_axis_tuser;
  logic [ADDR_W:0] used;
  beat_t s_beat, m_beat;
  logic push, pop;

  assign s_beat = {s_axis_tlast, s_axis_tuser, s_axis_tkeep, s_axis_tdata};
  assign m_beat = {m_axis_tlast, m_axis_tuser, m_axis_tkeep, m_axis_tdata};
  assign push   = s_axis_tvalid && s_axis_tready;
  assign pop    = m_axis_tvalid && m_axis_tready;

  proof_reset u_reset (.clk, .rst, .valid);
  packet_fifo #(
      .DATA_W(8), .USER_W(1), .DEPTH(DEPTH), .DROP_WHEN_FULL(DROP_WHEN_FULL), .BLOCK_RAM(BLOCK_RAM)
  ) dut (.*);
  proof_stable #(.WIDTH(11)) u_stable (.clk, .rst, .valid(m_axis_tvalid && valid), .ready(m_axis_tready),
      .data(m_beat));

  // The books: beats of kept frames inside; the open frame; the frame that ended in the cycle before.
  count_t kept_q, open_q, ended_length_q;  // lengths stop at DEPTH + 1
  logic ended_q, ended_flag_q, ended_met_full_q, open_met_full_q, meets_full;
  count_t held;  // all beats inside as seen from outside

  assign held       = kept_q + open_q + (ended_q && !dropped ? ended_length_q : '0);
  assign meets_full = held >= count_t'(DEPTH);

  // One beat is followed from its frame's entry on: first with its place in the frame, then with that among the kept.
  typedef enum logic [1:0] {NONE, OPEN, ENDED, KEPT} where_t;
  where_t where_q;
  count_t place_q;
  beat_t value_q;

  always_ff @(posedge clk) begin
    ended_q <= push && s_axis_tlast;
    kept_q  <= kept_q + (ended_q && !dropped ? ended_length_q : '0) - count_t'(pop);
    if (push) begin
      open_q          <= s_axis_tlast ? '0 : open_q + count_t'(open_q <= count_t'(DEPTH));
      open_met_full_q <= !s_axis_tlast && (open_met_full_q || meets_full);
      if (s_axis_tlast) begin
        ended_length_q   <= open_q + count_t'(open_q <= count_t'(DEPTH));
        ended_flag_q     <= s_drop;
        ended_met_full_q <= open_met_full_q || meets_full;
      end
    end

    case (where_q)
      NONE:
        if (push && mark && open_q <= count_t'(DEPTH)) begin
          where_q <= s_axis_tlast ? ENDED : OPEN;
          place_q <= open_q;
          value_q <= s_beat;
        end
      OPEN: if (push && s_axis_tlast) where_q <= ENDED;
      ENDED: begin
        where_q <= dropped ? NONE : KEPT;
        place_q <= kept_q - count_t'(pop) + place_q;
      end
      KEPT:
        if (pop) begin
          if (place_q == 0) where_q <= NONE;
          place_q <= place_q - 1'b1;
        end
    endcase

    if (rst) begin
      ended_q         <= 1'b0;
      kept_q          <= '0;
      open_q          <= '0;
      open_met_full_q <= 1'b0;
      where_q         <= NONE;
    end
  end

  // Cycles in which kept beats were inside and none was offered; cycles with neither room nor an offer.
  logic [2:0] hidden_q, stuck_q;
  always_ff @(posedge clk) begin
    hidden_q <= rst || kept_q == 0 || m_axis_tvalid ? '0 : hidden_q + 1'b1;
    stuck_q  <= rst || s_axis_tready || m_axis_tvalid ? '0 : stuck_q + 1'b1;
  end

  always_comb begin
    if (valid) begin
      // Only beats of whole, kept frames come out: each once, in order, unchanged.
      if (pop) assert (kept_q != 0);
      assert (kept_q <= count_t'(DEPTH + LATENCY - 1));
      if (where_q == KEPT) assert (place_q < kept_q);
      if (where_q == KEPT && pop && place_q == 0) assert (m_beat == value_q);
      assert (hidden_q < LATENCY - 1);

      // A frame is dropped when it must be, and only then.
      if (dropped) assert (ended_q);
      if (ended_q && (ended_flag_q || ended_length_q > count_t'(DEPTH))) assert (dropped);
      if (dropped && DROP_WHEN_FULL) assert (ended_flag_q || ended_met_full_q);
      if (dropped && !DROP_WHEN_FULL) assert (ended_flag_q || ended_length_q > count_t'(DEPTH));

      // The input never waits, or not for ever: with nothing offered there is room within two cycles.
      if (DROP_WHEN_FULL) assert (s_axis_tready);
      assert (stuck_q < 3);

      assert (idle == (held == 0));

      cover (dropped && !ended_flag_q);
      cover (dropped && ended_flag_q && ended_length_q == count_t'(DEPTH));
      cover (ended_q && !dropped && ended_length_q == count_t'(DEPTH));
      cover (ended_q && ended_length_q > count_t'(DEPTH));
      cover (kept_q == count_t'(DEPTH + LATENCY - 1));
      cover (where_q == KEPT && place_q == count_t'(DEPTH - 1) && pop);
      cover (where_q == KEPT && pop && place_q == 0 && open_q != 0 && kept_q > 1);
    end
  end

  // What the registers hold: beats of kept frames in the memory, those on the way out, then those of the open frame.
  count_t stored, open_stored, offset;
  logic on_the_way;
  beat_t memory_beat, way_beat;
  logic [ADDR_W-1:0] memory_place;

  assign stored      = count_t'((ADDR_W + 1)'(dut.commit_q - dut.rd_q));
  assign open_stored = count_t'((ADDR_W + 1)'(dut.wr_q - dut.commit_q));

  always_comb begin
    offset = place_q;
    if (where_q == KEPT) offset = place_q - count_t'(m_axis_tvalid) - count_t'(on_the_way);
    if (where_q == ENDED) offset = stored - ended_length_q + place_q;
    if (where_q == OPEN) offset = stored + place_q;
  end
  assign memory_place = dut.rd_q[ADDR_W-1:0] + ADDR_W'(offset);

  if (BLOCK_RAM) begin : gen_block
    assign on_the_way  = dut.u_store.gen_block.rd_valid_q;
    assign way_beat    = dut.u_store.gen_block.u_ram.read_q;
    assign memory_beat = dut.u_store.gen_block.u_ram.mem[memory_place];
    // What a block RAM returns when it reads the word being written is not defined: it never does.
    always_comb if (valid && dut.store && dut.rd_en) assert (dut.wr_q[ADDR_W-1:0] != dut.rd_q[ADDR_W-1:0]);
  end else begin : gen_dist
    assign on_the_way  = 1'b0;
    assign way_beat    = '0;
    assign memory_beat = dut.u_store.gen_dist.u_ram.mem[memory_place];
  end

  always_comb begin
    if (valid) begin
      assert (stored + open_stored <= count_t'(DEPTH));
      // `used` counts what is inside but for what is on its way out and for the rest of a frame that is thrown away.
      assert (used <= (ADDR_W + 1)'(DEPTH));
      if (!dut.discard_q) assert (count_t'(used) + count_t'(on_the_way) + count_t'(m_axis_tvalid) == held);
      assert (kept_q + (ended_q && !dropped ? ended_length_q : '0)
              == stored + count_t'(on_the_way) + count_t'(m_axis_tvalid));
      if (ended_q && !dropped) assert (stored >= ended_length_q && ended_length_q != 0);
      assert (open_stored == (dut.discard_q ? '0 : open_q));
      assert (open_q <= count_t'(DEPTH + 1));
      if (open_q > count_t'(DEPTH)) assert (dut.discard_q);
      if (dut.discard_q) assert (open_q != 0 && (DROP_WHEN_FULL ? open_met_full_q : open_q >= count_t'(DEPTH)));
      if (!dut.full_q) assert (stored + open_stored < count_t'(DEPTH));
      if (where_q == OPEN) assert (place_q < open_q);
      if (where_q == ENDED) assert (ended_q && place_q < ended_length_q);

      if (where_q == KEPT) begin
        if (place_q == 0 && m_axis_tvalid) assert (m_beat == value_q);
        else if (place_q == count_t'(m_axis_tvalid) && on_the_way) assert (way_beat == value_q);
        else assert (memory_beat == value_q);
      end
      if (where_q == ENDED && !dropped) assert (memory_beat == value_q);
      if (where_q == OPEN && !dut.discard_q) assert (memory_beat == value_q);
    end
  end

endmodule
