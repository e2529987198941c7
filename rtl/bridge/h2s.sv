// From hardware to software: takes packets from the network on chip and writes them to host memory, many in one buffer.
//
// Packets are put together to batches in a local ring of BUFFER_KB (h2s_lane, which says when a batch closes); a closed batch goes to
// the next buffer that software has posted, by full-width bursts, while the next ones are filled. Its message follows the last write
// response (h2s_mailbox). With `express`, critical packets take a lane of their own, each as a batch of its own; its bursts go
// first.
// A packet is counted once: accepted (`packet`), malformed, too_long, no_room or disabled.
// A batch with a packet that has come in before `flush` is in batches_closed 4 cycles after it, or after the packet that is coming in
// at that moment; a flush of an empty batch does nothing.
// Latency: 5 cycles from the closing of a batch to the first beat of its first burst, and 1 from its last response to its message;
// an express packet waits for one burst of the other lane at most.
// Throughput: a packet takes its beats on the network on chip and 1 cycle (2 cycles at 32 bits), and a few more when a batch closes.
// Backpressure: only for that, or with wait_for_room; otherwise packets that find no room are dropped whole. Writes wait for buffers,
// for room in the mailbox and for their channels.
module h2s
  import bridge_pkg::*;
#(
    parameter int unsigned DATA_W = 64,
    parameter int unsigned BUFFER_KB = 128,
    parameter int unsigned EXPRESS_KB = 4,     // 0: no express lane
    parameter int unsigned MAX_PACKET = 1514,
    parameter int unsigned BURST = 16,
    parameter int unsigned HOST_BUFFERS = 16,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,
    input  logic [63:0]       time_ns,

    input  logic              enable,
    input  logic              wait_for_room,
    input  logic              express,
    input  logic              flush,
    input  batching_t         batching,

    input  logic              post_valid,
    output logic              post_ready,
    input  buffer_t           post,
    input  logic              express_post_valid,
    output logic              express_post_ready,
    input  buffer_t           express_post,
    output logic              message_valid,
    output h2s_message_t      message,
    input  logic              message_take,
    output logic              express_message_valid,
    output h2s_message_t      express_message,
    input  logic              express_message_take,

    input  logic              s_axis_tvalid,
    output logic              s_axis_tready,
    input  logic [DATA_W-1:0] s_axis_tdata,
    input  logic [KEEP_W-1:0] s_axis_tkeep,
    input  logic              s_axis_tlast,

    output logic [7:0]        m_axi_awid,      // 0, or 1 for the express lane
    output logic [63:0]       m_axi_awaddr,
    output logic [7:0]        m_axi_awlen,
    output logic [2:0]        m_axi_awsize,
    output logic [1:0]        m_axi_awburst,
    output logic              m_axi_awvalid,
    input  logic              m_axi_awready,
    output logic [DATA_W-1:0] m_axi_wdata,
    output logic [KEEP_W-1:0] m_axi_wstrb,
    output logic              m_axi_wlast,
    output logic              m_axi_wvalid,
    input  logic              m_axi_wready,
    input  logic [7:0]        m_axi_bid,
    input  logic [1:0]        m_axi_bresp,
    input  logic              m_axi_bvalid,
    output logic              m_axi_bready,

    output logic              packet,          // accepted
    output logic [15:0]       packet_bytes,
    output logic              packet_express,
    output logic              malformed,
    output logic              too_long,
    output logic              no_room,
    output logic              disabled,
    output logic              closed,          // a batch of the bulk lane
    output logic [2:0]        closed_reason,   // 0 full, 1 timeout, 2 critical, 3 single, 4 flush
    output logic              write_error,
    output logic [12:0]       write_error_packets,
    output logic              buffer_refused,
    output logic [31:0]       batches_closed,
    output logic [31:0]       express_closed,
    output logic              idle,            // but for packets that wait for the timeout or for a host buffer
    output logic [63:0]       wake_ns          // when that comes
);

  if (DATA_W < 32 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "h2s: DATA_W must be 32, 64, 128, 256 or 512");
  end
  if (BUFFER_KB < 2 || BUFFER_KB > 128 || 2 ** $clog2(BUFFER_KB) != BUFFER_KB) begin : gen_bad_buffer_kb
    $fatal(1, "h2s: BUFFER_KB must be a power of two from 2 to 128");
  end
  if (EXPRESS_KB != 0 && (EXPRESS_KB < 2 || EXPRESS_KB > 64 || 2 ** $clog2(EXPRESS_KB) != EXPRESS_KB)) begin : gen_bad_express_kb
    $fatal(1, "h2s: EXPRESS_KB must be 0 or a power of two from 2 to 64");
  end
  if (BURST < 2 || BURST > 256 || 2 ** $clog2(BURST) != BURST || BURST * DATA_W > 8 * 4096) begin : gen_bad_burst
    $fatal(1, "h2s: BURST must be a power of two from 2 to 256, of 4096 bytes at most");
  end
  if (HOST_BUFFERS < 2 || HOST_BUFFERS > 16 || 2 ** $clog2(HOST_BUFFERS) != HOST_BUFFERS) begin : gen_bad_host_buffers
    $fatal(1, "h2s: HOST_BUFFERS must be 2, 4, 8 or 16");
  end

  localparam int unsigned COUNT = EXPRESS_KB == 0 ? 1 : 2;
  localparam int unsigned BULK = 0;
  localparam int unsigned TOP = COUNT - 1;  // the express lane, if there is one

  // ------------------------------------------------------------------------------------------------ which lane it takes
  logic beat_valid, beat_ready, beat_last, beat_too_long, unpack_idle;
  logic [DATA_W-1:0] beat_data;
  logic [KEEP_W-1:0] beat_keep;
  noc_header_t header;

  noc_unpack #(
      .DATA_W(DATA_W),
      .MAX_PACKET(MAX_PACKET)
  ) u_unpack (
      .clk,
      .rst,
      .s_axis_tvalid,
      .s_axis_tready,
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .m_axis_tvalid(beat_valid),
      .m_axis_tready(beat_ready),
      .m_axis_tdata (beat_data),
      .m_axis_tkeep (beat_keep),
      .m_axis_tlast (beat_last),
      .m_too_long   (beat_too_long),
      .m_header     (header),
      .malformed,
      .idle         (unpack_idle)
  );

  // Chosen when the packet's first beat appears, and kept to its last one
  logic chosen_q, lane_q, lane;
  assign lane = COUNT > 1 && (chosen_q ? lane_q : header.critical && express);
  always_ff @(posedge clk) begin
    chosen_q <= beat_valid ? !(beat_ready && beat_last) : chosen_q;
    lane_q   <= lane;
    if (rst) chosen_q <= 1'b0;
  end

  // ---------------------------------------------------------------------------------------------------------- lanes
  logic [COUNT-1:0] lane_ready, lane_packet, lane_too_long, lane_no_room, lane_disabled, lane_closed, lane_idle;
  logic [COUNT-1:0][15:0] lane_bytes;
  logic [COUNT-1:0][2:0] lane_reason;
  logic [COUNT-1:0][31:0] lane_batches;
  logic [COUNT-1:0][63:0] lane_wake;
  logic [COUNT-1:0] posted, posts_ready, told, tells;
  buffer_t [COUNT-1:0] posts;
  h2s_message_t [COUNT-1:0] messages;
  logic [COUNT-1:0] burst_valid, burst_taken, rd_en, response, response_ready, refused, refuse_hold, failed, mailbox_idle;
  logic [COUNT-1:0][63:0] burst_addr;
  logic [COUNT-1:0][7:0] burst_len;
  logic [COUNT-1:0][DATA_W-1:0] rd_data;
  logic [COUNT-1:0][12:0] failed_packets;
  logic writer_idle;

  for (genvar i = 0; i < COUNT; i++) begin : gen_lane
    localparam int unsigned KB = i == 0 ? BUFFER_KB : EXPRESS_KB;
    localparam int unsigned ADDR_W = $clog2(KB * 256);
    logic batch_valid, batch_taken;
    logic [ADDR_W-1:0] batch_last;
    logic [12:0] batch_packets;

    h2s_lane #(
        .DATA_W(DATA_W),
        .BUFFER_KB(KB),
        .MAX_PACKET(MAX_PACKET),
        .ONE_PACKET(i != 0)
    ) u_lane (
        .clk,
        .rst,
        .time_ns,
        .enable,
        .wait_for_room,
        .flush,
        .batching,
        .s_axis_tvalid (beat_valid && lane == 1'(i)),
        .s_axis_tready (lane_ready[i]),
        .s_axis_tdata  (beat_data),
        .s_axis_tkeep  (beat_keep),
        .s_axis_tlast  (beat_last),
        .s_too_long    (beat_too_long),
        .s_header      (header),
        .batch_valid,
        .batch_taken,
        .batch_last,
        .batch_packets,
        .rd_en         (rd_en[i]),
        .rd_data       (rd_data[i]),
        .packet        (lane_packet[i]),
        .packet_bytes  (lane_bytes[i]),
        .too_long      (lane_too_long[i]),
        .no_room       (lane_no_room[i]),
        .disabled      (lane_disabled[i]),
        .closed        (lane_closed[i]),
        .closed_reason (lane_reason[i]),
        .batches_closed(lane_batches[i]),
        .wake_ns       (lane_wake[i]),
        .idle          (lane_idle[i])
    );

    h2s_mailbox #(
        .DATA_W(DATA_W),
        .BURST(BURST),
        .HOST_BUFFERS(HOST_BUFFERS),
        .ADDR_W(ADDR_W)
    ) u_mailbox (
        .clk,
        .rst,
        .post_valid         (posted[i]),
        .post_ready         (posts_ready[i]),
        .post               (posts[i]),
        .message_valid      (told[i]),
        .message            (messages[i]),
        .message_take       (tells[i]),
        .batch_valid,
        .batch_taken,
        .batch_last,
        .batch_packets,
        .burst_valid        (burst_valid[i]),
        .burst_addr         (burst_addr[i]),
        .burst_len          (burst_len[i]),
        .burst_taken        (burst_taken[i]),
        .response           (response[i]),
        .response_error     (m_axi_bresp[1]),
        .response_ready     (response_ready[i]),
        .refuse_hold        (refuse_hold[i]),
        .buffer_refused     (refused[i]),
        .write_error        (failed[i]),
        .write_error_packets(failed_packets[i]),
        .idle               (mailbox_idle[i])
    );
  end

  h2s_writer #(
      .DATA_W(DATA_W),
      .COUNT(COUNT)
  ) u_writer (
      .clk,
      .rst,
      .burst_valid,
      .burst_addr,
      .burst_len,
      .burst_taken,
      .rd_en,
      .rd_data,
      .m_axi_awid,
      .m_axi_awaddr,
      .m_axi_awlen,
      .m_axi_awsize,
      .m_axi_awburst,
      .m_axi_awvalid,
      .m_axi_awready,
      .m_axi_wdata,
      .m_axi_wstrb,
      .m_axi_wlast,
      .m_axi_wvalid,
      .m_axi_wready,
      .idle(writer_idle)
  );
  assign m_axi_bready = &response_ready;

  // ------------------------------------------------------------------------------------------------------- what goes out
  // A packet goes through one lane, and a response to one, so that no two events of a kind meet; refused buffers take turns.
  assign beat_ready          = lane_ready[lane];
  assign packet              = |lane_packet;
  assign packet_bytes        = lane_packet[TOP] ? lane_bytes[TOP] : lane_bytes[BULK];
  assign too_long            = |lane_too_long;
  assign no_room             = |lane_no_room;
  assign disabled            = |lane_disabled;
  assign closed              = lane_closed[BULK];
  assign closed_reason       = lane_reason[BULK];
  assign batches_closed      = lane_batches[BULK];
  assign wake_ns             = lane_wake[BULK];
  assign write_error         = |failed;
  assign write_error_packets = failed[TOP] ? failed_packets[TOP] : failed_packets[BULK];
  assign buffer_refused      = |refused;
  assign post_ready          = posts_ready[BULK];
  assign posted[BULK]        = post_valid;
  assign posts[BULK]         = post;
  assign message_valid       = told[BULK];
  assign message             = messages[BULK];
  assign tells[BULK]         = message_take;
  assign idle = unpack_idle && !s_axis_tvalid && lane_idle == '1 && mailbox_idle == '1 && writer_idle;

  if (COUNT > 1) begin : gen_express
    assign response              = {m_axi_bvalid && m_axi_bready && m_axi_bid[0], m_axi_bvalid && m_axi_bready && !m_axi_bid[0]};
    assign refuse_hold           = {1'b0, refused[TOP]};
    assign packet_express        = lane_packet[TOP];
    assign express_closed        = lane_batches[TOP];
    assign express_post_ready    = posts_ready[TOP];
    assign posted[TOP]           = express_post_valid;
    assign posts[TOP]            = express_post;
    assign express_message_valid = told[TOP];
    assign express_message       = messages[TOP];
    assign tells[TOP]            = express_message_take;
    wire unused = &{1'b0, m_axi_bid, m_axi_bresp, lane_closed, lane_reason, lane_wake};
  end else begin : gen_no_express
    assign response              = m_axi_bvalid && m_axi_bready;
    assign refuse_hold           = 1'b0;
    assign packet_express        = 1'b0;
    assign express_closed        = '0;
    assign express_post_ready    = 1'b0;
    assign express_message_valid = 1'b0;
    assign express_message       = '0;
    wire unused = &{1'b0, m_axi_bid, m_axi_bresp, express, express_post_valid, express_post, express_message_take};
  end

endmodule
