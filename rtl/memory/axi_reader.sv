// SPDX-License-Identifier: Apache-2.0
// Reads runs of bytes out of host memory: each command becomes a frame on the stream, byte 0 in lane 0.
// Bursts have at most BURST beats and never cross 4 KB; several are under way at once, as many as the buffer has room
// for, so that the bus is never held up: m_axi_rready is always high. All have the same ID: data come in order.
// Latency: 3 cycles from a command to its first address, 3 cycles from data to the stream (4 with an unaligned
// address).
// Throughput: 1 beat a cycle, but a burst in 3 cycles at most. Backpressure: the stream may stall for any time; then no
// new bursts are asked for.
module axi_reader #(
    parameter int unsigned MEM_W = 64,
    parameter int unsigned BURST = 16,
    parameter int unsigned BUFFER = 64,    // beats
    parameter int unsigned COMMANDS = 16,  // under way
    parameter int unsigned LEN_W = 16,     // of a command's length
    localparam int unsigned BYTES = MEM_W / 8
) (
    input  logic             clk,
    input  logic             rst,

    input  logic             cmd_valid,
    output logic             cmd_ready,
    input  logic [63:0]      cmd_addr,
    input  logic [LEN_W-1:0] cmd_bytes,      // at least 1
    input  logic             cmd_direct,     // the data come out as words, as they arrive, and not on the stream

    output logic [63:0]      m_axi_araddr,
    output logic [7:0]       m_axi_arlen,
    output logic [2:0]       m_axi_arsize,
    output logic [1:0]       m_axi_arburst,
    output logic             m_axi_arvalid,
    input  logic             m_axi_arready,
    input  logic [MEM_W-1:0] m_axi_rdata,
    input  logic [1:0]       m_axi_rresp,
    input  logic             m_axi_rlast,
    input  logic             m_axi_rvalid,
    output logic             m_axi_rready,

    output logic             direct_valid,   // a word for a direct command
    output logic [MEM_W-1:0] direct_data,
    output logic             arrived,        // the last word of a command has come in
    output logic             arrived_direct,
    output logic             arrived_error,  // a burst of it was answered with an error

    output logic             m_axis_tvalid,
    input  logic             m_axis_tready,
    output logic [MEM_W-1:0] m_axis_tdata,
    output logic [BYTES-1:0] m_axis_tkeep,
    output logic             m_axis_tlast,
    output logic             m_axis_tuser,   // with the last beat: arrived_error

    output logic             idle
);

  localparam logic [1:0] SLVERR = 2'b10;  // this and DECERR are errors
  localparam int unsigned OFFSET_W = $clog2(BYTES);
  localparam int unsigned PAGE_BEATS = 4096 / BYTES;
  localparam int unsigned MOST = BURST < PAGE_BEATS ? BURST : PAGE_BEATS;
  localparam int unsigned WORDS_W = LEN_W + 1 - OFFSET_W;
  localparam int unsigned PAGE_W = $clog2(PAGE_BEATS);
  localparam int unsigned NEAR_W = $clog2(MOST);
  localparam int unsigned BEATS_W = $clog2(MOST + 1);
  localparam int unsigned ROOM_W = $clog2(BUFFER + 1);
  localparam int unsigned BURSTS = 32;

  if (MEM_W < 16 || MEM_W > 1024 || 2 ** $clog2(MEM_W) != MEM_W) begin : gen_bad_mem_w
    $fatal(1, "axi_reader: MEM_W must be a power of two from 16 to 1024, not %0d", MEM_W);
  end
  if (BURST < 1 || BURST > 256) begin : gen_bad_burst
    $fatal(1, "axi_reader: BURST must be 1 to 256, not %0d", BURST);
  end
  if (BUFFER < MOST) begin : gen_bad_buffer
    $fatal(1, "axi_reader: BUFFER must have room for a burst, not %0d", BUFFER);
  end

  if (COMMANDS < 4) begin : gen_bad_commands
    $fatal(1, "axi_reader: COMMANDS must be at least 4, not %0d", COMMANDS);
  end
  if (LEN_W < 12 || LEN_W > 32) begin : gen_bad_len_w
    $fatal(1, "axi_reader: LEN_W must be 12 to 32, not %0d", LEN_W);
  end

  // ------------------------------------------------------------------------------------------- commands become bursts
  typedef struct packed {
    logic                single;  // one beat
    logic                tight;   // unaligned, but in no more words than beats: the last beat needs no further word
    logic [OFFSET_W-1:0] offset;  // of the first byte in its word
    logic [LEN_W-1:0]    bytes;
  } frame_t;

  logic frame_s_ready, frame_valid, frame_ready;
  frame_t frame;

  // Stage 1: the command; stage 2: its words, of which each burst takes some; stage 3: the next burst.
  logic cmd_q, cmd_direct_q, busy_q, direct_q, burst_q, burst_direct_q;
  logic [63:0] cmd_addr_q;
  logic [LEN_W-1:0] cmd_bytes_q;
  logic [63-OFFSET_W:0] word_q, burst_word_q;  // addresses in words
  logic [WORDS_W-1:0] left_q;
  logic [BEATS_W-1:0] burst_beats_q;
  logic [ROOM_W-1:0] room_q;                   // of the buffer, not yet asked for
  logic enough_q;                              // for any burst

  // What is left follows a burst in the cycle after it, the limit of the next burst one later.
  logic moving_q, settling_q;
  logic [BEATS_W-1:0] limit_q;                 // beats to the end of the page, at most MOST
  wire [PAGE_W-1:0] in_page = busy_q ? word_q[PAGE_W-1:0] : cmd_addr_q[OFFSET_W+:PAGE_W];
  wire near = 32'(in_page) >> NEAR_W == (PAGE_BEATS - 1) >> NEAR_W;  // the end of the page
  wire [NEAR_W:0] to_page = (NEAR_W + 1)'(2 ** NEAR_W) - (NEAR_W + 1)'(in_page % 2 ** NEAR_W);
  wire final_burst = left_q <= WORDS_W'(limit_q);
  wire [BEATS_W-1:0] beats = final_burst ? BEATS_W'(left_q) : limit_q;

  logic bursts_ready;
  wire sent = m_axi_arvalid && m_axi_arready;
  wire advance = busy_q && !moving_q && !settling_q && !burst_q && bursts_ready;
  wire start = cmd_q && !busy_q;
  wire cmd_taken = cmd_valid && cmd_ready;
  wire [LEN_W:0] to_end = {1'b0, cmd_bytes_q} + (LEN_W + 1)'(cmd_addr_q[OFFSET_W-1:0]) + (LEN_W + 1)'(BYTES - 1);

  // Room for the longest burst is waited for: simpler than for the next one, and no slower.
  assign cmd_ready     = frame_s_ready && !cmd_q;
  assign m_axi_arvalid = burst_q && (burst_direct_q || enough_q);
  assign m_axi_araddr  = {burst_word_q, OFFSET_W'(0)};
  assign m_axi_arlen   = 8'(burst_beats_q - 1'b1);
  assign m_axi_arsize  = 3'(OFFSET_W);
  assign m_axi_arburst = 2'b01;

  logic buffer_pop;
  always_ff @(posedge clk) begin
    if (start) cmd_q <= 1'b0;
    if (cmd_taken) begin
      cmd_q        <= 1'b1;
      cmd_direct_q <= cmd_direct;
      cmd_addr_q   <= cmd_addr;
      cmd_bytes_q  <= cmd_bytes;
    end
    limit_q    <= near && 32'(to_page) < MOST ? BEATS_W'(to_page) : BEATS_W'(MOST);
    moving_q   <= advance && !final_burst;
    settling_q <= moving_q;
    if (advance) busy_q <= !final_burst;
    if (moving_q) begin
      word_q <= word_q + (64 - OFFSET_W)'(burst_beats_q);
      left_q <= left_q - WORDS_W'(burst_beats_q);
    end
    if (start) busy_q <= 1'b1;
    if (!busy_q) begin
      direct_q <= cmd_direct_q;
      word_q   <= cmd_addr_q[63:OFFSET_W];
      left_q   <= WORDS_W'(to_end >> OFFSET_W);
    end
    if (sent) burst_q <= 1'b0;
    if (advance) begin
      burst_q        <= 1'b1;
      burst_direct_q <= direct_q;
      burst_word_q   <= word_q;
      burst_beats_q  <= beats;
    end
    room_q <= room_q + ROOM_W'(buffer_pop) - (sent && !burst_direct_q ? ROOM_W'(burst_beats_q) : '0);
    enough_q <= room_q >= ROOM_W'(MOST) && !sent;
    if (rst) begin
      cmd_q      <= 1'b0;
      busy_q     <= 1'b0;
      moving_q   <= 1'b0;
      settling_q <= 1'b0;
      burst_q    <= 1'b0;
      room_q     <= ROOM_W'(BUFFER);
    end
  end

  // -------------------------------------------------------------------------------------------------- data come in
  // A burst is noted before it is asked for, so that what is known of it is a register when its data come.
  logic unused_under_valid, under_final, under_direct, bursts_idle;
  stream_fifo #(
      .WIDTH(2),
      .DEPTH(BURSTS)
  ) u_bursts (
      .clk,
      .rst,
      .s_valid(advance),
      .s_ready(bursts_ready),
      .s_data ({final_burst, direct_q}),
      .m_valid(unused_under_valid),
      .m_ready(m_axi_rvalid && m_axi_rlast),
      .m_data ({under_final, under_direct}),
      .count  (),
      .idle   (bursts_idle)
  );

  logic error_q;
  assign m_axi_rready   = 1'b1;
  assign arrived        = m_axi_rvalid && m_axi_rlast && under_final;
  assign arrived_direct = under_direct;
  assign arrived_error  = error_q || m_axi_rresp >= SLVERR;
  assign direct_valid   = m_axi_rvalid && under_direct;
  assign direct_data    = m_axi_rdata;
  always_ff @(posedge clk) begin
    if (m_axi_rvalid) error_q <= arrived_error && !arrived;
    if (rst) error_q <= 1'b0;
  end

  logic word_valid, word_ready, unused_ready, word_error, buffer_idle;
  logic [MEM_W-1:0] word;
  stream_fifo #(
      .WIDTH(MEM_W + 1),
      .DEPTH(BUFFER)
  ) u_buffer (
      .clk,
      .rst,
      .s_valid(m_axi_rvalid && !under_direct),
      .s_ready(unused_ready),
      .s_data ({arrived_error, m_axi_rdata}),
      .m_valid(word_valid),
      .m_ready(word_ready),
      .m_data ({word_error, word}),
      .count  (),
      .idle   (buffer_idle)
  );
  assign buffer_pop = word_valid && word_ready;

  // ----------------------------------------------------------------------------------- words become aligned beats
  // Bytes in the last beat and in the last word: with fewer bytes in the last beat than lanes behind the offset, it
  // ends in the word before.
  wire [OFFSET_W-1:0] last_byte = OFFSET_W'(cmd_bytes - 1'b1);
  wire tight = cmd_addr[OFFSET_W-1:0] != 0 && 32'(last_byte) + 32'(cmd_addr[OFFSET_W-1:0]) < BYTES;
  logic frames_idle;
  stream_fifo #(
      .WIDTH($bits(frame_t)),
      .DEPTH(COMMANDS)
  ) u_frames (
      .clk,
      .rst,
      .s_valid(cmd_taken && !cmd_direct),
      .s_ready(frame_s_ready),
      .s_data (frame_t'{cmd_bytes <= LEN_W'(BYTES), tight, cmd_addr[OFFSET_W-1:0], cmd_bytes}),
      .m_valid(frame_valid),
      .m_ready(frame_ready),
      .m_data (frame),
      .count  (),
      .idle   (frames_idle)
  );

  // A beat takes the upper lanes of the word before and the lower lanes of this one. The first word of an unaligned
  // frame is only kept; the last beat may need no further word.
  logic started_q;            // the frame's first word is in before_q
  logic [MEM_W-1:0] before_q;
  logic begun_q, ends_q;      // a beat of the frame is out; the next one is its last
  logic [LEN_W-1:0] rest_q;        // bytes after that
  wire [LEN_W-1:0] rest = begun_q ? rest_q : frame.bytes;
  wire ends = begun_q ? ends_q : frame.single;
  wire aligned = frame.offset == 0;
  wire in_before = started_q && ends && frame.tight;
  wire fill = frame_valid && !aligned && !started_q;
  logic out_ready, out_valid, out_idle;
  assign out_valid = frame_valid && !fill && (word_valid || in_before);
  wire give = out_valid && out_ready;
  wire [2*MEM_W-1:0] pair = aligned ? (2 * MEM_W)'(word) : {word, before_q};
  logic frame_error_q;

  assign word_ready  = fill || (frame_valid && out_ready && !in_before);
  assign frame_ready = give && ends;

  always_ff @(posedge clk) begin
    if (give) begin
      begun_q <= !ends;
      rest_q  <= rest - LEN_W'(BYTES);
      ends_q  <= rest <= LEN_W'(2 * BYTES);
    end
    if (buffer_pop) before_q <= word;
    started_q     <= (started_q || (fill && word_valid)) && !frame_ready;
    frame_error_q <= (frame_error_q || (buffer_pop && word_error)) && !frame_ready;
    if (rst) begin
      started_q     <= 1'b0;
      begun_q       <= 1'b0;
      frame_error_q <= 1'b0;
    end
  end

  stream_reg #(
      .WIDTH(MEM_W + BYTES + 2)
  ) u_out (
      .clk,
      .rst,
      .s_valid(out_valid),
      .s_ready(out_ready),
      .s_data ({
        frame_error_q || (!in_before && word_error),
        ends,
        ends ? ~({BYTES{1'b1}} << rest[OFFSET_W:0]) : {BYTES{1'b1}},
        MEM_W'(pair >> (8 * 32'(frame.offset)))
      }),
      .m_valid(m_axis_tvalid),
      .m_ready(m_axis_tready),
      .m_data ({m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .idle   (out_idle)
  );

  assign idle = !cmd_q && !busy_q && !burst_q && bursts_idle && buffer_idle && frames_idle && out_idle;

`ifndef SYNTHESIS
  logic checks;
  first_reset u_first_reset (.clk, .rst, .checks);

  always_ff @(posedge clk) begin
    if (checks) begin
      assert (!cmd_valid || cmd_bytes != 0) else $error("%m: a command of no bytes");
      assert (!m_axi_rvalid || !bursts_idle) else $error("%m: data that nobody asked for");
      assert (!m_axi_rvalid || under_direct || unused_ready) else $error("%m: data without room are lost");
    end
  end
`endif

endmodule
