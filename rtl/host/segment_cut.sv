// SPDX-License-Identifier: Apache-2.0
// First half of `segment`: reads the headers of a frame that is to be cut, and gives its data out in segments, each in
// the lanes in which it follows the headers, and summed. Other frames pass.
// Headers are collected, read and summed before the first segment: (3 * 128 / bytes of a beat) + 13 cycles a frame.
// Then a beat a cycle, of which those that two segments share count twice.
// Backpressure: s_ready is low while the next part waits for `popped` (ROOM beats), for segments or series to be done,
// and while headers are read. What comes out is always taken.
module segment_cut
  import offload_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned QUEUES = 16,
    parameter int unsigned MAX_FRAME = 9216,
    parameter int unsigned ROOM = 512,
    localparam int unsigned BYTES = DATA_W / 8,
    localparam int unsigned LANE_W = $clog2(BYTES),
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1,
    localparam int unsigned HEAD_BEATS = SERIES_BYTES / BYTES,
    localparam int unsigned HEAD_W = $clog2(HEAD_BEATS)
) (
    input  logic                       clk,
    input  logic                       rst,

    input  logic                       s_valid,
    output logic                       s_ready,
    input  logic [DATA_W-1:0]          s_data,
    input  logic [BYTES-1:0]           s_keep,
    input  logic                       s_last,
    input  logic [QUEUE_W-1:0]         s_queue,
    input  request_t                   s_request,     // the same on each beat of a frame

    output logic                       header_valid,  // a beat of the next series' frame, whatever becomes of it
    output logic [SERIES_W+HEAD_W-1:0] header_at,
    output logic [DATA_W-1:0]          header_data,
    output logic                       series_valid,
    output series_t                    series,
    input  logic                       series_done,
    output logic                       segment_valid, // behind its last beat
    output segment_t                   segment,
    input  logic                       segment_done,

    output logic                       m_valid,
    output part_t                      m_part,
    output logic                       m_last,        // of the frame or segment
    output logic [LANE_W:0]            m_lanes,       // that are filled, with those of headers
    output logic [QUEUE_W-1:0]         m_queue,
    output logic [DATA_W-1:0]          m_data,
    input  logic                       popped,        // a beat is gone

    output logic                       judged,        // a frame to cut: one cycle
    output logic                       judged_good,
    output logic [QUEUE_W-1:0]         judged_queue,
    output logic [PLACE_W-1:0]         judged_bytes,
    output logic                       idle
);

  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512) begin : gen_bad_data_w
    $fatal(1, "segment_cut: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (ROOM < 2 * (MAX_FRAME / BYTES + 2)) begin : gen_bad_room
    $fatal(1, "segment_cut: ROOM must be enough for two segments of MAX_FRAME, not %0d", ROOM);
  end

  localparam int unsigned LAST_L4 = SERIES_BYTES - 22;    // where TCP's header may begin

  typedef logic [PLACE_W-1:0] place_t;
  typedef logic [PLACE_W-LANE_W-1:0] beat_t;
  typedef logic [LANE_W:0] lanes_t;

  typedef enum logic [2:0] {
    FLOW, COLLECT, READ, SUM, CUT, SKIP
  } state_t;
  state_t state_q;

  // ---------------------------------------------------------------------------------------------- what comes, and A, C
  // Beat A is taken from, then C; where data goes on in C, a beat that leaves has bytes of both.
  logic [HEAD_BEATS-1:0][DATA_W-1:0] head_q;
  logic [HEAD_W:0] got_q, again_q;                        // beats in head_q; the one that comes next out of it
  logic mid_q, ended_q, source_valid, source_pop;
  logic a_valid_q, c_valid_q, a_pass_q, c_pass_q, a_last_q, c_last_q, advance;
  logic [DATA_W-1:0] a_q, c_q;
  lanes_t a_lanes_q, c_lanes_q;
  logic [QUEUE_W-1:0] a_queue_q, c_queue_q, queue_q;
  logic [$clog2(SERIES+1)-1:0] series_q;
  logic [SERIES_W-1:0] slot_q;
  // verilator lint_off UNUSEDSIGNAL
  request_t request_q;
  // verilator lint_on UNUSEDSIGNAL
  logic skipped;

  wire replays = again_q < got_q;
  wire begins = state_q == FLOW && s_valid && !mid_q && s_request.cut;
  wire flows = state_q == FLOW && s_valid && !begins;
  wire shift = advance || !a_valid_q;
  wire load = shift || !c_valid_q;
  wire take = s_valid && s_ready;
  assign source_valid = state_q == CUT ? replays || (s_valid && !ended_q) : flows;
  assign source_pop   = source_valid && load;
  assign skipped      = state_q == SKIP && (ended_q || (take && s_last));

  always_comb begin
    unique case (state_q)
      FLOW: s_ready = load && !begins;
      COLLECT: s_ready = 1'b1;
      CUT: s_ready = load && !replays && !ended_q;
      SKIP: s_ready = !ended_q;
      default: s_ready = 1'b0;
    endcase
  end

  assign header_valid = state_q == COLLECT && s_valid;
  assign header_at    = {slot_q, got_q[HEAD_W-1:0]};
  assign header_data  = s_data;

  // ------------------------------------------------------------------------------------------------- headers are read
  // verilator lint_off UNUSEDSIGNAL
  heads_t heads, heads_q;  // the end of a frame that is cut is its own, whatever IP's header says
  // verilator lint_on UNUSEDSIGNAL
  logic [4:0] step_q;
  logic [31:0] word_q, sequence_q;
  logic [15:0] flags_q, id_q;
  logic [17:0] ip_minus_q;
  logic [18:0] l4_minus_q;
  place_t header_q, data_q, longest_q;
  logic good_q;

  logic [4:0] view_ip;
  logic [VIEW_BYTES-1:0][7:0] view;

  ip_view u_view (
      .head(head_q[HEAD_BYTES/BYTES-1:0]),
      .ip  (view_ip),
      .view
  );
  ip_heads u_heads (
      .ip   (view_ip),
      .view,
      .heads
  );

  // A word of the headers. TCP's begins two bytes after a multiple of four, as IP's.
  wire [8*SERIES_BYTES-1:0] head = head_q;
  function automatic logic [31:0] word_at(logic [4:0] number);
    logic [3:0][7:0] bytes;
    bytes = head[{number, 5'd16}+:32];
    return {bytes[0], bytes[1], bytes[2], bytes[3]};
  endfunction

  // A half of one that follows IP's beginning
  function automatic logic [15:0] ip_at(logic [2:0] number, logic upper);
    logic [1:0][15:0] halves;
    halves = word_at(5'(heads_q.ip[4:2] + number));
    return halves[upper];
  endfunction

  // ------------------------------------------------------------------------------------------ and summed, IP's, TCP's
  logic [BYTES-1:0] from_1, to_1, from_2, to_2, head_counts;
  logic [23:0] ip_sum_q, l4_sum_q;
  logic sums_1, sums_2, tcp_1, tcp_2;
  logic [21:0] words_sum;
  wire tcp_pass = step_q >= 5'(HEAD_BEATS);
  wire feeds = state_q == SUM && step_q < 5'(2 * HEAD_BEATS);
  wire [HEAD_W-1:0] pass_beat = step_q[HEAD_W-1:0];
  wire place_t ip = place_t'(heads_q.ip);
  wire place_t l4 = place_t'(heads_q.l4);

  lanes_below #(.BYTES(BYTES)) u_from_1 (
      .place(!tcp_pass ? ip : heads_q.v6 ? ip + place_t'(8) : ip + place_t'(12)),
      .beat (beat_t'(pass_beat)),
      .lanes(from_1)
  );
  lanes_below #(.BYTES(BYTES)) u_to_1 (
      .place(!tcp_pass ? l4 : heads_q.v6 ? ip + place_t'(40) : ip + place_t'(20)),
      .beat (beat_t'(pass_beat)),
      .lanes(to_1)
  );
  lanes_below #(.BYTES(BYTES)) u_from_2 (.place(l4), .beat(beat_t'(pass_beat)), .lanes(from_2));
  lanes_below #(.BYTES(BYTES)) u_to_2 (.place(header_q), .beat(beat_t'(pass_beat)), .lanes(to_2));
  assign head_counts = (to_1 & ~from_1) | (to_2 & ~from_2 & {BYTES{tcp_pass}});

  // ---------------------------------------------------------------------------------------------------- data is cut
  logic [LANE_W-1:0] at_q;                                // the next byte, in A
  logic first_q;                                          // of a segment
  place_t left_q, rest_q;                                 // bytes of the segment; of the frame behind it
  logic [15:0] size_q;                                    // of the segment
  logic [$clog2(ROOM+1)-1:0] room_q;
  logic [$clog2(SEGMENTS+1)-1:0] segments_q;
  wire [LANE_W-1:0] offset = first_q ? header_q[LANE_W-1:0] : '0;
  wire lanes_t space = lanes_t'(BYTES) - lanes_t'(offset);
  wire ends = left_q <= place_t'(space);
  wire lanes_t count = ends ? lanes_t'(left_q) : space;
  wire [LANE_W+1:0] reach = (LANE_W + 2)'(at_q) + (LANE_W + 2)'(count);
  wire over = ends && rest_q == '0;
  wire room = room_q != '0;
  wire passes = a_valid_q && a_pass_q && room;
  wire cuts = a_valid_q && !a_pass_q && room && (c_valid_q || reach <= (LANE_W + 2)'(BYTES)) &&
              (!first_q || segments_q != ($clog2(SEGMENTS + 1))'(SEGMENTS));
  wire marks = skipped && !a_valid_q && !c_valid_q && room;
  assign advance = passes || (cuts && (reach >= (LANE_W + 2)'(BYTES) || over));
  wire many = (16 + MOST_W)'(data_q) > {request_q.size, MOST_W'(0)};
  wire place_t next_size = rest_q < place_t'(request_q.size) ? rest_q : place_t'(request_q.size);

  lanes_t beat_lanes;
  keep_bytes #(.KEEP_W(BYTES)) u_bytes (.keep(s_keep), .bytes(beat_lanes));

  always_ff @(posedge clk) begin
    if (take) mid_q <= !s_last;
    if (shift) begin
      a_valid_q <= c_valid_q && !(cuts && over);
      a_pass_q  <= c_pass_q;
      a_last_q  <= c_last_q;
      a_lanes_q <= c_lanes_q;
      a_queue_q <= c_queue_q;
      a_q       <= c_q;
    end
    if (load) begin
      c_valid_q <= source_valid;
      c_pass_q  <= state_q == FLOW;
      c_last_q  <= s_last;
      c_lanes_q <= beat_lanes;
      c_queue_q <= state_q == FLOW ? s_queue : queue_q;
      c_q       <= state_q == CUT && replays ? head_q[again_q[HEAD_W-1:0]] : s_data;
    end

    unique case (state_q)
      FLOW: begin
        got_q     <= '0;
        ended_q   <= 1'b0;
        step_q    <= '0;
        request_q <= s_request;
        queue_q   <= s_queue;
        if (begins && series_q != ($clog2(SERIES + 1))'(SERIES)) state_q <= COLLECT;
      end
      COLLECT: begin
        if (s_valid) begin
          head_q[got_q[HEAD_W-1:0]] <= s_data;
          got_q                     <= got_q + 1'b1;
          ended_q                   <= s_last;
          if (s_last || got_q == (HEAD_W + 1)'(HEAD_BEATS - 1)) state_q <= READ;
        end
      end
      READ: begin
        step_q <= step_q + 1'b1;
        word_q <= word_at(heads_q.l4[6:2] + step_q);
        unique case (step_q)
          5'd0: heads_q <= heads;
          5'd2: begin
            sequence_q <= word_q;
            id_q       <= ip_at(3'd1, 1'b1);
            ip_minus_q <= ({2'd0, ~ip_at(3'd0, 1'b0)} + {2'd0, ~ip_at(3'd1, 1'b1)}) + {2'd0, ~ip_at(3'd2, 1'b0)};
          end
          5'd4: begin
            flags_q  <= word_q[31:16];
            header_q <= l4 + place_t'({word_q[31:28], 2'd0});
          end
          5'd5: begin
            l4_minus_q <= ({3'd0, ~sequence_q[31:16]} + {3'd0, ~sequence_q[15:0]}) +
                          ({3'd0, ~flags_q} + {3'd0, ~word_q[31:16]});
            data_q     <= request_q.bytes - header_q;
            longest_q  <= header_q + place_t'(request_q.size);
            good_q     <= heads_q.known && place_t'(heads_q.least) <= heads_q.ends && heads_q.tcp &&
                          heads_q.v6 == request_q.v6 && request_q.size != '0 &&
                          flags_q[15:12] >= 4'd5 && l4 <= place_t'(LAST_L4) &&
                          header_q <= place_t'(SERIES_BYTES - 2) && header_q < request_q.bytes;
          end
          5'd6: begin
            if (!good_q || many || (longest_q > place_t'(MAX_FRAME) && request_q.bytes > place_t'(MAX_FRAME)))
              state_q <= SKIP;
            else state_q <= SUM;
            step_q <= '0;
          end
          default: ;
        endcase
      end
      SUM: begin
        step_q  <= step_q + 1'b1;
        rest_q  <= data_q;
        again_q <= (HEAD_W + 1)'(header_q[PLACE_W-1:LANE_W]);
        at_q    <= header_q[LANE_W-1:0];
        first_q <= 1'b1;
        if (step_q == 5'(2 * HEAD_BEATS + 2)) begin
          left_q  <= next_size;
          size_q  <= 16'(next_size);
          rest_q  <= rest_q - next_size;
          state_q <= CUT;
        end
      end
      CUT: if (cuts && over) state_q <= FLOW;
      SKIP: if (marks) state_q <= FLOW;
      default: state_q <= FLOW;
    endcase

    if (state_q == CUT && source_pop) begin
      if (replays) again_q <= again_q + 1'b1;
      else ended_q <= s_last;
    end
    if (state_q == SKIP && take) ended_q <= s_last;
    if (cuts) begin
      at_q    <= LANE_W'(reach);
      first_q <= ends;
      left_q  <= ends ? next_size : left_q - place_t'(count);
      if (ends) begin
        size_q <= 16'(next_size);
        rest_q <= rest_q - next_size;
      end
    end

    // Credits
    if (series_valid) slot_q <= slot_q + 1'b1;
    series_q   <= series_q + ($clog2(SERIES + 1))'(series_valid) - ($clog2(SERIES + 1))'(series_done);
    segments_q <= segments_q + ($clog2(SEGMENTS + 1))'(cuts && first_q) - ($clog2(SEGMENTS + 1))'(segment_done);
    room_q     <= room_q + ($clog2(ROOM + 1))'(popped) - ($clog2(ROOM + 1))'(passes || cuts || marks);

    // Sums of headers
    {sums_1, sums_2} <= {feeds, sums_1};
    {tcp_1, tcp_2}   <= {tcp_pass, tcp_1};
    if (state_q == READ) begin
      ip_sum_q <= 24'(ip_minus_q);
      l4_sum_q <= 24'(l4_minus_q);
    end else if (sums_2) begin
      if (tcp_2) l4_sum_q <= l4_sum_q + 24'(words_sum);
      else ip_sum_q <= ip_sum_q + 24'(words_sum);
    end

    if (rst) begin
      state_q    <= FLOW;
      mid_q      <= 1'b0;
      a_valid_q  <= 1'b0;
      c_valid_q  <= 1'b0;
      sums_1     <= 1'b0;
      sums_2     <= 1'b0;
      slot_q     <= '0;
      series_q   <= '0;
      segments_q <= '0;
      room_q     <= ($clog2(ROOM + 1))'(ROOM);
    end
  end

  assign judged       = state_q == SUM ? step_q == '0 : marks;
  assign judged_good  = state_q == SUM;
  assign judged_queue = queue_q;
  assign judged_bytes = request_q.bytes;
  assign series_valid = state_q == SUM && step_q == 5'(2 * HEAD_BEATS + 2);
  assign series = '{v6: heads_q.v6, ip: 7'(heads_q.ip), l4: heads_q.l4[6:0], bytes: header_q[6:0], id: id_q,
                    sequence_number: sequence_q, flags: flags_q, ip_sum: ip_sum_q, l4_sum: l4_sum_q};

  // --------------------------------------------------------------------------------- bytes to their lanes, and summed
  logic valid_1, last_1, valid_2, cut_3, cut_4, ends_3, ends_4, begin_q;
  part_t part_1, part_2;
  logic [LANE_W-1:0] turn_1, offset_1, offset_2;
  lanes_t lanes_1, lanes_2;
  logic last_2, over_1, over_2, over_3, over_4;
  logic [15:0] size_1, size_2, size_3, size_4;
  logic [QUEUE_W-1:0] queue_1, queue_2;
  logic [DATA_W-1:0] merged_1, data_2;
  wire [BYTES-1:0] data_counts = ~({BYTES{1'b1}} << lanes_2) & ({BYTES{1'b1}} << offset_2);
  wire cut_2 = valid_2 && part_2 == PART_SEGMENT;

  word_sum #(
      .DATA_W(DATA_W)
  ) u_words (
      .clk,
      .valid (feeds || cut_2),
      .data  (feeds ? head_q[pass_beat] : data_2),
      .counts(feeds ? head_counts : data_counts),
      .sum   (words_sum)
  );

  always_ff @(posedge clk) begin
    {valid_1, over_1, size_1} <= {passes || cuts || marks, over, size_q};
    if (passes || cuts || marks) begin
      part_1   <= marks ? PART_NONE : passes ? PART_FRAME : PART_SEGMENT;
      last_1   <= marks || (passes ? a_last_q : ends);
      turn_1   <= passes ? '0 : offset - at_q;
      offset_1 <= offset;
      lanes_1  <= passes ? a_lanes_q : lanes_t'(offset) + count;
      queue_1  <= marks ? queue_q : a_queue_q;
    end
    if (passes) merged_1 <= a_q;
    else if (cuts) begin
      automatic logic [DATA_W-1:0] beyond = {DATA_W{1'b1}} << {at_q, 3'b000};
      merged_1 <= (a_q & beyond) | (c_q & ~beyond);
    end
    {valid_2, over_2, size_2} <= {valid_1, over_1, size_1};
    if (valid_1) begin
      automatic logic [2*DATA_W-1:0] turned = {merged_1, merged_1} << {turn_1, 3'b000};
      part_2   <= part_1;
      last_2   <= last_1;
      offset_2 <= offset_1;
      lanes_2  <= lanes_1;
      queue_2  <= queue_1;
      data_2   <= turned[2*DATA_W-1:DATA_W];
    end
    {cut_4, ends_4, over_4, size_4} <= {cut_3, ends_3, over_3, size_3};
    {cut_3, ends_3, over_3, size_3} <= {cut_2, last_2, over_2, size_2};
    segment_valid                   <= cut_4 && ends_4;
    if (cut_4) begin
      segment.last  <= over_4;
      segment.bytes <= size_4;
      segment.sum   <= (begin_q ? '0 : segment.sum) + 32'(words_sum);
      begin_q       <= ends_4;
    end
    if (rst) begin
      valid_1       <= 1'b0;
      valid_2       <= 1'b0;
      cut_3         <= 1'b0;
      cut_4         <= 1'b0;
      segment_valid <= 1'b0;
      begin_q       <= 1'b1;
    end
  end

  assign m_valid = valid_2;
  assign m_part  = part_2;
  assign m_last  = last_2;
  assign m_lanes = lanes_2;
  assign m_queue = queue_2;
  assign m_data  = data_2;
  assign idle    = state_q == FLOW && !mid_q && !a_valid_q && !c_valid_q && room_q == ($clog2(ROOM + 1))'(ROOM);

endmodule
