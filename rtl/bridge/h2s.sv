// SPDX-License-Identifier: Apache-2.0
// From hardware to software: takes packets from the network on chip and writes them to host memory, many in one buffer.
//
// There are two lanes, with an input, a local ring, host buffers and a mailbox each: BULK puts packets together to
// batches in BUFFER_KB (h2s_lane says when one closes), EXPRESS makes each packet a batch of its own, in EXPRESS_KB. A
// closed batch goes to the next buffer that software has posted to its lane, by full-width bursts, while the next ones
// are filled; its message follows the last write response (h2s_mailbox). Bursts of EXPRESS go first. Nothing else is
// common to both lanes: one whose software stops doesn't stop the other.
// A packet is counted once: accepted (`packet`), malformed, too_long, no_room or disabled.
// A batch with a packet that has come in before `flush` is in batches_closed 4 cycles after it, or after the packet
// that is coming in at that moment; a flush of an empty batch does nothing.
// Latency: 5 cycles from the closing of a batch to the first beat of its first burst, and 1 from its last response to
// its message; an express packet waits for one burst of the other lane at most.
// Throughput: a packet takes its beats on the network on chip and 1 cycle (2 cycles at 32 bits), and a few more when a
// batch closes.
// Backpressure: only for that, or with wait_for_room (see h2s_lane); otherwise packets that find no room are dropped
// whole. Writes wait for buffers, for room in the mailbox and for their channels. A post while post_ready is low is
// lost, and counted.
//
//  s_axis -> noc_unpack -> h2s_lane -- batches --> h2s_mailbox -- bursts --> h2s_writer -> host memory
//                             | words of the ring       ^   |                   ^
//                             +-------------------------|---|-------------------+
//                                                   posts   messages
//  All but h2s_writer for each lane
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
    input  logic                     clk,
    input  logic                     rst,
    input  logic [63:0]              time_ns,

    input  logic                     enable,
    input  logic                     wait_for_room,
    input  logic [31:0]              wait_limit_ns,
    input  logic                     flush,
    input  batching_t                batching,

    input  logic [H2S_LANES-1:0]         post_valid,
    output logic [H2S_LANES-1:0]         post_ready,
    input  buffer_t                  post,
    output logic [H2S_LANES-1:0]         message_valid,
    output h2s_message_t [H2S_LANES-1:0] message,
    input  logic [H2S_LANES-1:0]         message_take,

    input  logic                     s_axis_tvalid,      // bulk
    output logic                     s_axis_tready,
    input  logic [DATA_W-1:0]        s_axis_tdata,
    input  logic [KEEP_W-1:0]        s_axis_tkeep,
    input  logic                     s_axis_tlast,

    input  logic                     s_express_tvalid,
    output logic                     s_express_tready,
    input  logic [DATA_W-1:0]        s_express_tdata,
    input  logic [KEEP_W-1:0]        s_express_tkeep,
    input  logic                     s_express_tlast,

    output logic [7:0]               m_axi_awid,         // the lane
    output logic [63:0]              m_axi_awaddr,
    output logic [7:0]               m_axi_awlen,
    output logic [2:0]               m_axi_awsize,
    output logic [1:0]               m_axi_awburst,
    output logic                     m_axi_awvalid,
    input  logic                     m_axi_awready,
    output logic [DATA_W-1:0]        m_axi_wdata,
    output logic [KEEP_W-1:0]        m_axi_wstrb,
    output logic                     m_axi_wlast,
    output logic                     m_axi_wvalid,
    input  logic                     m_axi_wready,
    // EXOKAY is no error: bit 0 of the response says nothing; of the ID there is bit 0 only.
    // verilator lint_off UNUSEDSIGNAL
    input  logic [7:0]               m_axi_bid,
    input  logic [1:0]               m_axi_bresp,
    // verilator lint_on UNUSEDSIGNAL
    input  logic                     m_axi_bvalid,
    output logic                     m_axi_bready,

    output h2s_events_t [H2S_LANES-1:0]  events,
    output logic [H2S_LANES-1:0][31:0]   batches_closed,
    output logic                     idle,               // but for packets that wait for a timeout or a host buffer
    output logic [63:0]              wake_ns             // when the timeout comes
);

  if (DATA_W < 32 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "h2s: DATA_W must be 32, 64, 128, 256 or 512, not %0d", DATA_W);
  end
  if (BUFFER_KB < 2 || BUFFER_KB > 128 || 2 ** $clog2(BUFFER_KB) != BUFFER_KB) begin : gen_bad_buffer_kb
    $fatal(1, "h2s: BUFFER_KB must be a power of two from 2 to 128, not %0d", BUFFER_KB);
  end
  if (EXPRESS_KB != 0 && (EXPRESS_KB < 2 || EXPRESS_KB > 64 || 2 ** $clog2(EXPRESS_KB) != EXPRESS_KB))
  begin : gen_bad_express_kb
    $fatal(1, "h2s: EXPRESS_KB must be 0 or a power of two from 2 to 64, not %0d", EXPRESS_KB);
  end
  if (BURST < 2 || BURST > 256 || 2 ** $clog2(BURST) != BURST || BURST * DATA_W > 8 * 4096) begin : gen_bad_burst
    $fatal(1, "h2s: BURST must be a power of two from 2 to 256, of 4096 bytes at most, not %0d", BURST);
  end
  if (HOST_BUFFERS < 2 || HOST_BUFFERS > 16 || 2 ** $clog2(HOST_BUFFERS) != HOST_BUFFERS) begin : gen_bad_host_buffers
    $fatal(1, "h2s: HOST_BUFFERS must be 2, 4, 8 or 16, not %0d", HOST_BUFFERS);
  end

  localparam int unsigned COUNT = EXPRESS_KB == 0 ? 1 : 2;

  // Lanes
  typedef struct packed {
    logic              last;
    logic [KEEP_W-1:0] keep;
    logic [DATA_W-1:0] data;
  } beat_t;
  logic [H2S_LANES-1:0] s_valid, s_ready;
  beat_t [H2S_LANES-1:0] s_beat;
  assign s_valid = {s_express_tvalid, s_axis_tvalid};
  assign s_beat  = {s_express_tlast, s_express_tkeep, s_express_tdata, s_axis_tlast, s_axis_tkeep, s_axis_tdata};
  assign {s_express_tready, s_axis_tready} = s_ready;

  logic [COUNT-1:0] burst_valid, burst_taken, rd_en, response_ready, lane_idle;
  logic [COUNT-1:0][63:0] burst_addr;
  logic [COUNT-1:0][7:0] burst_len;
  logic [COUNT-1:0][DATA_W-1:0] rd_data;
  logic [COUNT-1:0][63:0] lane_wake;
  logic writer_idle;

  for (genvar i = 0; i < COUNT; i++) begin : gen_lane
    localparam int unsigned KB = i == BULK_LANE ? BUFFER_KB : EXPRESS_KB;
    localparam int unsigned ADDR_W = $clog2(KB * 256);
    logic beat_valid, beat_ready, beat_too_long, unpack_idle, ring_idle, mailbox_idle;
    logic batch_valid, batch_taken, response;
    beat_t beat;
    noc_header_t header;
    logic [ADDR_W-1:0] batch_last;
    logic [12:0] batch_packets;

    noc_unpack #(
        .DATA_W(DATA_W),
        .MAX_PACKET(MAX_PACKET)
    ) u_unpack (
        .clk,
        .rst,
        .s_axis_tvalid(s_valid[i]),
        .s_axis_tready(s_ready[i]),
        .s_axis_tdata (s_beat[i].data),
        .s_axis_tkeep (s_beat[i].keep),
        .s_axis_tlast (s_beat[i].last),
        .m_axis_tvalid(beat_valid),
        .m_axis_tready(beat_ready),
        .m_axis_tdata (beat.data),
        .m_axis_tkeep (beat.keep),
        .m_axis_tlast (beat.last),
        .m_too_long   (beat_too_long),
        .m_header     (header),
        .malformed    (events[i].malformed),
        .idle         (unpack_idle)
    );

    h2s_lane #(
        .DATA_W(DATA_W),
        .BUFFER_KB(KB),
        .MAX_PACKET(MAX_PACKET),
        .ONE_PACKET(i != BULK_LANE)
    ) u_lane (
        .clk,
        .rst,
        .time_ns,
        .enable,
        .wait_for_room,
        .wait_limit_ns,
        .flush,
        .batching,
        .s_axis_tvalid (beat_valid),
        .s_axis_tready (beat_ready),
        .s_axis_tdata  (beat.data),
        .s_axis_tkeep  (beat.keep),
        .s_axis_tlast  (beat.last),
        .s_too_long    (beat_too_long),
        .s_header      (header),
        .batch_valid,
        .batch_taken,
        .batch_last,
        .batch_packets,
        .rd_en         (rd_en[i]),
        .rd_data       (rd_data[i]),
        .packet        (events[i].packet),
        .packet_bytes  (events[i].packet_bytes),
        .too_long      (events[i].too_long),
        .no_room       (events[i].no_room),
        .disabled      (events[i].disabled),
        .closed        (events[i].closed),
        .closed_reason (events[i].closed_reason),
        .batches_closed(batches_closed[i]),
        .wake_ns       (lane_wake[i]),
        .idle          (ring_idle)
    );

    h2s_mailbox #(
        .DATA_W(DATA_W),
        .BURST(BURST),
        .HOST_BUFFERS(HOST_BUFFERS),
        .ADDR_W(ADDR_W)
    ) u_mailbox (
        .clk,
        .rst,
        .post_valid         (post_valid[i]),
        .post_ready         (post_ready[i]),
        .post,
        .message_valid      (message_valid[i]),
        .message            (message[i]),
        .message_take       (message_take[i]),
        .batch_valid,
        .batch_taken,
        .batch_last,
        .batch_packets,
        .burst_valid        (burst_valid[i]),
        .burst_addr         (burst_addr[i]),
        .burst_len          (burst_len[i]),
        .burst_taken        (burst_taken[i]),
        .response,
        .response_error     (m_axi_bresp[1]),
        .response_ready     (response_ready[i]),
        .post_lost          (events[i].post_lost),
        .buffer_refused     (events[i].buffer_refused),
        .write_error        (events[i].write_error),
        .write_error_packets(events[i].write_error_packets),
        .idle               (mailbox_idle)
    );

    assign response     = m_axi_bvalid && m_axi_bready && (COUNT == 1 || m_axi_bid[0] == 1'(i));
    assign lane_idle[i] = !s_valid[i] && unpack_idle && ring_idle && mailbox_idle;
  end

  if (COUNT == 1) begin : gen_no_express
    assign s_ready[EXPRESS_LANE]        = 1'b0;
    assign post_ready[EXPRESS_LANE]     = 1'b0;
    assign message_valid[EXPRESS_LANE]  = 1'b0;
    assign message[EXPRESS_LANE]        = '0;
    assign batches_closed[EXPRESS_LANE] = '0;
    always_comb begin
      events[EXPRESS_LANE]           = '0;
      events[EXPRESS_LANE].post_lost = post_valid[EXPRESS_LANE];
    end
    wire unused_express = &{1'b0, s_valid[EXPRESS_LANE], s_beat[EXPRESS_LANE], message_take[EXPRESS_LANE]};
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
  assign wake_ns      = lane_wake[BULK_LANE];  // each packet of the other lane goes at once
  assign idle         = &lane_idle && writer_idle;

`ifndef SYNTHESIS
  offer_contract #(
      .WIDTH(8 + 8 + 64)
  ) u_address_stays (
      .clk,
      .rst,
      .valid(m_axi_awvalid),
      .ready(m_axi_awready),
      .data ({m_axi_awid, m_axi_awlen, m_axi_awaddr})
  );
  offer_contract #(
      .WIDTH(1 + DATA_W)
  ) u_data_stay (
      .clk,
      .rst,
      .valid(m_axi_wvalid),
      .ready(m_axi_wready),
      .data ({m_axi_wlast, m_axi_wdata})
  );
`endif

endmodule
