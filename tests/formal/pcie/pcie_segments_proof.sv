// SPDX-License-Identifier: Apache-2.0
// Beats as pcie_write hands them over: rows count up, bursts don't cross 4 KB, and a row is written again only when it
// is free. One byte of one beat, whichever `mark` picks, is followed until its row is free.
module pcie_segments_proof
  import pcie_pkg::*;
#(
    parameter int unsigned DATA_W = 128,
    parameter int unsigned ROW_W = 3,
    parameter logic [2:0] MAX_PAYLOAD = 3'd0,
    localparam int unsigned BYTES = DATA_W / 8,
    localparam int unsigned LANES = DATA_W / 32,
    localparam int unsigned LANE_W = $clog2(LANES),
    localparam int unsigned OFFSET_W = $clog2(BYTES),
    localparam int unsigned ADDR_W = 64 - OFFSET_W
) (
    input logic                clk,
    input logic                rst,
    input logic                mark,
    input logic [OFFSET_W-1:0] mark_byte,
    input logic                s_valid,
    input logic [BYTES-1:0]    s_strb,
    input logic                s_last,
    input logic [13-OFFSET_W:0] first_beat,  // what is only passed on need not be wide
    input logic                first_func,
    input logic                first_id,
    input logic                m_ready
);

  typedef logic [ROW_W-1:0] row_t;
  typedef logic [ROW_W+LANE_W-1:0] place_t;  // of a DW in the store
  typedef struct packed {
    logic              last;
    logic [ADDR_W-1:0] beat;
    row_t              row;
    logic [15:0]       func;
    logic [7:0]        id;
  } beat_t;

  logic valid, s_ready, m_valid, m_ends, idle;
  request_t m_header;
  row_t m_row, m_free;
  logic [LANE_W-1:0] m_lane;
  logic [7:0] m_id;
  beat_t s;

  proof_reset u_reset (.clk, .rst, .valid);
  pcie_segments #(.DATA_W(DATA_W), .ROW_W(ROW_W)) dut (
      .max_payload(MAX_PAYLOAD), .s_beat(s.beat), .s_row(s.row), .s_func(s.func), .s_id(s.id), .*
  );
  proof_stable #(.WIDTH($bits(request_t) + 2 * ROW_W + LANE_W + 9)) u_stable (
      .clk, .rst, .valid(m_valid && valid), .ready(m_ready), .data({m_header, m_row, m_lane, m_free, m_ends, m_id})
  );

  // --------------------------------------------------------------------------------------------------- what comes in
  wire take = s_valid && s_ready;
  wire push = m_valid && m_ready;
  logic within_q;
  beat_t before_q;  // the beat that came last
  row_t row_q, free_q;

  assign s = '{
          last: s_last,
          beat: within_q ? before_q.beat + 1'b1 : ADDR_W'(first_beat),
          row: row_q,
          func: within_q ? before_q.func : 16'(first_func),
          id: within_q ? before_q.id : 8'(first_id)
      };
  always_comb begin
    if (s_valid) assume (row_t'(row_q - free_q) != '1);
    if (s_valid && &s.beat[11-OFFSET_W:0]) assume (s_last);
  end

  // One beat and the byte in it.
  logic followed_q, got_q;
  beat_t beat_q;
  logic [BYTES-1:0] strb_q;
  logic [OFFSET_W-1:0] byte_q;
  wire named = strb_q[byte_q];
  wire [LANE_W-1:0] lane = byte_q[OFFSET_W-1:2];

  function automatic logic solid(logic [BYTES-1:0] strb);
    logic some, over;
    some  = 1'b0;
    over  = 1'b0;
    solid = 1'b1;
    for (int unsigned i = 0; i < BYTES; i++) begin
      if (over && strb[i]) solid = 1'b0;
      over = over || (some && !strb[i]);
      some = some || strb[i];
    end
  endfunction

  // ---------------------------------------------------------------------------------------------------- what comes out
  wire place_t start = {m_row, m_lane};
  wire place_t ends = start + place_t'(m_header.dwords);
  wire place_t freed = {free_q, LANE_W'(0)};
  place_t floor_q;     // no DW before this one comes again
  logic [2:0] stall_q; // cycles in which the input waited and the output didn't
  localparam logic [10:0] SIZE = 11'd32 << MAX_PAYLOAD;
  wire [10:0] in_bound = {1'b0, m_header.addr[11:2]} & (SIZE - 1'b1);

  function automatic logic [10:0] offset_of(place_t first);  // the followed DW among those of a segment
    return 11'(place_t'({beat_q.row, lane} - first));
  endfunction
  function automatic logic has_byte(logic [10:0] offset, logic [10:0] dwords, logic [3:0] first, logic [3:0] last);
    logic [3:0] enables;
    enables = offset == '0 ? first : offset == dwords - 1'b1 ? last : '1;
    return offset < dwords && enables[byte_q[1:0]];
  endfunction

  wire [10:0] offset = offset_of(start);
  wire has = followed_q && has_byte(offset, m_header.dwords, m_header.first_be, m_header.last_be);
  wire frees = row_t'(beat_q.row - free_q) < row_t'(m_free - free_q);
  wire is_end = beat_q.row == row_t'(m_free - 1'b1);

  always_ff @(posedge clk) begin
    if (take) begin
      before_q <= s;
      within_q <= !s_last;
      row_q    <= row_q + 1'b1;
    end
    if (push) begin
      free_q  <= m_free;
      floor_q <= m_header.dwords == '0 || place_t'(ends - freed) < place_t'({m_free, LANE_W'(0)} - freed)
          ? {m_free, LANE_W'(0)} : ends;
      if (has) got_q <= 1'b1;
      if (frees) followed_q <= 1'b0;
    end
    if (take && mark && !followed_q) begin
      followed_q <= 1'b1;
      got_q      <= 1'b0;
      beat_q     <= s;
      strb_q     <= s_strb;
      byte_q     <= mark_byte;
    end
    stall_q <= s_ready ? '0 : stall_q + 3'(m_ready);
    if (rst) begin
      within_q   <= 1'b0;
      row_q      <= '0;
      free_q     <= '0;
      floor_q    <= '0;
      followed_q <= 1'b0;
      stall_q    <= '0;
    end
  end

  always_comb begin
    if (valid) begin
      if (m_valid) begin
        assert (m_header.write && m_lane == m_header.addr[2+:LANE_W] && m_header.addr[1:0] == '0);
        // DWs that are inside, in order and each once, then no more before m_free.
        if (m_header.dwords != '0) begin
          assert (place_t'(start - freed) >= place_t'(floor_q - freed));
          assert (12'(place_t'(start - freed)) + 12'(m_header.dwords) <= 12'({row_t'(row_q - free_q), LANE_W'(0)}));
          assert (m_header.dwords == 11'd1 ? m_header.first_be != '0 && m_header.last_be == '0 : m_header.first_be[3]
              && m_header.last_be[0] && solid(BYTES'(m_header.first_be)) && solid(BYTES'(m_header.last_be)));
          assert (in_bound + m_header.dwords <= SIZE);
        end else begin
          assert (m_ends);
        end
        assert (row_t'(m_free - free_q) <= row_t'(row_q - free_q));
        if (m_ends) assert (m_free != free_q);

        if (has) begin
          assert (named && !got_q);
          assert (m_header.addr[63:2] + 62'(offset) == {beat_q.beat, lane} && m_header.func == beat_q.func);
        end
        if (followed_q && frees) assert (!named || got_q || has);
        // The end of a burst goes with its last beat.
        if (followed_q && frees && beat_q.last) assert (m_ends && is_end && m_id == beat_q.id);
        if (followed_q && m_ends && is_end) assert (beat_q.last);
        // A run goes on as far as it can.
        if (followed_q && !m_ends && m_header.dwords > 11'd1 && ends == {beat_q.row, LANE_W'(0)} && m_header.last_be[3]
            && in_bound + m_header.dwords != SIZE)
          assert (!strb_q[0] || !solid(strb_q));
      end
      assert (stall_q <= 3'(LANES));
      if (idle) assert (!followed_q || !beat_q.last);

      cover (m_valid && !m_ends && m_header.dwords == 11'd7 && in_bound + m_header.dwords == SIZE);
      cover (m_valid && m_header.dwords == '0);
      cover (push && has && offset == 11'd9 && byte_q[1:0] == 2'd1 && !m_header.last_be[2]);
      cover (stall_q == 3'(LANES));
      cover (followed_q && got_q && row_t'(row_q - beat_q.row) == 2);
      cover (followed_q && push && frees && !named && !is_end && m_header.dwords != '0 && strb_q == '0);
    end
  end

  // ------------------------------------------------------------------------------------------ what the registers hold
  row_t next_row;       // of the beat that is the next one in stage 2
  logic [ADDR_W-1:0] next_beat;
  logic [15:0] next_func;
  row_t last_row;
  logic [BYTES-1:0] strb2;
  wire place_t open_start = {dut.open_segment_q.row, dut.open_segment_q.addr[2+:LANE_W]};
  wire [10:0] open_offset = offset_of(open_start);
  wire [10:0] open_bound = {1'b0, dut.open_segment_q.addr[11:2]} & (SIZE - 1'b1);
  wire followed_past = row_t'(beat_q.row - free_q) < row_t'(next_row - free_q);
  wire followed_open = dut.open_q
      && row_t'(beat_q.row - dut.open_segment_q.row) < row_t'(next_row - dut.open_segment_q.row);
  wire open_has = has_byte(open_offset, dut.open_segment_q.dwords, dut.open_segment_q.first_be,
      dut.open_segment_q.last_be);

  assign next_row = row_q - row_t'(dut.one_q) - row_t'(dut.two_q);
  assign strb2 = dut.strb2_q;
  logic [3:0] left;  // DWs of a beat with holes, - 1
  always_comb begin
    left = '1;
    for (int unsigned i = 0; i < LANES; i++) left += 4'(dut.todo[i]);
    if (dut.two_q) begin
      next_beat = dut.place2_q.beat;
      next_func = dut.place2_q.func;
    end else if (dut.one_q) begin
      next_beat = dut.place_q.beat;
      next_func = dut.place_q.func;
    end else begin
      next_beat = before_q.beat + 1'b1;
      next_func = before_q.func;
    end
    last_row = row_q - 1'b1;
  end

  always_comb begin
    if (valid) begin
      // The beats in both stages, one after the other.
      assert (row_t'(next_row - free_q) <= row_t'(row_q - free_q));
      if (row_q != free_q || within_q) assert (before_q.row == last_row && within_q == !before_q.last);
      if (within_q) assert (!(&before_q.beat[11-OFFSET_W:0]));
      if (row_q != free_q || within_q)
        assert (before_q.beat[ADDR_W-1:14-OFFSET_W] == '0 && before_q.func[15:1] == '0 && before_q.id[7:1] == '0);
      if (dut.one_q) assert (dut.place_q == before_q);
      if (dut.two_q)
        assert (dut.place2_q.beat[ADDR_W-1:14-OFFSET_W] == '0 && dut.place2_q.func[15:1] == '0
            && dut.place2_q.id[7:1] == '0);
      if (dut.two_q && !dut.one_q) assert (dut.place2_q == before_q);
      if (dut.two_q) assert (dut.place2_q.row == next_row);
      if (dut.two_q && dut.one_q && !dut.place2_q.last)
        assert (dut.place_q.beat == dut.place2_q.beat + 1'b1 && dut.place_q.func == dut.place2_q.func
            && dut.place_q.id == dut.place2_q.id && !(&dut.place2_q.beat[11-OFFSET_W:0]));
      if (dut.two_q) begin
        for (int unsigned i = 0; i < LANES; i++) begin
          assert (dut.b.some[i] == (strb2[4*i+:4] != '0));
          if (dut.b.some[i]) assert (dut.b.some[dut.b.first] && 32'(dut.b.first) <= i && i <= 32'(dut.b.last));
        end
        if (dut.b.some != '0) assert (dut.b.some[dut.b.last]);
        assert (dut.b.solid == solid(strb2) && dut.b.goes_on == strb2[0] && dut.b.to_end == strb2[BYTES-1]);
        assert (dut.b.bound == (({1'b0, dut.place2_q.beat[11-OFFSET_W:0], LANE_W'(0)} & (SIZE - 1'b1)) + 11'(LANES)
            == SIZE));
      end

      // A segment that goes on reaches to the next beat.
      if (dut.open_q) begin
        assert (!dut.apart_q && dut.open_segment_q.dwords != '0);
        assert (place_t'(open_start - freed) >= place_t'(floor_q - freed));
        assert (12'(place_t'(open_start - freed)) + 12'(dut.open_segment_q.dwords)
            == 12'({row_t'(next_row - free_q), LANE_W'(0)}));
        assert (dut.open_segment_q.addr + 62'(dut.open_segment_q.dwords) == {next_beat, LANE_W'(0)});
        assert (dut.open_segment_q.func == next_func && open_bound + dut.open_segment_q.dwords < SIZE);
        assert (dut.open_segment_q.first_be[3] && solid(BYTES'(dut.open_segment_q.first_be)));
        assert (dut.open_segment_q.dwords == 11'd1 ? dut.open_segment_q.last_be == '0
            : dut.open_segment_q.last_be == '1);
        if (!dut.two_q && !dut.one_q) assert (within_q);
      end
      // DWs of a beat with holes
      if (dut.apart_q) begin
        assert (dut.two_q && !dut.b.solid && dut.todo_q != '0 && (dut.todo_q & ~dut.b.some) == '0);
        for (int unsigned i = 0; i < LANES; i++) if (dut.todo_q[i]) assert (place_t'(floor_q - freed) <= place_t'(i));
        assert (free_q == next_row);
      end else begin
        assert (place_t'(floor_q - freed) == '0);
      end
      assert (4'(stall_q) + 4'(dut.two_q && dut.interrupts) + (dut.two_q && !dut.b.solid ? left : '0) <= 4'(LANES));

      if (followed_q) begin
        assert (row_t'(beat_q.row - free_q) < row_t'(row_q - free_q));
        if (beat_q.row == last_row) assert (beat_q == before_q);
        if (followed_past) begin
          assert (!got_q && !beat_q.last);
          if (followed_open) begin
            assert (open_has == named && beat_q.func == dut.open_segment_q.func);
            assert (beat_q.beat == dut.open_segment_q.addr[63:OFFSET_W] + ADDR_W'(row_t'(beat_q.row
                - dut.open_segment_q.row)));
          end else begin
            assert (strb_q == '0);
          end
        end else if (dut.two_q && beat_q.row == next_row) begin
          assert (beat_q == dut.place2_q && strb_q == strb2);
          if (got_q) assert (named && dut.apart_q && !dut.todo_q[lane]);
          if (named && !got_q && dut.apart_q) assert (dut.todo_q[lane]);
        end else begin
          assert (dut.one_q && beat_q == dut.place_q && strb_q == dut.strb_q && !got_q);
        end
      end
    end
  end

endmodule
