// Finds each record its place in the ring, or drops it whole where there is none, and plans the bursts that write them.
//
// A burst is planned as soon as its records are known, before their data are there: full bursts while there is enough for them,
// what there is when the writer would run dry and no record follows. A word that was written in part is written again, from its first new byte on.
// A record whose data are not whole yet (packet_whole low) goes ahead alone; if it turns out bad, its place is taken back
// once it has been written.
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

    input  logic               enable,         // while low, the ring's place and size may change
    input  logic [63:0]        ring_base,
    input  logic [4:0]         ring_log2,
    input  logic [31:0]        consumer,
    input  logic               wait_for_room,
    input  logic               drop_all,       // after a write error

    input  logic               packet_valid,
    output logic               packet_ready,
    input  packet_t            packet,
    input  logic [LEN_W:0]     packet_total,   // bytes of its record
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
    output logic [31:0]        burst_end_pos,  // byte count of the ring after it

    input  logic               drained,        // all records and bursts given out are written
    output logic               rewind,         // the next record takes the place of the last one, from rewind_pos on
    output logic [31:0]        rewind_pos,

    // One of these for each packet that gets no place or loses it
    output logic               read_error,
    output logic               ring_full,
    output logic               too_long,
    output logic               after_error,
    output logic               idle
);

  localparam int unsigned PAGE_BEATS = 4096 / BYTES;
  localparam int unsigned MOST = BURST < PAGE_BEATS ? BURST : PAGE_BEATS;
  localparam int unsigned PENDING_W = 19;  // two of the longest records fit
  localparam int unsigned TOTAL_W = LEN_W + 1;

  wire [31:0] size = 32'd1 << ring_log2;

  // ------------------------------------------------------------------------------------------------- a place or none
  logic [31:0] end_q, start_q;        // byte counts: after the last record, before it
  logic [31:0] space_q;
  logic [31:0] consumer_q, freed_q, give_q;
  logic [PENDING_W-1:0] pending_q;    // bytes known from the word at plan_q on
  logic alone_q, bad_q;               // a record went ahead; it has turned out bad
  logic placed_q;                     // the last packet taken got a place
  logic [TOTAL_W-1:0] placed_total_q;
  logic rewind_q, all_planned;

  // A packet is judged in its first cycle here and taken in a later one.
  logic go_q, waits_q, drop_q, whole_q, spoilt_q, longer_q;
  logic [TOTAL_W-1:0] total_q;
  logic [31:0] after_q;               // byte count after its record
  wire longer = 32'(packet_total) > size;
  wire fits = 32'(packet_total) <= space_q;
  wire spoilt = packet_whole && packet_bad;
  wire drop = drop_all || longer || spoilt || (!fits && !wait_for_room);

  assign record_valid = go_q && !alone_q && !bad_q && !pending_q[PENDING_W-1];
  wire take = record_valid && record_ready;
  wire place = take && !drop_q;

  assign packet_ready = take;
  assign taken_whole  = whole_q;
  assign record       = '{
          drop: drop_q,
          memory: packet.memory,
          empty: packet.empty,
          end_pos: after_q,
          len: packet.len,
          wire_len: packet.wire_len,
          nsec: packet_nsec,
          sec: packet_sec
      };
  assign read_error  = (take && spoilt_q) || (late && late_bad && placed_q);
  assign after_error = take && drop_q && !spoilt_q && drop_all;
  assign too_long    = take && drop_q && !spoilt_q && !drop_all && longer_q;
  assign ring_full   = take && drop_q && !spoilt_q && !drop_all && !longer_q;

  always_ff @(posedge clk) begin
    go_q     <= packet_valid && !take && !rewind_q && (drop || fits);
    waits_q  <= !drop && !fits;
    drop_q   <= drop;
    whole_q  <= packet_whole;
    spoilt_q <= spoilt;
    longer_q <= longer;
    total_q  <= packet_total;
    after_q  <= end_q + 32'(packet_total);

    // What the host gives back is added when nothing is taken.
    consumer_q <= consumer;
    freed_q    <= consumer - consumer_q;
    give_q     <= freed_q + (place || rewind_q ? give_q : '0);
    space_q    <= space_q + (rewind_q ? 32'(placed_total_q) : place ? -32'(total_q) : give_q);
    if (!enable && !packet_valid) begin
      space_q <= size - (end_q - consumer);
      freed_q <= '0;
      give_q  <= '0;
    end

    if (place) begin
      start_q        <= end_q;
      end_q          <= after_q;
      placed_total_q <= total_q;
    end
    // Dropped or placed, a packet that was not whole is the one that `late` speaks of.
    if (take) placed_q <= place;
    if (take && !whole_q) alone_q <= 1'b1;
    if (late) begin
      alone_q <= 1'b0;
      bad_q   <= late_bad && placed_q;
    end
    rewind_q <= bad_q && drained && all_planned && !rewind_q;
    if (rewind_q) begin
      end_q <= start_q;
      bad_q <= 1'b0;
    end
    if (rst) begin
      go_q       <= 1'b0;
      end_q      <= '0;
      space_q    <= size;
      consumer_q <= '0;
      freed_q    <= '0;
      give_q     <= '0;
      alone_q    <= 1'b0;
      bad_q      <= 1'b0;
      rewind_q   <= 1'b0;
    end
  end

  // ------------------------------------------------------------------------------------------------------- bursts
  logic [31:0] plan_q;                 // byte count of the next word to be planned
  logic [LANE_W-1:0] lead_q;           // bytes of it that are planned already
  logic planned_q, settling_q;         // a burst was planned: the counts follow in the next cycle, the limit after that
  logic [PENDING_W-1:0] planned_bytes_q;
  logic [LANE_W-1:0] planned_lead_q;
  logic [31:0] burst_pos_q;

  // Beats to the end of the page; rings begin at a multiple of their size, small ones end within a page.
  wire [11:0] page_mask = ring_log2 < 5'd12 ? 12'(size - 1) : '1;
  wire [11:0] in_page = plan_q[11:0] & page_mask;
  wire [12:0] to_page = ({1'b0, page_mask} + 13'd1 - {1'b0, in_page}) >> LANE_W;
  logic [8:0] limit_q;

  wire [PENDING_W-LANE_W-1:0] full_words = pending_q[PENDING_W-1:LANE_W];
  wire [LANE_W-1:0] tail = pending_q[LANE_W-1:0];
  wire reaches = full_words >= (PENDING_W - LANE_W)'(limit_q);
  wire follows = packet_valid && record_ready && !alone_q && !bad_q && !waits_q;  // a record is about to be placed
  wire flush = pending_q != PENDING_W'(lead_q) && hungry && !burst_valid && !follows;
  wire plan = !planned_q && !settling_q && !rewind_q && (reaches || flush) && (!burst_valid || burst_ready);
  wire partial = !reaches && tail != 0;  // the last word is to be written again
  wire [8:0] words = reaches ? limit_q : 9'(full_words);  // that are done with
  wire [31:0] next_plan = plan_q + 32'(planned_bytes_q);

  wire [31:0] burst_offset = burst_pos_q & (size - 1);
  assign burst_addr    = ring_base | 64'(burst_offset);
  assign burst_end_pos = planned_q ? {next_plan[31:LANE_W], planned_lead_q} : {plan_q[31:LANE_W], lead_q};

  always_ff @(posedge clk) begin
    if (burst_ready) burst_valid <= 1'b0;
    planned_q  <= plan;
    settling_q <= planned_q || rewind_q;
    limit_q    <= to_page < 13'(MOST) ? 9'(to_page) : 9'(MOST);
    if (plan) begin
      burst_valid     <= 1'b1;
      burst_pos_q     <= plan_q;
      burst_len       <= 8'(words - 9'(!partial));
      burst_lead      <= lead_q;
      burst_tail      <= partial ? COUNT_W'(tail) : COUNT_W'(BYTES);
      planned_bytes_q <= {(PENDING_W - LANE_W)'(words), LANE_W'(0)};
      planned_lead_q  <= partial ? tail : '0;
    end
    if (planned_q) begin
      plan_q <= next_plan;
      lead_q <= planned_lead_q;
    end
    pending_q <= pending_q + (place ? PENDING_W'(total_q) : '0) - (planned_q ? planned_bytes_q : '0);
    if (rewind_q) begin
      plan_q    <= {start_q[31:LANE_W], LANE_W'(0)};
      lead_q    <= start_q[LANE_W-1:0];
      pending_q <= PENDING_W'(start_q[LANE_W-1:0]);
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

  assign all_planned = !burst_valid && !planned_q && pending_q == PENDING_W'(lead_q);
  assign rewind      = rewind_q;
  assign rewind_pos  = start_q;
  assign idle        = !packet_valid && !alone_q && !bad_q && all_planned;

endmodule
