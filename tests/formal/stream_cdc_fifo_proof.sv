// SPDX-License-Identifier: Apache-2.0
// The two clocks are free: each step of the proof may have an edge of either, of both or of none, in any order.
// The registers start as the reset leaves them. A pointer changes in one bit at a time (proved here), so that a sample
// that is taken while it changes is the old or the new value: it is as if the edge had come a moment earlier or later.
module stream_cdc_fifo_proof #(
    parameter int unsigned WIDTH = 2,
    parameter int unsigned DEPTH = 4,
    localparam int unsigned ADDR_W = $clog2(DEPTH)
) (
    input logic             s_clk,
    input logic             m_clk,
    input logic             s_valid,
    input logic [WIDTH-1:0] s_data,
    input logic             m_ready
);

  typedef logic [ADDR_W:0] pointer_t;

  logic s_rst, m_rst, s_ready, m_valid, s_idle, m_idle;
  logic [WIDTH-1:0] m_data;

  assign s_rst = 1'b0;
  assign m_rst = 1'b0;

  stream_cdc_fifo #(.WIDTH(WIDTH), .DEPTH(DEPTH)) dut (.*);

  // Words are numbered at both ends, modulo more than there can be inside. The word of any one number is followed.
  pointer_t sent_q, got_q, number;
  logic [WIDTH-1:0] value_q;
  logic push, pop;
  assign push = s_valid && s_ready;
  assign pop  = m_valid && m_ready;

  always_ff @(posedge s_clk) begin
    number <= number;
    if (push) sent_q <= sent_q + 1'b1;
    if (push && sent_q == number) value_q <= s_data;
  end
  always_ff @(posedge m_clk) if (pop) got_q <= got_q + 1'b1;

  logic s_started_q = 1'b0, m_started_q = 1'b0;
  always_ff @(posedge s_clk) s_started_q <= 1'b1;
  always_ff @(posedge m_clk) m_started_q <= 1'b1;

  always_comb begin
    if (!s_started_q)
      assume (dut.wr_q == '0 && dut.wr_gray_q == '0 && dut.wr_next_q == pointer_t'(1) && !dut.ready_q
          && dut.u_sync_rd.sync_q == '0 && sent_q == '0);
    if (!m_started_q)
      assume (dut.rd_q == '0 && dut.rd_gray_q == '0 && !dut.valid_q && dut.u_sync_wr.sync_q == '0 && got_q == '0);
  end

  pointer_t count;
  assign count = sent_q - got_q;

  always_comb begin
    assert (count <= pointer_t'(DEPTH + 1));
    if (m_valid) assert (count != '0);
    if (s_idle && m_idle) assert (count == '0);
    if (m_valid && got_q == number) assert (m_data == value_q);
    cover (count == pointer_t'(DEPTH + 1));
    cover (m_valid && got_q == number && number == pointer_t'(DEPTH + 1));
    cover (s_started_q && m_started_q && sent_q == '0 && dut.wr_q == '0 && got_q == '1);
  end

  // A word that is offered stays.
  logic held_q = 1'b0;
  logic [WIDTH-1:0] data_q;
  always_ff @(posedge m_clk) begin
    held_q <= m_valid && !m_ready;
    data_q <= m_data;
  end
  always_comb if (held_q) assert (m_valid && m_data == data_q);

  // One bit of a pointer changes at a time.
  pointer_t wr_before_q = '0, rd_before_q = '0;
  always_ff @(posedge s_clk) wr_before_q <= dut.wr_gray_q;
  always_ff @(posedge m_clk) rd_before_q <= dut.rd_gray_q;
  function automatic logic one_bit(pointer_t change);
    return (change & (change - 1'b1)) == '0;
  endfunction
  always_comb begin
    assert (one_bit(dut.wr_gray_q ^ wr_before_q));
    assert (one_bit(dut.rd_gray_q ^ rd_before_q));
  end

  // What the registers hold: the pointers in the order rd, wr as the reader sees it twice, wr; and rd as the writer
  // sees it.
  function automatic pointer_t binary(pointer_t gray);
    for (int i = ADDR_W; i >= 0; i--) binary[i] = ^(gray >> i);
  endfunction

  pointer_t wr_m1, wr_m0, rd_s1, rd_s0, place;
  assign wr_m1 = binary(dut.u_sync_wr.sync_q[1]);
  assign wr_m0 = binary(dut.u_sync_wr.sync_q[0]);
  assign rd_s1 = binary(dut.u_sync_rd.sync_q[1]);
  assign rd_s0 = binary(dut.u_sync_rd.sync_q[0]);

  function automatic pointer_t behind(pointer_t first, pointer_t second);
    return second - first;
  endfunction

  assign place = number - got_q;  // of the followed word among those inside

  always_comb begin
    assert (dut.wr_gray_q == (dut.wr_q ^ (dut.wr_q >> 1)));
    assert (dut.wr_next_q == ((dut.wr_q + 1'b1) ^ ((dut.wr_q + 1'b1) >> 1)));
    assert (dut.rd_gray_q == (dut.rd_q ^ (dut.rd_q >> 1)));
    assert (sent_q == dut.wr_q);
    assert (dut.rd_q == got_q + pointer_t'(dut.valid_q));
    assert (behind(dut.rd_q, wr_m1) <= behind(dut.rd_q, wr_m0));
    assert (behind(dut.rd_q, wr_m0) <= behind(dut.rd_q, dut.wr_q));
    assert (behind(dut.rd_q, dut.wr_q) <= behind(rd_s0, dut.wr_q));
    assert (behind(rd_s0, dut.wr_q) <= behind(rd_s1, dut.wr_q));
    assert (behind(rd_s1, dut.wr_q) <= pointer_t'(DEPTH));
    if (dut.ready_q) assert (behind(rd_s1, dut.wr_q) < pointer_t'(DEPTH));
    if (place < count && !(place == '0 && dut.valid_q)) assert (dut.u_ram.mem[number[ADDR_W-1:0]] == value_q);
  end

endmodule
