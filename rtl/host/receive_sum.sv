// SPDX-License-Identifier: Apache-2.0
// Says of each frame whether its checksums are known to be right: those of IPv4's header, and of TCP or UDP, of a
// packet that is whole in the frame (see ip_heads). It is not said of fragments, of UDP without a checksum or of
// another length than its packet's, and of what is not looked into: other protocols, tunnels' inner packets, further
// extension headers. Bytes behind the packet don't count.
// Latency: 4 cycles, of a frame's last beat 15. Throughput: a beat a cycle, also of frames of one beat.
// Backpressure: s_axis_tready is a register, low while 32 beats wait.
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
  localparam int unsigned WAITING = 32;

  typedef logic [INDEX_W-1:0] index_t;
  typedef logic [PLACE_W-1:0] place_t;

  // ------------------------------------------------------------------------ frames wait until their sums are known
  typedef struct packed {
    logic [QUEUE_W-1:0] owner;
    logic               last;
    logic [BYTES-1:0]   keep;
    logic [DATA_W-1:0]  data;
  } waiting_t;
  waiting_t beat, waiting;
  logic beat_valid, beat_ready, wait_valid, goes, out_ready, right_valid, right_q, right, unused_ready, verdict_valid_q;
  logic [2:0] idles;

  stream_fifo #(
      .WIDTH($bits(waiting_t)),
      .DEPTH(WAITING)
  ) u_beats (
      .clk,
      .rst,
      .s_valid(s_axis_tvalid),
      .s_ready(s_axis_tready),
      .s_data ({s_axis_queue, s_axis_tlast, s_axis_tkeep, s_axis_tdata}),
      .m_valid(beat_valid),
      .m_ready(beat_ready),
      .m_data (beat),
      .count  (),
      .idle   (idles[0])
  );
  stream_reg #(
      .WIDTH($bits(waiting_t))
  ) u_next (
      .clk,
      .rst,
      .s_valid(beat_valid),
      .s_ready(beat_ready),
      .s_data (beat),
      .m_valid(wait_valid),
      .m_ready(goes && out_ready),
      .m_data (waiting),
      .idle   (idles[1])
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
      .m_ready(goes && out_ready && waiting.last),
      .m_data (right),
      .count  (),
      .idle   ()
  );

  assign goes = wait_valid && (!waiting.last || right_valid);
  stream_reg #(
      .WIDTH(1 + $bits(waiting_t))
  ) u_out (
      .clk,
      .rst,
      .s_valid(goes),
      .s_ready(out_ready),
      .s_data ({right && waiting.last, waiting}),
      .m_valid(m_axis_tvalid),
      .m_ready(m_axis_tready),
      .m_data ({m_axis_valid_sum, m_axis_queue, m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .idle   (idles[2])
  );
  assign idle = &idles;

  // ----------------------------------------------------------------------- stages 0 to 3: beats, and the frame's heads
  // The index of a frame that gets too long stays at its highest, beyond all packets' ends.
  typedef struct packed {
    logic              last;
    index_t            index;
    logic [DATA_W-1:0] data;
  } beat_t;

  logic [8:0] valid;                          // of stages
  beat_t beat_1, beat_2, beat_3, beat_4;
  logic last_0;
  index_t index_0;
  logic [LANE_W:0] count_0;
  logic [DATA_W-1:0] data_0;
  place_t end_1, end_2, end_3;                // of what is there of the frame
  logic [HEAD_BEATS-1:0][DATA_W-1:0] head_1;
  logic [VIEW_BYTES-1:0][7:0] view_1, view_2;
  logic [4:0] ip_1, ip_2;
  heads_t heads_2, heads_3;
  wire take = s_axis_tvalid && s_axis_tready;

  ip_view u_view (
      .head(head_1),
      .ip  (ip_1),
      .view(view_1)
  );
  ip_heads u_heads (
      .ip   (ip_2),
      .view (view_2),
      .heads(heads_2)
  );

  logic [LANE_W:0] beat_bytes;
  keep_bytes #(.KEEP_W(BYTES)) u_bytes (.keep(s_axis_tkeep), .bytes(beat_bytes));

  always_ff @(posedge clk) begin
    valid <= {valid[7:0], take};
    if (take) begin
      last_0  <= s_axis_tlast;
      data_0  <= s_axis_tdata;
      count_0 <= beat_bytes;
    end
    if (valid[0]) index_0 <= last_0 ? '0 : index_0 + index_t'(index_0 != '1);
    if (rst) begin
      valid   <= '0;
      index_0 <= '0;
    end
  end

  for (genvar i = 0; i < HEAD_BEATS; i++) begin : gen_head
    always_ff @(posedge clk) if (valid[0] && index_0 == index_t'(i)) head_1[i] <= data_0;
  end

  always_ff @(posedge clk) begin
    if (valid[3:0] != '0) begin
      {beat_4, beat_3, beat_2, beat_1} <= {beat_3, beat_2, beat_1, last_0, index_0, data_0};
      {end_3, end_2, end_1}            <= {end_2, end_1, {index_0, LANE_W'(0)} + place_t'(count_0)};
    end
    if (valid[1]) begin
      ip_2   <= ip_1;
      view_2 <= view_1;
    end
    if (valid[2]) heads_3 <= heads_2;
  end

  // ------------------------------------------------------------------- stages 4 and 5: which bytes count in which sum
  // The sum of TCP and UDP has the IP addresses before it. UDP's length and checksum are in one beat each.
  // verilator lint_off UNUSEDSIGNAL
  heads_t heads_4;                            // fits_4 has its `known` and `least`
  // verilator lint_on UNUSEDSIGNAL
  place_t from_4, to_4, length_4, sum_4;      // where the addresses begin and end; UDP's length and checksum
  logic [15:0] bytes_4;
  logic fits_4;
  logic [BYTES-1:0] before_ip, before_from, before_to, before_l4, before_end;

  always_ff @(posedge clk) begin
    if (valid[3]) begin
      heads_4  <= heads_3;
      from_4   <= place_t'(heads_3.ip) + (heads_3.v6 ? place_t'(8) : place_t'(12));
      to_4     <= place_t'(heads_3.ip) + (heads_3.v6 ? place_t'(40) : place_t'(20));
      length_4 <= place_t'(heads_3.l4) + place_t'(4);
      sum_4    <= place_t'(heads_3.l4) + place_t'(6);
      bytes_4  <= 16'(heads_3.ends - place_t'(heads_3.l4));
      fits_4   <= heads_3.known && place_t'(heads_3.least) <= heads_3.ends && heads_3.ends <= end_3;
    end
  end

  lanes_below #(.BYTES(BYTES)) u_ip (.place(place_t'(heads_4.ip)), .beat(beat_4.index), .lanes(before_ip));
  lanes_below #(.BYTES(BYTES)) u_from (.place(from_4), .beat(beat_4.index), .lanes(before_from));
  lanes_below #(.BYTES(BYTES)) u_to (.place(to_4), .beat(beat_4.index), .lanes(before_to));
  lanes_below #(.BYTES(BYTES)) u_l4 (.place(place_t'(heads_4.l4)), .beat(beat_4.index), .lanes(before_l4));
  lanes_below #(.BYTES(BYTES)) u_end (.place(heads_4.ends), .beat(beat_4.index), .lanes(before_end));

  // What is known of a frame at its beat
  typedef struct packed {
    logic        last;
    logic        fits;
    logic        v6;
    logic        tcp;
    logic        udp_right;
    logic [15:0] bytes;                       // of the packet, without IP's header
  } what_t;

  what_t what_5, what_6, what_7, what_8;
  logic [DATA_W-1:0] data_5;
  logic [BYTES-1:0] ip_counts_5, l4_counts_5;
  logic [15:0] length_word_5, sum_word_5;
  logic first_5, has_length_5, has_sum_5;     // of the frame; UDP's length, its checksum are in the beat

  always_ff @(posedge clk) begin
    if (valid[4]) begin
      what_5 <= '{
          last: beat_4.last,
          fits: fits_4,
          v6: heads_4.v6,
          tcp: heads_4.tcp,
          udp_right: 1'b0,
          bytes: bytes_4
      };
      data_5        <= beat_4.data;
      ip_counts_5   <= before_l4 & ~before_ip;
      l4_counts_5   <= (before_to & ~before_from) | (before_end & ~before_l4);
      first_5       <= beat_4.index == '0;
      has_length_5  <= length_4[PLACE_W-1:LANE_W] == beat_4.index;
      has_sum_5     <= sum_4[PLACE_W-1:LANE_W] == beat_4.index;
      length_word_5 <= beat_4.data[8*length_4[LANE_W-1:0]+:16];
      sum_word_5    <= beat_4.data[8*sum_4[LANE_W-1:0]+:16];
    end
  end

  logic [21:0] ip_sum_7, l4_sum_7;
  word_sum #(
      .DATA_W(DATA_W)
  ) u_ip_sum (
      .clk,
      .valid (valid[5]),
      .data  (data_5),
      .counts(ip_counts_5),
      .sum   (ip_sum_7)
  );
  word_sum #(
      .DATA_W(DATA_W)
  ) u_l4_sum (
      .clk,
      .valid (valid[5]),
      .data  (data_5),
      .counts(l4_counts_5),
      .sum   (l4_sum_7)
  );

  // -------------------------------------------------------------------------- stages 6 to 8: the frame's sums so far
  logic same_length_6, has_sum_6, begin_7;
  logic [31:0] l4_sum_8;
  logic [21:0] ip_sum_8;

  always_ff @(posedge clk) begin
    if (valid[5]) begin
      what_6 <= what_5;
      if (first_5) begin
        same_length_6 <= 1'b0;
        has_sum_6     <= 1'b0;
      end
      if (has_length_5) same_length_6 <= {length_word_5[7:0], length_word_5[15:8]} == what_5.bytes;
      if (has_sum_5) has_sum_6 <= sum_word_5 != '0;
    end
    if (valid[6]) begin
      what_7           <= what_6;
      what_7.udp_right <= same_length_6 && has_sum_6;
    end
    if (valid[7]) begin
      what_8   <= what_7;
      l4_sum_8 <= (begin_7 ? '0 : l4_sum_8) + 32'(l4_sum_7);
      ip_sum_8 <= (begin_7 ? '0 : ip_sum_8) + ip_sum_7;
      begin_7  <= what_7.last;
    end
    if (rst) begin_7 <= 1'b1;
  end

  // -------------------------------------------------------------------------------- stages 9 to 11: folded, and judged
  logic [18:0] l4_sum_9;
  logic [16:0] l4_sum_10, ip_sum_9, ip_sum_10;
  logic claim_9, claim_10, v6_9, v6_10, valid_9, valid_10;

  function automatic logic all_ones(logic [16:0] sum);
    return sum == 17'h0FFFF || sum == 17'h1FFFE;
  endfunction

  always_ff @(posedge clk) begin
    {verdict_valid_q, valid_10, valid_9} <= {valid_10, valid_9, valid[8] && what_8.last};
    if (valid[8]) begin
      v6_9     <= what_8.v6;
      claim_9  <= what_8.fits && (what_8.tcp || what_8.udp_right);
      l4_sum_9 <= (19'(l4_sum_8[15:0]) + 19'(l4_sum_8[31:16])) + (19'(what_8.bytes) + 19'(what_8.tcp ? TCP : UDP));
      ip_sum_9 <= 17'(ip_sum_8[15:0]) + 17'(ip_sum_8[21:16]);
    end
    if (valid_9) begin
      v6_10     <= v6_9;
      claim_10  <= claim_9;
      l4_sum_10 <= 17'(l4_sum_9[15:0]) + 17'(l4_sum_9[18:16]);
      ip_sum_10 <= ip_sum_9;
    end
    if (valid_10) right_q <= claim_10 && (v6_10 || all_ones(ip_sum_10)) && all_ones(l4_sum_10);
    if (rst) begin
      valid_9         <= 1'b0;
      valid_10        <= 1'b0;
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
