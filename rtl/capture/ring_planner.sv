// Finds each record its place in the ring, or drops it whole where there is none, and plans the bursts that write them.
//
// A burst is planned as soon as its records are known, before their data are there: full bursts while there is enough for them,
// what there is when the writer would run dry. A word that was written in part is written again, from its first new byte on.
// A record whose data are not whole yet (packet_whole low) goes ahead alone; if it turns out bad, its place is taken back
// once it has been written.
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
    input  logic [31:0]        packet_sec,
    input  logic [31:0]        packet_nsec,
    input  logic               packet_whole,   // all its data have come, packet_bad says whether they are good
    input  logic               packet_bad,
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

    output logic               ring_full,
    output logic               too_long,
    output logic               after_error,
    output logic               idle
);

  localparam int unsigned PAGE_BEATS = 4096 / BYTES;
  localparam int unsigned MOST = BURST < PAGE_BEATS ? BURST : PAGE_BEATS;
  localparam int unsigned PENDING_W = 19;  // two of the longest records fit

  wire [31:0] size = 32'd1 << ring_log2;

  // ------------------------------------------------------------------------------------------------- a place or none
  logic [31:0] end_q, start_q;        // byte counts: after the last record, before it
  logic [31:0] space_q, consumer_q;
  logic [PENDING_W-1:0] pending_q;    // bytes known from the word at plan_q on
  logic alone_q, bad_q;               // a record went ahead; it has turned out bad
  logic placed_q;                     // the last packet taken got a place

  logic head_valid_q, head_whole_q, head_bad_q;
  record_t head_q;
  logic [31:0] total_q;

  wire longer = total_q > size;
  wire fits = total_q <= space_q;
  wire drop = drop_all || longer || (head_whole_q && head_bad_q) || (!fits && !wait_for_room);
  wire blocked = alone_q || bad_q || pending_q[PENDING_W-1];
  wire take = head_valid_q && record_ready && !blocked && (drop || fits);
  wire place = take && !drop;

  assign packet_ready = !head_valid_q || take;
  assign record_valid = head_valid_q && !blocked && (drop || fits);
  always_comb begin
    record         = head_q;
    record.drop    = drop;
    record.end_pos = end_q + total_q;
  end
  assign after_error = take && drop_all && !(head_whole_q && head_bad_q);
  assign too_long    = take && !drop_all && longer && !(head_whole_q && head_bad_q);
  assign ring_full   = take && !drop_all && !longer && !fits && !(head_whole_q && head_bad_q);

  always_ff @(posedge clk) begin
    if (take) head_valid_q <= 1'b0;
    if (packet_valid && packet_ready) begin
      head_valid_q <= 1'b1;
      head_q       <= '{
          drop: 1'b0,
          empty: packet.empty,
          end_pos: '0,
          len: packet.len,
          wire_len: packet.wire_len,
          nsec: packet_nsec,
          sec: packet_sec
      };
      total_q      <= 32'(packet.len) + HEADER_BYTES;
      head_whole_q <= packet_whole;
      head_bad_q   <= packet_bad;
    end
    // While it waits in head_q its data may become whole.
    if (head_valid_q && !take && !head_whole_q && late && !alone_q) begin
      head_whole_q <= 1'b1;
      head_bad_q   <= late_bad;
    end

    consumer_q <= consumer;
    space_q    <= space_q + (consumer - consumer_q) - (place ? total_q : '0) + (rewind ? end_q - start_q : '0);
    if (!enable && !head_valid_q) space_q <= size - (end_q - consumer);
    if (place) begin
      start_q <= end_q;
      end_q   <= end_q + total_q;
    end
    // Dropped or placed, a record that was not whole is the one that `late` speaks of.
    if (take && !head_whole_q) begin
      alone_q <= !late;
      bad_q   <= late && late_bad && place;
    end else if (alone_q && late) begin
      alone_q <= 1'b0;
      bad_q   <= late_bad && placed_q;
    end
    if (take) placed_q <= place;
    if (rewind) begin
      end_q <= start_q;
      bad_q <= 1'b0;
    end
    if (rst) begin
      head_valid_q <= 1'b0;
      end_q        <= '0;
      consumer_q   <= '0;
      alone_q      <= 1'b0;
      bad_q        <= 1'b0;
    end
  end

  // ------------------------------------------------------------------------------------------------------- bursts
  logic [31:0] plan_q;                 // byte count of the next word to be planned
  logic [LANE_W-1:0] lead_q;           // bytes of it that are planned already
  logic limit_valid_q;
  logic [8:0] limit_q;                 // beats to the page's or the ring's end, at most MOST
  logic [63:0] addr_q;

  wire [31:0] offset = plan_q & (size - 1);
  wire [63:0] addr = ring_base + 64'(offset);
  wire [31:0] to_page = PAGE_BEATS - 32'(addr[11:LANE_W]);
  wire [31:0] to_end = (size - offset) >> LANE_W;
  wire [31:0] nearer = to_page < to_end ? to_page : to_end;

  wire [PENDING_W-1:0] full_words = pending_q >> LANE_W;
  wire reaches = full_words >= PENDING_W'(limit_q);
  wire [LANE_W-1:0] tail = pending_q[LANE_W-1:0];
  wire flush = pending_q > PENDING_W'(lead_q) && !take && hungry && !burst_valid;
  wire plan = limit_valid_q && (reaches || flush) && (!burst_valid || burst_ready);
  wire [8:0] beats = reaches ? limit_q : 9'(full_words) + 9'(tail != 0);
  wire partial = !reaches && tail != 0;  // the last word is to be written again
  wire [PENDING_W-1:0] planned = partial ? {full_words[PENDING_W-LANE_W-1:0], LANE_W'(0)}
      : PENDING_W'(beats) << LANE_W;

  always_ff @(posedge clk) begin
    if (burst_ready) burst_valid <= 1'b0;
    limit_q       <= nearer < MOST ? 9'(nearer) : 9'(MOST);
    addr_q        <= addr;
    limit_valid_q <= !plan && !rewind;
    if (plan) begin
      burst_valid   <= 1'b1;
      burst_addr    <= addr_q;
      burst_len     <= 8'(beats - 1'b1);
      burst_lead    <= lead_q;
      burst_tail    <= partial ? COUNT_W'(tail) : COUNT_W'(BYTES);
      burst_end_pos <= plan_q + 32'(planned) + (partial ? 32'(tail) : '0);
      plan_q        <= plan_q + 32'(planned);
      lead_q        <= partial ? tail : '0;
    end
    pending_q <= pending_q + (place ? PENDING_W'(total_q) : '0) - (plan ? planned : '0);
    if (rewind) begin
      plan_q    <= {start_q[31:LANE_W], LANE_W'(0)};
      lead_q    <= start_q[LANE_W-1:0];
      pending_q <= PENDING_W'(start_q[LANE_W-1:0]);
    end
    if (rst) begin
      burst_valid   <= 1'b0;
      limit_valid_q <= 1'b0;
      plan_q        <= '0;
      lead_q        <= '0;
      pending_q     <= '0;
    end
  end

  assign rewind      = bad_q && drained && !burst_valid && pending_q == PENDING_W'(lead_q);
  assign rewind_pos  = start_q;
  assign idle        = !head_valid_q && !burst_valid && !alone_q && !bad_q && pending_q == PENDING_W'(lead_q);

endmodule
