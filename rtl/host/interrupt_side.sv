// SPDX-License-Identifier: Apache-2.0
// Interrupts of the queues of one side. What becomes used is gathered until it is enough, or old enough; then the
// driver's event suppression structure is read, and says whether an interrupt is wanted. What comes meanwhile is
// gathered anew, and looked at once more: an element that the driver's last look at the ring missed is older than a
// look at the structure.
// Latency: 13 cycles from `done` to the read, 10 from its data to the interrupt, more while others are before it; a
// timer that rings is seen within QUEUES + 3 cycles of no other work. Throughput: a `done` every other cycle.
// Backpressure: none. READS queues at once have their structures read; others wait for one of these.
module interrupt_side
  import host_pkg::*;
#(
    parameter int unsigned QUEUES = 16,
    parameter int unsigned PAIRS = 1,
    parameter int unsigned FIRST = 1,
    parameter int unsigned DATA_W = 512,
    parameter int unsigned READS = 16,
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1,
    localparam int unsigned SLOT_W = $clog2(READS)
) (
    input  logic               clk,
    input  logic               rst,
    input  logic [63:0]        time_ns,

    input  logic               set_valid,         // at most every other cycle
    input  logic [QUEUE_W-1:0] set_queue,
    // verilator lint_off UNUSEDSIGNAL
    input  virtq_t             set,
    // verilator lint_on UNUSEDSIGNAL
    input  logic               moderate_valid,    // one at most in the QUEUES cycles after reset
    input  logic [QUEUE_W-1:0] moderate_queue,
    input  logic [15:0]        moderate_packets,
    input  logic [31:0]        moderate_ns,       // 0: none, whatever the packets
    input  logic [QUEUE_W-1:0] probe_queue,
    output logic               probe_quiet,

    input  logic               done_valid,        // at most every other cycle
    input  logic [QUEUE_W-1:0] done_queue,
    input  logic [15:0]        done_count,
    input  place_t             done_place,
    input  logic [16:0]        done_slots,

    output logic               read_valid,
    input  logic               read_ready,
    output logic [SLOT_W-1:0]  read_slot,
    output logic [63:0]        read_addr,
    output logic [15:0]        read_user,
    input  logic               data_valid,
    input  logic [SLOT_W-1:0]  data_slot,
    input  logic [DATA_W-1:0]  data,
    input  logic               data_error,

    output logic               irq_valid,
    input  logic               irq_ready,
    output logic [15:0]        irq_function,
    output logic [15:0]        irq_vector,
    output logic               fail_valid,        // one cycle
    output logic [QUEUE_W-1:0] fail_queue,
    output logic [63:0]        wake_ns,           // no timer rings before; all ones: there is none
    output logic               rests,             // nothing is to be done until host memory answers; a timer may run
    output logic               idle               // a timer may run
);

  if (QUEUES < 1 || QUEUES > 2 ** 16) begin : gen_bad_queues
    $fatal(1, "interrupt_side: QUEUES must be 1 to 65536, not %0d", QUEUES);
  end
  if (PAIRS < 1 || PAIRS > 8) begin : gen_bad_pairs
    $fatal(1, "interrupt_side: PAIRS must be 1 to 8, not %0d", PAIRS);
  end
  if (FIRST + QUEUES > 2 ** 16) begin : gen_bad_first
    $fatal(1, "interrupt_side: FIRST must leave room for the functions below 65536, not be %0d", FIRST);
  end
  if (DATA_W < 64 || DATA_W > 1024 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "interrupt_side: DATA_W must be a power of two from 64 to 1024, not %0d", DATA_W);
  end
  if (READS < 4 || READS > 64 || 2 ** SLOT_W != READS) begin : gen_bad_reads
    $fatal(1, "interrupt_side: READS must be a power of two from 4 to 64, not %0d", READS);
  end

  localparam int unsigned FUNCTIONS = (QUEUES + PAIRS - 1) / PAIRS;
  localparam int unsigned FUNCTION_W = FUNCTIONS > 1 ? $clog2(FUNCTIONS) : 1;
  localparam int unsigned BYTES = DATA_W / 8;
  localparam int unsigned LANES = BYTES / 4;
  localparam int unsigned LANE_W = $clog2(LANES);
  localparam int unsigned OUT = 16;       // reads and interrupts on their way out
  localparam int unsigned IN_FLIGHT = 8;  // from the choice of a step to where the next one is told that there is room
  typedef logic [QUEUE_W-1:0] queue_t;
  typedef logic [SLOT_W-1:0] slot_t;

  typedef struct packed {
    logic        off;       // by software: nothing is held back
    logic        some;      // something was gathered:
    logic [15:0] count;
    logic [16:0] slots;
    place_t      from;
    logic [63:0] deadline;
  } state_t;

  typedef enum logic [2:0] {
    CLEAR,   // all is forgotten
    FLUSH,   // software stops the queue
    DONE,    // something was used
    LOOK,    // the driver's structure is to be read
    ANSWER,  // it is there
    CHECK    // a timer rang, maybe this queue's
  } kind_t;

  typedef struct packed {
    kind_t       kind;
    queue_t      key;
    slot_t       slot;
    place_t      from;
    logic [15:0] count;
    logic [16:0] slots;
    logic [31:0] structure;
    logic        error;
    logic        last;      // of the checks
  } step_t;

  typedef struct packed {
    queue_t      key;
    place_t      from;
    logic [16:0] slots;
  } look_t;

  // ------------------------------------------------------------------------------------------------------- what is set
  typedef struct packed {
    logic        event_index;
    logic [15:0] size;
    logic [15:0] vector;
    logic [63:0] driver;
  } set_t;
  typedef struct packed {
    logic [15:0] packets;
    logic [31:0] ns;
  } moderation_t;

  logic ready_q, set_q, set_on_q, moderate_q;
  queue_t wipe_at_q, set_queue_q, moderate_queue_q;
  moderation_t moderation_q;
  always_ff @(posedge clk) begin
    if (!ready_q) wipe_at_q <= wipe_at_q + 1'b1;
    if (wipe_at_q == queue_t'(QUEUES - 1)) ready_q <= 1'b1;
    if (set_valid) begin
      set_on_q    <= set.enabled;
      set_queue_q <= set_queue;
    end
    moderate_q <= moderate_valid || (moderate_q && !ready_q);
    if (moderate_valid) begin
      moderate_queue_q <= moderate_queue;
      moderation_q     <= {moderate_packets, moderate_ns};
    end
    if (rst) begin
      wipe_at_q  <= '0;
      ready_q    <= 1'b0;
      moderate_q <= 1'b0;
    end
  end

  // ---------------------------------------------------------------------------------------------- reads and their data
  logic lend_valid, look_valid, look_push, look_room, answer_valid, answer_error, answer_room;
  logic looks_idle;
  slot_t lend, answer_slot;
  queue_t look_key, push_key;
  look_t looked;
  logic [31:0] answer_structure;
  logic step_look, step_answer;

  // A slot is kept at hand for the next look.
  logic slot_valid_q;
  slot_t slot_free_q;
  logic [SLOT_W:0] looks_q;  // whose answers have not come; what a step adds or ends counts two cycles later
  logic began_q, answered_q;
  slot_t answered_slot_q;
  number_pool #(
      .COUNT(READS)
  ) u_slots (
      .clk,
      .rst,
      .lend_valid,
      .lend_ready(!slot_valid_q),
      .lend,
      .back_valid(answered_q),
      .back      (answered_slot_q),
      .free      (),
      .idle      ()
  );
  always_ff @(posedge clk) begin
    slot_valid_q <= slot_valid_q ? !step_look : lend_valid;
    if (!slot_valid_q) slot_free_q <= lend;
    began_q         <= step_look;
    answered_q      <= step_answer;
    answered_slot_q <= answer_slot;
    looks_q         <= looks_q + (SLOT_W + 1)'(began_q) - (SLOT_W + 1)'(answered_q);
    if (rst) begin
      slot_valid_q <= 1'b0;
      began_q      <= 1'b0;
      answered_q   <= 1'b0;
      looks_q      <= '0;
    end
  end
  stream_fifo #(
      .WIDTH(QUEUE_W),
      .DEPTH(QUEUES < 4 ? 4 : QUEUES)
  ) u_looks (
      .clk,
      .rst,
      .s_valid(look_push),
      .s_ready(look_room),
      .s_data (push_key),
      .m_valid(look_valid),
      .m_ready(step_look),
      .m_data (look_key),
      .count  (),
      .idle   (looks_idle)
  );

  logic data_valid_q, data_error_q;
  slot_t data_slot_q;
  logic [LANE_W-1:0] lane;
  logic [31:0] word_q;
  always_ff @(posedge clk) begin
    data_valid_q <= data_valid;
    if (data_valid) begin
      data_slot_q  <= data_slot;
      data_error_q <= data_error;
      word_q       <= data[32*lane+:32];
    end
    if (rst) data_valid_q <= 1'b0;
  end
  stream_fifo #(
      .WIDTH(SLOT_W + 1 + 32),
      .DEPTH(READS)
  ) u_answers (
      .clk,
      .rst,
      .s_valid(data_valid_q),
      .s_ready(answer_room),
      .s_data ({data_slot_q, data_error_q, word_q}),
      .m_valid(answer_valid),
      .m_ready(step_answer),
      .m_data ({answer_slot, answer_error, answer_structure}),
      .count  (),
      .idle   ()
  );

  // -------------------------------------------------------------------------------------------------- choice of a step
  logic [$clog2(OUT+1)-1:0] reads_count, irqs_count;
  logic checks_q, choice, reads_room_q, irqs_room_q;
  queue_t check_q;
  step_t chosen;
  wire check_last = check_q == queue_t'(QUEUES - 1);
  logic step_set, step_check;

  always_comb begin
    chosen      = '0;
    chosen.kind = CLEAR;
    chosen.key  = wipe_at_q;
    choice      = 1'b1;
    step_set    = 1'b0;
    step_answer = 1'b0;
    step_look   = 1'b0;
    step_check  = 1'b0;
    if (!ready_q) begin
      chosen.key = wipe_at_q;
    end else if (done_valid) begin
      chosen.kind  = DONE;
      chosen.key   = done_queue;
      chosen.from  = done_place;
      chosen.count = done_count;
      chosen.slots = done_slots;
    end else if (set_q) begin
      step_set    = 1'b1;
      chosen.kind = set_on_q ? CLEAR : FLUSH;
      chosen.key  = set_queue_q;
    end else if (answer_valid && irqs_room_q) begin
      step_answer      = 1'b1;
      chosen.kind      = ANSWER;
      chosen.key       = looked.key;
      chosen.from      = looked.from;
      chosen.slots     = looked.slots;
      chosen.structure = answer_structure;
      chosen.error     = answer_error;
    end else if (look_valid && slot_valid_q && reads_room_q) begin
      step_look   = 1'b1;
      chosen.kind = LOOK;
      chosen.key  = look_key;
      chosen.slot = slot_free_q;
    end else if (checks_q) begin
      step_check  = 1'b1;
      chosen.kind = CHECK;
      chosen.key  = check_q;
      chosen.last = check_last;
    end else begin
      choice = 1'b0;
    end
  end

  always_ff @(posedge clk) begin
    set_q        <= set_valid || (set_q && !step_set);
    irqs_room_q  <= 32'(irqs_count) <= OUT - IN_FLIGHT;
    reads_room_q <= 32'(reads_count) <= OUT - IN_FLIGHT;
    if (rst) set_q <= 1'b0;
  end

  // ------------------------------------------------------------------------------- 0 state is read, 2 what is gathered
  logic valid_q0, valid_q1, valid_q2, follows_q1, follows_q2, follows_q3;
  logic reads_config_q0, done_q2, forgets_q2;
  step_t step_q0, step_q1, step_q2;
  state_t read, state_q2, state_d;
  moderation_t moderation, moderation_q2;
  set_t config_read, config_q2;
  logic [16:0] slots_q2;
  logic [63:0] now_q, deadline_q2;

  ram_through #(
      .WIDTH($bits(state_t)),
      .DEPTH(QUEUES)
  ) u_state (
      .clk,
      .wr_en  (valid_q2),
      .wr_addr(step_q2.key),
      .wr_data(state_d),
      .rd_addr(step_q0.key),
      .rd_data(read)
  );
  ram_through #(
      .WIDTH($bits(moderation_t)),
      .DEPTH(QUEUES)
  ) u_moderation (
      .clk,
      .wr_en  (!ready_q || moderate_q),
      .wr_addr(ready_q ? moderate_queue_q : wipe_at_q),
      .wr_data(ready_q ? moderation_q : '0),
      .rd_addr(step_q0.key),
      .rd_data(moderation)
  );
  ram_fit #(
      .WIDTH($bits(set_t)),
      .DEPTH(QUEUES)
  ) u_config (
      .clk,
      .wr_en  (set_valid && set.enabled),
      .wr_addr(set_queue),
      .wr_data({set.event_index, set.size, set.vector, set.driver}),
      .rd_en  (reads_config_q0),
      .rd_addr(step_q0.key),
      .rd_data(config_read)
  );

  always_ff @(posedge clk) begin
    now_q           <= time_ns;
    valid_q0        <= choice;
    step_q0         <= chosen;
    reads_config_q0 <= step_look || step_answer;
    valid_q1        <= valid_q0;
    step_q1         <= step_q0;
    follows_q1      <= valid_q1 && step_q1.key == step_q0.key;
    valid_q2        <= valid_q1;
    step_q2         <= step_q1;
    follows_q2      <= follows_q1;
    done_q2         <= step_q1.kind == DONE;
    forgets_q2      <= step_q1.kind == LOOK || step_q1.kind == CLEAR;
    slots_q2        <= step_q1.kind == DONE ? step_q1.slots : '0;
    deadline_q2     <= now_q + 64'(moderation.ns);
    moderation_q2   <= moderation;
    config_q2       <= config_read;
    // What the step before leaves is not in what was read.
    state_q2        <= follows_q1 ? state_d : read;
    if (rst) begin
      valid_q0 <= 1'b0;
      valid_q1 <= 1'b0;
      valid_q2 <= 1'b0;
    end
  end

  wire [16:0] count_sum = {1'b0, state_q2.count} + {1'b0, step_q2.count};
  wire [17:0] slots_sum = {1'b0, state_q2.slots} + {1'b0, slots_q2};

  always_comb begin
    state_d       = state_q2;
    state_d.count = count_sum[16] ? '1 : count_sum[15:0];
    state_d.slots = slots_sum[17] ? '1 : slots_sum[16:0];
    if (done_q2) state_d.some = 1'b1;
    if (!state_q2.some) begin
      state_d.from     = step_q2.from;
      state_d.deadline = deadline_q2;
    end
    if (forgets_q2) begin
      state_d.some  = 1'b0;
      state_d.count = '0;
      state_d.slots = '0;
    end
    if (step_q2.kind == FLUSH) state_d.off = 1'b1;
    if (step_q2.kind == CLEAR) state_d.off = 1'b0;
  end

  // --------------------------------------------------------------------------- 3 is it enough or late, 4 a look begins
  logic valid_q3, valid_q4, last_q3, last_q4, before_q3, before_q4, some_q3, some_q4;
  logic at_once_q3, at_once_q4, enough_q4, late_q4, busy, busy_q4, busy_d;
  kind_t kind_q3, kind_q4;
  queue_t key_q3, key_q4;
  logic [15:0] count_q3, packets_q3;
  logic [63:0] deadline_q3, deadline_q4;
  logic due, timer;  // look now; or when the deadline comes

  // Whether a queue waits for a look, or for its answer
  ram_through #(
      .WIDTH(1),
      .DEPTH(QUEUES)
  ) u_busy (
      .clk,
      .wr_en  (valid_q4),
      .wr_addr(key_q4),
      .wr_data(busy_d),
      .rd_addr(step_q2.key),
      .rd_data(busy)
  );

  always_ff @(posedge clk) begin
    valid_q3    <= valid_q2;
    kind_q3     <= step_q2.kind;
    key_q3      <= step_q2.key;
    last_q3     <= step_q2.last;
    follows_q3  <= follows_q2;
    before_q3   <= state_q2.some;
    some_q3     <= state_d.some;
    at_once_q3  <= state_q2.off || moderation_q2.ns == '0;
    count_q3    <= state_d.count;
    packets_q3  <= moderation_q2.packets;
    deadline_q3 <= state_d.deadline;
    valid_q4    <= valid_q3;
    kind_q4     <= kind_q3;
    key_q4      <= key_q3;
    last_q4     <= last_q3;
    before_q4   <= before_q3;
    some_q4     <= some_q3;
    at_once_q4  <= at_once_q3;
    enough_q4   <= count_q3 >= packets_q3;
    late_q4     <= deadline_q3 <= now_q;
    deadline_q4 <= deadline_q3;
    busy_q4     <= follows_q3 ? busy_d : busy;
    if (rst) begin
      valid_q3 <= 1'b0;
      valid_q4 <= 1'b0;
    end
  end

  always_comb begin
    due   = 1'b0;
    timer = 1'b0;
    case (kind_q4)
      FLUSH: due = before_q4 && !busy_q4;
      DONE: begin
        due   = !busy_q4 && (at_once_q4 || enough_q4);
        timer = !busy_q4 && !before_q4 && !due;
      end
      ANSWER: begin
        due   = before_q4 && (at_once_q4 || late_q4 || enough_q4);
        timer = before_q4 && !due;
      end
      CHECK: begin
        due   = before_q4 && !busy_q4 && late_q4;
        timer = before_q4 && !busy_q4 && !late_q4;
      end
      default: ;
    endcase
    busy_d = due || (busy_q4 && kind_q4 != ANSWER && kind_q4 != CLEAR);
  end

  always_ff @(posedge clk) begin
    look_push <= valid_q4 && due;
    push_key  <= key_q4;
    if (rst) look_push <= 1'b0;
  end

  logic begun;
  queue_t probe_queue_q;
  ram_through #(
      .WIDTH(1),
      .DEPTH(QUEUES)
  ) u_begun (
      .clk,
      .wr_en  (valid_q4),
      .wr_addr(key_q4),
      .wr_data(busy_d || some_q4),
      .rd_addr(probe_queue_q),
      .rd_data(begun)
  );
  always_ff @(posedge clk) begin
    probe_queue_q <= probe_queue;
    probe_quiet   <= ready_q && !begun;
  end

  // ------------------------------------------------------------------------------------------------------------ timers
  // All queues are checked when the earliest timer rings, and the earliest of the others is found on the way.
  logic offers_q, checked_q, checking_q, ends_q, ended_q, ringing_q;
  logic [63:0] offer_q, wake_q, next_q;

  always_ff @(posedge clk) begin
    offers_q  <= valid_q4 && timer;
    checked_q <= kind_q4 == CHECK;
    offer_q   <= deadline_q4;
    ends_q    <= valid_q4 && last_q4;
    ended_q   <= ends_q;
    ringing_q <= now_q >= wake_q;
    if (offers_q && !checked_q && offer_q < wake_q) wake_q <= offer_q;
    if (offers_q && offer_q < next_q) next_q <= offer_q;
    if (ends_q) wake_q <= offers_q && offer_q < next_q ? offer_q : next_q;
    if (step_check) begin
      check_q <= check_q + 1'b1;
      if (check_last) begin
        check_q  <= '0;
        checks_q <= 1'b0;
      end
    end
    // By then it is known whether the new time has come too.
    if (ended_q) checking_q <= 1'b0;
    if (!checking_q && ringing_q && ready_q) begin
      checks_q   <= 1'b1;
      checking_q <= 1'b1;
      next_q     <= '1;
    end
    if (rst) begin
      offers_q   <= 1'b0;
      ends_q     <= 1'b0;
      ended_q    <= 1'b0;
      ringing_q  <= 1'b0;
      check_q    <= '0;
      checks_q   <= 1'b0;
      checking_q <= 1'b0;
      wake_q     <= '1;
    end
  end
  assign wake_ns = wake_q;

  // --------------------------------------------------------------------------------------------------- 3 a look begins
  logic read_q, read_room;
  slot_t slot_q;
  queue_t read_key_q;
  logic [63:0] read_addr_q;
  look_t look_q;
  logic [FUNCTION_W-1:0] read_function, out_function;
  always_ff @(posedge clk) begin
    read_q      <= valid_q2 && step_q2.kind == LOOK;
    slot_q      <= step_q2.slot;
    read_key_q  <= step_q2.key;
    read_addr_q <= config_q2.driver;
    look_q      <= {step_q2.key, state_q2.from, state_q2.slots};
    if (rst) read_q <= 1'b0;
  end
  ram_dist #(
      .WIDTH($bits(look_t)),
      .DEPTH(READS)
  ) u_looked (
      .clk,
      .wr_en  (read_q),
      .wr_addr(slot_q),
      .wr_data(look_q),
      .rd_addr(answer_slot),
      .rd_data(looked)
  );
  ram_dist #(
      .WIDTH(LANE_W),
      .DEPTH(READS)
  ) u_lanes (
      .clk,
      .wr_en  (read_q),
      .wr_addr(slot_q),
      .wr_data(LANE_W'(read_addr_q >> 2)),
      .rd_addr(data_slot),
      .rd_data(lane)
  );
  queue_owner #(
      .QUEUES(QUEUES),
      .PAIRS (PAIRS)
  ) u_read_owner (
      .number(read_key_q),
      .owner (read_function)
  );
  stream_fifo #(
      .WIDTH(SLOT_W + FUNCTION_W + 64),
      .DEPTH(OUT)
  ) u_reads (
      .clk,
      .rst,
      .s_valid(read_q),
      .s_ready(read_room),
      .s_data ({slot_q, read_function, read_addr_q & ~64'(BYTES - 1)}),
      .m_valid(read_valid),
      .m_ready(read_ready),
      .m_data ({read_slot, out_function, read_addr}),
      .count  (reads_count),
      .idle   ()
  );
  assign read_user = 16'(FIRST) + 16'(out_function);

  // --------------------------------------------------------------------------------------- 2 to 5 an interrupt or none
  logic answer_q3, answer_q4, answer_q5, wanted, irq_room, irqs_idle;
  queue_t key_q5;
  logic [15:0] vector_q3, vector_q4, vector_q5;
  logic [FUNCTION_W-1:0] irq_owner, irq_from;
  interrupt_decide u_decide (
      .clk,
      .structure  (step_q2.structure),
      .event_index(config_q2.event_index),
      .size       (config_q2.size),
      .from       (step_q2.from),
      .slots      (step_q2.slots),
      .wanted
  );
  always_ff @(posedge clk) begin
    answer_q3  <= valid_q2 && step_q2.kind == ANSWER && !step_q2.error;
    vector_q3  <= config_q2.vector;
    answer_q4  <= answer_q3;
    vector_q4  <= vector_q3;
    answer_q5  <= answer_q4;
    vector_q5  <= vector_q4;
    key_q5     <= key_q4;
    fail_valid <= valid_q2 && step_q2.kind == ANSWER && step_q2.error;
    fail_queue <= step_q2.key;
    if (rst) begin
      answer_q3  <= 1'b0;
      answer_q4  <= 1'b0;
      answer_q5  <= 1'b0;
      fail_valid <= 1'b0;
    end
  end
  queue_owner #(
      .QUEUES(QUEUES),
      .PAIRS (PAIRS)
  ) u_irq_owner (
      .number(key_q5),
      .owner (irq_owner)
  );
  stream_fifo #(
      .WIDTH(FUNCTION_W + 16),
      .DEPTH(OUT)
  ) u_irqs (
      .clk,
      .rst,
      .s_valid(answer_q5 && wanted),
      .s_ready(irq_room),
      .s_data ({irq_owner, vector_q5}),
      .m_valid(irq_valid),
      .m_ready(irq_ready),
      .m_data ({irq_from, irq_vector}),
      .count  (irqs_count),
      .idle   (irqs_idle)
  );
  assign irq_function = 16'(FIRST) + 16'(irq_from);

  assign rests = ready_q && !set_q && !moderate_q && !began_q && looks_idle && irqs_idle && !valid_q0 && !valid_q1
      && !valid_q2 && !valid_q3 && !valid_q4 && !look_push && !answer_q3 && !answer_q4 && !answer_q5 && !fail_valid
      && !offers_q && !checking_q && !ringing_q && !read_q && !read_valid && !data_valid_q && !answer_valid;
  assign idle = rests && looks_q == '0;

  wire unused = &{1'b0, irq_room, read_room, answer_room, look_room};

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst) assert (!set_q || step_set || !set_valid) else $error("%m: queues are set in successive cycles");
    if (!rst) assert (!done_valid || ready_q) else $error("%m: something is done before all queues are wiped");
    if (!rst) assert (!answer_q5 || irq_room) else $error("%m: no room for an interrupt");
    if (!rst) assert (!read_q || read_room) else $error("%m: no room for a read");
    if (!rst) assert (!data_valid_q || answer_room) else $error("%m: data that nobody asked for");
    if (!rst) assert (!look_push || look_room) else $error("%m: a queue waits twice");
  end
`endif

endmodule
