// SPDX-License-Identifier: Apache-2.0
// virtio's registers (VIRTIO 1.2, 4.1.4) of FUNCTIONS network devices with PAIRS queue pairs each: common
// configuration, notifications, ISR status and device configuration, behind the host's accesses to a function's BAR.
// They have the specification's layout, and their state in RAM, an access or event at a time; so they are not made from
// SystemRDL. What drivers set goes to the function engine by `tell`; its interrupts come by s_irq with the queue's
// number in the function, and go to the host by the vector that the driver has chosen for it.
//
// A queue begins with DRIVER_OK, or with queue_enable after it. A reset, of a queue (RING_RESET), a device (status 0)
// or a function (FLR), stops its queues, and is over when the engine says that nothing of them is under way: until then
// queue_reset reads 1, the status is not 0, and flr_done does not come. Others go on. A queue that fails makes its
// device ask for a reset (DEVICE_NEEDS_RESET), with an interrupt.
// FEATURES_OK is kept only with features that were offered, VERSION_1 and RING_PACKED among them. What a driver writes
// where it must not (features after FEATURES_OK, a queue's settings once it is enabled, any during a reset) is ignored.
//
// The card's own software, function 0 (all below FIRST), has the device configurations in its BAR CONFIG_BAR of 4 KB,
// 16 bytes a function: MAC address, status, max_virtqueue_pairs and MTU as virtio_net_config has them, and the feature
// bits 31 to 0 that are offered, of those that there are. A write raises config_generation and interrupts.
//
// Latency: 4 cycles from an access to its answer, that of a doorbell or of what begins queues once the engine knows.
// Throughput: one at a time; 4 cycles an interrupt. Backpressure: an interrupt, and a write of a device configuration,
// wait until the one before it is taken; other accesses don't.
// A reset takes a walk or two over all queues, 4 cycles each, and a look in 256 cycles at each that is stopped.
module virtio_registers
  import axi_pkg::*, virtio_pkg::*;
#(
    parameter int unsigned FUNCTIONS = 16,
    parameter int unsigned PAIRS = 1,
    parameter int unsigned FIRST = 1,          // number of function 0 beside accesses and interrupts
    parameter int unsigned VECTORS = 4,        // of MSI-X, of each function
    parameter int unsigned QUEUE_SIZE = 256,   // descriptors of a queue at most
    parameter int unsigned CONFIG_BAR = 4,
    parameter int unsigned FAULT_VECTOR = 2,   // by which the engine says that a queue has failed
    localparam int unsigned NUMBERS = FIRST + FUNCTIONS,
    localparam int unsigned NUMBERS_W = $clog2(NUMBERS)
) (
    input  logic                  clk,
    input  logic                  rst,

    input  logic [15:0]           func,          // beside the host's access
    input  logic [2:0]            bar,
    // Of an access the offset.
    // verilator lint_off UNUSEDSIGNAL
    input  axil_req_t             axil_req,
    // verilator lint_on UNUSEDSIGNAL
    output axil_rsp_t             axil_rsp,

    input  logic [NUMBERS-1:0]    msix_enabled,
    input  logic                  s_irq_valid,   // from the card
    output logic                  s_irq_ready,
    input  logic [15:0]           s_irq_func,
    input  logic [15:0]           s_irq_vector,
    output logic                  m_irq_valid,   // to the host
    input  logic                  m_irq_ready,
    output logic [15:0]           m_irq_func,
    output logic [15:0]           m_irq_vector,

    input  logic                  flr_valid,
    output logic                  flr_ready,
    input  logic [15:0]           flr_func,
    output logic                  flr_done,      // one cycle, for each that was taken
    output logic [15:0]           flr_done_func,
    output logic                  clear_valid,   // of MSI-X
    input  logic                  clear_ready,
    output logic [NUMBERS_W-1:0]  clear_func,

    output logic                  tell_valid,
    output tell_t                 tell,
    input  logic                  tell_done,
    input  logic                  quiet,
    input  logic                  fault_valid,
    // verilator lint_off UNUSEDSIGNAL
    input  logic [15:0]           fault_queue,
    // verilator lint_on UNUSEDSIGNAL
    output logic                  idle
);

  if (FUNCTIONS < 1 || FUNCTIONS > 256) begin : gen_bad_functions
    $fatal(1, "virtio_registers: FUNCTIONS must be 1 to 256, not %0d", FUNCTIONS);
  end
  if (PAIRS < 1 || PAIRS > 8) begin : gen_bad_pairs
    $fatal(1, "virtio_registers: PAIRS must be 1 to 8, not %0d", PAIRS);
  end
  if (FIRST < 1 || FIRST > 255) begin : gen_bad_first
    $fatal(1, "virtio_registers: FIRST must be 1 to 255, not %0d", FIRST);
  end
  if (VECTORS < 1 || VECTORS > 2048) begin : gen_bad_vectors
    $fatal(1, "virtio_registers: VECTORS must be 1 to 2048, not %0d", VECTORS);
  end
  if (QUEUE_SIZE < 1 || QUEUE_SIZE > 32768) begin : gen_bad_queue_size
    $fatal(1, "virtio_registers: QUEUE_SIZE must be 1 to 32768, not %0d", QUEUE_SIZE);
  end
  if (CONFIG_BAR > 5) begin : gen_bad_config_bar
    $fatal(1, "virtio_registers: CONFIG_BAR must be 0 to 5, not %0d", CONFIG_BAR);
  end

  localparam int unsigned QUEUES = 2 * PAIRS;                // of a function: receive, transmit, receive, ...
  localparam int unsigned FUNC_W = FUNCTIONS > 1 ? $clog2(FUNCTIONS) : 1;
  localparam int unsigned QUEUE_W = $clog2(QUEUES);
  localparam int unsigned ENTRY_W = FUNC_W + (QUEUE_W > 2 ? QUEUE_W : 2);  // to clear all RAMs at once
  localparam int unsigned NUMBER_W = FUNCTIONS * PAIRS > 1 ? $clog2(FUNCTIONS * PAIRS) : 1;
  localparam int unsigned RESETS_W = $clog2(FUNCTIONS * (QUEUES + 1) + 1);

  typedef logic [FUNC_W-1:0] func_t;
  typedef logic [QUEUE_W-1:0] queue_t;

  // What is kept of a function, and of a queue
  typedef struct packed {
    logic [31:0] device_select;
    logic [31:0] driver_select;
    logic [63:0] features;
    logic [15:0] config_vector;
    logic [7:0]  status;
    logic [7:0]  generation;
    logic [15:0] queue_select;
    logic [1:0]  isr;
    logic        resetting;
    logic        flr;          // that is why
  } device_t;
  typedef struct packed {
    logic [5:0][31:0] addresses;
    logic [15:0]      size;
    logic [15:0]      vector;
    logic             enabled;
    logic             begun;     // in the engine
    logic             stopped;   // there
    logic             resetting;
  } virtqueue_t;

  localparam virtqueue_t NEW_QUEUE = '{size: 16'(QUEUE_SIZE), vector: NO_VECTOR, addresses: '0, default: 1'b0};

  function automatic device_t new_device(logic [7:0] generation);
    new_device               = '0;
    new_device.config_vector = NO_VECTOR;
    new_device.generation    = generation;
  endfunction

  function automatic logic [15:0] vector_of(logic [15:0] asked);
    return 32'(asked) < VECTORS ? asked : NO_VECTOR;
  endfunction

  typedef enum logic [2:0] {
    CLEARS,      // all RAMs, after reset
    WAITS,
    READS,       // the function and its configuration
    LOOKS_UP,    // the queue
    ACTS,
    TELLS,       // the engine
    WIPES,       // the function's MSI-X
    RESPONDS     // to the host
  } state_t;
  typedef enum logic [2:0] {
    ACCESS,      // by a function's driver
    BEGIN,       // all queues of a driver that has become ready
    MANAGES,     // access by the card's software
    REQUEST,     // for an interrupt of a queue
    FAULT,       // a queue has failed
    WALK,        // over what is reset
    FLR
  } job_t;

  state_t state_q;
  job_t job_q;
  logic [15:0] number_q;                     // of the function
  queue_t queue_q, walk_queue_q;
  func_t walk_func_q;
  logic [ENTRY_W-1:0] clear_q;
  logic write_q, clean_q, turn_q, faults_q;
  logic [13:2] offset_q;
  logic [31:0] wdata_q, rdata_q;
  logic [3:0] wstrb_q;
  logic [7:0] pause_q;                       // cycles until the next walk
  logic [RESETS_W-1:0] resets_q;             // functions and queues that are being reset
  tell_kind_t kind_q;
  logic irq_q;
  logic [15:0] irq_func_q, irq_vector_q;

  // ------------------------------------------------------------------------------------------------- what is done next
  wire write = axil_req.awvalid && axil_req.wvalid;
  wire [13:2] address = write ? axil_req.awaddr[13:2] : axil_req.araddr[13:2];
  wire drives = 32'(func) >= FIRST;
  wire access = (write || axil_req.arvalid) && (drives || !irq_q);
  wire takes = state_q == WAITS;
  wire walks = resets_q != '0 && pause_q == '0;
  wire is_fault = 32'(s_irq_func) < FIRST && s_irq_vector == 16'(FAULT_VECTOR);
  wire take_flr = takes && flr_valid;
  wire take_access = takes && !flr_valid && access;
  wire free = takes && !flr_valid && !access;
  wire take_fault = free && faults_q && !irq_q;
  wire asks = s_irq_valid && !irq_q;
  wire take_walk = free && !take_fault && walks && !(asks && turn_q);
  wire take_irq = free && !take_fault && !take_walk && asks;
  assign flr_ready   = takes;
  assign s_irq_ready = take_irq;

  // ------------------------------------------------------------------------------------------------------------- RAMs
  device_t device, device_new;
  virtqueue_t queue, queue_new;
  logic device_write, queue_write, config_write;
  logic [31:0] config_word, config_new;
  logic [1:0] config_place;
  wire clears = state_q == CLEARS;
  wire acts = state_q == ACTS;
  wire func_t who = func_t'(number_q - 16'(FIRST));
  wire known = 32'(number_q) >= FIRST && 32'(number_q) < NUMBERS;
  wire drive = job_q == ACCESS && known;
  wire common = drive && offset_q[13:6] == COMMON[13:6];
  wire at_isr = drive && offset_q[13:2] == ISR[13:2];
  wire at_device = drive && offset_q[13:4] == DEVICE[13:4];
  wire notifies = drive && offset_q[13:12] == NOTIFY[13:12] && write_q && wstrb_q[1:0] == '1;
  wire [15:0] selected = job_q != ACCESS ? 16'(queue_q) : notifies ? wdata_q[15:0] : device.queue_select;
  wire queue_known = 32'(selected) < QUEUES;

  ram_fit #(
      .WIDTH($bits(device_t)),
      .DEPTH(2 ** FUNC_W)
  ) u_devices (
      .clk,
      .wr_en  (clears || device_write),
      .wr_addr(clears ? clear_q[FUNC_W-1:0] : who),
      .wr_data(clears ? new_device('0) : device_new),
      .rd_en  (state_q == READS),
      .rd_addr(who),
      .rd_data(device)
  );
  ram_fit #(
      .WIDTH($bits(virtqueue_t)),
      .DEPTH(2 ** (FUNC_W + QUEUE_W))
  ) u_queues (
      .clk,
      .wr_en  (clears || queue_write),
      .wr_addr(clears ? clear_q[FUNC_W+QUEUE_W-1:0] : {who, queue_t'(selected)}),
      .wr_data(clears ? NEW_QUEUE : queue_new),
      .rd_en  (state_q == LOOKS_UP),
      .rd_addr({who, queue_t'(selected)}),
      .rd_data(queue)
  );
  // The words of the device configuration, and the lower half of what is offered
  ram_sdp_strb #(
      .WIDTH(32),
      .DEPTH(4 * 2 ** FUNC_W)
  ) u_configs (
      .clk,
      .wr_en  (clears || config_write),
      .wr_strb(clears ? 4'hf : wstrb_q),
      .wr_addr(clears ? clear_q[FUNC_W+1:0] : {who, config_place}),
      .wr_data(clears ? config_new : wdata_q),
      .rd_en  (state_q == READS),
      .rd_addr({who, config_place}),
      .rd_data(config_word)
  );
  assign config_place = job_q == MANAGES || at_device ? offset_q[3:2] : 2'd3;
  always_comb begin
    case (clear_q[1:0])
      2'd0:    config_new = '0;                      // MAC address
      2'd1:    config_new = 32'h0001_0000;           // the link is up
      2'd2:    config_new = {16'd1500, 16'(PAIRS)};  // MTU
      default: config_new = OFFERED[31:0];
    endcase
  end
  wire [63:0] offered = {OFFERED[63:32], config_word & SUPPORTED[31:0]};

  // ---------------------------------------------------------------------------------------------- the host's accesses
  wire [3:0] word = offset_q[5:2];
  wire [2:0] half = 3'(word - 4'd8);                 // of an address
  wire device_half = device.device_select[0];
  wire driver_half = device.driver_select[0];
  wire device_halves = device.device_select[31:1] == '0;
  wire driver_halves = device.driver_select[31:1] == '0;
  logic [31:0] old_word, read_word, new_word;
  always_comb begin
    old_word = '0;
    case (word)
      4'd0:    old_word = device.device_select;
      4'd1:    if (device_halves) old_word = offered[32*device_half+:32];
      4'd2:    old_word = device.driver_select;
      4'd3:    if (driver_halves) old_word = device.features[32*driver_half+:32];
      4'd4:    old_word = {16'(QUEUES), device.config_vector};
      4'd5:    old_word = {device.queue_select, device.generation, device.status};
      4'd6:    old_word = {queue.vector, queue.size};
      4'd7:    old_word = {selected, 15'd0, queue.enabled};
      4'd14:   old_word = {15'd0, queue.resetting, selected};
      4'd15:   old_word = '0;
      default: old_word = queue.addresses[half];
    endcase
    if (word > 4'd5 && !queue_known) old_word = '0;
    for (int i = 0; i < 4; i++) new_word[8*i+:8] = wstrb_q[i] ? wdata_q[8*i+:8] : old_word[8*i+:8];

    read_word = '0;
    if (common) read_word = old_word;
    if (common && word == 4'd5 && device.resetting && device.status == '0) read_word[0] = 1'b1;  // it isn't over
    if (at_isr) read_word = 32'(device.isr);
    if (at_device && offset_q[3:2] != 2'd3) read_word = config_word;
    if (job_q == MANAGES && known) read_word = config_word;
  end

  // -------------------------------------------------------------------------------------------------------------- acts
  logic tells, interrupts, begins, resets, ends, finishes;
  logic [15:0] vector;
  wire ready = device.status[DRIVER_OK];
  wire msix = msix_enabled[NUMBERS_W'(number_q)] && known;
  wire sets = common && write_q && !device.resetting;
  wire sets_queue = sets && word > 4'd5 && queue_known;
  wire acceptable = (device.features & ~offered) == '0 && (device.features & NEEDED) == NEEDED;
  wire walk_resets = device.resetting || queue.resetting;
  wire walk_clean = (walk_queue_q == '0 || clean_q) && device.resetting && !queue.begun;
  wire last_queue = 32'(queue_q) == QUEUES - 1;

  always_comb begin
    device_new   = device;
    queue_new    = queue;
    device_write = 1'b0;
    queue_write  = 1'b0;
    config_write = 1'b0;
    tells        = 1'b0;
    interrupts   = 1'b0;
    begins       = 1'b0;
    resets       = 1'b0;     // one more is being reset
    ends         = 1'b0;     // the reset of a queue is over
    finishes     = 1'b0;     // of a function
    vector       = queue.vector;
    case (job_q)
      ACCESS: begin
        device_write = acts && known;
        queue_write  = acts && sets_queue;
        tells        = notifies && queue_known && queue.begun && !walk_resets;
        if (at_isr && !write_q) device_new.isr = '0;
        if (sets) begin
          case (word)
            4'd0: device_new.device_select = new_word;
            4'd2: device_new.driver_select = new_word;
            4'd3: begin
              if (driver_halves && !device.status[FEATURES_OK]) device_new.features[32*driver_half+:32] = new_word;
            end
            4'd4: device_new.config_vector = vector_of(new_word[15:0]);
            4'd5: begin
              device_new.queue_select = new_word[31:16];
              device_new.status       = device.status | (new_word[7:0] & ~(8'd1 << NEEDS_RESET));
              if (!device.status[FEATURES_OK] && !acceptable) device_new.status[FEATURES_OK] = 1'b0;
              if (!device_new.status[FEATURES_OK]) device_new.status[DRIVER_OK] = 1'b0;
              begins = device_new.status[DRIVER_OK] && !ready;
              resets = wstrb_q[0] && wdata_q[7:0] == '0;
              if (resets) device_new.resetting = 1'b1;
            end
            default: ;
          endcase
        end
        if (sets_queue) begin
          case (word)
            4'd6: begin
              if (!queue.enabled) queue_new.size = new_word[15:0];
              queue_new.vector = vector_of(new_word[31:16]);
            end
            4'd7: begin
              if (new_word[15:0] == 16'd1 && !queue.enabled && queue.size != '0 && 32'(queue.size) <= QUEUE_SIZE)
              begin
                queue_new.enabled = 1'b1;
                queue_new.begun   = ready;
                tells             = ready;
              end
            end
            4'd14: begin
              resets              = new_word[16] && queue.enabled && !queue.resetting && device.features[RING_RESET];
              queue_new.resetting = queue.resetting || resets;
            end
            4'd15:   ;
            default: if (!queue.enabled) queue_new.addresses[half] = new_word;
          endcase
        end
      end
      BEGIN: begin
        tells           = queue.enabled && !queue.begun && !queue.resetting;
        queue_write     = acts && tells;
        queue_new.begun = 1'b1;
      end
      MANAGES: begin
        config_write          = acts && known && write_q;
        device_write          = config_write;
        device_new.generation = device.generation + 1'b1;
      end
      REQUEST: begin
        device_write = acts && known && ready && queue_known;
        if (!msix) device_new.isr[0] = 1'b1;
        interrupts = device_write && msix;
      end
      FAULT: begin
        device_write                   = acts && known && ready && !device.resetting;
        device_new.status[NEEDS_RESET] = 1'b1;
      end
      WALK: begin
        // What is stopped is as new once a look has found it quiet.
        tells             = walk_resets && queue.begun;
        finishes          = walk_clean && last_queue;
        ends              = queue.resetting && !queue.begun;
        device_write      = acts && finishes;
        device_new        = new_device(device.generation);
        queue_write       = acts && walk_resets;
        queue_new.stopped = 1'b1;
        if (!queue.begun) queue_new = NEW_QUEUE;
        if (state_q == TELLS && tell_done && kind_q == TELL_LOOK && quiet) begin
          queue_write     = 1'b1;
          queue_new.begun = 1'b0;
        end
      end
      default: begin  // FLR
        device_write         = acts;
        device_new.resetting = 1'b1;
        device_new.flr       = 1'b1;
        resets               = !device.resetting;
      end
    endcase
    if ((job_q == MANAGES || job_q == FAULT) && device_write && ready) begin
      device_new.isr[1] = 1'b1;
      vector            = device.config_vector;
      interrupts        = msix;
    end
  end

  // ----------------------------------------------------------------------------------------- what the engine is told
  logic [NUMBER_W-1:0] failed_number;
  logic [FUNC_W-1:0] failed_func;
  assign failed_number = NUMBER_W'(fault_queue);
  queue_owner #(
      .QUEUES(FUNCTIONS * PAIRS),
      .PAIRS (PAIRS)
  ) u_owner (
      .number(failed_number),
      .owner (failed_func)
  );
  assign tell_valid = state_q == TELLS;
  assign tell = '{
          kind: kind_q,
          receive: !selected[0],
          number: 16'(32'(who) * PAIRS + 32'(selected[15:1])),
          mergeable: device.features[NET_MRG_RXBUF],
          indirect: device.features[INDIRECT_DESC],
          event_index: device.features[EVENT_IDX],
          checksum: device.features[selected[0] ? NET_CSUM : NET_GUEST_CSUM],
          segment: selected[0] && (device.features[NET_HOST_TSO4] || device.features[NET_HOST_TSO6]),
          size: queue.size,
          vector: selected,
          ring: {queue.addresses[1], queue.addresses[0][31:4], 4'd0},
          driver: {queue.addresses[3], queue.addresses[2][31:2], 2'd0},
          device: {queue.addresses[5], queue.addresses[4][31:2], 2'd0}
      };

  always_ff @(posedge clk) begin
    flr_done <= 1'b0;
    if (pause_q != '0) pause_q <= pause_q - 1'b1;
    if (acts) resets_q <= resets_q + RESETS_W'(resets) - RESETS_W'(ends) - RESETS_W'(finishes);
    if (m_irq_ready) irq_q <= 1'b0;
    if (acts && interrupts && vector != NO_VECTOR) begin
      irq_q        <= 1'b1;
      irq_func_q   <= number_q;
      irq_vector_q <= vector;
    end

    case (state_q)
      CLEARS: begin
        clear_q <= clear_q + 1'b1;
        if (clear_q == '1) state_q <= WAITS;
      end
      WAITS: begin
        if (take_flr) begin
          job_q    <= FLR;
          number_q <= flr_func;
          state_q  <= 32'(flr_func) >= FIRST && 32'(flr_func) < NUMBERS ? READS : WIPES;
        end
        if (take_access) begin
          job_q    <= drives ? ACCESS : MANAGES;
          number_q <= drives ? func : bar == 3'(CONFIG_BAR) ? 16'(address[11:4]) + 16'(FIRST) : '0;
          write_q  <= write;
          offset_q <= address;
          wdata_q  <= axil_req.wdata;
          wstrb_q  <= axil_req.wstrb;
          state_q  <= READS;
        end
        if (take_fault) begin
          job_q   <= FAULT;
          kind_q  <= TELL_FAULT;
          state_q <= TELLS;
        end
        if (take_walk) begin
          job_q    <= WALK;
          turn_q   <= 1'b1;
          number_q <= 16'(walk_func_q) + 16'(FIRST);
          queue_q  <= walk_queue_q;
          state_q  <= READS;
        end
        if (take_irq) begin
          job_q    <= REQUEST;
          turn_q   <= 1'b0;
          number_q <= s_irq_func;
          queue_q  <= queue_t'(s_irq_vector);
          if (32'(s_irq_func) >= FIRST) begin
            state_q <= READS;
          end else if (is_fault) begin
            faults_q <= 1'b1;
          end else begin
            irq_q        <= 1'b1;
            irq_func_q   <= s_irq_func;
            irq_vector_q <= s_irq_vector;
          end
        end
      end
      READS:    state_q <= LOOKS_UP;
      LOOKS_UP: state_q <= ACTS;
      ACTS: begin
        rdata_q <= read_word;
        case (job_q)
          ACCESS: begin
            kind_q  <= notifies ? TELL_BELL : TELL_BEGIN;
            state_q <= tells ? TELLS : RESPONDS;
            if (begins) begin
              job_q   <= BEGIN;
              queue_q <= '0;
              state_q <= READS;
            end
          end
          BEGIN: begin
            kind_q  <= TELL_BEGIN;
            state_q <= tells ? TELLS : last_queue ? RESPONDS : LOOKS_UP;
            if (!tells) queue_q <= queue_q + 1'b1;
          end
          MANAGES: state_q <= RESPONDS;
          WALK: begin
            kind_q  <= queue.stopped ? TELL_LOOK : TELL_STOP;
            state_q <= tells ? TELLS : finishes && device.flr ? WIPES : WAITS;
            clean_q <= walk_clean;
            walk_queue_q <= walk_queue_q + 1'b1;
            if (last_queue) begin
              walk_queue_q <= '0;
              walk_func_q  <= 32'(walk_func_q) == FUNCTIONS - 1 ? '0 : walk_func_q + 1'b1;
            end
          end
          default: state_q <= WAITS;
        endcase
      end
      TELLS: begin
        if (tell_done) begin
          case (job_q)
            ACCESS: state_q <= RESPONDS;
            BEGIN: begin
              queue_q <= queue_q + 1'b1;
              state_q <= last_queue ? RESPONDS : LOOKS_UP;
            end
            FAULT: begin
              faults_q <= fault_valid;
              number_q <= 16'(failed_func) + 16'(FIRST);
              state_q  <= fault_valid ? READS : WAITS;
            end
            default: begin  // WALK
              pause_q <= '1;
              state_q <= WAITS;
            end
          endcase
        end
      end
      WIPES: begin
        if (clear_ready || !clear_valid) begin
          flr_done <= 1'b1;
          state_q  <= WAITS;
        end
      end
      default: if (write_q ? axil_req.bready : axil_req.rready) state_q <= WAITS;
    endcase
    if (rst) begin
      state_q      <= CLEARS;
      clear_q      <= '0;
      walk_func_q  <= '0;
      walk_queue_q <= '0;
      turn_q       <= 1'b0;
      faults_q     <= 1'b0;
      pause_q      <= '0;
      resets_q     <= '0;
      irq_q        <= 1'b0;
      flr_done     <= 1'b0;
    end
  end

  assign axil_rsp = '{
          awready: take_access && write,
          wready: take_access && write,
          bresp: 2'b00,
          bvalid: state_q == RESPONDS && write_q,
          arready: take_access && !write,
          rdata: rdata_q,
          rresp: 2'b00,
          rvalid: state_q == RESPONDS && !write_q
      };
  assign m_irq_valid   = irq_q;
  assign m_irq_func    = irq_func_q;
  assign m_irq_vector  = irq_vector_q;
  assign clear_valid   = state_q == WIPES && 32'(number_q) < NUMBERS;
  assign clear_func    = NUMBERS_W'(number_q);
  assign flr_done_func = number_q;
  assign idle          = takes && !irq_q && !faults_q && resets_q == '0 && !s_irq_valid && !flr_valid &&
      axil_quiet(axil_req, axil_rsp);

endmodule
