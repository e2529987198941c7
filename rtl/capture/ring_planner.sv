// SPDX-License-Identifier: Apache-2.0
// Finds each record its place in the ring, or drops it whole where there is none, and plans the bursts that write them.
//
// A burst is planned as soon as its records are known, before their data are there: full bursts while there is enough
// for them, what there is when the writer would run dry and no record follows. A word that was written in part is
// written again, from its first new byte on. A record whose data are not whole yet (packet_whole low) goes ahead alone;
// if it turns out bad, its place is taken back once it has been written.
// Latency: 2 cycles from a packet to its record, 1 more to its burst. Throughput: a packet every second cycle.
module ring_planner
  import capture_pkg::*;
#(
    parameter int unsigned MEM_W = 64,
    parameter int unsigned BURST = 16,
    localparam int unsigned BYTES = MEM_W / 8,
    localparam int unsigned LANE_W = $clog2(BYTES),
    localparam int unsigned COUNT_W = $clog2(BYTES + 1)
) (
    input  logic               clk,
    input  logic               rst,

    input  logic [63:0]        ring_base,
    input  logic [4:0]         ring_log2,
    input  logic [31:0]        consumer,
    input  logic               wait_for_room,
    input  logic               drop_all,       // after a write error

    input  logic               packet_valid,
    output logic               packet_ready,
    input  packet_t            packet,
    input  logic [LEN_W-1:0]   packet_total,   // bytes of its record
    input  logic [31:0]        packet_sec,
    input  logic [31:0]        packet_nsec,
    input  logic               packet_whole,   // all its data have come, packet_bad says whether they are good
    input  logic               packet_bad,
    output logic               taken_whole,    // with packet_ready: it is taken as whole
    input  logic               late,           // the same for the packet that went ahead
    input  logic               late_bad,

    output logic               record_valid,
    input  logic               record_ready,
    output record_t            record,

    input  logic               hungry,         // the writer has little left to do
    output logic               burst_valid,
    input  logic               burst_ready,
    output logic [63:0]        burst_addr,
    output logic [7:0]         burst_len,      // beats - 1
    output logic [LANE_W-1:0]  burst_lead,     // lanes of its first beat that are not written
    output logic [COUNT_W-1:0] burst_tail,     // bytes of its last beat that are known
    output logic [12:0]        burst_bytes,    // that it adds to the ring

    input  logic               drained,        // all records and bursts given out are written
    output logic               rewind,         // the next record takes the place of the last one, from rewind_lane on
    output logic [LANE_W-1:0]  rewind_lane,

    // One of these for each packet that gets no place or loses it
    output logic               read_error,
    output logic               ring_full,
    output logic               too_long,
    output logic               after_error,
    output logic               idle
);

  if (MEM_W < 32 || MEM_W > 1024 || 2 ** $clog2(MEM_W) != MEM_W) begin : gen_bad_mem_w
    $fatal(1, "ring_planner: MEM_W must be a power of two from 32 to 1024, not %0d", MEM_W);
  end
  if (BURST < 1 || BURST > 256) begin : gen_bad_burst
    $fatal(1, "ring_planner: BURST must be 1 to 256, not %0d", BURST);
  end

  localparam int unsigned PAGE_BEATS = 4096 / BYTES;
  localparam int unsigned MOST = BURST < PAGE_BEATS ? BURST : PAGE_BEATS;
  localparam int unsigned PENDING_W = 19;  // two of the longest records fit
  localparam int unsigned TOTAL_W = LEN_W;
  localparam int unsigned PAGE_W = $clog2(PAGE_BEATS);
  localparam int unsigned NEAR_W = $clog2(MOST);
  localparam int unsigned WORDS_W = $clog2(MOST + 1);

  logic [31:0] mask;  // byte counts to places in the ring
  always_comb for (int i = 0; i < 32; i++) mask[i] = i < int'(32'(ring_log2));

  // ------------------------------------------------------------------------------------------------- a place or none
  logic [31:0] end_q;                 // byte count after the last record
  logic [31:0] limit_q;               // byte count that the next ones may reach
  logic [31:0] space_q;               // bytes between them
  logic [PENDING_W-1:0] pending_q;    // bytes known from the word at plan_q on
  logic alone_q, bad_q;               // a record went ahead; it has turned out bad
  logic placed_q;                     // the last packet taken got a place
  logic rewind_q, rewound_q;          // end_q goes back; the bursts follow it
  logic all_planned;

  // A packet is judged in one cycle and taken in the next one. Nothing that holds up a packet can come up in between.
  logic take_q, place_q, waits_q, whole_q, spoilt_q, lost_q, longer_q;
  logic [TOTAL_W-1:0] total_q;
  logic [31:0] after_q;               // space_q after its record
  // 0: of rings that are longer than any record
  wire [TOTAL_W-1:0] size = {mask[TOTAL_W-2:0], 1'b1} & ~mask[TOTAL_W-1:0];
  wire longer = size != 0 && packet_total > size;
  wire [32:0] after = {1'b0, space_q} - 33'(packet_total);
  wire fits = !after[32];
  wire spoilt = packet_whole && packet_bad;
  wire drop = drop_all || longer_q || spoilt;  // longer_q: of the cycle before, which only one that waits needs
  wire free = record_ready && !alone_q && !bad_q;
  wire judge = packet_valid && free && !take_q && !pending_q[PENDING_W-1];

  assign record_valid = take_q;
  assign packet_ready = take_q;
  assign taken_whole  = whole_q;
  assign record       = '{
          drop: !place_q,
          memory: packet.memory,
          empty: packet.empty,
          len: packet.len,
          wire_len: packet.wire_len,
          nsec: packet_nsec,
          sec: packet_sec
      };
  wire refused = take_q && !place_q && !spoilt_q;
  assign read_error  = (take_q && spoilt_q) || (late && late_bad && placed_q);
  assign after_error = refused && lost_q;
  assign too_long    = refused && !lost_q && longer_q;
  assign ring_full   = refused && !lost_q && !longer_q;

  always_ff @(posedge clk) begin
    take_q   <= judge && (drop || fits || !wait_for_room);
    place_q  <= judge && fits && !drop_all && !spoilt;
    waits_q  <= !drop && !fits;
    whole_q  <= packet_whole;
    spoilt_q <= spoilt;
    lost_q   <= drop_all;
    longer_q <= packet_valid && longer && !take_q;
    after_q  <= after[31:0];
    if (!alone_q && !bad_q) total_q <= packet_total;

    limit_q <= consumer + mask + 1'b1;
    space_q <= place_q ? after_q : limit_q - end_q;
    if (place_q || rewind_q) end_q <= end_q + (rewind_q ? -32'(total_q) : 32'(total_q));

    // Dropped or placed, a packet that was not whole is the one that `late` speaks of.
    if (take_q) placed_q <= place_q;
    if (take_q && !whole_q) alone_q <= 1'b1;
    if (late) begin
      alone_q <= 1'b0;
      bad_q   <= late_bad && placed_q;
    end
    rewind_q  <= bad_q && drained && all_planned && !rewind_q && !rewound_q;
    rewound_q <= rewind_q;
    if (rewound_q) bad_q <= 1'b0;
    if (rst) begin
      take_q    <= 1'b0;
      place_q   <= 1'b0;
      end_q     <= '0;
      alone_q   <= 1'b0;
      bad_q     <= 1'b0;
      rewind_q  <= 1'b0;
      rewound_q <= 1'b0;
    end
  end

  // ------------------------------------------------------------------------------------------------------- bursts
  logic [31:LANE_W] plan_q;              // word count of the next word to be planned
  logic [LANE_W-1:0] lead_q;             // bytes of it that are planned already
  logic planned_q, settling_q;           // a burst was planned: the counts follow, then the limit
  logic [31:LANE_W] burst_word_q;
  logic [WORDS_W-1:0] words_q;           // of the burst, that are done with
  logic [LANE_W-1:0] behind_q;           // bytes in the word after them; it is to be written again

  // Beats to the end of the page; rings begin at a multiple of their size, small ones end within a page. Far from it,
  // they don't count.
  wire [PAGE_W-1:0] in_page = plan_q[LANE_W+:PAGE_W] | ~mask[LANE_W+:PAGE_W];
  wire [NEAR_W:0] to_page = (NEAR_W + 1)'(2 ** NEAR_W) - (NEAR_W + 1)'(in_page % 2 ** NEAR_W);
  wire near = 32'(in_page) >> NEAR_W == (PAGE_BEATS - 1) >> NEAR_W;
  logic [WORDS_W-1:0] most_q;

  wire [PENDING_W-LANE_W-1:0] full_words = pending_q[PENDING_W-1:LANE_W];
  wire [LANE_W-1:0] tail = pending_q[LANE_W-1:0];
  wire reaches = full_words >= (PENDING_W - LANE_W)'(most_q);
  wire follows = packet_valid && free && !waits_q;  // a record is about to be placed
  wire none = pending_q == PENDING_W'(lead_q);
  wire flush = !none && hungry && !follows;
  wire plan = !planned_q && !settling_q && !burst_valid && (reaches || flush);
  wire count = planned_q && !place_q;

  assign burst_addr  = ring_base | 64'({burst_word_q, LANE_W'(0)} & mask);
  assign burst_len   = 8'(words_q - WORDS_W'(behind_q == 0));
  assign burst_tail  = behind_q == 0 ? COUNT_W'(BYTES) : COUNT_W'(behind_q);
  assign burst_bytes = 13'({words_q, behind_q}) - 13'(burst_lead);

  always_ff @(posedge clk) begin
    if (burst_ready) burst_valid <= 1'b0;
    if (plan) burst_valid <= 1'b1;
    if (!burst_valid && !planned_q) begin
      burst_word_q <= plan_q;
      burst_lead   <= lead_q;
      words_q      <= reaches ? most_q : WORDS_W'(full_words);
      behind_q     <= reaches ? '0 : tail;
    end
    planned_q  <= plan || (planned_q && !count);
    settling_q <= count || rewound_q;
    most_q     <= near && 32'(to_page) < MOST ? WORDS_W'(to_page) : WORDS_W'(MOST);
    pending_q  <= pending_q + (place_q ? PENDING_W'(total_q) : count ? -PENDING_W'({words_q, LANE_W'(0)}) : '0);
    if (count) begin
      plan_q <= plan_q + (32 - LANE_W)'(words_q);
      lead_q <= behind_q;
    end
    if (rewound_q) begin
      {plan_q, lead_q} <= end_q;
      pending_q        <= PENDING_W'(end_q[LANE_W-1:0]);
    end
    if (rst) begin
      burst_valid <= 1'b0;
      planned_q   <= 1'b0;
      settling_q  <= 1'b1;
      plan_q      <= '0;
      lead_q      <= '0;
      pending_q   <= '0;
    end
  end

  assign all_planned = !burst_valid && !planned_q && none;
  assign rewind      = rewound_q;
  assign rewind_lane = end_q[LANE_W-1:0];
  assign idle        = !packet_valid && !alone_q && !bad_q && all_planned;

endmodule
