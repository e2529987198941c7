// SPDX-License-Identifier: Apache-2.0
// AXI4 reads of host memory become memory read requests. A burst is split into requests of at most max_read_size and of
// READ_BYTES; each has a tag, and room for all of its data in pcie_read_store before it is sent. Completions come in
// pieces of any whole DWs, those of different tags in any order. Bursts of one ID are answered in order (IDs that are
// equal in their lowest ID_W bits count as one); no ID waits for another's data. Between two requests of a burst, beats
// of other IDs may come.
// Bursts are incrementing, of the bus' width, or of one narrower beat, and don't cross 4 KB. What is asked for begins
// with the DW of the address, so that lanes below it have anything.
// A completion with an error status or poisoned data, or none within `timeout`, makes its request's beats and the rest
// of the burst SLVERR. A tag that had no answer stays out of use as long again; completions that still come for it, and
// others that fit no request, are dropped (`unexpected`).
// Latency: 4 cycles from an address to its request, 6 from the last beat of a completion to the first of data.
// Throughput: a request a cycle, a beat a cycle each way; one in 2 cycles for requests of one beat and one ID.
// Backpressure: completions are never held up. Requests wait for tags, credits and req_ready.
module pcie_read
  import pcie_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned TAGS = 64,
    parameter int unsigned READ_BYTES = 512,  // of a request at most
    parameter int unsigned ID_W = 6
) (
    input  logic              clk,
    input  logic              rst,
    // Of the time only what counts.
    // verilator lint_off UNUSEDSIGNAL
    input  logic [63:0]       time_ns,
    input  credit_limit_t     limit,
    // verilator lint_on UNUSEDSIGNAL
    input  logic [2:0]        max_read_size,  // 128 bytes << that
    input  logic [22:0]       timeout,        // in 1024 ns; 0: never

    input  logic [7:0]        s_axi_arid,
    // verilator lint_off UNUSEDSIGNAL
    input  logic [63:0]       s_axi_araddr,
    // verilator lint_on UNUSEDSIGNAL
    input  logic [7:0]        s_axi_arlen,
    input  logic [2:0]        s_axi_arsize,
    input  logic [1:0]        s_axi_arburst,
    input  logic [15:0]       s_axi_aruser,   // function
    input  logic              s_axi_arvalid,
    output logic              s_axi_arready,
    output logic [7:0]        s_axi_rid,
    output logic [DATA_W-1:0] s_axi_rdata,
    output logic [1:0]        s_axi_rresp,
    output logic              s_axi_rlast,
    output logic              s_axi_rvalid,
    input  logic              s_axi_rready,

    output logic              req_valid,
    input  logic              req_ready,
    output request_t          req_header,

    input  logic              cpl_valid,
    input  completion_t       cpl_header,
    input  logic [DATA_W-1:0] cpl_data,
    input  logic              cpl_last,

    output logic              failed,         // a completion with an error status or poisoned data
    output logic              timed_out,      // a request that had no answer
    output logic              unexpected,     // a completion that was dropped
    output logic              idle
);

  localparam int unsigned BYTES = DATA_W / 8;
  localparam int unsigned OFFSET_W = $clog2(BYTES);
  localparam int unsigned LANES = DATA_W / 32;
  localparam int unsigned LANE_W = $clog2(LANES);
  localparam int unsigned ROWS = READ_BYTES / BYTES;  // beats of a request at most
  localparam int unsigned ROW_W = $clog2(ROWS);
  localparam int unsigned PLACE_W = ROW_W + LANE_W;   // of a DW among a request's
  localparam int unsigned TAG_W = $clog2(TAGS);
  localparam int unsigned AGE_W = 26;

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "pcie_read: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (TAGS < 4 || TAGS > 256 || 2 ** TAG_W != TAGS) begin : gen_bad_tags
    $fatal(1, "pcie_read: TAGS must be a power of two from 4 to 256, not %0d", TAGS);
  end
  if (READ_BYTES < 128 || READ_BYTES > PAGE || 2 ** $clog2(READ_BYTES) != READ_BYTES) begin : gen_bad_read_bytes
    $fatal(1, "pcie_read: READ_BYTES must be a power of two from 128 to 4096, not %0d", READ_BYTES);
  end
  if (ID_W < 1 || ID_W > 8) begin : gen_bad_id_w
    $fatal(1, "pcie_read: ID_W must be 1 to 8, not %0d", ID_W);
  end

  typedef logic [TAG_W-1:0] tag_t;
  typedef logic [ID_W-1:0] order_t;
  typedef logic [LANE_W-1:0] lane_t;

  // ------------------------------------------------------------------------------------------- bursts become requests
  typedef struct packed {
    logic [7:0]  id;
    logic [15:0] func;
    logic [63:2] addr;
    logic [7:0]  len;
  } burst_t;
  // A request to be: `first` to `last` are its DWs, counted from lane 0 of its first beat.
  typedef struct packed {
    logic [7:0]           id;
    logic [15:0]          func;
    logic [63-OFFSET_W:0] beat;        // address
    lane_t                first;
    logic [PLACE_W-1:0]   last;
    logic                 burst_ends;
  } plan_t;

  logic burst_valid, bursts_idle, load, advance, issue;
  burst_t next_burst, burst_q;
  logic [2:0] next_size;
  stream_queue #(
      .WIDTH($bits(burst_t) + 3),
      .DEPTH(4)
  ) u_bursts (
      .clk,
      .rst,
      .s_valid(s_axi_arvalid),
      .s_ready(s_axi_arready),
      .s_data ({s_axi_arsize, s_axi_arid, s_axi_aruser, s_axi_araddr[63:2], s_axi_arlen}),
      .m_valid(burst_valid),
      .m_ready(load),
      .m_data ({next_size, next_burst}),
      .idle   (bursts_idle)
  );

  // burst_q.addr is that of the next request, len its beats that are left - 1.
  logic busy_q, planned_q;
  lane_t end_q;                        // lane of the burst's last DW
  plan_t plan_q;
  logic [ROW_W-1:0] most_q;            // beats of a request at most, - 1
  wire final_request = burst_q.len <= 8'(most_q);
  wire [ROW_W-1:0] rows = final_request ? ROW_W'(burst_q.len) : most_q;
  wire [31:0] granted_rows = (32'd128 << max_read_size) / BYTES;
  // The last lane of a single beat that is narrower than the bus: all ones below its size.
  wire lane_t low_lanes = lane_t'(((8'd1 << next_size) - 8'd1) >> 2);
  wire narrow = 32'(next_size) != OFFSET_W;

  assign advance = busy_q && (!planned_q || issue);
  assign load    = burst_valid && (!busy_q || (advance && final_request));

  always_ff @(posedge clk) begin
    most_q <= granted_rows < ROWS ? ROW_W'(granted_rows - 32'd1) : ROW_W'(ROWS - 1);
    if (issue) planned_q <= 1'b0;
    if (advance) begin
      planned_q    <= 1'b1;
      plan_q       <= '{
          id: burst_q.id,
          func: burst_q.func,
          beat: burst_q.addr[63:OFFSET_W],
          first: burst_q.addr[OFFSET_W-1:2],
          last: {rows, final_request ? end_q : lane_t'(LANES - 1)},
          burst_ends: final_request
      };
      busy_q       <= !final_request;
      burst_q.len  <= burst_q.len - 8'(rows) - 1'b1;
      burst_q.addr <= {burst_q.addr[63:OFFSET_W] + (64 - OFFSET_W)'(rows) + 1'b1, lane_t'(0)};
    end
    if (load) begin
      busy_q  <= 1'b1;
      burst_q <= next_burst;
      end_q   <= narrow ? next_burst.addr[OFFSET_W-1:2] | low_lanes : lane_t'(LANES - 1);
    end
    if (rst) begin
      busy_q    <= 1'b0;
      planned_q <= 1'b0;
    end
  end

  // -------------------------------------------------------------------------------------------------------------- tags
  // Tags that were never used come from a counter, the others from a queue of those freed.
  logic [TAG_W:0] fresh_tag_q, used_q;
  logic freed_valid, freed_room, free, tag_valid, req_room, credit;
  tag_t freed_tag, free_tag, tag;
  logic [7:0] sent_q;
  wire never_used = !fresh_tag_q[TAG_W];
  assign tag_valid = never_used || freed_valid;
  assign tag       = never_used ? tag_t'(fresh_tag_q) : freed_tag;
  assign credit    = limit.nph_infinite || limit.nph != sent_q;

  logic hand_q;                        // the list's head was taken
  order_t hand_order;
  wire order_t order = plan_q.id[ID_W-1:0];
  assign issue = planned_q && tag_valid && credit && req_room && !(hand_q && hand_order == order);

  stream_queue #(
      .WIDTH(TAG_W),
      .DEPTH(TAGS)
  ) u_freed (
      .clk,
      .rst,
      .s_valid(free),
      .s_ready(freed_room),
      .s_data (free_tag),
      .m_valid(freed_valid),
      .m_ready(issue && !never_used),
      .m_data (freed_tag),
      .idle   ()
  );

  wire [10:0] dwords = 11'(plan_q.last) - 11'(plan_q.first) + 1'b1;
  logic req_idle;
  stream_reg #(
      .WIDTH($bits(request_t))
  ) u_request (
      .clk,
      .rst,
      .s_valid(issue),
      .s_ready(req_room),
      .s_data (request_t'{
        write: 1'b0,
        func: plan_q.func,
        tag: 8'(tag),
        addr: {plan_q.beat, plan_q.first, 2'b00},
        dwords: dwords,
        first_be: 4'hf,
        last_be: dwords == 11'd1 ? 4'h0 : 4'hf
      }),
      .m_valid(req_valid),
      .m_ready(req_ready),
      .m_data (req_header),
      .idle   (req_idle)
  );

  always_ff @(posedge clk) begin
    if (issue) sent_q <= sent_q + 1'b1;
    if (issue && never_used) fresh_tag_q <= fresh_tag_q + 1'b1;
    used_q <= used_q + (TAG_W + 1)'(issue) - (TAG_W + 1)'(free);
    if (rst) begin
      sent_q      <= '0;
      fresh_tag_q <= '0;
      used_q      <= '0;
    end
  end

  // ------------------------------------------------------------------------------------------------- state of the tags
  // A tag waits, is then done, and its data leave once it is the head of its ID's list. A lost one had no answer.
  logic [TAGS-1:0] waits_q, begun_q, done_q, head_q, error_q, lost_q, left_q;

  // What is kept of a request: for its completions, and for its beats.
  typedef struct packed {
    lane_t              first;
    logic [PLACE_W-1:0] last;
  } span_t;
  typedef struct packed {
    logic [7:0]       id;
    logic [ROW_W-1:0] last_row;
    logic             burst_ends;
  } read_t;

  // ----------------------------------------------------------------------------------------------- completions come in
  // Stage 1 holds a beat and looks up the request and how far its data have come; stage 2 the beat with its place in
  // the store; then it is written, and a request whose last beat that is is done.
  typedef struct packed {
    tag_t               tag;
    logic [PLACE_W-1:0] place;  // of the first DW
    logic [10:0]        count;  // DWs from here on
    logic               accept;
    logic               ends;   // the request ends with this TLP
    logic               error;
  } piece_t;

  logic in_q, in_last_q, within_q, put_q, put_last_q;
  // Of the lower address only the lane counts: the number of bytes tells the rest.
  // verilator lint_off UNUSEDSIGNAL
  completion_t in_header_q;
  // verilator lint_on UNUSEDSIGNAL
  logic [DATA_W-1:0] in_data_q, put_data_q;
  piece_t begins, piece, piece_q, put_piece_q;
  span_t span;
  logic [PLACE_W:0] come;         // DWs, counted from lane 0 of the first beat
  wire tag_t in_tag = tag_t'(in_header_q.tag);
  wire [PLACE_W:0] at = begun_q[in_tag] ? come : (PLACE_W + 1)'(span.first);
  wire [PLACE_W:0] remain = (PLACE_W + 1)'(span.last) + 1'b1 - at;
  wire good = in_header_q.status == SUCCESSFUL;
  wire whole = 32'(in_header_q.dwords) == 32'(remain);
  wire fits = in_header_q.bytes == 13'({remain, 2'b00}) && at[LANE_W-1:0] == in_header_q.lower_addr[2+:LANE_W]
      && in_header_q.dwords != 0 && 32'(in_header_q.dwords) <= 32'(remain);
  wire known = 32'(in_header_q.tag) < TAGS && waits_q[in_tag];
  wire opens = in_q && !within_q;

  assign begins = '{
          tag: in_tag,
          place: at[PLACE_W-1:0],
          count: in_header_q.dwords,
          accept: known && (!good || fits),
          ends: !good || whole,
          error: !good || in_header_q.poisoned
      };
  always_comb begin
    piece       = within_q ? piece_q : begins;
    piece.place = within_q ? piece_q.place + PLACE_W'(LANES) : begins.place;
    piece.count = within_q ? piece_q.count - 11'(LANES) : begins.count;
  end

  ram_dist #(
      .WIDTH($bits(span_t)),
      .DEPTH(TAGS)
  ) u_spans (
      .clk,
      .wr_en  (issue),
      .wr_addr(tag),
      .wr_data({plan_q.first, plan_q.last}),
      .rd_addr(in_tag),
      .rd_data(span)
  );
  ram_dist #(
      .WIDTH(PLACE_W + 1),
      .DEPTH(TAGS)
  ) u_come (
      .clk,
      .wr_en  (opens && begins.accept && good),
      .wr_addr(in_tag),
      .wr_data(at + (PLACE_W + 1)'(in_header_q.dwords)),
      .rd_addr(in_tag),
      .rd_data(come)
  );

  // A completion's end and a request's time that is over meet here.
  logic over, over_error;              // a tag is done in this cycle
  tag_t over_tag;
  logic expire;
  tag_t expire_tag;
  wire put_end = put_q && put_last_q && put_piece_q.accept && waits_q[put_piece_q.tag];
  wire arrives = put_end && put_piece_q.ends;
  wire erroneous = put_end && put_piece_q.error;
  assign over       = arrives || expire;
  assign over_tag   = arrives ? put_piece_q.tag : expire_tag;
  assign over_error = !arrives;

  always_ff @(posedge clk) begin
    in_q        <= cpl_valid;
    in_last_q   <= cpl_last;
    in_header_q <= cpl_header;
    in_data_q   <= cpl_data;
    if (in_q) begin
      within_q <= !in_last_q;
      piece_q  <= piece;
    end
    put_q       <= in_q;
    put_last_q  <= in_last_q;
    put_data_q  <= in_data_q;
    put_piece_q <= piece;
    unexpected  <= put_q && put_last_q && !(put_piece_q.accept && waits_q[put_piece_q.tag]);
    failed      <= erroneous;
    timed_out   <= expire;
    if (rst) begin
      in_q       <= 1'b0;
      within_q   <= 1'b0;
      put_q      <= 1'b0;
      unexpected <= 1'b0;
      failed     <= 1'b0;
      timed_out  <= 1'b0;
    end
  end

  // -------------------------------------------------------------------------------------------------------- data leave
  // Tags whose data may leave: those that were heads when they were done, and those that were done when they became
  // heads.
  logic [1:0] go_valid, go_room, go_idle;
  tag_t [1:0] go_tag;
  logic turn_q, take;
  wire which = go_valid[turn_q] ? turn_q : !turn_q;
  wire tag_t take_tag = go_tag[which];

  // The list of an ID: its last tag, and what follows a tag.
  logic [2**ID_W-1:0] listed_q, broken_q;
  tag_t last_of_order, last_of_hand, follower, out_tag_q;
  read_t take_read, out_read_q;
  wire more = last_of_hand != out_tag_q;
  wire follow = hand_q && more;
  wire follower_done = done_q[follower] || (over && over_tag == follower);
  assign hand_order = out_read_q.id[ID_W-1:0];

  for (genvar i = 0; i < 2; i++) begin : gen_tails  // one to read by who asks, one by who answers
    ram_dist #(
        .WIDTH(TAG_W),
        .DEPTH(2 ** ID_W)
    ) u_tails (
        .clk,
        .wr_en  (issue),
        .wr_addr(order),
        .wr_data(tag),
        .rd_addr(i == 0 ? order : hand_order),
        .rd_data(gen_tails[i].tail)
    );
    tag_t tail;
  end
  assign last_of_order = gen_tails[0].tail;
  assign last_of_hand  = gen_tails[1].tail;

  ram_dist #(
      .WIDTH(TAG_W),
      .DEPTH(TAGS)
  ) u_followers (
      .clk,
      .wr_en  (issue && listed_q[order]),
      .wr_addr(last_of_order),
      .wr_data(tag),
      .rd_addr(out_tag_q),
      .rd_data(follower)
  );
  ram_dist #(
      .WIDTH($bits(read_t)),
      .DEPTH(TAGS)
  ) u_reads (
      .clk,
      .wr_en  (issue),
      .wr_addr(tag),
      .wr_data({plan_q.id, plan_q.last[LANE_W+:ROW_W], plan_q.burst_ends}),
      .rd_addr(take_tag),
      .rd_data(take_read)
  );

  stream_queue #(
      .WIDTH(TAG_W),
      .DEPTH(TAGS)
  ) u_go_done (
      .clk,
      .rst,
      .s_valid(over && head_q[over_tag]),
      .s_ready(go_room[0]),
      .s_data (over_tag),
      .m_valid(go_valid[0]),
      .m_ready(take && !which),
      .m_data (go_tag[0]),
      .idle   (go_idle[0])
  );
  stream_queue #(
      .WIDTH(TAG_W),
      .DEPTH(TAGS)
  ) u_go_follow (
      .clk,
      .rst,
      .s_valid(follow && follower_done),
      .s_ready(go_room[1]),
      .s_data (follower),
      .m_valid(go_valid[1]),
      .m_ready(take && which),
      .m_data (go_tag[1]),
      .idle   (go_idle[1])
  );

  // A request's beats leave the store one after the other, through its output register and another one.
  typedef struct packed {
    logic [7:0] id;
    logic       error;
    logic       last;
  } beat_t;
  logic out_q, step, read_q, r_advance;
  logic [ROW_W-1:0] row_q;
  beat_t read_beat_q, r_beat_q;
  logic [DATA_W-1:0] stored;
  wire last_row = row_q == out_read_q.last_row;
  wire broken = error_q[out_tag_q] || broken_q[hand_order];
  wire leaves = step && last_row;
  assign r_advance = s_axi_rready || !s_axi_rvalid;
  assign step      = out_q && (r_advance || !read_q);
  assign take      = go_valid != 0 && (!out_q || leaves);

  always_ff @(posedge clk) begin
    hand_q <= take;
    if (step) begin
      row_q       <= row_q + 1'b1;
      read_beat_q <= '{id: out_read_q.id, error: broken, last: last_row && out_read_q.burst_ends};
    end
    if (leaves) out_q <= 1'b0;
    if (take) begin
      out_q      <= 1'b1;
      out_tag_q  <= take_tag;
      out_read_q <= take_read;
      row_q      <= '0;
      turn_q     <= !which;
    end
    if (r_advance || !read_q) read_q <= out_q;
    if (r_advance) begin
      s_axi_rvalid <= read_q;
      s_axi_rdata  <= stored;
      r_beat_q     <= read_beat_q;
    end
    if (rst) begin
      hand_q       <= 1'b0;
      out_q        <= 1'b0;
      read_q       <= 1'b0;
      turn_q       <= 1'b0;
      s_axi_rvalid <= 1'b0;
    end
  end
  assign s_axi_rid   = r_beat_q.id;
  assign s_axi_rlast = r_beat_q.last;
  assign s_axi_rresp = r_beat_q.error ? 2'b10 : 2'b00;

  pcie_read_store #(
      .DATA_W(DATA_W),
      .SLOTS(TAGS),
      .ROWS(ROWS)
  ) u_store (
      .clk,
      .wr_en   (put_q && put_piece_q.accept),
      .wr_slot (put_piece_q.tag),
      .wr_place(put_piece_q.place),
      .wr_count(put_piece_q.count),
      .wr_data (put_data_q),
      .rd_en   (step),
      .rd_slot (out_tag_q),
      .rd_row  (row_q),
      .rd_data (stored)
  );

  // ------------------------------------------------------------------------------------------------ time that is over
  // A walk over the tags, one a cycle. A tag that is issued meanwhile is left out.
  tag_t walk_q, aged_tag_q, judged_tag_q;
  logic aged_q, judged_q, late_q, later_q;
  logic [AGE_W-1:0] now_q, stamp;
  wire [AGE_W-1:0] age = now_q - stamp;
  wire free_lost = judged_q && later_q && lost_q[judged_tag_q] && left_q[judged_tag_q] && !leaves;
  assign expire     = judged_q && late_q && waits_q[judged_tag_q] && !arrives;
  assign expire_tag = judged_tag_q;
  assign free       = (leaves && !lost_q[out_tag_q]) || free_lost;
  assign free_tag   = leaves ? out_tag_q : judged_tag_q;

  ram_fit #(
      .WIDTH(AGE_W),
      .DEPTH(TAGS)
  ) u_stamps (
      .clk,
      .wr_en  (issue),
      .wr_addr(tag),
      .wr_data(now_q),
      .rd_en  (1'b1),
      .rd_addr(walk_q),
      .rd_data(stamp)
  );

  always_ff @(posedge clk) begin
    now_q        <= time_ns[10+:AGE_W];
    walk_q       <= walk_q + 1'b1;
    aged_tag_q   <= walk_q;
    judged_tag_q <= aged_tag_q;
    aged_q       <= timeout != 0 && !(issue && tag == walk_q);
    judged_q     <= aged_q && !(issue && tag == aged_tag_q);
    late_q       <= !age[AGE_W-1] && age > AGE_W'(timeout);  // unless time was set back
    later_q      <= !age[AGE_W-1] && age > AGE_W'({timeout, 1'b1});
    if (rst) begin
      walk_q   <= '0;
      aged_q   <= 1'b0;
      judged_q <= 1'b0;
    end
  end

  // ---------------------------------------------------------------------------------------------------------- the bits
  always_ff @(posedge clk) begin
    if (opens && begins.accept && good) begun_q[in_tag] <= 1'b1;
    if (erroneous) error_q[put_piece_q.tag] <= 1'b1;
    if (over) begin
      waits_q[over_tag] <= 1'b0;
      done_q[over_tag]  <= 1'b1;
      if (over_error) begin
        error_q[over_tag] <= 1'b1;
        lost_q[over_tag]  <= 1'b1;
      end
    end
    if (free_lost) left_q[judged_tag_q] <= 1'b0;
    if (follow) head_q[follower] <= 1'b1;
    if (hand_q && !more) listed_q[hand_order] <= 1'b0;
    if (leaves) begin
      left_q[out_tag_q]    <= 1'b1;
      broken_q[hand_order] <= broken && !out_read_q.burst_ends;
    end
    if (issue) begin
      waits_q[tag]    <= 1'b1;
      begun_q[tag]    <= 1'b0;
      done_q[tag]     <= 1'b0;
      head_q[tag]     <= !listed_q[order];
      error_q[tag]    <= 1'b0;
      lost_q[tag]     <= 1'b0;
      left_q[tag]     <= 1'b0;
      listed_q[order] <= 1'b1;
    end
    if (rst) begin
      waits_q  <= '0;
      lost_q   <= '0;
      listed_q <= '0;
      broken_q <= '0;
    end
  end

  assign idle = bursts_idle && !busy_q && !planned_q && req_idle && used_q == 0 && go_idle == '1 && !out_q && !read_q
      && !s_axi_rvalid;

`ifndef SYNTHESIS
  wire [12:0] burst_end = 13'(s_axi_araddr[11:OFFSET_W]) + 13'(s_axi_arlen);
  always_ff @(posedge clk) begin
    if (!rst && s_axi_arvalid && s_axi_arready) begin
      assert (s_axi_arburst == 2'b01) else $error("%m: a burst that doesn't increment");
      assert (32'(s_axi_arsize) == OFFSET_W || (32'(s_axi_arsize) < OFFSET_W && s_axi_arlen == 0))
      else $error("%m: beats narrower than the bus");
      assert (32'(burst_end) < PAGE / BYTES) else $error("%m: a burst that crosses 4 KB");
    end
    if (!rst) begin
      assert (!free || freed_room) else $error("%m: a tag is freed twice");
      assert (!over || go_room == '1) else $error("%m: a tag is done twice");
    end
  end
`else
  wire unused = &{1'b0, s_axi_arburst, freed_room, go_room};
`endif

endmodule
