// SPDX-License-Identifier: Apache-2.0
// Sends the packets of the jobs in the ring of S2H into the network on chip, and says how each job ended.
// The ring's only read port gives a slot in each cycle. A packet takes one for each beat on the network: in the slots
// of its header beats the header of the next packet is read, if it is there already, in those of its payload the
// payload. So header reads cost nothing. What comes out of the ring goes straight to the network; while the network
// does not take it, all slots stand still.
// Latency: 9 cycles from a packet's header being there to its first beat. Throughput: a beat a cycle, at least 7 cycles
// a packet.
module s2h_send
  import bridge_pkg::*;
#(
    parameter int unsigned DATA_W = 64,
    parameter int unsigned ADDR_W = 14,       // of a word in the ring
    parameter int unsigned MAX_PACKET = 1514,
    localparam int unsigned KEEP_W = DATA_W / 8,
    localparam int unsigned LANES = DATA_W / 32,
    localparam int unsigned LANE_W = $clog2(LANES),
    localparam int unsigned ROW_W = ADDR_W - LANE_W
) (
    input  logic              clk,
    input  logic              rst,
    input  logic              enable,         // begin packets and jobs

    input  logic              job_valid,
    output logic              job_ready,
    input  logic [14:0]       job_words,
    output logic              job_done,       // a job with words is done; about the oldest one that is not:
    input  logic              job_complete,   // it is in the ring in whole
    input  logic              job_error,      // it could not be read

    input  logic [ROW_W:0]    wr_row,         // up to here the ring is filled
    output logic [ROW_W:0]    free_row,       // up to here it may be overwritten
    output logic              rd_en,
    output logic [ADDR_W-1:0] rd_addr,
    input  logic [DATA_W-1:0] rd_data,        // 2 cycles with rd_en later

    output logic              m_axis_tvalid,
    input  logic              m_axis_tready,
    output logic [DATA_W-1:0] m_axis_tdata,
    output logic [KEEP_W-1:0] m_axis_tkeep,
    output logic              m_axis_tlast,

    output logic              packet,
    output logic [15:0]       packet_bytes,
    output logic              news_valid,
    input  logic              news_ready,
    output logic [12:0]       news_packets,
    output logic              news_malformed,
    output logic              news_read_error,
    output logic              idle
);

  if (DATA_W < 32 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "s2h_send: DATA_W must be 32, 64, 128, 256 or 512, not %0d", DATA_W);
  end
  if (ADDR_W < $clog2(DATA_W / 32) + 2 || ADDR_W > 15) begin : gen_bad_addr_w
    $fatal(1, "s2h_send: ADDR_W must be that of four rows at least, and at most 15, not %0d", ADDR_W);
  end
  if (MAX_PACKET < 64 || MAX_PACKET > 65535) begin : gen_bad_max_packet
    $fatal(1, "s2h_send: MAX_PACKET must be 64 to 65535, not %0d", MAX_PACKET);
  end

  localparam int unsigned HEADER_BEATS = (80 + DATA_W - 1) / DATA_W;  // as many as reads of HEADER_WORDS take
  localparam int unsigned KEEP_BITS = $clog2(KEEP_W);
  localparam int unsigned LEN_BITS = $clog2(MAX_PACKET);             // of a length - 1
  localparam int unsigned BEATS_W = LEN_BITS > KEEP_BITS ? LEN_BITS - KEEP_BITS : 1;
  localparam logic [1:0] LAST_HEADER = 2'(HEADER_BEATS - 1);

  typedef logic [ADDR_W:0] place_t;  // one bit wider than an address

  // Slots of the read
  // port
  typedef struct packed {
    logic                 out;      // a beat for the network
    logic                 header;   // of the header
    logic                 capture;  // what is read is a header (or else a count) to be kept
    logic                 last;
    logic [KEEP_BITS-1:0] tail;     // last byte of the last beat
  } slot_t;
  slot_t slot, slot1_q, slot_q;  // slot_q: its data are in rd_data
  logic advance;

  assign advance = !slot_q.out || m_axis_tready;
  assign rd_en   = advance;
  always_ff @(posedge clk) begin
    if (advance) begin
      slot1_q <= slot;
      slot_q  <= slot1_q;
    end
    if (rst) begin
      slot1_q <= '0;
      slot_q  <= '0;
    end
  end

  // A header beat goes out just before the word that it needs no longer is overwritten by that of the next header.
  memory_header_t header_q;
  logic [1:0] beat_q;               // of the header
  logic [3:0][DATA_W-1:0] beats;
  logic header_slot, header_done, count_done;

  assign header_slot = advance && slot_q.header;
  assign header_done = header_slot && slot_q.capture && beat_q == LAST_HEADER;
  assign count_done  = advance && slot_q.capture && !slot_q.header;
  assign beats       = (4 * DATA_W)'(noc_bytes(to_noc(header_q)));

  always_ff @(posedge clk) begin
    if (header_slot) beat_q <= beat_q == LAST_HEADER ? '0 : beat_q + 1'b1;
    if (rst) beat_q <= '0;
  end
  logic [HEADER_WORDS-1:0][31:0] words_q;
  for (genvar w = 0; w < HEADER_WORDS; w++) begin : gen_word
    always_ff @(posedge clk) begin
      if (header_slot && slot_q.capture && beat_q == 2'(w / LANES)) words_q[w] <= rd_data[32*(w%LANES)+:32];
    end
  end
  assign header_q = words_q;

  assign m_axis_tvalid = slot_q.out;
  assign m_axis_tdata  = slot_q.header ? beats[beat_q] : rd_data;
  assign m_axis_tlast  = slot_q.last;
  assign m_axis_tkeep  = slot_q.last ? ~(({KEEP_W{1'b1}} << 1) << slot_q.tail) : '1;

  // A packet goes out
  typedef enum logic [1:0] {
    REST,
    HEADER,
    PAYLOAD
  } sending_t;
  sending_t sending_q;
  logic [1:0] read_q;               // of the header's reads
  logic [ADDR_W-1:0] payload_q;     // next word to be read
  logic [BEATS_W-1:0] left_beats_q;
  logic [KEEP_BITS-1:0] tail_q;
  logic [LEN_BITS-1:0] length_1_q;  // length - 1
  logic start, ahead, ahead_q, last_read, last_payload, read_header, read_count, resting;
  place_t at_q;                     // of the header that is to be read or judged, when that of the packet is done with

  assign resting      = sending_q == REST;
  assign last_read    = read_q == LAST_HEADER;
  assign last_payload = sending_q == PAYLOAD && left_beats_q == 0;

  always_comb begin
    slot         = '0;
    slot.out     = !resting;
    slot.header  = sending_q == HEADER || read_header;
    slot.capture = (sending_q == HEADER && ahead_q) || read_header || read_count;
    slot.last    = last_payload;
    slot.tail    = tail_q;
    rd_addr      = sending_q == PAYLOAD ? payload_q : at_q[ADDR_W-1:0] + (ADDR_W'(read_q) << LANE_W);
  end

  always_ff @(posedge clk) begin
    if (advance) begin
      if (slot.header) read_q <= last_read ? '0 : read_q + 1'b1;
      if (sending_q == HEADER && last_read) sending_q <= PAYLOAD;
      if (sending_q == PAYLOAD) left_beats_q <= left_beats_q - 1'b1;
      if (last_payload) sending_q <= REST;
    end
    if (start || (advance && sending_q == PAYLOAD)) begin
      payload_q <= (start ? at_q[ADDR_W-1:0] : payload_q) + (start ? ADDR_W'(HEADER_WORDS) : ADDR_W'(LANES));
    end
    if (start) begin
      sending_q    <= HEADER;
      ahead_q      <= ahead;
      left_beats_q <= BEATS_W'(length_1_q >> KEEP_BITS);
      tail_q       <= KEEP_BITS'(length_1_q);
    end
    if (rst) begin
      sending_q <= REST;
      read_q    <= '0;
    end
  end

  // What comes next is
  // judged
  typedef enum logic [2:0] {
    JOB,      // wait for a job
    COUNT,    // read its count
    COUNTED,  // wait for it
    NEXT,     // is there one more packet, and its header there?
    READ,     // read it
    WAIT,     // wait for it
    JUDGE,    // is the packet good, and there in whole?
    FINISH    // wait for the rest of the job
  } state_t;
  state_t state_q, state_d;
  logic [14:0] left_q;      // words of the job from at_q on
  logic [13:0] count_q;     // packets to come; 8192 and more are more than there can be
  logic [12:0] sent_q;
  logic malformed_q, empty_q, bad_length_q;

  // In steps of a cycle: words to go on by, where that is and what is left then, whether all up to there has come in.
  logic [14:0] need_q;
  place_t next_q;
  logic [15:0] next_left_q;  // negative: beyond the job
  logic over_q, more_q;      // beyond the job; room for a header is left in it
  logic whole_q, behind_q;   // all up to next_q is there; and a header behind it
  logic [1:0] steps_q;
  logic settled, move, finish, wrong;
  logic [ROW_W:0] there_q;
  place_t behind;

  assign behind  = (place_t'(there_q) << LANE_W) - next_q;
  assign settled = &steps_q;
  always_ff @(posedge clk) begin
    length_1_q   <= LEN_BITS'(header_q.length - 1'b1);
    bad_length_q <= header_q.length == 0 || header_q.length > 16'(MAX_PACKET);
    there_q      <= wr_row;  // so late that job_error is known before whole_q says that its beat is there
    case (state_q)
      COUNT:   need_q <= 15'd1;
      JUDGE:   need_q <= 15'((17'(header_q.length) + 17'(4 * HEADER_WORDS + 3)) >> 2);
      FINISH:  need_q <= left_q;
      default: need_q <= '0;
    endcase
    next_q      <= at_q + place_t'(need_q);
    next_left_q <= {1'b0, left_q} - {1'b0, need_q};
    over_q      <= next_left_q[15];
    more_q      <= next_left_q[14:2] != 0 || next_left_q[1:0] == 2'(HEADER_WORDS);
    whole_q     <= !behind[ADDR_W];
    behind_q    <= !behind[ADDR_W] && (behind[ADDR_W-1:2] != 0 || behind[1:0] == 2'(HEADER_WORDS));
    if (move || state_d != state_q) steps_q <= '0;
    else if (!settled) steps_q <= steps_q + 1'b1;
  end

  always_comb begin
    state_d    = state_q;
    read_count = 1'b0;
    start      = 1'b0;
    finish     = 1'b0;
    wrong      = 1'b0;
    case (state_q)
      JOB:
      if (job_valid && enable) begin
        state_d = job_words == 0 ? FINISH : COUNT;
        wrong   = job_words == 0;
      end
      COUNT:
      if (settled && job_error) state_d = FINISH;
      else if (settled && whole_q) begin
        read_count = 1'b1;
        if (advance) state_d = COUNTED;
      end
      COUNTED: if (count_done) state_d = NEXT;
      NEXT:
      if (settled) begin
        if (count_q == 0 || job_error) state_d = FINISH;
        else if (!more_q) begin
          state_d = FINISH;
          wrong   = 1'b1;
        end else if (behind_q && resting) state_d = READ;
      end
      READ: if (advance && last_read) state_d = WAIT;
      WAIT: if (header_done) state_d = JUDGE;
      JUDGE:
      if (settled) begin
        if (job_error) state_d = FINISH;
        else if (bad_length_q || over_q) begin
          state_d = FINISH;
          wrong   = 1'b1;
        end else if (whole_q && enable && (resting || (last_payload && advance))) begin
          start   = 1'b1;
          state_d = ahead ? WAIT : NEXT;
        end
      end
      default: begin
        finish = settled && resting && !slot1_q.out && !slot_q.out && (empty_q || job_complete);
        if (finish && news_ready) state_d = JOB;
      end
    endcase
  end
  assign read_header = state_q == READ;
  assign ahead       = count_q != 14'd1 && more_q && behind_q;
  assign news_valid  = finish;
  assign move        = start || (read_count && advance) || (finish && news_ready);

  // A job ends with a row.
  wire round_up = finish && (LANES == 1 ? 1'b0 : (next_q & place_t'(LANES - 1)) != 0);
  always_ff @(posedge clk) begin
    state_q <= state_d;
    if (move) begin
      at_q   <= finish ? ((next_q >> LANE_W) + place_t'(round_up)) << LANE_W : next_q;
      left_q <= next_left_q[14:0];
    end
    if (count_done) count_q <= {rd_data[31:13] != 0, rd_data[12:0]};
    if (start) begin
      count_q <= count_q - 1'b1;
      sent_q  <= sent_q + 1'b1;
    end
    if (wrong) malformed_q <= 1'b1;
    if (job_valid && job_ready) begin
      left_q      <= job_words;
      sent_q      <= '0;
      malformed_q <= wrong;
      empty_q     <= wrong;
    end
    if (rst) begin
      state_q <= JOB;
      at_q    <= '0;
    end
  end

  // What a packet was read from is free when the next one begins. While the rest of a job is awaited, its rows are free
  // as they come; then the job's end is about to become at_q.
  logic [ROW_W:0] free_row_q;
  always_ff @(posedge clk) begin
    if (state_q == FINISH && resting && !empty_q) begin
      if (!job_complete) free_row_q <= wr_row;
    end else if (resting || start) free_row_q <= (ROW_W + 1)'(at_q >> LANE_W);
    if (rst) free_row_q <= '0;
  end
  assign free_row = free_row_q;

  assign job_ready       = state_q == JOB && enable;
  assign job_done        = finish && news_ready && !empty_q;
  assign packet          = start;
  assign packet_bytes    = header_q.length;
  assign news_packets    = sent_q;
  assign news_malformed  = malformed_q;
  assign news_read_error = job_error && !empty_q;
  assign idle            = state_q == JOB;

`ifndef SYNTHESIS
  offer_contract #(
      .WIDTH(15)
  ) u_job_stays (
      .clk,
      .rst,
      .valid(job_valid),
      .ready(job_ready),
      .data (job_words)
  );
`endif

endmodule
