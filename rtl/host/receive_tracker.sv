// SPDX-License-Identifier: Apache-2.0
// Knows when what was written for a chain is answered: then the chain becomes used. Chains of a queue become so in
// order. Bursts of a queue have the ID that its number ends with; queues that share one wait for each other's answers.
// A run is what is written for a chain of a queue without a burst of another queue between: `begins` before its first
// burst, if there is room, `burst` with each, `ends` after the last.
// A queue of which a burst was answered with an error fails, as does one of which the chains can't be: nothing of it
// becomes used until it is enabled again. Two errors of queues that share an ID, before the first is dealt with, also
// fail those that wrote between them.
// Latency: 12 cycles from the last answer to `used`. Throughput: a run in 3 cycles, and 4 more for each ID in turn.
// Backpressure: ends_ready and fault_ready are low for few cycles; runs wait for used_ready, and take `room` then.
module receive_tracker
  import axi_pkg::SLVERR;
  import host_pkg::*;
  import receive_pkg::*;
#(
    parameter int unsigned QUEUES = 16,
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1,
    localparam int unsigned ID_W = QUEUE_W < $clog2(MOST_IDS) ? QUEUE_W : $clog2(MOST_IDS)
) (
    input  logic               clk,
    input  logic               rst,
    input  logic               wipe,
    input  logic [QUEUE_W-1:0] wipe_queue,
    input  logic [   ID_W-1:0] wipe_id,
    input  logic               set_valid,
    input  logic [QUEUE_W-1:0] set_queue,
    input  logic               set_enabled,
    input  logic [QUEUE_W-1:0] probe_queue,
    output logic               probe_running, // runs of it are under way; 3 cycles later

    input  logic [QUEUE_W-1:0] visited,       // of which the following tells
    output logic               room,          // 2 cycles later: a run may begin
    output logic [15:0]        runs,          // 2 cycles later: of its ID under way
    output logic [15:0]        runs_all,      // of all; those that become used are, until that is taken
    input  logic               blocked,       // it waits for room: wants a turn when there is
    input  logic               begins,
    input  run_t               begins_run,    // its number: the one before plus 1
    input  logic               burst,
    input  logic               ends_valid,    // in the cycle of the last `burst` at the earliest
    output logic               ends_ready,
    input  run_end_t           ends,
    input  used_t              ends_used,
    input  logic               fault_valid,   // the queue fails
    output logic               fault_ready,
    input  fault_t             fault,

    input  logic               bvalid,
    input  logic [   ID_W-1:0] bid,
    input  logic [        1:0] bresp,

    output logic               turn_valid,
    input  logic               turn_ready,
    output logic [QUEUE_W-1:0] turn_queue,
    output logic               used_valid,
    input  logic               used_ready,
    output logic [QUEUE_W-1:0] used_queue,
    output used_t              used,
    output logic               fail_valid,    // one cycle, never together with set_valid; not if it is set first
    output logic [QUEUE_W-1:0] fail_queue,
    output fault_t             fail_fault,
    output logic               rests,        // nothing is to be done until host memory answers
    output logic               idle
);

  if (QUEUES < 1 || QUEUES > 65536) begin : gen_bad_queues
    $fatal(1, "receive_tracker: QUEUES must be 1 to 65536, not %0d", QUEUES);
  end

  localparam int unsigned IDS = 2 ** ID_W;
  localparam int unsigned SHARERS = (QUEUES + IDS - 1) / IDS;  // queues of an ID
  localparam int unsigned SHARE_W = QUEUE_W > ID_W ? QUEUE_W - ID_W : 1;
  localparam int unsigned RUN_W = $clog2(RUNS);
  localparam int unsigned BURST_W = 21;  // RUNS chains of 65,536 bursts

  typedef logic [ID_W-1:0] id_t;
  typedef logic [RUN_W:0] runs_t;
  typedef logic [BURST_W-1:0] bursts_t;
  typedef struct packed {
    logic [QUEUE_W-1:0] owner;
    run_t               run;
    run_end_t           what;
    bursts_t            target;  // bursts of the ID up to its end
    used_t              used;
  } mark_t;
  typedef struct packed {
    logic    valid;
    bursts_t first;
    bursts_t last;
  } errors_t;

  // ------------------------------------------------------------------------------------------ runs begin, and end
  wire id_t id = id_t'(visited);
  logic emit;
  id_t look_q;  // the ID that is looked at
  runs_t begun, begun_look, gone, gone_look, gone_next_q, marked, marked_look;
  bursts_t issued;
  wire end_now = ends_valid && ends_ready;
  wire bursts_t issued_next = issued + 1'b1;
  wire bursts_t issued_now = burst ? issued_next : issued;

  runs_t [1:0] begun_both, marked_both, gone_both;
  for (genvar i = 0; i < 2; i++) begin : gen_counts
    ram_dist #(
        .WIDTH(RUN_W + 1),
        .DEPTH(IDS)
    ) u_begun (
        .clk,
        .wr_en  (wipe || begins),
        .wr_addr(wipe ? wipe_id : id),
        .wr_data(wipe ? '0 : begun + 1'b1),
        .rd_addr(i == 0 ? id : look_q),
        .rd_data(begun_both[i])
    );
    ram_dist #(
        .WIDTH(RUN_W + 1),
        .DEPTH(IDS)
    ) u_marked (
        .clk,
        .wr_en  (wipe || end_now),
        .wr_addr(wipe ? wipe_id : id),
        .wr_data(wipe ? '0 : marked + 1'b1),
        .rd_addr(i == 0 ? id : look_q),
        .rd_data(marked_both[i])
    );
    ram_dist #(
        .WIDTH(RUN_W + 1),
        .DEPTH(IDS)
    ) u_gone (
        .clk,
        .wr_en  (wipe || emit),
        .wr_addr(wipe ? wipe_id : look_q),
        .wr_data(wipe ? '0 : gone_next_q),
        .rd_addr(i == 0 ? id : look_q),
        .rd_data(gone_both[i])
    );
  end
  assign {begun, begun_look}   = {begun_both[0], begun_both[1]};
  assign {marked, marked_look} = {marked_both[0], marked_both[1]};
  assign {gone, gone_look}     = {gone_both[0], gone_both[1]};
  ram_dist #(
      .WIDTH(BURST_W),
      .DEPTH(IDS)
  ) u_issued (
      .clk,
      .wr_en  (wipe || burst),
      .wr_addr(wipe ? wipe_id : id),
      .wr_data(wipe ? '0 : issued_now),
      .rd_addr(id),
      .rd_data(issued)
  );

  run_t run_q;  // the one that is begun
  runs_t under_way_q;
  always_ff @(posedge clk) if (begins) run_q <= begins_run;
  always_ff @(posedge clk) begin
    under_way_q <= begun - gone;
    room        <= under_way_q < runs_t'(RUNS - 1);
    runs        <= 16'(under_way_q);
  end

  // ------------------------------------------------------------------------------------------------------- answers
  logic bvalid_q, berror_q, known_q, known_error_q;
  id_t bid_q, known_id_q;
  bursts_t answered, answered_look, known_count_q;
  bursts_t [1:0] answered_both;
  always_ff @(posedge clk) begin
    bvalid_q      <= bvalid;
    berror_q      <= bresp >= SLVERR;
    bid_q         <= bid;
    known_q       <= bvalid_q;
    known_id_q    <= bid_q;
    known_error_q <= bvalid_q && berror_q;
    known_count_q <= answered + 1'b1;
    if (rst) begin
      bvalid_q      <= 1'b0;
      known_q       <= 1'b0;
      known_error_q <= 1'b0;
    end
  end
  for (genvar i = 0; i < 2; i++) begin : gen_answered
    ram_dist #(
        .WIDTH(BURST_W),
        .DEPTH(IDS)
    ) u_answered (
        .clk,
        .wr_en  (wipe || bvalid_q),
        .wr_addr(wipe ? wipe_id : bid_q),
        .wr_data(wipe ? '0 : answered + 1'b1),
        .rd_addr(i == 0 ? bid_q : look_q),
        .rd_data(answered_both[i])
    );
  end
  assign {answered, answered_look} = {answered_both[0], answered_both[1]};

  // Errors are noted a cycle after the answer counts: none is looked at before it is.
  // verilator lint_off UNUSEDSIGNAL
  errors_t errors_known;
  // verilator lint_on UNUSEDSIGNAL
  errors_t errors_look, errors_left;
  errors_t [1:0] errors_both;
  logic settle;
  for (genvar i = 0; i < 2; i++) begin : gen_errors
    ram_dist #(
        .WIDTH($bits(errors_t)),
        .DEPTH(IDS)
    ) u_errors (
        .clk,
        .wr_en  (wipe || known_error_q || settle),
        .wr_addr(wipe ? wipe_id : known_error_q ? known_id_q : look_q),
        .wr_data(wipe ? '0 : known_error_q
                 ? errors_t'{1'b1, errors_known.valid ? errors_known.first : known_count_q, known_count_q}
                 : errors_left),
        .rd_addr(i == 0 ? known_id_q : look_q),
        .rd_data(errors_both[i])
    );
  end
  assign {errors_known, errors_look} = {errors_both[0], errors_both[1]};

  // ------------------------------------------------------------------------------------ IDs that want to be looked at
  logic poke_valid, poke_ready, poke_idle, look_valid, look_ready, looks_idle;
  id_t poke_id, look_id;
  stream_queue #(
      .WIDTH(ID_W),
      .DEPTH(4)
  ) u_pokes (
      .clk,
      .rst,
      .s_valid(ends_valid),
      .s_ready(ends_ready),
      .s_data (id),
      .m_valid(poke_valid),
      .m_ready(poke_ready),
      .m_data (poke_id),
      .idle   (poke_idle)
  );
  assign poke_ready = !known_q;
  turn_list #(
      .ITEMS(IDS)
  ) u_looks (
      .clk,
      .rst,
      .add_valid(known_q || poke_valid),
      .add_item (known_q ? known_id_q : poke_id),
      .add_first(1'b0),
      .m_valid  (look_valid),
      .m_ready  (look_ready),
      .m_item   (look_id),
      .m_first  (),
      .idle     (looks_idle)
  );

  // ------------------------------------------------------------------------------------------------- the oldest run
  typedef enum logic [2:0] {
    REST,
    READ,   // the mark is being read, if there is one
    GET,
    TEST,   // all of it answered?
    JUDGE,
    FAIL
  } state_t;
  state_t state_q;
  mark_t mark, mark_q;
  logic failed, used_room, used_idle, wake_free, bad_q;
  wire none = marked_look == gone_look;
  wire bursts_t beyond = answered_look - mark_q.target;
  wire bursts_t before_error = errors_look.first - mark_q.target;
  wire bursts_t after_error = errors_look.last - mark_q.target;
  wire runs_t rest = begun_look - gone_look;

  // What is known of the oldest run, as of the cycle before
  logic answers_in_q, error_here_q, more_q, few_q, fresh_q;
  errors_t errors_left_q;
  always_ff @(posedge clk) begin
    answers_in_q  <= !beyond[BURST_W-1];
    error_here_q  <= errors_look.valid && (before_error == 0 || before_error[BURST_W-1]);
    errors_left_q <= '{
      valid: after_error != 0 && !after_error[BURST_W-1],
      first: mark_q.target + 1'b1,
      last: errors_look.last
    };
    gone_next_q   <= gone_look + 1'b1;
    more_q        <= marked_look != gone_next_q;
    few_q         <= rest <= runs_t'(3 * RUNS / 4);
    fresh_q       <= !known_error_q;
  end

  // An answer's error is noted in the cycle in which the answer is seen first, and known of one later.
  wire clear = !known_error_q && fresh_q && used_room && wake_free;
  wire tested = state_q == JUDGE && clear && answers_in_q && (!error_here_q || bad_q);

  assign look_ready  = state_q == REST;
  assign emit        = tested;
  assign settle      = tested && error_here_q;
  assign errors_left = errors_left_q;

  ram_fit #(
      .WIDTH($bits(mark_t)),
      .DEPTH(IDS * RUNS)
  ) u_marks (
      .clk,
      .wr_en  (end_now),
      .wr_addr({id, marked[RUN_W-1:0]}),
      .wr_data(mark_t'{visited, run_q, ends, issued_now, ends_used}),
      .rd_en  (state_q == READ || state_q == JUDGE),
      .rd_addr({look_q, state_q == READ ? gone_look[RUN_W-1:0] : gone_next_q[RUN_W-1:0]}),
      .rd_data(mark)
  );

  always_ff @(posedge clk) begin
    unique case (state_q)
      REST: begin
        look_q <= look_id;
        if (look_valid) state_q <= READ;
      end
      READ: state_q <= none ? REST : GET;
      GET: begin
        mark_q  <= mark;
        bad_q   <= 1'b0;
        state_q <= TEST;
      end
      TEST: state_q <= JUDGE;
      JUDGE:
      if (!answers_in_q) state_q <= REST;
      else if (tested) state_q <= more_q ? GET : REST;
      else if (clear) state_q <= FAIL;
      default:
      if (!set_valid) begin
        bad_q   <= 1'b1;
        state_q <= JUDGE;
      end
    endcase
    if (rst) state_q <= REST;
  end

  // --------------------------------------------------------------------------------------------- queues that failed
  // A fault that is told of waits while one of the bus is dealt with.
  wire own_fail = state_q == FAIL && !set_valid;
  assign fault_ready = state_q != FAIL && state_q != JUDGE && !set_valid && !wipe;
  wire told_fail = fault_valid && fault_ready;
  wire [QUEUE_W-1:0] failed_queue = state_q == FAIL || state_q == JUDGE ? mark_q.owner : visited;
  wire restart = set_valid && set_enabled;

  ram_dist #(
      .WIDTH(1),
      .DEPTH(QUEUES)
  ) u_failed (
      .clk,
      .wr_en  (wipe || restart || own_fail || told_fail),
      .wr_addr(wipe ? wipe_queue : set_valid ? set_queue : failed_queue),
      .wr_data(!wipe && !restart),
      .rd_addr(failed_queue),
      .rd_data(failed)
  );
  logic fail_q;
  assign fail_valid = fail_q && !set_valid;
  always_ff @(posedge clk) begin
    if (!set_valid || set_queue == fail_queue) fail_q <= 1'b0;
    if ((own_fail || told_fail) && !failed) fail_q <= 1'b1;
    if (own_fail || told_fail) begin
      fail_queue <= failed_queue;
      fail_fault <= own_fail ? FAULT_MEMORY : fault;
    end
    if (rst) fail_q <= 1'b0;
  end

  // ----------------------------------------------------------------------------------------------------------- used
  wire becomes_used = tested && mark_q.what == RUN_USED && !failed && !bad_q;
  stream_queue #(
      .WIDTH(QUEUE_W + $bits(used_t)),
      .DEPTH(8)
  ) u_used (
      .clk,
      .rst,
      .s_valid(becomes_used),
      .s_ready(used_room),
      .s_data ({mark_q.owner, mark_q.used}),
      .m_valid(used_valid),
      .m_ready(used_ready),
      .m_data ({used_queue, used}),
      .idle   (used_idle)
  );

  // ------------------------------------------------------------------------------------ those that waited for room
  // All queues of the ID get a turn when a quarter of its runs are done.
  logic [IDS-1:0] blocked_q;
  logic wake_q;
  logic [SHARE_W-1:0] share_q;
  id_t wake_id_q;
  logic wanted_q;  // the ID that is looked at has some
  wire wake = tested && wanted_q && few_q;
  assign wake_free  = !wake_q;
  assign turn_valid = wake_q;
  assign turn_queue = QUEUE_W'({share_q, wake_id_q});
  wire last_share = 32'(share_q) == SHARERS - 1 || 32'({share_q, wake_id_q}) + IDS >= QUEUES;
  always_ff @(posedge clk) begin
    wanted_q <= blocked_q[look_q] && !wake;
    if (wake) begin
      blocked_q[look_q] <= 1'b0;
      wake_q            <= 1'b1;
      share_q           <= '0;
      wake_id_q         <= look_q;
    end else if (wake_q && turn_ready) begin
      wake_q  <= !last_share;
      share_q <= share_q + 1'b1;
    end
    if (blocked) blocked_q[id] <= 1'b1;
    if (rst) begin
      blocked_q <= '0;
      wake_q    <= 1'b0;
    end
  end

  // ---------------------------------------------------------------------------------------------------------- probe
  run_t probe_begun, probe_gone;
  logic running_q;
  assign probe_running = running_q;
  ram_fit #(
      .WIDTH($bits(run_t)),
      .DEPTH(QUEUES)
  ) u_probe_begun (
      .clk,
      .wr_en  (wipe || begins),
      .wr_addr(wipe ? wipe_queue : visited),
      .wr_data(wipe ? '0 : begins_run),
      .rd_en  (1'b1),
      .rd_addr(probe_queue),
      .rd_data(probe_begun)
  );
  ram_fit #(
      .WIDTH($bits(run_t)),
      .DEPTH(QUEUES)
  ) u_probe_gone (
      .clk,
      .wr_en  (wipe || tested),
      .wr_addr(wipe ? wipe_queue : mark_q.owner),
      .wr_data(wipe ? '0 : mark_q.run),
      .rd_en  (1'b1),
      .rd_addr(probe_queue),
      .rd_data(probe_gone)
  );
  logic [15:0] under_q;
  logic void_q, taken_q;  // of the cycle before
  always_ff @(posedge clk) begin
    running_q <= probe_begun != probe_gone;
    void_q    <= tested && !becomes_used;
    taken_q   <= used_valid && used_ready;
    under_q   <= under_q + 16'(begins) - 16'(void_q) - 16'(taken_q);
    if (rst) begin
      void_q  <= 1'b0;
      taken_q <= 1'b0;
      under_q <= '0;
    end
  end
  assign runs_all = under_q;
  assign rests    = !bvalid_q && !known_q && poke_idle && looks_idle && state_q == REST && used_idle && !wake_q &&
                    !fail_q;
  assign idle     = rests && under_q == 0;

endmodule
