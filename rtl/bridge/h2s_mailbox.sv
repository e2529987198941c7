// SPDX-License-Identifier: Apache-2.0
// Host side of a lane of H2S: finds each closed batch its buffer in host memory, says where its bursts go, counts their
// responses, and tells software once the last of them is in.
// Buffers are used, and their messages come, in the order in which they were posted; a buffer that is too small for the
// batch comes back with packets = 0 and words = 0x7fff, and the batch takes the next one. A buffer is used only when
// there is a place for its message, so that none is lost however long software leaves them; a burst that is offered
// stays.
// Latency: 1 cycle from a batch to the offer of its first burst, 1 from its last response to its message.
// Throughput: a burst every 2 cycles, a batch every 3.
// Backpressure: the responses wait for the message of a buffer that is too small, one cycle each.
module h2s_mailbox
  import bridge_pkg::*;
#(
    parameter int unsigned DATA_W = 64,
    parameter int unsigned BURST = 16,
    parameter int unsigned HOST_BUFFERS = 16,
    parameter int unsigned ADDR_W = 15         // of a word in a batch
) (
    input  logic              clk,
    input  logic              rst,

    input  logic              post_valid,
    output logic              post_ready,
    input  buffer_t           post,
    output logic              message_valid,
    output h2s_message_t      message,
    input  logic              message_take,

    input  logic              batch_valid,
    output logic              batch_taken,
    input  logic [ADDR_W-1:0] batch_last,
    input  logic [12:0]       batch_packets,

    output logic              burst_valid,
    output logic [63:0]       burst_addr,
    output logic [7:0]        burst_len,      // beats - 1
    input  logic              burst_taken,
    input  logic              response,       // of the oldest burst
    input  logic              response_error,
    output logic              response_ready,

    output logic              post_lost,      // a buffer is posted where there is no place for it
    output logic              buffer_refused,
    output logic              write_error,
    output logic [12:0]       write_error_packets,
    output logic              idle            // but for batches that wait for a buffer, and messages to be taken
);

  if (DATA_W < 32 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "h2s_mailbox: DATA_W must be 32, 64, 128, 256 or 512, not %0d", DATA_W);
  end
  if (BURST < 2 || BURST > 256 || 2 ** $clog2(BURST) != BURST) begin : gen_bad_burst
    $fatal(1, "h2s_mailbox: BURST must be a power of two from 2 to 256, not %0d", BURST);
  end
  if (HOST_BUFFERS < 2 || 2 ** $clog2(HOST_BUFFERS) != HOST_BUFFERS) begin : gen_bad_host_buffers
    $fatal(1, "h2s_mailbox: HOST_BUFFERS must be a power of two from 2, not %0d", HOST_BUFFERS);
  end
  if (ADDR_W < 5 || ADDR_W > 15) begin : gen_bad_addr_w
    $fatal(1, "h2s_mailbox: ADDR_W must be 5 to 15, not %0d", ADDR_W);
  end

  localparam int unsigned LANE_W = $clog2(DATA_W / 32);
  localparam int unsigned BURST_BITS = $clog2(BURST);
  localparam int unsigned SHIFT = LANE_W + BURST_BITS;                        // from words to bursts
  localparam int unsigned BURST_W = ADDR_W > SHIFT ? ADDR_W - SHIFT : 1;
  localparam int unsigned COUNT_W = $clog2(HOST_BUFFERS + 1);

  typedef logic [BURST_W-1:0] burst_t;

  typedef struct packed {
    logic              refused;
    logic [TAG_W-1:0]  tag;
    logic [12:0]       packets;
    logic [ADDR_W-1:0] last;
  } flight_t;

  // To host memory
  logic target_valid, issue;
  buffer_t target;
  logic [COUNT_W-1:0] messages_q;  // places that are taken: buffers in use, and messages
  burst_t burst_q;                 // of the batch
  logic match, last_burst, last_burst_q, fits;
  logic offer_q, refuse_q;         // the batch fits into the buffer; it doesn't

  stream_queue #(
      .WIDTH($bits(buffer_t)),
      .DEPTH(HOST_BUFFERS)
  ) u_posts (
      .clk,
      .rst,
      .s_valid(post_valid),
      .s_ready(post_ready),
      .s_data (post),
      .m_valid(target_valid),
      .m_ready(issue),
      .m_data (target),
      .idle   ()
  );

  assign post_lost      = post_valid && !post_ready;
  assign match          = batch_valid && target_valid && messages_q != COUNT_W'(HOST_BUFFERS);
  assign fits           = 15'(batch_last | ADDR_W'(DATA_W / 32 - 1)) < target.words;
  assign last_burst     = burst_q == burst_t'(batch_last >> SHIFT);
  assign burst_valid    = offer_q;
  assign burst_addr     = {target.page, 12'd0} + (64'(burst_q) << (SHIFT + 2));
  assign burst_len      = last_burst ? 8'(BURST_BITS'(batch_last >> LANE_W)) : 8'(BURST - 1);
  assign buffer_refused = refuse_q;
  assign batch_taken    = burst_taken && last_burst_q;  // a burst is taken a cycle after its choice at the earliest
  assign issue          = batch_taken || buffer_refused;

  // And to software
  logic flight_valid, flights_idle, done, flight_ready, message_ready, taken;
  flight_t flight;
  burst_t responses_q;            // of the oldest batch in flight
  logic error_q, error;
  h2s_message_t news;

  stream_queue #(
      .WIDTH($bits(flight_t)),
      .DEPTH(HOST_BUFFERS)
  ) u_flights (
      .clk,
      .rst,
      .s_valid(issue),
      .s_ready(flight_ready),
      .s_data ({refuse_q, target.tag, batch_packets, batch_last}),
      .m_valid(flight_valid),
      .m_ready(done),
      .m_data (flight),
      .idle   (flights_idle)
  );

  wire refused = flight_valid && flight.refused;
  wire final_response = flight_valid && response && responses_q == burst_t'(flight.last >> SHIFT);
  assign response_ready      = !refused;
  assign done                = refused || final_response;
  assign error               = error_q || response_error;
  assign write_error         = !refused && final_response && error;
  assign write_error_packets = flight.packets;

  assign news.tag     = flight.tag;
  assign news.packets = flight.refused || error ? '0 : flight.packets;
  assign news.words   = (15'(flight.last) | {15{flight.refused}}) + 15'(!flight.refused);

  stream_queue #(
      .WIDTH($bits(h2s_message_t)),
      .DEPTH(HOST_BUFFERS)
  ) u_messages (
      .clk,
      .rst,
      .s_valid(done),
      .s_ready(message_ready),
      .s_data (news),
      .m_valid(message_valid),
      .m_ready(message_take),
      .m_data (message),
      .idle   ()
  );
  assign taken = message_valid && message_take;

  always_ff @(posedge clk) begin
    offer_q      <= match && fits && !issue;
    refuse_q     <= match && !fits && !issue;
    last_burst_q <= last_burst;
    if (burst_taken) burst_q <= last_burst_q ? '0 : burst_q + 1'b1;
    if (response && !refused) begin
      responses_q <= final_response ? '0 : responses_q + 1'b1;
      error_q     <= !final_response && error;
    end
    if (issue && !taken) messages_q <= messages_q + 1'b1;
    if (taken && !issue) messages_q <= messages_q - 1'b1;
    if (rst) begin
      offer_q     <= 1'b0;
      refuse_q    <= 1'b0;
      burst_q     <= '0;
      responses_q <= '0;
      error_q     <= 1'b0;
      messages_q  <= '0;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst) begin
      assert (!issue || flight_ready) else $error("a buffer in use is lost");
      assert (!done || message_ready) else $error("a message is lost");
    end
  end
`endif
  wire unused = &{1'b0, flight_ready, message_ready};  // messages_q sees to it

  assign idle = !match && !offer_q && !refuse_q && flights_idle && !(post_valid && post_ready);

`ifndef SYNTHESIS
  offer_contract #(
      .WIDTH(13 + ADDR_W)
  ) u_batch_stays (
      .clk,
      .rst,
      .valid(batch_valid),
      .ready(batch_taken),
      .data ({batch_packets, batch_last})
  );
  always_ff @(posedge clk) begin
    if (!rst && batch_valid) assert (batch_packets != 0) else $error("%m: a batch of no packets");
  end
`endif

endmodule
