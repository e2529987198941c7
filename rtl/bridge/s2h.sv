// SPDX-License-Identifier: Apache-2.0
// Software to hardware: fetches buffers full of packets from host memory and sends the packets into the network on
// chip. A buffer begins with a word that says how many packets are in it; each packet is memory_header_t and its
// payload, padded to whole words. Buffers are fetched ahead into a ring, as far as there is room, while earlier ones
// are sent. A packet leaves when it is in the ring in whole: then nothing but m_axis_tready delays it. Words after the
// last packet are ignored. A buffer without words, more packets counted than there are, lengths of 0 or over
// MAX_PACKET, packets that go beyond the buffer: the rest of the buffer is dropped (malformed). A read that fails: the
// packets that were sent before are whole, the rest is dropped (read_error). Each buffer is answered by a message, in
// order, when all of it has been read and sent.
// Latency: a round trip to memory, then 19 cycles at most from the arrival of a packet's last word to its first beat.
// Throughput: header beats + payload beats, at least 7 cycles a packet; about 15 cycles more a buffer.
// Backpressure: m_axi_rready is always high. post_ready is low, and a post lost and counted, while HOST_BUFFERS buffers
// wait to be fetched; while as many messages wait to be taken, nothing more is sent. With enable low no packet and no
// buffer is begun.
//
//  posts -> s2h_fetch <-> host memory
//               |            | words
//               |            v
//               | rows   u_buffer, a ring
//               v            v
//            s2h_send -------+-> m_axis
//               +-> u_messages -> messages
module s2h
  import bridge_pkg::*;
#(
    parameter int unsigned DATA_W = 64,
    parameter int unsigned BUFFER_KB = 128,
    parameter int unsigned MAX_PACKET = 1514,
    parameter int unsigned BURST = 16,
    parameter int unsigned HOST_BUFFERS = 16,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,
    input  logic              enable,

    input  logic              post_valid,
    output logic              post_ready,
    input  buffer_t           post,
    output logic              message_valid,
    output s2h_message_t      message,
    input  logic              message_take,

    output logic              m_axis_tvalid,
    input  logic              m_axis_tready,
    output logic [DATA_W-1:0] m_axis_tdata,
    output logic [KEEP_W-1:0] m_axis_tkeep,
    output logic              m_axis_tlast,

    output logic [7:0]        m_axi_arid,
    output logic [63:0]       m_axi_araddr,
    output logic [7:0]        m_axi_arlen,
    output logic [2:0]        m_axi_arsize,
    output logic [1:0]        m_axi_arburst,
    output logic              m_axi_arvalid,
    input  logic              m_axi_arready,
    // One ID only: data come in order.
    // verilator lint_off UNUSEDSIGNAL
    input  logic [7:0]        m_axi_rid,
    // verilator lint_on UNUSEDSIGNAL
    input  logic [DATA_W-1:0] m_axi_rdata,
    input  logic [1:0]        m_axi_rresp,
    input  logic              m_axi_rlast,
    input  logic              m_axi_rvalid,
    output logic              m_axi_rready,

    output s2h_events_t       events,
    output logic              idle
);

  localparam int unsigned LANES = DATA_W / 32;
  localparam int unsigned LANE_W = $clog2(LANES);
  localparam int unsigned WORDS = BUFFER_KB * 256;
  localparam int unsigned ADDR_W = $clog2(WORDS);
  localparam int unsigned ROWS = WORDS / LANES;
  localparam int unsigned ROW_W = $clog2(ROWS);
  localparam int unsigned PACKET_ROWS = (HEADER_WORDS + (MAX_PACKET + 3) / 4 + LANES - 2) / LANES + 1;

  if (DATA_W < 32 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "s2h: DATA_W must be 32, 64, 128, 256 or 512, not %0d", DATA_W);
  end
  if (BURST < 2 || 2 ** $clog2(BURST) != BURST || BURST > 256 || BURST * DATA_W / 8 > 4096) begin : gen_bad_burst
    $fatal(1, "s2h: BURST must be a power of two from 2 to 256, and at most 4096 bytes, not %0d", BURST);
  end
  if (HOST_BUFFERS < 2 || 2 ** $clog2(HOST_BUFFERS) != HOST_BUFFERS) begin : gen_bad_host_buffers
    $fatal(1, "s2h: HOST_BUFFERS must be a power of two from 2, not %0d", HOST_BUFFERS);
  end
  if (MAX_PACKET < 64 || MAX_PACKET > 65535) begin : gen_bad_max_packet
    $fatal(1, "s2h: MAX_PACKET must be 64 to 65535, not %0d", MAX_PACKET);
  end
  if (BUFFER_KB < 1 || 2 ** $clog2(BUFFER_KB) != BUFFER_KB || ROWS < PACKET_ROWS + 2 * BURST) begin : gen_bad_buffer_kb
    $fatal(1, "s2h: BUFFER_KB must be a power of two, with room for the longest packet and two bursts, not %0d",
           BUFFER_KB);
  end

  typedef logic [ROW_W:0] row_t;  // one bit wider than an address

  logic job_valid, job_ready, job_done, job_complete, job_error, fetch_idle, send_idle;
  logic [TAG_W-1:0] job_tag;
  logic [14:0] job_words;
  row_t wr_row, free_row;

  s2h_fetch #(
      .DATA_W(DATA_W),
      .ROW_W(ROW_W),
      .BURST(BURST),
      .HOST_BUFFERS(HOST_BUFFERS)
  ) u_fetch (
      .clk,
      .rst,
      .enable,
      .post_valid,
      .post_ready,
      .post,
      .m_axi_araddr,
      .m_axi_arlen,
      .m_axi_arvalid,
      .m_axi_arready,
      .m_axi_rresp,
      .m_axi_rlast,
      .m_axi_rvalid,
      .wr_row,
      .free_row,
      .job_valid,
      .job_ready,
      .job_tag,
      .job_words,
      .job_done,
      .job_complete,
      .job_error,
      .idle(fetch_idle)
  );
  assign m_axi_arid    = '0;
  assign m_axi_arsize  = 3'($clog2(DATA_W / 8));
  assign m_axi_arburst = 2'b01;
  assign m_axi_rready  = 1'b1;

  logic [ADDR_W-1:0] rd_addr, wr_addr;
  logic rd_en;
  logic [DATA_W-1:0] rd_data;
  assign wr_addr = ADDR_W'(wr_row[ROW_W-1:0]) << LANE_W;

  word_buffer #(
      .DATA_W(DATA_W),
      .WORDS(WORDS),
      .READ_LATENCY(2)
  ) u_buffer (
      .clk,
      .wr_en  ({LANES{m_axi_rvalid}}),
      .wr_addr,
      .wr_data(m_axi_rdata),
      .rd_en,
      .rd_addr,
      .rd_data
  );

  typedef struct packed {
    logic [TAG_W-1:0] tag;
    logic [12:0]      packets;
    logic             malformed;
    logic             read_error;
  } news_t;
  logic news_valid, news_ready;
  news_t news, oldest;

  s2h_send #(
      .DATA_W(DATA_W),
      .ADDR_W(ADDR_W),
      .MAX_PACKET(MAX_PACKET)
  ) u_send (
      .clk,
      .rst,
      .enable,
      .job_valid,
      .job_ready,
      .job_words,
      .job_done,
      .job_complete,
      .job_error,
      .wr_row,
      .free_row,
      .rd_en,
      .rd_addr,
      .rd_data,
      .m_axis_tvalid,
      .m_axis_tready,
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .packet      (events.packet),
      .packet_bytes(events.packet_bytes),
      .news_valid,
      .news_ready,
      .news_packets(news.packets),
      .news_malformed(news.malformed),
      .news_read_error(news.read_error),
      .idle(send_idle)
  );
  logic [TAG_W-1:0] tag_q;  // of the buffer that is being sent
  always_ff @(posedge clk) if (job_valid && job_ready) tag_q <= job_tag;
  assign news.tag          = tag_q;
  assign events.malformed  = news_valid && news_ready && news.malformed;
  assign events.read_error = news_valid && news_ready && news.read_error;
  assign events.post_lost  = post_valid && !post_ready;

  stream_queue #(
      .WIDTH($bits(news_t)),
      .DEPTH(HOST_BUFFERS)
  ) u_messages (
      .clk,
      .rst,
      .s_valid(news_valid),
      .s_ready(news_ready),
      .s_data (news),
      .m_valid(message_valid),
      .m_ready(message_take),
      .m_data (oldest),
      .idle   ()
  );
  always_comb begin
    message            = '0;
    message.tag        = oldest.tag;
    message.packets    = oldest.packets;
    message.valid      = 1'b1;
    message.malformed  = oldest.malformed;
    message.read_error = oldest.read_error;
  end

  assign idle = !post_valid && fetch_idle && send_idle;

`ifndef SYNTHESIS
  offer_contract #(
      .WIDTH(8 + 64)
  ) u_address_stays (
      .clk,
      .rst,
      .valid(m_axi_arvalid),
      .ready(m_axi_arready),
      .data ({m_axi_arlen, m_axi_araddr})
  );
  stream_contract #(
      .DATA_W(DATA_W)
  ) u_contract (
      .clk,
      .rst,
      .tvalid(m_axis_tvalid),
      .tready(m_axis_tready),
      .tdata (m_axis_tdata),
      .tkeep (m_axis_tkeep),
      .tlast (m_axis_tlast)
  );
`endif

endmodule
