// SPDX-License-Identifier: Apache-2.0
// Store at the entrance of a functional block. A packet is dropped whole when it finds no room or when `enable` is low
// at its first beat (both count as overflow), or when it is malformed: without a payload, or with more than MAX_PACKET
// bytes. received = overflow + malformed + those that come out + those inside.
// Latency: 3 cycles from the last beat in to the first beat out. Throughput: 1 beat a cycle.
// Backpressure: none: s_axis_tready is always high.
module block_store #(
    parameter int unsigned DATA_W = 64,
    parameter int unsigned STORE_KB = 16,
    parameter int unsigned MAX_PACKET = 1514,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,
    input  logic              enable,

    input  logic              s_axis_tvalid,
    output logic              s_axis_tready,
    input  logic [DATA_W-1:0] s_axis_tdata,
    input  logic [KEEP_W-1:0] s_axis_tkeep,
    input  logic              s_axis_tlast,

    output logic              m_axis_tvalid,
    input  logic              m_axis_tready,
    output logic [DATA_W-1:0] m_axis_tdata,
    output logic [KEEP_W-1:0] m_axis_tkeep,
    output logic              m_axis_tlast,

    output logic              received,       // a packet's last beat came in the cycle before, ...
    output logic              overflow,       // ... and it is dropped
    output logic              malformed,
    output logic              idle
);

  localparam int unsigned HEADER_BEATS = (80 + DATA_W - 1) / DATA_W;
  localparam int unsigned BEATS = STORE_KB * 1024 / KEEP_W;

  if (STORE_KB < 1 || STORE_KB > 1024 || 2 ** $clog2(STORE_KB) != STORE_KB) begin : gen_bad_store_kb
    $fatal(1, "block_store: STORE_KB must be a power of two from 1 to 1024, not %0d", STORE_KB);
  end
  if (BEATS < HEADER_BEATS + (MAX_PACKET + KEEP_W - 1) / KEEP_W) begin : gen_bad_store
    $fatal(1, "block_store: STORE_KB must hold a packet of MAX_PACKET bytes, not %0d", STORE_KB);
  end

  logic first_q, off_q, long_q, ended_q, bad_q;
  logic off, bad, take, empty, payload_valid, payload_last, payload_long, dropped;

  assign take = s_axis_tvalid && s_axis_tready;
  assign off  = first_q ? !enable : off_q;
  assign bad  = empty || long_q || (payload_valid && payload_last && payload_long);

  always_ff @(posedge clk) begin
    if (take) begin
      first_q <= s_axis_tlast;
      off_q   <= off;
      long_q  <= bad && !s_axis_tlast;
    end
    ended_q <= take && s_axis_tlast;
    bad_q   <= bad && !off;
    if (rst) begin
      first_q <= 1'b1;
      long_q  <= 1'b0;
      ended_q <= 1'b0;
    end
  end

  assign received  = ended_q;
  assign malformed = ended_q && bad_q;
  assign overflow  = dropped && !bad_q;

  // Takes the packets apart as the block will, only to see whether that can be done.
  // verilator lint_off PINCONNECTEMPTY
  noc_unpack #(
      .DATA_W(DATA_W),
      .MAX_PACKET(MAX_PACKET)
  ) u_check (
      .clk,
      .rst,
      .s_axis_tvalid(take),
      .s_axis_tready(),
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .m_axis_tvalid(payload_valid),
      .m_axis_tready(1'b1),
      .m_axis_tdata (),
      .m_axis_tkeep (),
      .m_axis_tlast (payload_last),
      .m_too_long   (payload_long),
      .m_header     (),
      .malformed    (empty),
      .idle         ()
  );

  packet_fifo #(
      .DATA_W(DATA_W),
      .DEPTH(BEATS)
  ) u_store (
      .clk,
      .rst,
      .s_axis_tvalid,
      .s_axis_tready,
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .s_axis_tuser (1'b0),
      .s_drop       (off || bad),
      .m_axis_tvalid,
      .m_axis_tready,
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_tuser (),
      .used         (),
      .dropped,
      .idle
  );
  // verilator lint_on PINCONNECTEMPTY

endmodule
