// SPDX-License-Identifier: Apache-2.0
// Cuts frames into segments of TCP, as their senders ask for it (VIRTIO 1.2, 5.1.6.2, VIRTIO_NET_HDR_GSO_TCPV4 and V6):
// `size` bytes of data in each, the last one has the rest. Segments have the frame's headers, of which differ: lengths;
// IPv4's identification, one more for each, and its checksum; TCP's sequence number, its checksum, FIN and PSH, which
// the last segment has, and CWR, which the first one has. Headers are read from the frame itself: up to two tags, IPv4
// with any options or IPv6 without extension headers or with hop-by-hop options, TCP.
// Dropped, and told by `judged`: frames that don't have these headers within their first 126 bytes, or no data behind
// them, and those whose segments would be longer than MAX_FRAME, or more than 1,024. Other frames pass as they are. The
// order stays.
// Latency: 9 cycles for frames that pass; a segment goes out when it is here whole. Throughput: a beat a cycle; a frame
// to cut takes (3 * 128 / bytes of a beat) + 13 cycles more, and a segment one or two where it has few data.
// Backpressure: s_axis_tready depends on registers alone; m_axis may stall for any time.
module segment
  import offload_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned QUEUES = 16,
    parameter int unsigned MAX_FRAME = 9216,
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
    input  request_t           s_axis_request, // the same on each beat of a frame
    output logic               m_axis_tvalid,
    input  logic               m_axis_tready,
    output logic [ DATA_W-1:0] m_axis_tdata,
    output logic [  BYTES-1:0] m_axis_tkeep,
    output logic               m_axis_tlast,
    output logic [QUEUE_W-1:0] m_axis_queue,

    output logic               gone,           // all of a frame that came, or it is dropped; in their order
    output logic               judged,         // a frame to cut, one cycle; the next one 9 cycles later at the earliest
    output logic               judged_good,    // else it is dropped
    output logic [QUEUE_W-1:0] judged_queue,
    output logic [PLACE_W-1:0] judged_bytes,
    output logic               idle
);

  if (QUEUES < 1 || QUEUES > 65536) begin : gen_bad_queues
    $fatal(1, "segment: QUEUES must be 1 to 65536, not %0d", QUEUES);
  end
  if (MAX_FRAME < 64 || MAX_FRAME > 65600) begin : gen_bad_max_frame
    $fatal(1, "segment: MAX_FRAME must be 64 to 65600, not %0d", MAX_FRAME);
  end

  localparam int unsigned LANE_W = $clog2(BYTES);
  localparam int unsigned HEAD_W = $clog2(SERIES_BYTES / BYTES);
  localparam int unsigned ROOM = 2 ** $clog2(2 * (MAX_FRAME / BYTES + 2));

  logic header_valid, series_valid, series_pop, series_done, segment_valid, segment_pop, cut_idle, emit_idle;
  logic [SERIES_W+HEAD_W-1:0] header_at, read_at;
  logic [DATA_W-1:0] header_data, header;
  series_t series, next_series;
  segment_t one, next_segment;
  logic part_valid, part_last, beat_valid, beat_ready, beat_last, next_series_valid, next_segment_valid;
  part_t part, beat_part;
  logic [LANE_W:0] part_lanes, beat_lanes;
  logic [QUEUE_W-1:0] part_queue, beat_queue;
  logic [DATA_W-1:0] part_data, beat_data;
  logic [2:0] unused_ready;

  segment_cut #(
      .DATA_W(DATA_W),
      .QUEUES(QUEUES),
      .MAX_FRAME(MAX_FRAME),
      .ROOM(ROOM)
  ) u_cut (
      .clk,
      .rst,
      .s_valid     (s_axis_tvalid),
      .s_ready     (s_axis_tready),
      .s_data      (s_axis_tdata),
      .s_keep      (s_axis_tkeep),
      .s_last      (s_axis_tlast),
      .s_queue     (s_axis_queue),
      .s_request   (s_axis_request),
      .header_valid,
      .header_at,
      .header_data,
      .series_valid,
      .series,
      .series_done,
      .segment_valid,
      .segment     (one),
      .segment_done(segment_pop),
      .m_valid     (part_valid),
      .m_part      (part),
      .m_last      (part_last),
      .m_lanes     (part_lanes),
      .m_queue     (part_queue),
      .m_data      (part_data),
      .popped      (beat_valid && beat_ready),
      .judged,
      .judged_good,
      .judged_queue,
      .judged_bytes,
      .idle        (cut_idle)
  );

  ram_dist #(
      .WIDTH(DATA_W),
      .DEPTH(SERIES * 2 ** HEAD_W)
  ) u_headers (
      .clk,
      .wr_en  (header_valid),
      .wr_addr(header_at),
      .wr_data(header_data),
      .rd_addr(read_at),
      .rd_data(header)
  );

  stream_queue #(
      .WIDTH($bits(series_t)),
      .DEPTH(SERIES)
  ) u_series (
      .clk,
      .rst,
      .s_valid(series_valid),
      .s_ready(unused_ready[0]),
      .s_data (series),
      .m_valid(next_series_valid),
      .m_ready(series_pop),
      .m_data (next_series),
      .idle   ()
  );

  stream_queue #(
      .WIDTH($bits(segment_t)),
      .DEPTH(SEGMENTS)
  ) u_segments (
      .clk,
      .rst,
      .s_valid(segment_valid),
      .s_ready(unused_ready[1]),
      .s_data (one),
      .m_valid(next_segment_valid),
      .m_ready(segment_pop),
      .m_data (next_segment),
      .idle   ()
  );

  stream_fifo #(
      .WIDTH(DATA_W + QUEUE_W + LANE_W + 1 + 1 + $bits(part_t)),
      .DEPTH(ROOM)
  ) u_beats (
      .clk,
      .rst,
      .s_valid(part_valid),
      .s_ready(unused_ready[2]),
      .s_data ({part, part_last, part_lanes, part_queue, part_data}),
      .m_valid(beat_valid),
      .m_ready(beat_ready),
      .m_data ({beat_part, beat_last, beat_lanes, beat_queue, beat_data}),
      .count  (),
      .idle   ()
  );

  segment_emit #(
      .DATA_W(DATA_W),
      .QUEUES(QUEUES)
  ) u_emit (
      .clk,
      .rst,
      .series_valid (next_series_valid),
      .series       (next_series),
      .series_ready (series_pop),
      .series_done,
      .segment_valid(next_segment_valid),
      .segment_ready(segment_pop),
      .segment      (next_segment),
      .header_at    (read_at),
      .header,
      .s_valid      (beat_valid),
      .s_ready      (beat_ready),
      .s_part       (beat_part),
      .s_last       (beat_last),
      .s_lanes      (beat_lanes),
      .s_queue      (beat_queue),
      .s_data       (beat_data),
      .m_axis_tvalid,
      .m_axis_tready,
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_queue,
      .gone,
      .idle         (emit_idle)
  );

  assign idle = cut_idle && emit_idle;

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst) begin
      assert (!series_valid || unused_ready[0]) else $error("%m: a series is lost");
      assert (!segment_valid || unused_ready[1]) else $error("%m: a segment is lost");
      assert (!part_valid || unused_ready[2]) else $error("%m: a beat is lost");
    end
  end
`else
  wire unused = &{1'b0, unused_ready};
`endif

endmodule
