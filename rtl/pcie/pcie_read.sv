// SPDX-License-Identifier: Apache-2.0
// AXI4 reads of host memory become memory read requests. A burst is split into requests of at most max_read_size and of
// READ_BYTES (pcie_read_plan); each has a tag, and room for all of its data in pcie_read_store before it is sent.
// Completions come in pieces of any whole DWs, those of different tags in any order (pcie_read_arrive). Bursts of an ID
// are answered in order (IDs that are equal in their lowest ID_W bits count as one); no ID waits for another's data
// (pcie_read_order). Between two requests of a burst, beats of other IDs may come.
// Bursts are incrementing, of the bus' width, or of one narrower beat, and don't cross 4 KB. What is asked for begins
// with the DW of the address, so that lanes below it have anything.
// A completion with an error status or poisoned data, or none within `timeout`, makes its request's beats and the rest
// of the burst SLVERR. A tag that had no answer stays out of use as long again; completions that still come for it, and
// others that fit no request, are dropped (`unexpected`).
// Latency: 4 cycles from an address to its request, 9 from the last beat of a completion to the first of data.
// Throughput: a request a cycle, a beat a cycle each way; one in 3 cycles for requests of one beat and one ID.
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
  localparam int unsigned LANES = DATA_W / 32;
  localparam int unsigned LANE_W = $clog2(LANES);
  localparam int unsigned ROWS = READ_BYTES / BYTES;  // beats of a request at most
  localparam int unsigned ROW_W = $clog2(ROWS);
  localparam int unsigned PLACE_W = ROW_W + LANE_W;   // of a DW among a request's
  localparam int unsigned TAG_W = $clog2(TAGS);

  typedef logic [TAG_W-1:0] tag_t;
  typedef logic [ID_W-1:0] order_t;
  typedef logic [LANE_W-1:0] lane_t;

  // ------------------------------------------------------------------------------------------- bursts become requests
  logic plan_valid, plan_burst_ends, plans_idle, issue;
  logic [7:0] plan_id;
  logic [15:0] plan_func;
  logic [63:2] plan_addr;
  logic [PLACE_W-1:0] plan_last;
  wire lane_t plan_first = plan_addr[2+:LANE_W];

  pcie_read_plan #(
      .DATA_W(DATA_W),
      .READ_BYTES(READ_BYTES)
  ) u_plan (
      .clk,
      .rst,
      .max_read_size,
      .s_axi_arid,
      .s_axi_araddr,
      .s_axi_arlen,
      .s_axi_arsize,
      .s_axi_arburst,
      .s_axi_aruser,
      .s_axi_arvalid,
      .s_axi_arready,
      .plan_valid,
      .plan_ready(issue),
      .plan_id,
      .plan_func,
      .plan_addr,
      .plan_last,
      .plan_burst_ends,
      .idle      (plans_idle)
  );

  // -------------------------------------------------------------------------------------------------------------- tags
  logic free_q, tag_valid, tags_idle, req_room, credit;
  tag_t free_tag_q, tag;
  logic [7:0] sent_q;
  assign credit = limit.nph_infinite || limit.nph != sent_q;
  assign issue  = plan_valid && tag_valid && credit && req_room;

  number_pool #(
      .COUNT(TAGS)
  ) u_tags (
      .clk,
      .rst,
      .lend_valid(tag_valid),
      .lend_ready(issue),
      .lend      (tag),
      .back_valid(free_q),
      .back      (free_tag_q),
      .free      (),
      .idle      (tags_idle)
  );

  wire [10:0] dwords = 11'(plan_last) - 11'(plan_first) + 1'b1;
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
        func: plan_func,
        tag: 8'(tag),
        addr: {plan_addr, 2'b00},
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
    if (rst) sent_q <= '0;
  end

  // What is kept of a request is written a cycle later, long before it has an answer.
  typedef struct packed {
    logic [7:0]       id;
    logic [ROW_W-1:0] last_row;
    logic             burst_ends;
  } read_t;
  typedef struct packed {
    tag_t             tag;
    lane_t            first;
    logic [PLACE_W:0] dwords;
    read_t            read;
  } issued_t;
  logic issue_q;
  issued_t issued_q;

  always_ff @(posedge clk) begin
    issue_q  <= issue;
    issued_q <= '{
        tag: tag,
        first: plan_first,
        dwords: (PLACE_W + 1)'(dwords),
        read: '{id: plan_id, last_row: plan_last[LANE_W+:ROW_W], burst_ends: plan_burst_ends}
    };
    if (rst) issue_q <= 1'b0;
  end

  // ----------------------------------------------------------------------------------------------- completions come in
  // A tag waits; then its data leave once it is the head of its ID's list. A lost one had no answer.
  logic [TAGS-1:0] waits_q, error_q, lost_q, left_q;

  logic put_valid, arrives, erroneous, expire;
  tag_t put_tag, expire_tag;
  logic [PLACE_W-1:0] put_place;
  logic [10:0] put_count;
  logic [DATA_W-1:0] put_data;
  pcie_read_arrive #(
      .DATA_W(DATA_W),
      .TAGS(TAGS),
      .READ_BYTES(READ_BYTES)
  ) u_arrive (
      .clk,
      .rst,
      .issue (issue_q),
      .tag   (issued_q.tag),
      .first (issued_q.first),
      .dwords(issued_q.dwords),
      .waits (waits_q),
      .expire,
      .expire_tag,
      .cpl_valid,
      .cpl_header,
      .cpl_data,
      .cpl_last,
      .put_valid,
      .put_tag,
      .put_place,
      .put_count,
      .put_data,
      .arrives,
      .erroneous,
      .unexpected
  );

  // A completion's end and a request's time that is over meet here.
  logic over_q;                        // a tag is done
  tag_t over_tag_q;

  always_ff @(posedge clk) begin
    over_q     <= arrives || expire;
    over_tag_q <= arrives ? put_tag : expire_tag;
    failed     <= erroneous;
    timed_out  <= expire;
    if (rst) begin
      over_q    <= 1'b0;
      failed    <= 1'b0;
      timed_out <= 1'b0;
    end
  end

  // -------------------------------------------------------------------------------------------------------- data leave
  logic go_valid, go_idle, take, hand_q;  // hand_q: the list's head was taken
  logic [2**ID_W-1:0] broken_q;
  tag_t take_tag, out_tag_q;
  read_t take_read, out_read_q;
  wire order_t hand_order = out_read_q.id[ID_W-1:0];

  pcie_read_order #(
      .TAGS(TAGS),
      .ID_W(ID_W),
      .KEPT_W($bits(read_t))
  ) u_order (
      .clk,
      .rst,
      .issue   (issue_q),
      .tag     (issued_q.tag),
      .order   (issued_q.read.id[ID_W-1:0]),
      .kept    (issued_q.read),
      .over    (over_q),
      .over_tag(over_tag_q),
      .go_valid,
      .go_ready(take),
      .go_tag  (take_tag),
      .go_kept (take_read),
      .hand    (hand_q),
      .hand_tag(out_tag_q),
      .hand_order,
      .idle    (go_idle)
  );

  // A request's beats leave the store one after the other, through its output register and another one.
  typedef struct packed {
    logic [7:0] id;
    logic       error;
    logic       last;
  } beat_t;
  logic out_q, step, read_q, r_advance, last_row_q;
  logic [ROW_W-1:0] row_q;
  beat_t read_beat_q, r_beat_q;
  logic [DATA_W-1:0] stored;
  wire broken = error_q[out_tag_q] || broken_q[hand_order];
  wire leaves = step && last_row_q;
  assign r_advance = s_axi_rready || !s_axi_rvalid;
  assign step      = out_q && (r_advance || !read_q);
  assign take      = go_valid && (!out_q || leaves);

  always_ff @(posedge clk) begin
    hand_q <= take;
    if (step) begin
      row_q       <= row_q + 1'b1;
      last_row_q  <= row_q + 1'b1 == out_read_q.last_row;
      read_beat_q <= '{id: out_read_q.id, error: broken, last: last_row_q && out_read_q.burst_ends};
    end
    if (leaves) out_q <= 1'b0;
    if (take) begin
      out_q      <= 1'b1;
      out_tag_q  <= take_tag;
      out_read_q <= take_read;
      row_q      <= '0;
      last_row_q <= take_read.last_row == '0;
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
      .wr_en   (put_valid),
      .wr_slot (put_tag),
      .wr_place(put_place),
      .wr_count(put_count),
      .wr_data (put_data),
      .rd_en   (step),
      .rd_slot (out_tag_q),
      .rd_row  (row_q),
      .rd_data (stored)
  );

  // ------------------------------------------------------------------------------------------------ time that is over
  // What is judged of a tag is done one cycle later, unless a completion or a request's data end then: the next look
  // will find it. A tag that is free is in the queue one more cycle later.
  logic judged, late, later, expires_q, gives_back_q;
  tag_t judged_tag;
  wire free_lost = gives_back_q && !leaves;
  assign expire = expires_q && !arrives;

  always_ff @(posedge clk) begin
    expires_q    <= judged && late && waits_q[judged_tag] && !(arrives && put_tag == judged_tag);
    gives_back_q <= judged && later && lost_q[judged_tag] && left_q[judged_tag];
    expire_tag   <= judged_tag;
    free_q       <= (leaves && !lost_q[out_tag_q]) || free_lost;
    free_tag_q   <= leaves ? out_tag_q : expire_tag;
    if (rst) begin
      expires_q    <= 1'b0;
      gives_back_q <= 1'b0;
      free_q       <= 1'b0;
    end
  end

  pcie_read_age #(
      .TAGS(TAGS)
  ) u_age (
      .clk,
      .rst,
      .time_ns,
      .timeout,
      .issue (issue_q),
      .tag   (issued_q.tag),
      .judged,
      .judged_tag,
      .late,
      .later
  );

  // ---------------------------------------------------------------------------------------------------------- the bits
  always_ff @(posedge clk) begin
    if (erroneous) error_q[put_tag] <= 1'b1;
    if (arrives) waits_q[put_tag] <= 1'b0;
    if (expire) begin
      waits_q[expire_tag] <= 1'b0;
      error_q[expire_tag] <= 1'b1;
      lost_q[expire_tag]  <= 1'b1;
    end
    if (free_lost) left_q[expire_tag] <= 1'b0;
    if (leaves) begin
      left_q[out_tag_q]    <= 1'b1;
      broken_q[hand_order] <= broken && !out_read_q.burst_ends;
    end
    if (issue_q) begin
      waits_q[issued_q.tag] <= 1'b1;
      error_q[issued_q.tag] <= 1'b0;
      lost_q[issued_q.tag]  <= 1'b0;
      left_q[issued_q.tag]  <= 1'b0;
    end
    if (rst) begin
      waits_q  <= '0;
      lost_q   <= '0;
      broken_q <= '0;
    end
  end

  assign idle = plans_idle && req_idle && tags_idle && go_idle && !out_q && !read_q && !s_axi_rvalid;

endmodule
