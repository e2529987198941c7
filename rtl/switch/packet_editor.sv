// SPDX-License-Identifier: Apache-2.0
// Stores packets and makes the copies of them that are to be sent. Copies come in the order of packets; the last one of
// each frees it. A copy to nowhere is not made.
// A copy is the front (addresses, tags, type, labels), then the packet's bytes from edit.cut on, in which header fields
// are overwritten and checksums get what is to be added (RFC 1624; a UDP checksum of 0 stays 0). What comes behind the
// front moves by whole words: layers.l3, layers.l4 and edit.cut are 2 beyond a multiple of 4. The type is the packet's
// own, so that of a frame of 802.3 its length, if edit.eth_type is fields.eth_type and no label comes or goes. A packet
// of fewer than edit.cut bytes goes as it is. The CRC of SCTP stays as it came.
// A packet must be shorter than the store, which tells of it when it is whole.
// Latency: 14 cycles from a copy whose packet is there to its first beat. Throughput: a beat a cycle, without gaps
// between packets; where a copy ends a beat earlier than its packet does, or later, the longer one counts.
// Backpressure: s_axis_tready is a register, low while the store is full; so is s_copy_ready, low while 16 copies wait.
module packet_editor
  import switch_pkg::*;
  import editor_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned STORE_KB = 64,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,
    input  logic              s_axis_tvalid,
    output logic              s_axis_tready,
    input  logic [DATA_W-1:0] s_axis_tdata,
    input  logic [KEEP_W-1:0] s_axis_tkeep,
    input  logic              s_axis_tlast,
    input  logic              s_copy_valid,
    output logic              s_copy_ready,
    input  copy_t             s_copy,
    output logic              m_axis_tvalid,
    input  logic              m_axis_tready,
    output logic [DATA_W-1:0] m_axis_tdata,
    output logic [KEEP_W-1:0] m_axis_tkeep,
    output logic              m_axis_tlast,
    output sent_t             m_copy,         // the same on each beat of a copy
    output logic              idle
);

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "packet_editor: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end

  localparam int unsigned LANES = DATA_W / 32;
  localparam int unsigned LANE_W = $clog2(LANES);
  localparam int unsigned BYTE_W = $clog2(KEEP_W);
  localparam int unsigned SIZE_W = $clog2(STORE_KB * 1024);
  localparam int unsigned ADDR_W = SIZE_W - BYTE_W;
  localparam int unsigned LEFT_W = ADDR_W + 2;
  localparam int unsigned BEAT_W = 5;
  localparam int unsigned COPIES = 16;  // more than go between their beginning and the stage that reads them
  localparam int unsigned ROOM = 32;    // beats: more than the stages from the store to the output
  localparam int unsigned COUNT_W = $clog2(ROOM + 1);

  typedef logic [LANES-1:0][31:0] words_t;

  // ------------------------------------------------------------------------------------------------------------ copies
  // Where copies begin and how long they are is found out ahead of their beats, which then read what is to be edited.
  typedef struct packed {
    logic [1:0] tags;
    logic [1:0] labels;
    logic [7:0] cut;
    logic       sends;
    logic       frees;
  } order_t;

  order_t order_s, order;
  copy_t job;
  logic orders_ready, order_valid, order_ready, jobs_ready, jobs_idle, job_taken;
  assign order_s = '{
          tags: s_copy.edit.tags,
          labels: s_copy.edit.labels,
          cut: s_copy.edit.cut,
          sends: s_copy.host || s_copy.resubmit || s_copy.ports != '0,
          frees: s_copy.last
      };
  assign s_copy_ready = orders_ready && jobs_ready;

  stream_queue #(
      .WIDTH($bits(order_t)),
      .DEPTH(COPIES)
  ) u_orders (
      .clk,
      .rst,
      .s_valid(s_copy_valid && jobs_ready),
      .s_ready(orders_ready),
      .s_data (order_s),
      .m_valid(order_valid),
      .m_ready(order_ready),
      .m_data (order),
      .idle   ()
  );

  stream_queue #(
      .WIDTH($bits(copy_t)),
      .DEPTH(COPIES)
  ) u_jobs (
      .clk,
      .rst,
      .s_valid(s_copy_valid && orders_ready),
      .s_ready(jobs_ready),
      .s_data (s_copy),
      .m_valid(),  // a copy comes here before its order is read
      .m_ready(job_taken),
      .m_data (job),
      .idle   (jobs_idle)
  );

  // ------------------------------------------------------------------------------------------------------------- store
  logic packet_valid, packet_ready, store_idle, issue;
  logic [SIZE_W-1:0] packet_end;
  logic [ADDR_W-1:0] rd_addr;
  logic [DATA_W-1:0] rd_data;
  logic free_valid;
  logic [ADDR_W:0] free_to;

  packet_store #(
      .DATA_W  (DATA_W),
      .STORE_KB(STORE_KB)
  ) u_store (
      .clk,
      .rst,
      .s_axis_tvalid,
      .s_axis_tready,
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .m_packet_valid(packet_valid),
      .m_packet_ready(packet_ready),
      .m_packet_end  (packet_end),
      .rd_en         (issue),
      .rd_addr,
      .rd_data,
      .free_valid,
      .free_to,
      .idle          (store_idle)
  );

  // -------------------------------------------------------------------------------------------- from a copy to its beats
  typedef struct packed {
    logic            sends;
    logic            frees;
    logic [ADDR_W:0] from;
    logic [ADDR_W:0] to;     // behind its packet
  } span_t;

  // The copy's beat b consists of words of the packet's beats b - whole and the one before: lanes from `lane` on are of
  // the former. With `ahead` the first beat that is read makes up the first one that is sent, with what follows it.
  logic measured_q, placed_q, placed_ready, measured_ready;
  span_t measured_span_q, placed_span_q;
  shift_t measured_shift_q, placed_shift_q;
  logic short_q, none_q, ahead_q, more_q;
  logic [SIZE_W-1:0] size_q;  // less 1
  logic [ADDR_W-1:0] beats_q;  // less 1
  logic [BYTE_W-1:0] rest_q;
  logic [ADDR_W:0] base_q;

  wire measure = order_valid && packet_valid && measured_ready;
  wire [ADDR_W:0] behind = base_q + {1'b0, packet_end[SIZE_W-1:BYTE_W]} + 1'b1;
  wire shift_t words_cut = shift_t'(8'(order.cut - 8'd14) >> 2);
  wire shift_t shift = short_q ? '0 : measured_shift_q;

  assign order_ready  = packet_valid && measured_ready;
  assign packet_ready = order_valid && measured_ready && order.frees;

  always_ff @(posedge clk) begin
    if (measured_ready) measured_q <= order_valid && packet_valid;
    if (measure) begin
      measured_span_q  <= '{sends: order.sends, frees: order.frees, from: base_q, to: behind};
      measured_shift_q <= shift_t'(order.tags) + shift_t'(order.labels) - words_cut;
      short_q          <= packet_end < SIZE_W'(order.cut) - 1'b1;
      size_q           <= packet_end;
      if (order.frees) base_q <= behind;
    end
    if (placed_ready) placed_q <= measured_q;
    if (measured_q && placed_ready) begin
      placed_span_q    <= measured_span_q;
      placed_shift_q   <= shift;
      none_q           <= short_q;
      ahead_q          <= shift < 0 && shift[LANE_W-1:0] != '0;
      beats_q          <= size_q[SIZE_W-1:BYTE_W];
      {more_q, rest_q} <= {1'b0, size_q[BYTE_W-1:0]} + {1'b0, shift[LANE_W-1:0], 2'b00};
    end
    if (rst) begin
      measured_q <= 1'b0;
      placed_q   <= 1'b0;
      base_q     <= '0;
    end
  end

  // The beats of the copy at hand.
  typedef struct packed {
    logic              first;  // of its copy
    logic              sent;
    logic              last;   // of those that are sent
    logic              waits;  // for the beat that follows
    logic              ahead;
    logic              none;
    word_t             shift;
    logic [BEAT_W-1:0] beat;   // of the copy, the highest number for all beyond
    logic [BYTE_W-1:0] rest;   // bytes of the last beat, less 1
  } step_t;

  logic copy_q, first_q, ends_q, tail_q, ahead_now_q, none_now_q, room_q;
  logic [LEFT_W-1:0] left_q;
  logic [ADDR_W-1:0] addr_q;
  logic [BEAT_W-1:0] beat_q;
  logic [BYTE_W-1:0] rest_now_q;
  word_t shift_q;
  logic copy_sends_q, copy_frees_q;
  logic [ADDR_W:0] copy_to_q;
  logic [COUNT_W-1:0] count_q;
  logic pop;

  wire sent = copy_sends_q && !(ends_q && tail_q);
  wire copy_ready = !copy_q || (issue && ends_q);
  wire signed [LEFT_W-1:0] whole = LEFT_W'(placed_shift_q >>> LANE_W);
  wire [LEFT_W-1:0] left = placed_span_q.sends ? {2'b0, beats_q} + whole + LEFT_W'(ahead_q || more_q) : '0;

  assign issue          = copy_q && (room_q || !sent);
  assign rd_addr        = addr_q;
  assign placed_ready   = !placed_q || copy_ready;
  assign measured_ready = !measured_q || placed_ready;
  assign free_valid     = issue && ends_q && copy_frees_q;
  assign free_to        = copy_to_q;

  always_ff @(posedge clk) begin
    if (copy_ready) copy_q <= placed_q;
    if (placed_q && copy_ready) begin
      first_q      <= 1'b1;
      left_q       <= left;
      ends_q       <= left == '0;
      tail_q       <= ahead_q && !more_q;
      addr_q       <= placed_span_q.from[ADDR_W-1:0] - ADDR_W'(whole) - ADDR_W'(ahead_q);
      beat_q       <= '0;
      ahead_now_q  <= ahead_q;
      none_now_q   <= none_q;
      rest_now_q   <= rest_q;
      shift_q      <= word_t'(placed_shift_q);
      copy_sends_q <= placed_span_q.sends;
      copy_frees_q <= placed_span_q.frees;
      copy_to_q    <= placed_span_q.to;
    end else if (issue) begin
      first_q <= 1'b0;
      left_q  <= left_q - 1'b1;
      ends_q  <= left_q == LEFT_W'(1);
      addr_q  <= addr_q + 1'b1;
      if (beat_q != '1) beat_q <= beat_q + 1'b1;
    end
    // Beats that are to be sent, until they are taken: no more than there is room for before the output.
    if (issue && sent && !pop) count_q <= count_q + 1'b1;
    if (pop && !(issue && sent)) count_q <= count_q - 1'b1;
    room_q <= pop || count_q != (issue && sent ? COUNT_W'(ROOM - 1) : COUNT_W'(ROOM));
    if (rst) begin
      copy_q  <= 1'b0;
      count_q <= '0;
      room_q  <= 1'b0;
    end
  end

  // ------------------------------------------------------------------------------------- beats turned to where they go
  // From here on nothing stalls. Stages 1 and 2 are the store's; 5 is left when what follows is there, if it counts.
  step_t [6:1] step_q;
  logic [6:1] valid_q;
  words_t turned_q, next_q, now_q, before_q, merged_q;
  wire words_t stored = rd_data;
  wire go = valid_q[5] && (!step_q[5].waits || valid_q[4]);

  function automatic words_t turned(words_t words, logic [LANE_W-1:0] lanes);
    for (int unsigned i = 0; i < LANES; i++) turned[i] = words[LANE_W'(i)-lanes];
  endfunction

  always_ff @(posedge clk) begin
    valid_q <= {go && step_q[5].sent, valid_q[4] || (valid_q[5] && !go), valid_q[3:1], issue};
    if (issue) begin
      step_q[1] <= '{
          first: first_q,
          sent: sent,
          last: tail_q ? left_q == LEFT_W'(1) : ends_q,
          waits: ahead_now_q && !ends_q,
          ahead: ahead_now_q,
          none: none_now_q,
          shift: shift_q,
          beat: beat_q,
          rest: rest_now_q
      };
    end
    for (int unsigned i = 2; i < 6; i++) if (valid_q[i-1]) step_q[i] <= step_q[i-1];
    if (valid_q[2]) turned_q <= turned(stored, step_q[2].shift[LANE_W-1:0] & LANE_W'('b1100));
    if (valid_q[3]) next_q <= turned(turned_q, step_q[3].shift[LANE_W-1:0] & LANE_W'('b0011));
    if (valid_q[4]) now_q <= next_q;
    if (go) begin
      step_q[6] <= step_q[5];
      before_q  <= now_q;
      for (int unsigned i = 0; i < LANES; i++) begin
        if (LANE_W'(i) < step_q[5].shift[LANE_W-1:0]) merged_q[i] <= step_q[5].ahead ? now_q[i] : before_q[i];
        else merged_q[i] <= step_q[5].ahead ? next_q[i] : now_q[i];
      end
    end
    if (rst) valid_q <= '0;
  end

  // ---------------------------------------------------------------------------------------------- what is laid over them
  // The copy is read with its first beat, and stays until the next one's.
  // verilator lint_off UNUSEDSIGNAL
  copy_t job_q;  // `last` and the like have been looked at
  // verilator lint_on UNUSEDSIGNAL
  patch_t front, l3, l4;
  word_t l3_at, l4_at;
  sum_t l3_sum, l4_sum;
  wire first_read = valid_q[2] && step_q[2].first;
  assign job_taken = first_read;

  always_ff @(posedge clk) if (first_read && step_q[2].sent) job_q <= job;

  edit_patches u_patches (
      .clk,
      .load ({
        go && step_q[5].first && step_q[5].sent,
        valid_q[4] && step_q[4].first && step_q[4].sent,
        valid_q[3] && step_q[3].first && step_q[3].sent
      }),
      .edit (job_q.edit),
      .shift(step_q[3].shift),
      .none (step_q[3].none),
      .front,
      .l3,
      .l3_at,
      .l4,
      .l4_at,
      .l3_sum,
      .l4_sum
  );

  // The number of a lane's word among those that share an index, and how many times that came before.
  function automatic logic [3:0] index_of(logic [BEAT_W-1:0] beat, logic [LANE_W-1:0] lane);
    return 4'({beat, lane});
  endfunction

  function automatic logic [BEAT_W-1:0] round_of(logic [BEAT_W-1:0] beat);
    return BEAT_W'({beat, LANE_W'(0)} >> 4);
  endfunction

  function automatic logic covers(logic [BEAT_W-1:0] round, logic [3:0] index, word_t at);
    return index >= at[3:0] ? round == BEAT_W'(at[5:4]) : round == BEAT_W'(at[5:4]) + 1'b1;
  endfunction

  function automatic logic [31:0] patched(logic [31:0] word, patch_word_t patch, logic enable);
    patched = word;
    for (int unsigned i = 0; i < 4; i++) if (enable && patch.enable[i]) patched[8*i+:8] = patch.bytes[i];
    if (patch.low) patched[23:20] = word[23:20];
  endfunction

  // ---------------------------------------------------------------------------------------------- overlay and checksums
  // Stage 7: patched, and the checksums picked out; 8: their sums; 9: put in.
  typedef struct packed {
    logic              there;
    logic [LANE_W-1:0] lane;
    logic              half;
    logic              udp;
    logic [15:0]       delta;
    logic [15:0]       old;
  } pick_t;

  typedef struct packed {
    logic              there;
    logic [LANE_W-1:0] lane;
    logic              half;
    logic              udp;
    logic [16:0]       sum;
  } sum_part_t;

  // Of these steps only the end of a copy still counts.
  // verilator lint_off UNUSEDSIGNAL
  step_t [9:7] end_q;
  // verilator lint_on UNUSEDSIGNAL
  logic [9:7] done_q;
  words_t patched_q, summed_q, out_q;
  logic [KEEP_W-1:0] keep_q;
  pick_t [1:0] pick_q;
  sum_part_t [1:0] sum_q;
  sum_t [1:0] sums;
  assign sums = {l4_sum, l3_sum};

  function automatic logic [15:0] folded(logic [16:0] sum, logic udp);
    automatic logic [15:0] folded_sum = sum[15:0] + 16'(sum[16]);
    return udp && &folded_sum ? folded_sum : ~folded_sum;
  endfunction

  always_ff @(posedge clk) begin
    done_q <= {done_q[8:7], valid_q[6]};
    if (valid_q[6]) begin
      automatic logic [BEAT_W-1:0] beat = step_q[6].beat;
      automatic logic [BEAT_W-1:0] round = round_of(beat);
      for (int unsigned i = 0; i < LANES; i++) begin
        automatic logic [3:0] index = index_of(beat, LANE_W'(i));
        automatic logic [31:0] word = patched(merged_q[i], front[index], round == '0);
        word = patched(word, l3[index], covers(round, index, l3_at));
        patched_q[i] <= patched(word, l4[index], covers(round, index, l4_at));
      end
      for (int unsigned i = 0; i < 2; i++) begin
        automatic logic [LANE_W-1:0] lane = sums[i].at[LANE_W-1:0];
        automatic logic [3:0][7:0] word = merged_q[lane];
        pick_q[i] <= '{
            there: sums[i].there && beat == BEAT_W'(sums[i].at >> LANE_W),
            lane: lane,
            half: sums[i].half,
            udp: sums[i].udp,
            delta: sums[i].delta,
            old: sums[i].half ? {word[2], word[3]} : {word[0], word[1]}
        };
      end
      end_q[7] <= step_q[6];
    end
    if (done_q[7]) begin
      summed_q <= patched_q;
      end_q[8] <= end_q[7];
      for (int unsigned i = 0; i < 2; i++) begin
        sum_q[i] <= '{
            there: pick_q[i].there && !(pick_q[i].udp && pick_q[i].old == '0),
            lane: pick_q[i].lane,
            half: pick_q[i].half,
            udp: pick_q[i].udp,
            sum: {1'b0, ~pick_q[i].old} + {1'b0, pick_q[i].delta}
        };
      end
    end
    if (done_q[8]) begin
      out_q    <= summed_q;
      end_q[9] <= end_q[8];
      for (int unsigned i = 0; i < 2; i++) begin
        automatic logic [15:0] sum = folded(sum_q[i].sum, sum_q[i].udp);
        for (int unsigned lane = 0; lane < LANES; lane++) begin
          if (sum_q[i].there && sum_q[i].lane == LANE_W'(lane)) begin
            if (sum_q[i].half) out_q[lane][31:16] <= {sum[7:0], sum[15:8]};
            else out_q[lane][15:0] <= {sum[7:0], sum[15:8]};
          end
        end
      end
      for (int unsigned i = 0; i < KEEP_W; i++) keep_q[i] <= !end_q[8].last || BYTE_W'(i) <= end_q[8].rest;
    end
    if (rst) done_q <= '0;
  end

  // ------------------------------------------------------------------------------------------------------------ output
  sent_t sent_s;
  assign sent_s = '{
          ports: job_q.ports,
          host: job_q.host,
          resubmit: job_q.resubmit,
          max_bytes: job_q.max_bytes,
          reason: job_q.reason,
          origin: job_q.origin,
          metadata: job_q.metadata,
          next: job_q.next,
          program_at: job_q.program_at,
          custom: job_q.custom,
          in_port: job_q.edit.fields.in_port,
          payload_at: job_q.edit.fields.l4 && job_q.edit.fields.ip_proto == IP_UDP && !step_q[3].none
              ? {job_q.edit.layers.l4[7:2] + step_q[3].shift + word_t'(2), 2'b10} : '0
      };

  stream_queue #(
      .WIDTH($bits(sent_t)),
      .DEPTH(ROOM)
  ) u_sent (
      .clk,
      .rst,
      .s_valid(valid_q[3] && step_q[3].first && step_q[3].sent),
      .s_ready(),  // room is counted with the copy's beats
      .s_data (sent_s),
      .m_valid(),  // comes before its first beat
      .m_ready(pop && m_axis_tlast),
      .m_data (m_copy),
      .idle   ()
  );

  stream_queue #(
      .WIDTH(1 + KEEP_W + DATA_W),
      .DEPTH(ROOM)
  ) u_beats (
      .clk,
      .rst,
      .s_valid(done_q[9]),
      .s_ready(),  // room is counted above
      .s_data ({end_q[9].last, keep_q, out_q}),
      .m_valid(m_axis_tvalid),
      .m_ready(m_axis_tready),
      .m_data ({m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .idle   ()
  );

  assign pop  = m_axis_tvalid && m_axis_tready;
  assign idle = store_idle && jobs_idle && count_q == '0;

`ifndef SYNTHESIS
  offer_contract #(
      .WIDTH($bits(copy_t))
  ) u_contract (
      .clk,
      .rst,
      .valid(s_copy_valid),
      .ready(s_copy_ready),
      .data (s_copy)
  );
`endif

endmodule
