// SPDX-License-Identifier: Apache-2.0
// Says of each frame whether its checksums are known to be right: those of IPv4's header, and of TCP or UDP, of a
// packet that is whole in the frame (see ip_heads). It is not said of fragments, of UDP without a checksum or of
// another length than its packet's, and of what is not looked into: other protocols, tunnels' inner packets, further
// extension headers. Bytes behind the packet don't count.
// Latency: 2 cycles, of a frame's last beat 10. Throughput: a beat a cycle, also of frames of one beat.
// Backpressure: s_axis_tready is a register, low while 16 beats wait.
module receive_sum
  import offload_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned QUEUES = 16,
    localparam int unsigned BYTES = DATA_W / 8,
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1
) (
    input  logic               clk,
    input  logic               rst,

    input  logic               s_axis_tvalid,
    output logic               s_axis_tready,
    input  logic [ DATA_W-1:0] s_axis_tdata,
    input  logic [  BYTES-1:0] s_axis_tkeep,
    input  logic               s_axis_tlast,
    input  logic [QUEUE_W-1:0] s_axis_queue,
    output logic               m_axis_tvalid,
    input  logic               m_axis_tready,
    output logic [ DATA_W-1:0] m_axis_tdata,
    output logic [  BYTES-1:0] m_axis_tkeep,
    output logic               m_axis_tlast,
    output logic [QUEUE_W-1:0] m_axis_queue,
    output logic               m_axis_valid_sum, // with tlast
    output logic               idle
);

  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512) begin : gen_bad_data_w
    $fatal(1, "receive_sum: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (QUEUES < 1 || QUEUES > 65536) begin : gen_bad_queues
    $fatal(1, "receive_sum: QUEUES must be 1 to 65536, not %0d", QUEUES);
  end

  localparam int unsigned LANE_W = $clog2(BYTES);
  localparam int unsigned INDEX_W = PLACE_W - LANE_W;
  localparam int unsigned HEAD_BEATS = HEAD_BYTES / BYTES;
  localparam int unsigned WAITING = 16;

  typedef logic [INDEX_W-1:0] index_t;
  typedef logic [PLACE_W-1:0] place_t;

  // ------------------------------------------------------------------------ frames wait until their sums are known
  logic wait_valid, wait_ready, right_valid, right_q, right, unused_ready, verdict_valid_q;

  stream_fifo #(
      .WIDTH(QUEUE_W + 1 + BYTES + DATA_W),
      .DEPTH(WAITING)
  ) u_beats (
      .clk,
      .rst,
      .s_valid(s_axis_tvalid),
      .s_ready(s_axis_tready),
      .s_data ({s_axis_queue, s_axis_tlast, s_axis_tkeep, s_axis_tdata}),
      .m_valid(wait_valid),
      .m_ready(wait_ready),
      .m_data ({m_axis_queue, m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .count  (),
      .idle
  );

  stream_fifo #(
      .WIDTH(1),
      .DEPTH(WAITING)
  ) u_verdicts (
      .clk,
      .rst,
      .s_valid(verdict_valid_q),
      .s_ready(unused_ready),
      .s_data (right_q),
      .m_valid(right_valid),
      .m_ready(m_axis_tvalid && m_axis_tready && m_axis_tlast),
      .m_data (right),
      .count  (),
      .idle   ()
  );

  assign m_axis_tvalid    = wait_valid && (!m_axis_tlast || right_valid);
  assign wait_ready       = m_axis_tready && m_axis_tvalid;
  assign m_axis_valid_sum = right && m_axis_tlast;

  // ------------------------------------------------------------- stage 0: the beat, its place in the frame, the head
  // The index of a frame that gets too long stays at its highest, beyond all packets' ends.
  logic valid_0, last_0;
  index_t index_0;
  logic [LANE_W:0] count_0;
  logic [DATA_W-1:0] data_0;
  logic [HEAD_BEATS-1:0][DATA_W-1:0] head, head_q;
  heads_t heads;
  wire take = s_axis_tvalid && s_axis_tready;

  always_comb begin
    for (int unsigned i = 0; i < HEAD_BEATS; i++) head[i] = index_0 == index_t'(i) ? data_0 : head_q[i];
  end

  ip_heads u_heads (
      .head,
      .heads
  );

  always_ff @(posedge clk) begin
    valid_0 <= take;
    if (take) begin
      last_0  <= s_axis_tlast;
      data_0  <= s_axis_tdata;
      count_0 <= (LANE_W + 1)'($countones(s_axis_tkeep));
    end
    if (valid_0) begin
      head_q  <= head;
      index_0 <= last_0 ? '0 : index_0 + index_t'(index_0 != '1);
    end
    if (rst) begin
      valid_0 <= 1'b0;
      index_0 <= '0;
    end
  end

  // --------------------------------------------------------------------------- stage 1: which bytes count in which sum
  // The sum of TCP and UDP has the IP addresses before it.
  logic valid_1, last_1;
  index_t index_1;
  place_t end_1;
  logic [DATA_W-1:0] data_1;
  heads_t heads_1;
  logic [BYTES-1:0] before_ip, before_from, before_to, before_l4, before_end;
  wire place_t ip_1 = place_t'(heads_1.ip);
  wire place_t l4_1 = place_t'(heads_1.l4);

  always_ff @(posedge clk) begin
    valid_1 <= valid_0;
    last_1  <= last_0;
    index_1 <= index_0;
    end_1   <= {index_0, LANE_W'(0)} + place_t'(count_0);
    data_1  <= data_0;
    heads_1 <= heads;
    if (rst) valid_1 <= 1'b0;
  end

  lanes_below #(.BYTES(BYTES)) u_ip (.place(ip_1), .beat(index_1), .lanes(before_ip));
  lanes_below #(.BYTES(BYTES)) u_from (
      .place(ip_1 + (heads_1.v6 ? place_t'(8) : place_t'(12))),
      .beat (index_1),
      .lanes(before_from)
  );
  lanes_below #(.BYTES(BYTES)) u_to (
      .place(ip_1 + (heads_1.v6 ? place_t'(40) : place_t'(20))),
      .beat (index_1),
      .lanes(before_to)
  );
  lanes_below #(.BYTES(BYTES)) u_l4 (.place(l4_1), .beat(index_1), .lanes(before_l4));
  lanes_below #(.BYTES(BYTES)) u_end (.place(heads_1.ends), .beat(index_1), .lanes(before_end));

  logic [21:0] ip_sum_3, l4_sum_3;
  word_sum #(
      .DATA_W(DATA_W)
  ) u_ip_sum (
      .clk,
      .data  (data_1),
      .counts(before_l4 & ~before_ip),
      .sum   (ip_sum_3)
  );
  word_sum #(
      .DATA_W(DATA_W)
  ) u_l4_sum (
      .clk,
      .data  (data_1),
      .counts((before_to & ~before_from) | (before_end & ~before_l4)),
      .sum   (l4_sum_3)
  );

  // UDP's length and checksum, each of which is in one beat
  wire place_t length_at = l4_1 + place_t'(4);
  wire place_t sum_at = l4_1 + place_t'(6);
  wire [15:0] length_word = data_1[8*length_at[LANE_W-1:0]+:16];
  wire [15:0] sum_word = data_1[8*sum_at[LANE_W-1:0]+:16];
  wire [15:0] bytes_1 = 16'(heads_1.ends - l4_1);
  wire fits_1 = heads_1.known && heads_1.ends <= end_1;
  logic same_length_2, has_sum_2;

  // -------------------------------------------------------------------------- stages 2 to 4: the frame's sums so far
  typedef struct packed {
    logic        last;
    logic        fits;
    logic        v6;
    logic        tcp;
    logic        udp_right;
    logic [15:0] bytes;         // of the packet, without IP's header
  } what_t;

  what_t what_2, what_3, what_4;
  logic valid_2, valid_3, valid_4, valid_5, begin_3;
  logic [31:0] l4_sum_4;
  logic [21:0] ip_sum_4;
  logic [18:0] l4_sum_5;
  logic [16:0] l4_sum_6, ip_sum_5, ip_sum_6;
  logic claim_5, claim_6, v6_5, v6_6, valid_6;

  always_ff @(posedge clk) begin
    valid_2 <= valid_1;
    what_2  <= '{last: last_1, fits: fits_1, v6: heads_1.v6, tcp: heads_1.tcp, udp_right: 1'b0, bytes: bytes_1};
    if (valid_1) begin
      if (index_1 == '0) begin
        same_length_2 <= 1'b0;
        has_sum_2     <= 1'b0;
      end
      if (length_at[PLACE_W-1:LANE_W] == index_1) same_length_2 <= {length_word[7:0], length_word[15:8]} == bytes_1;
      if (sum_at[PLACE_W-1:LANE_W] == index_1) has_sum_2 <= sum_word != '0;
    end
    valid_3          <= valid_2;
    what_3           <= what_2;
    what_3.udp_right <= same_length_2 && has_sum_2;
    valid_4          <= valid_3;
    what_4           <= what_3;
    if (valid_3) begin
      l4_sum_4 <= (begin_3 ? '0 : l4_sum_4) + 32'(l4_sum_3);
      ip_sum_4 <= (begin_3 ? '0 : ip_sum_4) + ip_sum_3;
      begin_3  <= what_3.last;
    end
    if (rst) begin
      valid_2 <= 1'b0;
      valid_3 <= 1'b0;
      valid_4 <= 1'b0;
      begin_3 <= 1'b1;
    end
  end

  // --------------------------------------------------------------------------------- stages 5 to 7: folded, and judged
  function automatic logic all_ones(logic [16:0] sum);
    return sum == 17'h0FFFF || sum == 17'h1FFFE;
  endfunction

  always_ff @(posedge clk) begin
    valid_5  <= valid_4 && what_4.last;
    v6_5     <= what_4.v6;
    claim_5  <= what_4.fits && (what_4.tcp || what_4.udp_right);
    l4_sum_5 <= (19'(l4_sum_4[15:0]) + 19'(l4_sum_4[31:16])) + (19'(what_4.bytes) + 19'(what_4.tcp ? TCP : UDP));
    ip_sum_5 <= 17'(ip_sum_4[15:0]) + 17'(ip_sum_4[21:16]);
    valid_6  <= valid_5;
    v6_6     <= v6_5;
    claim_6  <= claim_5;
    l4_sum_6 <= 17'(l4_sum_5[15:0]) + 17'(l4_sum_5[18:16]);
    ip_sum_6 <= ip_sum_5;
    verdict_valid_q <= valid_6;
    right_q         <= claim_6 && (v6_6 || all_ones(ip_sum_6)) && all_ones(l4_sum_6);
    if (rst) begin
      valid_5         <= 1'b0;
      valid_6         <= 1'b0;
      verdict_valid_q <= 1'b0;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst) assert (!verdict_valid_q || unused_ready) else $error("%m: a frame's verdict is lost");
  end
`else
  wire unused = &{1'b0, unused_ready};
`endif

endmodule
