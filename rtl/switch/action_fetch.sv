// SPDX-License-Identifier: Apache-2.0
// Fetches the words of packets' programs, ahead of what is done and over packets' ends.
// Each packet comes with its list of programs; their words leave in order at m_*, each program up to the word that ends
// it or decides what comes next, or 9 words of it. A packet without programs has one word, which does nothing.
// What comes beyond is asked for: `walk` begins to fetch from an address on, and goes on from word to word until `halt`
// or the next `walk`; these words leave at walk_*.
// Latency: 7 cycles to the first word, 4 from `walk`. Throughput: a word a cycle, whatever the programs' lengths.
// Backpressure: s_ready is a register.
module action_fetch
  import switch_pkg::*;
  import switch_step_pkg::*;
#(
    parameter int unsigned PROGRAMS = 9,  // in a list
    parameter int unsigned PROGRAM_WORDS = 4096
) (
    input  logic                               clk,
    input  logic                               rst,
    input  logic                               write_valid,
    input  logic [PROGRAM_W-1:0]               write_address,
    input  action_t                            write_word,
    input  logic                               s_valid,
    output logic                               s_ready,
    input  logic [PROGRAMS-1:0][PROGRAM_W-1:0] s_programs,     // [0] the first; 0: none
    output logic                               m_valid,
    input  logic                               m_ready,
    output word_t                              m_word,
    input  logic                               walk,
    input  logic [PROGRAM_W-1:0]               walk_address,
    input  logic                               halt,           // walk counts if both
    output logic                               walk_valid,
    input  logic                               walk_ready,
    output word_t                              walk_word,
    output logic                               idle            // no word of a list
);

  if (PROGRAMS < 1) begin : gen_bad_programs
    $fatal(1, "action_fetch: PROGRAMS must be at least 1, not %0d", PROGRAMS);
  end

  localparam int unsigned DEPTH = 8;  // of the queues of words, those under way included
  localparam int unsigned COUNT_W = $clog2(DEPTH + 1);

  // -------------------------------------------------------------------------------------------- which program is next
  logic list_there, list_wanted, lists_idle;
  logic list_valid_q;
  logic [PROGRAMS-1:0][PROGRAM_W-1:0] list_head, list_q;
  logic [PROGRAMS-1:0] pending_q;
  wire [PROGRAMS-1:0] behind = pending_q & (pending_q - 1'b1);

  stream_queue #(
      .WIDTH(PROGRAMS * PROGRAM_W),
      .DEPTH(4)
  ) u_lists (
      .clk,
      .rst,
      .s_valid,
      .s_ready,
      .s_data (s_programs),
      .m_valid(list_there),
      .m_ready(list_wanted),
      .m_data (list_head),
      .idle   (lists_idle)
  );

  typedef struct packed {
    logic [PROGRAM_W-1:0] address;
    logic                 starts;
    logic                 closing;
    logic                 none;     // a packet without programs
  } place_t;

  logic start_valid_q, window_valid_q, segment_valid_q;
  logic start_ready, window_ready, segment_ready;
  place_t start_q, window_place_q, segment_q;
  logic [15:0] window, window_q;
  logic [8:0] ends_q;  // [0] of the word at segment_q.address

  assign list_wanted = !list_valid_q || (start_ready && behind == '0);

  always_ff @(posedge clk) begin
    if (list_wanted) begin
      list_valid_q <= list_there;
      if (list_there) begin
        list_q <= list_head;
        for (int unsigned i = 0; i < PROGRAMS; i++) pending_q[i] <= list_head[i] != '0;
      end
    end else if (start_ready) pending_q <= behind;
    if (rst) list_valid_q <= 1'b0;
  end

  // ------------------------------------------------------------------------------------------ where it is and how far
  always_ff @(posedge clk) begin
    if (start_ready) begin
      automatic logic [PROGRAM_W-1:0] address = '0;
      for (int unsigned i = 0; i < PROGRAMS; i++) if (pending_q[i] && !behind[i]) address |= list_q[i];
      start_valid_q <= list_valid_q;
      if (list_valid_q) begin
        start_q <= '{address: address, starts: 1'b1, closing: behind == '0, none: pending_q == '0};
      end
    end
    if (window_ready) begin
      window_valid_q <= start_valid_q;
      if (start_valid_q) begin
        window_q       <= window;
        window_place_q <= start_q;
      end
    end
    if (rst) begin
      start_valid_q  <= 1'b0;
      window_valid_q <= 1'b0;
    end
  end

  assign start_ready = !start_valid_q || window_ready;
  assign window_ready = !window_valid_q || segment_ready;

  // ------------------------------------------------------------------------------------------------------- its words
  logic walking_q, room_q, walk_room_q;
  logic [PROGRAM_W-1:0] walk_address_q;
  wire walk_reads = walking_q && walk_room_q;
  wire reads = segment_valid_q && room_q && !walk_reads;

  assign segment_ready = !segment_valid_q || (reads && ends_q[0]);

  always_ff @(posedge clk) begin
    if (segment_ready) begin
      segment_valid_q <= window_valid_q;
      if (window_valid_q) begin
        segment_q <= window_place_q;
        ends_q    <= 9'(window_q >> window_place_q.address[2:0]) | {1'b1, 7'd0, window_place_q.none};
      end
    end else if (reads) begin
      segment_q.address <= segment_q.address + 1'b1;
      segment_q.starts  <= 1'b0;
      ends_q            <= ends_q >> 1;
    end
    walk_address_q <= walk ? walk_address : walk_address_q + PROGRAM_W'(walk_reads);
    if (walk || halt) walking_q <= walk;
    if (rst) begin
      segment_valid_q <= 1'b0;
      walking_q       <= 1'b0;
    end
  end

  action_t found;
  action_memory #(
      .PROGRAM_WORDS(PROGRAM_WORDS)
  ) u_memory (
      .clk,
      .rst,
      .write_valid,
      .write_address,
      .write_word,
      .read        (reads || walk_reads),
      .address     (walk_reads ? walk_address_q : segment_q.address),
      .word        (found),
      .window_address(start_q.address),
      .window
  );

  // What is under way from memory
  logic [1:0] read_q, walk_read_q, ends_with_q;
  place_t [1:0] place_q;
  word_t word;

  always_ff @(posedge clk) begin
    read_q      <= {read_q[0], reads};
    walk_read_q <= {walk_read_q[0], walk_reads};
    if (reads || walk_reads) begin
      place_q[0]     <= walk_reads ? '{address: walk_address_q, default: 1'b0} : segment_q;
      ends_with_q[0] <= ends_q[0];
    end
    if (read_q[0] || walk_read_q[0]) begin
      place_q[1]     <= place_q[0];
      ends_with_q[1] <= ends_with_q[0];
    end
    if (rst) read_q <= '0;
    if (rst || walk || halt) walk_read_q <= '0;
  end

  always_comb begin
    word = 'x;  // nobody looks then
    if (read_q[1] || walk_read_q[1]) begin
      word.action = found;
      if (place_q[1].none) word.action = '{last: 1'b1, op: ACT_NONE, default: '0};
      word.address = place_q[1].address;
      word.starts  = place_q[1].starts;
      word.closing = place_q[1].closing;
      word.ends    = ends_with_q[1];
      word.control = is_control(word.action);
      word.place   = place_of(word.action);
      word.kept    = word.action.keep && word.place != NOWHERE;
      word.twice   = is_copy(word.action) && word.action.out && !word.action.keep;
    end
  end

  // Words that are asked for have room.
  logic words_room, walk_words_room;
  logic [COUNT_W-1:0] count_q, count_d, walk_count_q, walk_count_d;

  always_comb begin
    count_d = count_q + COUNT_W'(reads) - COUNT_W'(m_valid && m_ready);
    walk_count_d = walk_count_q + COUNT_W'(walk_reads) - COUNT_W'(walk_valid && walk_ready);
    if (rst) count_d = '0;
    if (rst || walk || halt) walk_count_d = '0;
  end

  always_ff @(posedge clk) begin
    count_q      <= count_d;
    room_q       <= count_d != COUNT_W'(DEPTH);
    walk_count_q <= walk_count_d;
    walk_room_q  <= walk_count_d != COUNT_W'(DEPTH);
  end

  stream_queue #(
      .WIDTH($bits(word_t)),
      .DEPTH(DEPTH)
  ) u_words (
      .clk,
      .rst,
      .s_valid(read_q[1]),
      .s_ready(words_room),
      .s_data (word),
      .m_valid,
      .m_ready,
      .m_data (m_word),
      .idle   ()
  );

  stream_queue #(
      .WIDTH($bits(word_t)),
      .DEPTH(DEPTH)
  ) u_walk (
      .clk,
      .rst    (rst || walk || halt),
      .s_valid(walk_read_q[1]),
      .s_ready(walk_words_room),
      .s_data (word),
      .m_valid(walk_valid),
      .m_ready(walk_ready),
      .m_data (walk_word),
      .idle   ()
  );

  assign idle = lists_idle && !list_valid_q && !start_valid_q && !window_valid_q && !segment_valid_q && count_q == '0;

`ifndef SYNTHESIS
  ready_contract #(
      .WIDTH(2)
  ) u_ready (
      .clk,
      .rst,
      .valid({read_q[1], walk_read_q[1] && !walk && !halt}),
      .ready({words_room, walk_words_room})
  );
`endif

endmodule
