// SPDX-License-Identifier: Apache-2.0
// Takes turns over the queues that have buffers, makes a job of each chain of theirs and cuts its buffers into reads.
// A queue that gets buffers after it had no turn for long goes first: turn_list.
// A visit goes on while there are buffers, credit by bytes, and what a packet needs: a job, cells, and room for its
// reads, and for its used element. A queue gets its own share of half of the jobs and cells, and beyond that no more
// than it leaves free, of the other half: those whose memory is slow can't have all, however many they are. What a
// visit can't go on with waits for the queue's next turn; its rest is kept with its job. Cells are
// reserved for the whole packet before its first read: as many as it has bytes if its first buffer is its last, for
// MAX_FRAME otherwise; what it doesn't need is given back at its last buffer.
// A function over its rate begins no packet: transmit_pace keeps its queues until it may (pace_*, time_ns).
// Throughput: a buffer in two cycles, a read a cycle; a visit takes some 11 cycles more.
//
//  fresh -> turn_list -> WAIT -> READ -> LOAD -> CHECK -> OPEN -> VISIT -> CLOSE -> WAIT
//               ^                          |       |                        ^ |
//               |                          +-------+-- nothing to do now ---+ |
//               +----- the queue wants another turn: AGAIN if `fresh` is -----+
//               +-- transmit_pace: functions over their rate -----------------+
//
//  VISIT: buffer -> next_q: does it fit? -> accept -> rest_q: what is left of it -> a read each cycle -> the chain
module transmit_gather
  import host_pkg::*;
  import transmit_pkg::*;
#(
    parameter int unsigned QUEUES = 16,
    parameter int unsigned PAIRS = 1,
    parameter int unsigned FIRST = 1,
    parameter int unsigned JOBS = 64,
    parameter int unsigned CELLS = 256,
    parameter int unsigned MAX_FRAME = 9216,
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1,
    localparam int unsigned JOB_W = $clog2(JOBS),
    localparam int unsigned JOBS_W = $clog2(JOBS + 1),
    localparam int unsigned CELLS_W = $clog2(CELLS + 1),
    localparam int unsigned FUNCTIONS = (QUEUES + PAIRS - 1) / PAIRS,
    localparam int unsigned OWNER_W = FUNCTIONS > 1 ? $clog2(FUNCTIONS) : 1
) (
    input  logic               clk,
    input  logic               rst,
    input  logic [       63:0] time_ns,
    input  logic               wipe,           // of wipe_queue and wipe_job; nothing else goes on
    input  logic [QUEUE_W-1:0] wipe_queue,
    input  logic [  JOB_W-1:0] wipe_job,

    input  logic               set_valid,
    input  logic [QUEUE_W-1:0] set_queue,
    input  logic               set_enabled,
    input  logic               set_checksum,
    input  logic               fail_valid,     // the queue begins no chain until it is set again
    input  logic [QUEUE_W-1:0] fail_queue,

    input  logic               pace_valid,     // transmit_pace
    input  logic [OWNER_W-1:0] pace_function,
    input  logic [BYTE_TIME_W-1:0] pace_time,
    output logic [       63:0] wake_ns,

    input  logic               fresh_valid,    // virtq_fetch
    input  logic [QUEUE_W-1:0] fresh_queue,
    output logic               open_valid,
    input  logic               open_ready,
    output logic [QUEUE_W-1:0] open_queue,
    input  logic               buffer_valid,
    output logic               buffer_ready,
    input  buffer_t            buffer,
    input  logic               buffer_none,
    output logic               close,

    output logic               look,           // transmit_room
    output logic [QUEUE_W-1:0] look_queue,
    input  logic [ JOBS_W-1:0] look_jobs,
    input  logic [ JOBS_W-1:0] look_own,
    input  logic [CELLS_W-1:0] look_cells,
    input  logic [ JOBS_W-1:0] shared,
    input  logic [CELLS_W-1:0] cells,
    input  logic               crowded,
    output logic [CELLS_W-1:0] reserve,
    output logic [CELLS_W-1:0] give_back,
    input  logic               used_room,      // of visit_queue, 5 cycles later: it may begin chains, having begun_jobs
    output logic [ JOBS_W-1:0] begun_jobs,

    input  logic               job_valid,      // transmit_order
    input  logic [  JOB_W-1:0] job,
    output logic               start,
    output logic               start_own,
    output logic               start_follows,
    output logic [  JOB_W-1:0] start_after,

    output logic               chain_valid,    // the chain of chain_job is complete
    output logic [  JOB_W-1:0] chain_job,
    output chain_t             chain,
    output logic               piece_valid,
    input  logic               piece_ready,
    output logic [  JOB_W-1:0] piece_job,
    output piece_t             piece,
    output logic [  JOB_W-1:0] came_of,        // reads of that job, modulo, whose data are here
    input  logic [  BURST_W:0] came,
    input  logic [  JOB_W-1:0] asked_of,       // and that were asked for
    output logic [  BURST_W:0] asked,

    input  logic [QUEUE_W-1:0] probe_queue,
    output logic [ JOBS_W-1:0] probe_jobs,     // that the queue began, modulo, 1 cycle later
    output logic               visit,          // of visit_queue
    output logic [QUEUE_W-1:0] visit_queue,
    input  logic [  JOB_W-1:0] owner_of,
    output logic [QUEUE_W-1:0] owner,          // whose job that is
    output logic               rests,        // and none waits for its time
    output logic               idle
);

  localparam int unsigned MAX_CELLS = (MAX_FRAME + CELL_BYTES - 1) / CELL_BYTES;
  localparam int unsigned MAX_CHAIN = MAX_FRAME + HEADER_BYTES;
  localparam int unsigned MIN_CHAIN = SHORTEST_FRAME + HEADER_BYTES;
  localparam int unsigned QUANTUM = 2048;   // bytes a visit
  localparam int unsigned LEAST = 64;       // that a buffer counts as
  localparam int unsigned MOST = 64;        // buffers a visit
  localparam int unsigned LOT = 4;          // packets
  localparam int unsigned CREDIT_W = 19;
  localparam int unsigned OWN_JOBS = JOBS / (2 * QUEUES);
  localparam int unsigned OWN_CELLS = CELLS / (2 * QUEUES);
  localparam int unsigned OTHERS_CELLS = OWN_CELLS * (QUEUES - 1);
  localparam int unsigned FUNCTION_W = QUEUE_W + 4;

  if (PAIRS < 1 || PAIRS > 8) begin : gen_bad_pairs
    $fatal(1, "transmit_gather: PAIRS must be 1 to 8, not %0d", PAIRS);
  end
  if (QUEUES < 1 || QUEUES > 16384) begin : gen_bad_queues
    $fatal(1, "transmit_gather: QUEUES must be 1 to 16384, not %0d", QUEUES);
  end
  if (FIRST + (QUEUES - 1) / PAIRS > 65535) begin : gen_bad_first
    $fatal(1, "transmit_gather: FIRST leaves no numbers for the functions: %0d", FIRST);
  end
  if (MAX_FRAME < 64 || MAX_FRAME > 65600) begin : gen_bad_max_frame
    $fatal(1, "transmit_gather: MAX_FRAME must be 64 to 65600, not %0d", MAX_FRAME);
  end
  if (CELLS < 2 * MAX_CELLS) begin : gen_bad_cells
    $fatal(1, "transmit_gather: CELLS must be enough for two frames of MAX_FRAME, not %0d", CELLS);
  end

  typedef logic [CELLS_W-1:0] cells_t;
  typedef logic [CREDIT_W-1:0] credit_t;
  typedef logic signed [FRAME_W:0] left_t;

  typedef struct packed {
    logic              open;      // of the chain that `last_job` is for, more buffers are to come
    logic [JOB_W-1:0]  last_job;
    credit_t           debt;      // negative or 0
    logic [JOBS_W-1:0] begun;     // jobs, modulo
    logic [JOBS_W-1:0] own;       // of these, own ones,
    logic [JOBS_W-1:0] others;    // and shared ones
    cells_t            reserved;  // cells, modulo, without those given back
  } turn_t;

  // Of a job in the making
  typedef struct packed {
    logic        valid;           // a buffer's rest
    logic        last;
    logic        empty;
    logic        whole;           // one read takes all of it,
    logic [9:0]  space;           // which has room for so many bytes
    logic [63:0] addr;
    logic [16:0] bytes;
    logic [15:0] id;
    logic [15:0] slots;
  } rest_t;
  typedef struct packed {
    logic [2:0]         fault;
    logic               checksum;
    logic               skip;     // no more is read
    left_t              left;     // bytes that it may have beside those of its buffers; negative: they are too many
    logic [FRAME_W-1:0] read;     // that are read
    cells_t             reserved;
  } job_t;

  typedef enum logic [2:0] {
    WAIT, READ, LOAD, CHECK, OPEN, VISIT, CLOSE, AGAIN
  } state_t;
  state_t state_q;

  // ------------------------------------------------------------------------------------------------ whose turn it is
  logic turn_valid, turns_idle, add_again, early, charging, ends, drops, charge, parks_q, back_valid, pace_rests;
  logic pace_idle;
  logic [QUEUE_W-1:0] turn_queue, queue_q, back_queue;
  logic [FRAME_W-1:0] charge_bytes;
  wire take = state_q == WAIT && turn_valid && !wipe;

  turn_list #(
      .ITEMS(QUEUES),
      .NEWCOMERS(1'b1)
  ) u_turns (
      .clk,
      .rst,
      .add_valid(fresh_valid || add_again || back_valid),
      .add_item (fresh_valid ? fresh_queue : add_again ? queue_q : back_queue),
      .add_first(fresh_valid),
      .m_valid  (turn_valid),
      .m_ready  (take),
      .m_item   (turn_queue),
      .m_first  (),
      .idle     (turns_idle)
  );

  transmit_pace #(
      .QUEUES(QUEUES),
      .PAIRS (PAIRS)
  ) u_pace (
      .clk,
      .rst,
      .wipe,
      .wipe_queue,
      .time_ns,
      .set_valid   (pace_valid),
      .set_function(pace_function),
      .set_time    (pace_time),
      .visit       (take),
      .visit_queue (turn_queue),
      .early,
      .charging,
      .charge_next (ends && !drops),
      .charge,
      .charge_bytes,
      .park        (state_q == CLOSE && parks_q),
      .park_queue  (queue_q),
      .back_valid,
      .back_ready  (!fresh_valid && !add_again),
      .back_queue,
      .wake_ns,
      .rests       (pace_rests),
      .idle        (pace_idle)
  );

  // What software set. A queue that fails is as if it were not enabled. What is read while it is written is not known:
  // then the queue takes another turn.
  logic fail_q, found_enabled, found_checksum, conflict_q;
  logic [QUEUE_W-1:0] fail_queue_q;
  wire fail_now = fail_q && !set_valid && !wipe;
  wire setting_wr = set_valid || wipe || fail_q;
  wire [QUEUE_W-1:0] setting_at = set_valid ? set_queue : wipe ? wipe_queue : fail_queue_q;

  always_ff @(posedge clk) begin
    if (fail_now) fail_q <= 1'b0;
    if (fail_valid) begin
      fail_q       <= 1'b1;
      fail_queue_q <= fail_queue;
    end
    conflict_q <= setting_wr && setting_at == turn_queue;
    if (rst) fail_q <= 1'b0;
  end

  ram_fit #(
      .WIDTH(2),
      .DEPTH(QUEUES)
  ) u_settings (
      .clk,
      .wr_en  (setting_wr),
      .wr_addr(setting_at),
      .wr_data({set_valid && set_enabled, set_checksum}),
      .rd_en  (take),
      .rd_addr(turn_queue),
      .rd_data({found_enabled, found_checksum})
  );

  // ---------------------------------------------------------------------------------------- a visit's state, and ends
  // verilator lint_off UNUSEDSIGNAL
  turn_t turn_q, found_turn;  // turn_q.debt is credit_q
  // verilator lint_on UNUSEDSIGNAL
  rest_t rest_q, found_rest, found_rest_q;
  job_t job_q, found_job, found_job_q;
  logic enabled_q, checksum_q, again_q, want_q, opened_q, ours_q;
  logic [JOBS_W-1:0] used_jobs_q, own_jobs_q, others_q;  // others_q: used_jobs_q without own_jobs_q
  cells_t used_cells_q;
  credit_t credit_q, cost_q;
  logic may_q, early_q, tired_q, full_q, start_q, ends_q, given_q, short_q;
  logic signed [JOBS_W:0] lot_q;  // shared jobs beyond a lot
  logic [15:0] function_q;
  logic [5:0] count_q;
  logic [4:0] patience_q;
  logic [BURST_W:0] asked_q, came_q, asked_last, asked_new;
  logic [FRAME_W-1:0] frame_q;
  logic [FRAME_W-9:0] net_q;
  cells_t reserve_q, give_q;

  wire turn_t turn_saved = '{open: turn_q.open, last_job: turn_q.last_job, debt: credit_q[CREDIT_W-1] ? credit_q : '0,
                             begun: turn_q.begun, own: turn_q.own, others: turn_q.others,
                             reserved: turn_q.reserved - give_q};
  wire turn_wr = state_q == CLOSE || wipe;
  wire [QUEUE_W-1:0] turn_at = wipe ? wipe_queue : queue_q;

  ram_fit #(
      .WIDTH($bits(turn_t)),
      .DEPTH(QUEUES)
  ) u_visits (
      .clk,
      .wr_en  (turn_wr),
      .wr_addr(turn_at),
      .wr_data(wipe ? '0 : turn_saved),
      .rd_en  (take),
      .rd_addr(turn_queue),
      .rd_data(found_turn)
  );

  ram_fit #(
      .WIDTH(JOBS_W),
      .DEPTH(QUEUES)
  ) u_begun (
      .clk,
      .wr_en  (turn_wr),
      .wr_addr(turn_at),
      .wr_data(wipe ? '0 : turn_q.begun),
      .rd_en  (1'b1),
      .rd_addr(probe_queue),
      .rd_data(probe_jobs)
  );

  ram_fit #(
      .WIDTH($bits(rest_t) + $bits(job_t)),
      .DEPTH(JOBS)
  ) u_rests (
      .clk,
      .wr_en  (state_q == CLOSE && turn_q.open),
      .wr_addr(turn_q.last_job),
      .wr_data({rest_q, job_q}),
      .rd_en  (state_q == READ),
      .rd_addr(found_turn.last_job),
      .rd_data({found_rest, found_job})
  );

  // Whose job it is: the one that the queue started last may by now be another's.
  logic [QUEUE_W-1:0] last_queue;
  for (genvar i = 0; i < 2; i++) begin : gen_queue_of
    logic [QUEUE_W-1:0] found;
    ram_dist #(
        .WIDTH(QUEUE_W),
        .DEPTH(JOBS)
    ) u_queues (
        .clk,
        .wr_en  (start_q),
        .wr_addr(turn_q.last_job),
        .wr_data(queue_q),
        .rd_addr(i == 0 ? turn_q.last_job : owner_of),
        .rd_data(found)
    );
  end
  assign last_queue = gen_queue_of[0].found;
  assign owner      = gen_queue_of[1].found;

  // --------------------------------------------------------------------------- the next buffer, before it is taken
  localparam int unsigned NEED_W = CELLS_W + 8 > FRAME_W ? CELLS_W + 8 : FRAME_W;

  logic leaves, next_q, next_skip_q, next_over_q, next_fits_q, next_empty_q, next_whole_q;
  logic [9:0] next_space_q;
  logic [FRAME_W-1:0] next_cost_q;
  buffer_t next_buffer_q;
  cells_t next_need_q, limit_q;  // limit_q: cells that a packet may have

  // Bytes of a buffer, header among them, to cells of the frame; saturated by who asks
  function automatic logic [FRAME_W-8:0] cells_of(logic [FRAME_W-1:0] bytes);
    return (FRAME_W - 7)'(((FRAME_W + 1)'(bytes) + (FRAME_W + 1)'(CELL_BYTES - 1 - HEADER_BYTES)) >> 8);
  endfunction

  wire [9:0] space = 10'(BURST_BYTES) - 10'(buffer.addr[8:0]);
  wire unread = buffer.failed || buffer.bytes > FRAME_W'(MAX_CHAIN) ||
                (buffer.last && buffer.bytes < FRAME_W'(MIN_CHAIN));

  always_ff @(posedge clk) begin
    next_q        <= state_q == VISIT && buffer_valid && !buffer_ready && !leaves;
    next_buffer_q <= buffer;
    next_skip_q   <= unread;
    next_over_q   <= left_t'(buffer.bytes) > job_q.left;
    next_need_q   <= unread ? '0 : buffer.last ? cells_t'(cells_of(buffer.bytes)) : cells_t'(MAX_CELLS);
    next_fits_q   <= unread || (buffer.last ? NEED_W'(buffer.bytes) <= NEED_W'({limit_q, 8'(HEADER_BYTES)}) :
                                              limit_q >= cells_t'(MAX_CELLS));
    next_empty_q  <= buffer.bytes == '0;
    next_whole_q  <= buffer.bytes[FRAME_W-1:10] == '0 && buffer.bytes[9:0] <= space;
    next_space_q  <= space;
    next_cost_q   <= unread || buffer.bytes < FRAME_W'(LEAST) ? FRAME_W'(LEAST) : buffer.bytes;
    if (rst) next_q <= 1'b0;
  end

  // The cells that a packet may have: the queue's own, or half of those that it leaves to others. Counts follow some
  // cycles after a start, an end or a visit's beginning; meanwhile what is taken is subtracted, and what is given back
  // added.
  cells_t own_cells_q, half_q, shared_q, base_q;  // shared_q: cells that are no other queue's own
  logic [2:0] since_q;
  wire settled = since_q >= 3'd3;                 // base_q is right
  wire certain = since_q == 3'd5;                 // and so is what was judged by it

  always_ff @(posedge clk) begin
    own_cells_q <= used_cells_q < cells_t'(OWN_CELLS) ? cells_t'(OWN_CELLS) - used_cells_q : '0;
    half_q      <= cells > used_cells_q ? (cells - used_cells_q) >> 1 : '0;
    shared_q    <= 32'(cells) > OTHERS_CELLS ? cells - cells_t'(OTHERS_CELLS) : '0;
    base_q      <= own_cells_q >= half_q || own_cells_q >= shared_q ? own_cells_q :
                   half_q < shared_q ? half_q : shared_q;
    if (settled) limit_q <= base_q;
    if (given_q && limit_q != '0) limit_q <= limit_q + give_q;  // 0 may stand for less
    if (start) limit_q <= limit_q - next_need_q;
    if (!certain) since_q <= since_q + 1'b1;
    if (state_q == READ) since_q <= 3'd1;
    if (start || ends || ends_q) since_q <= '0;
  end

  // ------------------------------------------------------------------------------------------- what a cycle brings
  // Counts that a start changed are right again two cycles later, when the next one may be; `early_q` is a cycle older.
  wire begins = enabled_q && !early_q && !charging && !credit_q[CREDIT_W-1] && may_q && next_fits_q && used_room;
  wire accept = next_q && !rest_q.valid && !tired_q && (turn_q.open || begins);
  wire skip = turn_q.open ? job_q.skip || next_over_q || next_buffer_q.failed : next_skip_q;
  wire [FRAME_W-1:0] reads = skip ? '0 : next_buffer_q.bytes;
  wire charged = credit_q[CREDIT_W-1-:2] != 2'b10;      // so that debts have an end

  wire [16:0] after_piece = rest_q.bytes - 17'(rest_q.space);
  wire full = asked_q == {!came_q[BURST_W], came_q[BURST_W-1:0]};
  wire cut = state_q == VISIT && rest_q.valid && piece_ready && !full;
  assign drops = job_q.skip || job_q.left > left_t'(MAX_CHAIN - MIN_CHAIN);
  assign ends = cut && rest_q.last && rest_q.whole;

  // The visit ends: nothing more there, or nothing more to be done now.
  wire none = !rest_q.valid && !next_q && !buffer_valid && (buffer_none || patience_q[4]);
  wire stuck = !rest_q.valid && next_q && (tired_q || (!turn_q.open && !begins && (next_fits_q || certain)));
  wire held = rest_q.valid && full && full_q;
  assign leaves = none || stuck || held;

  // A visit that can do nothing is seen before virtq_fetch is asked.
  wire own_left = own_jobs_q < JOBS_W'(OWN_JOBS);
  wire few_jobs = !job_valid || (!own_left && others_q >= shared);
  // Packets that a visit begins together end together, and one write makes them used: who has some under way waits
  // until it may begin a lot.
  wire lot = own_jobs_q + JOBS_W'(LOT) <= JOBS_W'(OWN_JOBS) || signed'({1'b0, others_q}) <= lot_q;
  wire few = used_jobs_q >= JOBS_W'(LOT) && !lot;
  wire parks = !turn_q.open && early;
  wire blocked = !turn_q.open && (few_jobs || few || crowded || credit_q[CREDIT_W-1] || early);
  wire waits = turn_q.open && found_rest_q.valid && full;

  assign start         = accept && !turn_q.open;
  assign start_own     = own_left;
  assign start_follows = ours_q;
  assign start_after   = turn_q.last_job;
  assign reserve       = reserve_q;
  assign give_back     = give_q;
  assign buffer_ready  = accept;
  assign open_valid    = state_q == OPEN;
  assign open_queue    = queue_q;
  assign look          = take;
  assign look_queue    = turn_queue;
  assign close         = state_q == CLOSE && opened_q;
  assign add_again     = again_q && !fresh_valid && (state_q == CLOSE || state_q == AGAIN);
  assign came_of       = turn_q.last_job;
  assign begun_jobs    = used_jobs_q;
  assign visit         = state_q != WAIT;
  assign visit_queue   = queue_q;
  assign rests         = idle && pace_rests;
  assign idle          = state_q == WAIT && turns_idle && pace_idle && !fresh_valid && !fail_q && give_q == '0;

  assign piece_valid = state_q == VISIT && rest_q.valid && !full && (!rest_q.empty || rest_q.last);
  assign piece_job   = turn_q.last_job;
  assign piece       = '{token: rest_q.empty, last: rest_q.last && rest_q.whole, slot: asked_q[BURST_W-1:0],
                         user: function_q, addr: rest_q.addr, bytes: rest_q.whole ? rest_q.bytes[9:0] : rest_q.space};

  assign chain_valid = ends_q;
  assign chain_job   = turn_q.last_job;
  assign chain       = '{fault: job_q.fault, dropped: short_q, checksum: job_q.checksum, bytes: frame_q, id: rest_q.id,
                         slots: rest_q.slots, cells: 9'(net_q)};

  assign charge       = ends_q && !short_q;
  assign charge_bytes = chain.bytes;

  // A function's number by a product: exact for all queues.
  localparam logic [FUNCTION_W:0] RECIPROCAL = (FUNCTION_W + 1)'((2 ** FUNCTION_W + PAIRS - 1) / PAIRS);
  wire [QUEUE_W+FUNCTION_W:0] product = (QUEUE_W + FUNCTION_W + 1)'(queue_q) * (QUEUE_W + FUNCTION_W + 1)'(RECIPROCAL);

  always_ff @(posedge clk) begin
    may_q     <= !few_jobs && !crowded;
    early_q   <= early;
    lot_q     <= signed'({1'b0, shared}) - signed'((JOBS_W + 1)'(LOT));
    tired_q   <= count_q == 6'(MOST - 1);
    came_q    <= came;
    full_q    <= full;
    start_q   <= start;
    ends_q    <= ends;
    given_q   <= ends_q;
    short_q   <= drops;
    frame_q   <= FRAME_W'(left_t'(MAX_FRAME) - job_q.left);
    net_q     <= (FRAME_W - 8)'(cells_of(job_q.read));
    reserve_q <= start ? next_need_q : '0;
    give_q    <= ends_q ? job_q.reserved - cells_t'(net_q) : '0;
    cost_q    <= !accept || !charged ? '0 : skip ? credit_t'(LEAST) : credit_t'(next_cost_q);
    if (state_q == VISIT) begin
      turn_q.reserved <= turn_q.reserved + reserve_q - give_q;
      used_cells_q    <= used_cells_q + reserve_q - give_q;
      credit_q        <= credit_q - cost_q;
    end

    unique case (state_q)
      WAIT: begin
        queue_q <= turn_queue;
        if (take) state_q <= READ;
      end
      READ: begin
        turn_q       <= found_turn;
        enabled_q    <= found_enabled && !conflict_q;
        checksum_q   <= found_checksum;
        again_q      <= conflict_q;
        used_jobs_q  <= found_turn.begun - look_jobs;
        own_jobs_q   <= found_turn.own - look_own;
        others_q     <= found_turn.others - (look_jobs - look_own);
        used_cells_q <= found_turn.reserved - look_cells;
        credit_q     <= found_turn.debt + credit_t'(QUANTUM);
        want_q       <= found_turn.open || (found_enabled && !conflict_q);
        function_q   <= 16'(FIRST);
        opened_q     <= 1'b0;
        state_q      <= LOAD;
      end
      LOAD: begin
        found_rest_q <= found_rest;
        found_job_q  <= found_job;
        asked_q      <= asked_last;
        ours_q       <= last_queue == queue_q;
        function_q   <= function_q + 16'(product >> FUNCTION_W);
        count_q      <= '0;
        again_q      <= again_q || (want_q && blocked && !parks);
        parks_q      <= want_q && parks;
        state_q      <= want_q && !blocked ? CHECK : CLOSE;
      end
      CHECK: begin
        rest_q       <= found_rest_q;
        rest_q.valid <= found_rest_q.valid && turn_q.open;
        job_q        <= found_job_q;
        opened_q     <= !waits;
        again_q      <= again_q || waits;
        state_q      <= waits ? CLOSE : OPEN;
      end
      OPEN: if (open_ready) state_q <= VISIT;
      VISIT: begin
        patience_q <= buffer_valid || rest_q.valid ? '0 : patience_q + 1'b1;
        if (leaves) begin
          state_q <= CLOSE;
          again_q <= stuck ? turn_q.open || (enabled_q && !early) : held || !buffer_none;
          parks_q <= stuck && parks && enabled_q;
        end
      end
      CLOSE: state_q <= again_q && fresh_valid ? AGAIN : WAIT;
      AGAIN: if (!fresh_valid) state_q <= WAIT;
      default: ;
    endcase
    if (state_q != VISIT) patience_q <= '0;
    if (set_valid && set_queue == queue_q) enabled_q <= 1'b0;  // in this visit

    if (accept) begin
      rest_q       <= '{valid: 1'b1, last: next_buffer_q.last || next_buffer_q.failed, empty: skip || next_empty_q,
                        whole: skip || next_whole_q, space: next_space_q, addr: next_buffer_q.addr, bytes: reads,
                        id: next_buffer_q.id, slots: next_buffer_q.slots};
      job_q.skip   <= skip;
      job_q.fault  <= next_buffer_q.failed ? next_buffer_q.bytes[2:0] : 3'(FAULT_NONE);
      job_q.left   <= (turn_q.open ? job_q.left : left_t'(MAX_CHAIN)) -
                      (turn_q.open && job_q.skip ? left_t'(0) : left_t'(next_buffer_q.bytes));
      job_q.read   <= (turn_q.open ? job_q.read : '0) + reads;
      count_q      <= count_q + 1'b1;
    end
    if (start) begin
      turn_q.open     <= 1'b1;
      turn_q.last_job <= job;
      turn_q.begun    <= turn_q.begun + 1'b1;
      turn_q.own      <= turn_q.own + JOBS_W'(own_left);
      turn_q.others   <= turn_q.others + JOBS_W'(!own_left);
      used_jobs_q     <= used_jobs_q + 1'b1;
      own_jobs_q      <= own_jobs_q + JOBS_W'(own_left);
      others_q        <= others_q + JOBS_W'(!own_left);
      job_q.checksum  <= checksum_q;
      job_q.reserved  <= next_need_q;
      asked_q         <= asked_new;
      came_q          <= asked_new;
      ours_q          <= 1'b1;
    end
    if (cut) begin
      rest_q.valid <= !rest_q.whole;
      rest_q.whole <= after_piece <= 17'(BURST_BYTES);
      rest_q.space <= 10'(BURST_BYTES);
      rest_q.addr  <= {rest_q.addr[63:9] + 1'b1, 9'd0};
      rest_q.bytes <= after_piece;
      if (!rest_q.empty) asked_q <= asked_q + 1'b1;
    end
    if (ends) turn_q.open <= 1'b0;
    if (rst) begin
      state_q   <= WAIT;
      start_q   <= 1'b0;
      ends_q    <= 1'b0;
      given_q   <= 1'b0;
      reserve_q <= '0;
      give_q    <= '0;
    end
  end

  // Reads that were asked for, of each job, modulo, written a cycle later: by how many there are places for more.
  logic asked_wr_q;
  always_ff @(posedge clk) begin
    asked_wr_q <= cut && !rest_q.empty;
    if (rst) asked_wr_q <= 1'b0;
  end
  for (genvar i = 0; i < 3; i++) begin : gen_asked
    logic [BURST_W:0] found;
    ram_dist #(
        .WIDTH(BURST_W + 1),
        .DEPTH(JOBS)
    ) u_asked (
        .clk,
        .wr_en  (asked_wr_q || wipe),
        .wr_addr(wipe ? wipe_job : turn_q.last_job),
        .wr_data(wipe ? '0 : asked_q),
        .rd_addr(i == 0 ? turn_q.last_job : i == 1 ? asked_of : job),
        .rd_data(found)
    );
  end
  assign asked_last = gen_asked[0].found;
  assign asked      = gen_asked[1].found;
  assign asked_new  = gen_asked[2].found;

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst) begin
      assert (!next_q || buffer_valid) else $error("%m: a buffer that was offered is not there any more");
      assert (!set_valid || !wipe) else $error("%m: a queue is set before its state is wiped");
      assert (!fresh_valid || 32'(fresh_queue) < QUEUES) else $error("%m: a queue that can't be");
    end
  end
`endif

endmodule
