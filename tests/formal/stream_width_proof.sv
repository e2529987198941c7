// SPDX-License-Identifier: Apache-2.0
// Follows one byte. A beat holds as many items as it has bytes, or one item without a byte if it has none.
module stream_width_proof #(
    parameter int unsigned S_LANES = 2,
    parameter int unsigned M_LANES = 1
) (
    input logic                    clk,
    input logic                    rst,
    input logic                    mark,
    input logic [2:0]              mark_lane,
    input logic                    s_axis_tvalid,
    input logic [S_LANES-1:0][7:0] s_axis_tdata,
    input logic [S_LANES-1:0]      s_axis_tkeep,
    input logic                    s_axis_tlast,
    input logic [0:0]              s_axis_tuser,
    input logic                    m_axis_tready
);

  localparam int unsigned LANES = S_LANES > M_LANES ? S_LANES : M_LANES;
  localparam int unsigned MAX = 4 * LANES;

  // Only a frame's last byte tells its end. Going up a wide beat has the tuser of its last narrow one; down, all have
  // it.
  typedef struct packed {
    logic       empty;
    logic       last;
    logic       user;
    logic [7:0] data;
  } item_t;

  typedef struct packed {
    logic                  last;
    logic                  user;
    logic [LANES-1:0]      keep;
    logic [LANES-1:0][7:0] data;
  } beat_t;

  typedef logic [$clog2(MAX+1)-1:0] count_t;

  function automatic count_t items(beat_t beat);
    items = count_t'(1);
    for (int unsigned i = 1; i < LANES; i++) if (beat.keep[i]) items = count_t'(i + 1);
  endfunction

  function automatic item_t item(beat_t beat, count_t lane);
    item_t found;
    found.empty = beat.keep == '0;
    found.last  = beat.last && lane == items(beat) - 1;
    found.user  = beat.user && (found.last || M_LANES <= S_LANES);
    found.data  = found.empty ? '0 : beat.data[lane];
    return found;
  endfunction

  logic valid, s_axis_tready, m_axis_tvalid, m_axis_tlast, idle, fresh_q;
  logic [M_LANES-1:0][7:0] m_axis_tdata;
  logic [M_LANES-1:0] m_axis_tkeep;
  logic [0:0] m_axis_tuser;
  beat_t s_beat, m_beat;
  logic push, pop;

  proof_reset u_reset (.clk, .rst, .valid);
  stream_width #(.S_DATA_W(8 * S_LANES), .M_DATA_W(8 * M_LANES), .USER_W(1)) dut (.*);
  proof_stable #(.WIDTH(2 + 9 * M_LANES)) u_stable (
      .clk, .rst, .valid(m_axis_tvalid && valid), .ready(m_axis_tready),
      .data({m_axis_tlast, m_axis_tuser, m_axis_tkeep, m_axis_tdata})
  );

  assign s_beat =
      '{last: s_axis_tlast, user: s_axis_tuser, keep: LANES'(s_axis_tkeep), data: (8 * LANES)'(s_axis_tdata)};
  assign m_beat =
      '{last: m_axis_tlast, user: m_axis_tuser, keep: LANES'(m_axis_tkeep), data: (8 * LANES)'(m_axis_tdata)};
  assign push   = s_axis_tvalid && s_axis_tready;
  assign pop    = m_axis_tvalid && m_axis_tready;

  // A frame as the input must give it: all lanes but in the last beat, no holes, a beat without bytes only alone.
  logic s_inside_q, m_inside_q;
  always_comb begin
    assume ((s_axis_tkeep & (s_axis_tkeep + 1'b1)) == '0);
    assume (s_axis_tlast || &s_axis_tkeep);
    assume (s_axis_tkeep != '0 || !s_inside_q);
  end

  // The books.
  count_t count_q, place_q;
  logic followed_q;
  item_t value_q;

  always_ff @(posedge clk) begin
    count_q <= count_q + (push ? items(s_beat) : '0) - (pop ? items(m_beat) : '0);
    fresh_q <= rst;
    if (push) s_inside_q <= !s_axis_tlast;
    if (pop) m_inside_q <= !m_axis_tlast;
    if (followed_q) begin
      if (pop && place_q < items(m_beat)) followed_q <= 1'b0;
      if (pop) place_q <= place_q - items(m_beat);
    end else if (push && mark && count_t'(mark_lane) < items(s_beat)) begin
      followed_q <= 1'b1;
      value_q    <= item(s_beat, count_t'(mark_lane));
      place_q    <= count_q - (pop ? items(m_beat) : '0) + count_t'(mark_lane);
    end
    if (rst) begin
      count_q    <= 0;
      s_inside_q <= 1'b0;
      m_inside_q <= 1'b0;
      followed_q <= 1'b0;
    end
  end

  always_comb begin
    if (valid) begin
      assert (count_q <= count_t'(MAX));
      assert (idle == (count_q == 0));
      if (fresh_q) assert (!s_axis_tready);
      if (pop) assert (count_q >= items(m_beat));
      if (followed_q) assert (place_q < count_q);
      if (followed_q && pop && place_q < items(m_beat)) assert (item(m_beat, place_q) == value_q);

      // A frame as the output gives it.
      if (pop) begin
        assert ((m_axis_tkeep & (m_axis_tkeep + 1'b1)) == '0);
        assert (m_axis_tlast || &m_axis_tkeep);
        assert (m_axis_tkeep != '0 || !m_inside_q);
      end

      cover (pop && m_beat.keep == '0);
      cover (pop && place_q == 0 && followed_q && !value_q.last && count_q > count_t'(2));
      cover (pop && place_q == 0 && followed_q && value_q.last && !value_q.empty && count_q > count_t'(2));
      cover (!s_axis_tready && s_axis_tvalid);
    end
  end

  // What the registers hold: up to three beats, the first one to leave first, from lane `first` on.
  localparam int unsigned NARROW = S_LANES > M_LANES ? M_LANES : S_LANES;

  typedef logic [9*NARROW+1:0] narrow_t;

  function automatic beat_t beat_of(narrow_t bits);
    beat_t beat;
    beat.last = bits[9*NARROW+1];
    beat.user = bits[9*NARROW];
    beat.keep = LANES'(bits[9*NARROW-1-:NARROW]);
    beat.data = (8 * LANES)'(bits[8*NARROW-1:0]);
    return beat;
  endfunction

  beat_t [2:0] part;
  logic [2:0] part_valid;
  count_t first;  // of the last part
  logic [2:0][LANES-1:0] full;  // tkeep of a part that is not the last of its frame
  logic filling;                // part 0 is not complete
  logic slice_full, slice_spare;

  assign slice_full  = dut.u_slice.valid_q;
  assign slice_spare = slice_full && !dut.u_slice.ready_q;

  if (M_LANES > S_LANES) begin : gen_up
    beat_t wide;
    always_comb begin
      wide = '{last: dut.gen_up.last_q, user: dut.gen_up.user_q, keep: dut.gen_up.keep_q, data: dut.gen_up.data_q};
      // Filled in part, so far with whole beats.
      if (!dut.gen_up.valid_q) begin
        wide.last = 1'b0;
        wide.keep = LANES'((1 << S_LANES * dut.gen_up.index_q) - 1);
      end
    end
    assign part       = {beat_of(dut.u_slice.spare_q), beat_of(dut.u_slice.data_q), wide};
    assign part_valid = {slice_spare, slice_full, dut.gen_up.valid_q || dut.gen_up.index_q != '0};
    assign first      = '0;
    assign full       = {LANES'((1 << S_LANES) - 1), LANES'((1 << S_LANES) - 1), LANES'((1 << M_LANES) - 1)};
    assign filling    = !dut.gen_up.valid_q;
    always_comb begin
      if (valid && dut.gen_up.valid_q) assert (dut.gen_up.index_q == '0);
      if (valid) assert (32'(dut.gen_up.index_q) < M_LANES / S_LANES);
      if (valid && !dut.gen_up.valid_q && dut.gen_up.index_q != '0) assert (dut.gen_up.keep_q == wide.keep);
    end
  end else if (M_LANES < S_LANES) begin : gen_down
    beat_t wide;
    assign wide = '{
        last: dut.gen_down.last_q, user: dut.gen_down.user_q, keep: dut.gen_down.keep_q, data: dut.gen_down.data_q
    };
    assign part       = {wide, beat_of(dut.u_slice.spare_q), beat_of(dut.u_slice.data_q)};
    assign part_valid = {dut.gen_down.valid_q, slice_spare, slice_full};
    assign first      = count_t'(M_LANES * dut.gen_down.index_q);
    assign full       = {LANES'((1 << S_LANES) - 1), LANES'((1 << M_LANES) - 1), LANES'((1 << M_LANES) - 1)};
    assign filling    = 1'b0;
    always_comb begin
      for (int unsigned i = 0; i < S_LANES / M_LANES; i++) begin
        // more_q tells of the lanes behind index_q.
        if (valid && dut.gen_down.valid_q && i >= 32'(dut.gen_down.index_q) && i + 1 < S_LANES / M_LANES)
          assert (dut.gen_down.more_q[i-32'(dut.gen_down.index_q)] == wide.keep[(i+1)*M_LANES]);
      end
      if (valid && dut.gen_down.valid_q) begin
        assert (!dut.gen_down.more_q[S_LANES/M_LANES-1-32'(dut.gen_down.index_q)]);
        assert (dut.gen_down.index_q == '0 || wide.keep[first]);
        assert (32'(dut.gen_down.index_q) < S_LANES / M_LANES);
      end
    end
  end else begin : gen_same
    assign part       = {beat_t'(0), beat_of(dut.u_slice.spare_q), beat_of(dut.u_slice.data_q)};
    assign part_valid = {1'b0, slice_spare, slice_full};
    assign first      = '0;
    assign full       = {3{LANES'((1 << S_LANES) - 1)}};
    assign filling    = 1'b0;
  end

  count_t held;
  item_t at_place;
  always_comb begin
    held     = '0;
    at_place = '0;
    for (int unsigned i = 0; i < 3; i++) begin
      for (int unsigned lane = 0; lane < LANES; lane++) begin
        if (part_valid[i] && (i < 2 || lane >= 32'(first))
            && (part[i].keep == '0 ? lane == 0 : part[i].keep[lane])) begin
          if (held == place_q) at_place = item(part[i], count_t'(lane));
          held = held + 1'b1;
        end
      end
    end
  end

  // Each part is a beat as frames have them, seen from the frames that are open at the output and at the input.
  logic inside_frame;
  always_comb begin
    inside_frame = m_inside_q;
    if (valid) begin
      assert (held == count_q);
      if (followed_q) assert (at_place == value_q);
      for (int unsigned i = 0; i < 3; i++) begin
        if (part_valid[i]) begin
          assert ((part[i].keep & (part[i].keep + 1'b1)) == '0);
          assert (part[i].last || part[i].keep == full[i] || (i == 0 && filling));
          assert (part[i].keep != '0 || !inside_frame);
          if (i == 2 && first != '0) assert (inside_frame);
          inside_frame = !part[i].last;
        end
      end
      assert (inside_frame == s_inside_q);
    end
  end

endmodule
