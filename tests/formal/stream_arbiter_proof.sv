// SPDX-License-Identifier: Apache-2.0
module stream_arbiter_proof #(
    parameter int unsigned INPUTS = 3,
    parameter bit ROUND_ROBIN = 1'b1
) (
    input logic                   clk,
    input logic                   rst,
    input logic                   mark,
    input logic [INPUTS-1:0]      s_axis_tvalid,
    input logic [INPUTS-1:0][7:0] s_axis_tdata,
    input logic [INPUTS-1:0][0:0] s_axis_tkeep,
    input logic [INPUTS-1:0]      s_axis_tlast,
    input logic [INPUTS-1:0][0:0] s_axis_tuser,
    input logic                   m_axis_tready
);

  typedef logic [10:0] beat_t;
  typedef logic [$clog2(INPUTS):0] index_t;  // counts to INPUTS too

  logic valid, m_axis_tvalid, m_axis_tlast, followed, idle;
  logic [INPUTS-1:0] s_axis_tready;
  logic [7:0] m_axis_tdata;
  logic [0:0] m_axis_tkeep, m_axis_tuser;
  beat_t s_beat, m_beat, value;
  logic [1:0] count, place;

  proof_reset u_reset (.clk, .rst, .valid);
  stream_arbiter #(.INPUTS(INPUTS), .DATA_W(8), .USER_W(1), .ROUND_ROBIN(ROUND_ROBIN)) dut (.*);

  logic [INPUTS-1:0] taken;
  index_t from;  // input that is served, if any
  assign taken = s_axis_tvalid & s_axis_tready;
  always_comb begin
    from   = '0;
    s_beat = '0;
    for (int unsigned i = 0; i < INPUTS; i++) begin
      if (taken[i]) begin
        from   = index_t'(i);
        s_beat = {s_axis_tlast[i], s_axis_tuser[i], s_axis_tkeep[i], s_axis_tdata[i]};
      end
    end
  end
  assign m_beat = {m_axis_tlast, m_axis_tuser, m_axis_tkeep, m_axis_tdata};

  // Beats come out in the order in which they are taken ...
  proof_stable #(.WIDTH(11)) u_stable (.clk, .rst, .valid(m_axis_tvalid && valid), .ready(m_axis_tready),
      .data(m_beat));
  proof_follow #(.WIDTH(11), .MAX(2)) u_follow (
      .clk, .rst, .valid, .mark, .push(|taken), .push_data(s_beat), .pop(m_axis_tvalid && m_axis_tready),
          .pop_data(m_beat),
      .count, .followed, .place, .value
  );

  // ... from one input at a time, and from the same one until its frame ends.
  logic inside_q;
  index_t owner_q;  // the input that was served last
  logic choose;  // a frame begins
  assign choose = |taken && !inside_q;

  // Inputs that go before input i when the next frame is chosen.
  function automatic index_t ahead(index_t i);
    if (!ROUND_ROBIN) return i;
    return index_t'(i - owner_q - 1'b1 + (i > owner_q ? 0 : INPUTS));
  endfunction

  always_ff @(posedge clk) begin
    if (|taken) begin
      inside_q <= !s_beat[10];
      owner_q  <= from;
    end
    if (rst) begin
      inside_q <= 1'b0;
      owner_q  <= index_t'(INPUTS - 1);
    end
  end

  always_comb begin
    if (valid) begin
      assert ((s_axis_tready & (s_axis_tready - 1'b1)) == '0);
      assert ((s_axis_tready & ~s_axis_tvalid) == '0);
      if (inside_q && |taken) assert (from == owner_q);

      // While the slice behind takes beats no cycle is lost.
      if (dut.s_ready && (inside_q ? s_axis_tvalid[owner_q] : |s_axis_tvalid)) assert (|taken);
      assert (m_axis_tvalid == (count != 0));
      assert (idle == (count == 0 && (INPUTS == 1 || !inside_q)));

      assert (count == 2'(dut.u_out.valid_q) + 2'(dut.u_out.valid_q && !dut.u_out.ready_q));
      if (followed && place == 0) assert (dut.u_out.data_q == value);
      if (followed && place == 1) assert (dut.u_out.spare_q == value);
      assert (owner_q < INPUTS);
      for (int unsigned i = 0; i < INPUTS; i++) begin
        assert (dut.may_q[i] == (!inside_q || owner_q == i));
        for (int unsigned j = 0; j < INPUTS; j++) begin
          assert (dut.yields_q[i][j] == (!inside_q && ahead(index_t'(j)) < ahead(index_t'(i))));
        end
      end
    end
  end

  // Frames that have passed one waiting input by, whichever it is.
  index_t waiting;
  always_ff @(posedge clk) waiting <= waiting;
  index_t passed_q;
  always_ff @(posedge clk) begin
    if (choose) passed_q <= s_axis_tvalid[waiting] && from != waiting ? passed_q + 1'b1 : '0;
    if (rst) passed_q <= '0;
  end

  always_comb begin
    assume (waiting < INPUTS);
    if (valid) cover (passed_q == INPUTS - 1);
  end

  if (ROUND_ROBIN) begin : gen_round_robin
    always_comb begin
      if (valid) begin
        assert (passed_q <= INPUTS - 1);
        assert (passed_q + ahead(waiting) <= INPUTS - 1);
        cover (choose && &s_axis_tvalid && from == INPUTS - 1);
      end
    end
  end else begin : gen_fixed
    always_comb begin
      for (int unsigned i = 0; i < INPUTS; i++) begin
        if (valid && choose && s_axis_tvalid[i]) assert (from <= i);
      end
    end
  end

endmodule
