// SPDX-License-Identifier: Apache-2.0
// Local buffer of H2S: a ring of BUFFER_KB in which packets are put together to batches; closed ones wait here, in
// order, until their rows have been read.
//
// In the ring a packet is its header in three words and its payload in whole words; a batch begins with a row of DATA_W
// bits. A batch closes between packets as soon as there is a reason: `single` or ONE_PACKET (3); a critical packet in
// it (2); no more room for a packet of maximum size within batching.bytes and half the ring (0); its timeout since its
// first packet's last beat (1); a flush (4). If there are several, the first of them is told. A batch that finds no
// place in the queue of closed ones is closed nevertheless, and holds the next packet off.
// A packet begins only if there is room for the longest one, so none is cut for lack of space. One that is too long
// leaves no trace.
// Latency: a flush and a changed setting act within 4 cycles, or at the end of the packet that is coming in or being
// dropped.
// Throughput: a packet takes a cycle for each beat and 3 more (4 at 32 bits), of which the header beats on the network
// on chip hide all but one.
// Backpressure: between packets, as long as it takes to close a batch; with wait_for_room, until there is room, or
// until a packet has waited for wait_limit_ns (give or take 1,024 ns; 0: without end). Otherwise a packet that finds
// none is dropped whole; after a wait that was too long all are, until there is room again.
module h2s_lane
  import bridge_pkg::*;
#(
    parameter int unsigned DATA_W = 64,
    parameter int unsigned BUFFER_KB = 128,
    parameter int unsigned MAX_PACKET = 1514,
    parameter bit          ONE_PACKET = 1'b0,  // each packet is a batch of its own, whatever the settings
    parameter int unsigned BATCHES = 32,       // closed ones that can wait
    localparam int unsigned KEEP_W = DATA_W / 8,
    localparam int unsigned ADDR_W = $clog2(BUFFER_KB * 256)
) (
    input  logic              clk,
    input  logic              rst,
    input  logic [63:0]       time_ns,
    input  logic              enable,
    input  logic              wait_for_room,
    input  logic [31:0]       wait_limit_ns,
    input  logic              flush,
    input  batching_t         batching,

    input  logic              s_axis_tvalid,
    output logic              s_axis_tready,
    input  logic [DATA_W-1:0] s_axis_tdata,
    input  logic [KEEP_W-1:0] s_axis_tkeep,
    input  logic              s_axis_tlast,
    input  logic              s_too_long,     // with the last beat
    input  noc_header_t       s_header,       // from before the first beat to the last one

    output logic              batch_valid,
    input  logic              batch_taken,
    output logic [ADDR_W-1:0] batch_last,     // number of its last word, from 0
    output logic [12:0]       batch_packets,
    input  logic              rd_en,          // reads the next row
    output logic [DATA_W-1:0] rd_data,        // a cycle later

    output logic              packet,         // accepted
    output logic [15:0]       packet_bytes,
    output logic              too_long,
    output logic              no_room,
    output logic              disabled,
    output logic              closed,
    output logic [2:0]        closed_reason,
    output logic [31:0]       batches_closed,
    output logic [63:0]       wake_ns,
    output logic              idle            // but for closed batches that wait
);

  if (BATCHES < 2 || 2 ** $clog2(BATCHES) != BATCHES) begin : gen_bad_batches
    $fatal(1, "h2s_lane: BATCHES must be a power of two from 2, not %0d", BATCHES);
  end

  localparam int unsigned WORDS = BUFFER_KB * 256;
  localparam int unsigned LANES = DATA_W / 32;
  localparam int unsigned LANE_W = $clog2(LANES);
  localparam int unsigned MAX_BEATS = (MAX_PACKET + KEEP_W - 1) / KEEP_W;
  localparam int unsigned MAX_WORDS = HEADER_WORDS + (MAX_PACKET + 3) / 4;
  localparam int unsigned WORST = HEADER_WORDS + (MAX_BEATS + 1) * LANES;  // until the next batch's first row
  localparam int unsigned HALF = WORDS / 2;
  localparam int unsigned BEAT_W = $clog2(MAX_BEATS + 1);
  localparam int unsigned SECOND = LANES > 1 ? 32 : 0;  // bit where the second lane begins, if there is one
  localparam int unsigned SPARE_W = LANES > 1 ? LANE_W : 1;

  if (WORDS < WORST) begin : gen_bad_buffer_kb
    $fatal(1, "h2s_lane: BUFFER_KB must hold a packet of MAX_PACKET bytes, not %0d", BUFFER_KB);
  end

  typedef logic [ADDR_W-1:0] place_t;
  typedef enum logic [2:0] {
    BETWEEN,      // packets; the one that begins writes its source's word, and the destination's if it can
    DESTINATION,  // is written
    BODY,
    FIRST,        // word of the header is written, now that the length is known
    SETTLE,       // what is judged between packets
    BACK,         // to the beginning of a packet
    FORTH,        // to its second word
    DISCARD
  } state_t;

  state_t state_q;
  wire between = state_q == BETWEEN;
  wire body = state_q == BODY && s_axis_tvalid;

  // Batches and room
  place_t base_q, start_q;          // where the open batch and the next packet begin
  place_t wr_q;                     // next word; between packets the one after start_q
  logic [ADDR_W-LANE_W-1:0] rd_row_q;
  logic [12:0] packets_q;           // in the open batch
  logic open_q;                     // it holds one
  logic critical_q;                 // it holds a critical one
  logic closed_q;                   // it is closed, but the queue is full
  logic flush_q, full_q, room_q, expired_q;
  logic [63:0] first_q, wake_q;     // when its first packet came; when its time is over
  logic queue_ready;
  place_t words, used;

  assign words = start_q - base_q;
  assign used  = start_q - {rd_row_q, {LANE_W{1'b0}}};

  wire expired = time_ns >= wake_q;
  wire armed = !ONE_PACKET && open_q && !closed_q && batching.timeout_ns != 0;

  // A batch of more words than limit_q has no room for one more packet; a small limit may not even leave room for one.
  place_t limit, limit_q;
  assign limit = batching.bytes >= 17'(4 * HALF) ? place_t'(HALF) : place_t'(batching.bytes >> 2);

  always_comb begin
    if (batching.single) closed_reason = 3'd3;
    else if (critical_q) closed_reason = 3'd2;
    else if (full_q) closed_reason = 3'd0;
    else if (expired_q) closed_reason = 3'd1;
    else closed_reason = 3'd4;
  end
  wire due = ONE_PACKET || batching.single || critical_q || full_q || expired_q || flush_q;
  assign closed = between && open_q && !closed_q && due;
  wire push = between && (closed || closed_q) && queue_ready;

  // The row after the batch that is closed
  place_t after;
  if (LANES == 1) begin : gen_word
    assign after = start_q;
  end else begin : gen_row
    assign after = {start_q[ADDR_W-1:LANE_W] + (ADDR_W - LANE_W)'(start_q[LANE_W-1:0] != 0), LANE_W'(0)};
  end

  logic late_q;  // a packet has waited for too long, and there is still no room
  wire judge = between && s_axis_tvalid && !closed && !push;
  wire able = room_q && !closed_q;
  wire start = judge && enable && able;
  wire lacking = judge && enable && !able;
  assign disabled = judge && !enable;
  assign no_room  = lacking && (!wait_for_room || late_q);

  // How long a packet has waited, in units of 1,024 ns
  logic [21:0] since_q, waited;
  assign waited = time_ns[31:10] - since_q;
  always_ff @(posedge clk) begin
    if (!lacking) since_q <= time_ns[31:10];
    late_q <= !able && (late_q || (lacking && wait_limit_ns != '0 && waited > wait_limit_ns[31:10]));
    if (rst) late_q <= 1'b0;
  end

  // Packets
  logic [9:0] flags_q;              // of the header's first word
  logic too_long_q;
  logic [BEAT_W-1:0] beats_q;       // before the one that is coming in, or came last
  logic [$clog2(KEEP_W+1)-1:0] tail_q;  // bytes in that
  wire [BEAT_W+$clog2(KEEP_W)-1:0] length = {beats_q, {$clog2(KEEP_W){1'b0}}} + (BEAT_W + $clog2(KEEP_W))'(tail_q);

  wire first = state_q == FIRST;
  assign packet        = first && !too_long_q;
  assign too_long      = first && too_long_q;
  assign packet_bytes  = 16'(length);
  assign s_axis_tready = state_q == BODY || state_q == DISCARD;

  logic [$clog2(KEEP_W):0] beat_bytes;
  keep_bytes #(.KEEP_W(KEEP_W)) u_bytes (.keep(s_axis_tkeep), .bytes(beat_bytes));

  // How far a write goes
  place_t step;
  if (LANES == 1) begin : gen_step_one
    assign step = place_t'(1);
  end else begin : gen_step
    logic [LANES-1:0] last_lanes;
    for (genvar i = 0; i < LANES; i++) begin : gen_lane
      assign last_lanes[i] = s_axis_tkeep[4*i];
    end
    always_comb begin
      case (state_q)
        BETWEEN: step = place_t'(2);
        BODY: step = s_axis_tlast ? place_t'($countones(last_lanes)) : place_t'(LANES);
        default: step = place_t'(1);
      endcase
    end
  end
  wire onward = start || state_q == DESTINATION || body || packet || state_q == FORTH;

  always_ff @(posedge clk) begin
    if (onward) wr_q <= wr_q + step;
    case (state_q)
      BETWEEN: begin
        beats_q <= '0;
        flags_q <= {s_header.address, s_header.level, s_header.egress, s_header.critical};
        if (push) begin
          base_q  <= after;
          start_q <= after;
          if (LANES > 1) state_q <= BACK;
        end else if (start) begin
          state_q <= LANES > 1 ? BODY : DESTINATION;
        end else if (disabled || no_room) begin
          state_q <= DISCARD;
        end
      end
      DESTINATION: state_q <= BODY;
      BODY: begin
        if (!open_q) first_q <= time_ns;
        tail_q     <= beat_bytes;
        too_long_q <= s_too_long;
        if (body && !s_axis_tlast) beats_q <= beats_q + 1'b1;
        if (body && s_axis_tlast) state_q <= FIRST;
      end
      FIRST: begin
        if (packet) start_q <= wr_q;
        state_q <= packet ? SETTLE : BACK;
      end
      BACK: begin
        wr_q    <= start_q;
        state_q <= FORTH;
      end
      FORTH, SETTLE: state_q <= BETWEEN;
      default: if (s_axis_tvalid && s_axis_tlast) state_q <= BETWEEN;
    endcase

    limit_q   <= limit > place_t'(MAX_WORDS) ? limit - place_t'(MAX_WORDS) : '0;
    full_q    <= words > limit_q;
    room_q    <= used <= place_t'(WORDS - WORST);
    wake_q    <= armed ? first_q + 64'(batching.timeout_ns) : NEVER;
    expired_q <= expired;
    flush_q   <= flush || (flush_q && !between);
    if (packet) begin
      open_q     <= 1'b1;
      critical_q <= critical_q || flags_q[0];
      packets_q  <= packets_q + 1'b1;
    end
    closed_q <= (closed_q || closed) && !push;
    if (closed) batches_closed <= batches_closed + 1'b1;
    if (push) begin
      open_q     <= 1'b0;
      critical_q <= 1'b0;
      packets_q  <= '0;
    end
    if (rd_en) rd_row_q <= rd_row_q + 1'b1;

    if (rst) begin
      state_q        <= BETWEEN;
      base_q         <= '0;
      start_q        <= '0;
      wr_q           <= place_t'(1);
      rd_row_q       <= '0;
      packets_q      <= '0;
      open_q         <= 1'b0;
      critical_q     <= 1'b0;
      closed_q       <= 1'b0;
      flush_q        <= 1'b0;
      room_q         <= 1'b0;
      expired_q      <= 1'b0;
      batches_closed <= '0;
    end
  end

  assign wake_ns = wake_q;
  assign idle    = between && !s_axis_tvalid && !flush_q && (closed_q ? !queue_ready : !closed && !expired);

  // Their places
  logic [LANES-1:0] wr_en;
  logic [DATA_W-1:0] wr_data;
  place_t wr_addr;

  always_comb begin
    // Whole rows are written, as what lies ahead is free; but the header's first word stands before others.
    wr_en   = {LANES{start || state_q == DESTINATION || body}} | LANES'(packet);
    wr_data = s_axis_tdata;
    case (state_q)
      BETWEEN: begin
        wr_data[SECOND+:32] = s_header.destination;
        wr_data[31:0]       = s_header.source;
      end
      DESTINATION: wr_data[31:0] = s_header.destination;
      FIRST: wr_data[31:0] = {flags_q, 6'd0, packet_bytes};  // as in memory_header_t
      default: ;
    endcase
    wr_addr = first ? start_q : wr_q;
    // Where each packet begins a row, this is so anyway; said here, it makes the rotation small.
    if (ONE_PACKET && LANES > 1) wr_addr[SPARE_W-1:0] = first ? '0 : between ? SPARE_W'(1) : SPARE_W'(HEADER_WORDS);
  end

  word_buffer #(
      .DATA_W(DATA_W),
      .WORDS(WORDS),
      .READ_LATENCY(1)
  ) u_buffer (
      .clk,
      .wr_en,
      .wr_addr,
      .wr_data,
      .rd_en,
      .rd_addr({rd_row_q, {LANE_W{1'b0}}}),
      .rd_data
  );

  stream_queue #(
      .WIDTH(13 + ADDR_W),
      .DEPTH(BATCHES)
  ) u_batches (
      .clk,
      .rst,
      .s_valid(push),
      .s_ready(queue_ready),
      .s_data ({packets_q, start_q + ~base_q}),
      .m_valid(batch_valid),
      .m_ready(batch_taken),
      .m_data ({batch_packets, batch_last}),
      .idle   ()
  );

`ifndef SYNTHESIS
  stream_contract #(
      .DATA_W(DATA_W)
  ) u_contract (
      .clk,
      .rst,
      .tvalid(s_axis_tvalid),
      .tready(s_axis_tready),
      .tdata (s_axis_tdata),
      .tkeep (s_axis_tkeep),
      .tlast (s_axis_tlast)
  );
`endif

endmodule
