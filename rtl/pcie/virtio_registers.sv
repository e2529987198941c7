// SPDX-License-Identifier: Apache-2.0
// virtio's registers (VIRTIO 1.2, 4.1.4) of FUNCTIONS network devices with PAIRS queue pairs each: common
// configuration, notifications, ISR status and device configuration, behind the host's accesses to a function's BAR.
// They have the specification's layout, and their state in RAM (virtio_store), an access or event at a time; so they
// are not made from SystemRDL. This is the order of things; what each of them means says virtio_rules.
// What drivers set goes to the function engine by `tell`; its interrupts come by s_irq with the queue's number in the
// function, and go to the host by the vector that the driver has chosen for it.
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

  if (FIRST < 1 || FIRST > 255) begin : gen_bad_first
    $fatal(1, "virtio_registers: FIRST must be 1 to 255, not %0d", FIRST);
  end
  if (CONFIG_BAR > 5) begin : gen_bad_config_bar
    $fatal(1, "virtio_registers: CONFIG_BAR must be 0 to 5, not %0d", CONFIG_BAR);
  end

  localparam int unsigned QUEUES = 2 * PAIRS;                // of a function: receive, transmit, receive, ...
  localparam int unsigned FUNC_W = FUNCTIONS > 1 ? $clog2(FUNCTIONS) : 1;
  localparam int unsigned QUEUE_W = $clog2(QUEUES);
  localparam int unsigned NUMBER_W = FUNCTIONS * PAIRS > 1 ? $clog2(FUNCTIONS * PAIRS) : 1;
  localparam int unsigned RESETS_W = $clog2(FUNCTIONS * (QUEUES + 1) + 1);

  typedef logic [FUNC_W-1:0] func_t;
  typedef logic [QUEUE_W-1:0] queue_t;

  typedef enum logic [2:0] {
    WAITS,
    READS,       // the function and its configuration
    LOOKS_UP,    // the queue
    ACTS,
    TELLS,       // the engine
    CLEARS,      // the function's MSI-X
    RESPONDS     // to the host
  } state_t;

  state_t state_q;
  job_t job_q;
  logic [15:0] number_q;                     // of the function
  queue_t queue_q, walk_queue_q;
  func_t walk_func_q;
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
  logic wiped;
  wire write = axil_req.awvalid && axil_req.wvalid;
  wire [13:2] address = write ? axil_req.awaddr[13:2] : axil_req.araddr[13:2];
  wire drives = 32'(func) >= FIRST;
  wire access = (write || axil_req.arvalid) && (drives || !irq_q);
  wire takes = state_q == WAITS && wiped;
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

  // ------------------------------------------------------------------------------------------------ what comes of it
  device_t device, device_new;
  virtqueue_t virtq, queue_new;
  effect_t effect;
  logic device_write, queue_write, config_write;
  logic [31:0] config_word;
  logic [1:0] config_place;
  logic [15:0] selected;
  wire acts = state_q == ACTS;
  wire stilled = state_q == TELLS && tell_done && kind_q == TELL_LOOK && quiet;
  wire known = 32'(number_q) >= FIRST && 32'(number_q) < NUMBERS;
  wire last_queue = 32'(queue_q) == QUEUES - 1;
  wire func_t who = func_t'(number_q - 16'(FIRST));

  virtio_rules #(
      .QUEUES(QUEUES),
      .VECTORS(VECTORS),
      .QUEUE_SIZE(QUEUE_SIZE)
  ) u_rules (
      .action({job_q, known, 16'(queue_q), write_q, offset_q, wdata_q, wstrb_q}),
      .msix  (msix_enabled[NUMBERS_W'(number_q)] && known),
      .clean (walk_queue_q == '0 || clean_q),
      .stilled,
      .device,
      .virtq,
      .config_word,
      .selected,
      .config_place,
      .device_write,
      .device_new,
      .queue_write,
      .queue_new,
      .config_write,
      .effect
  );
  virtio_store #(
      .FUNCTIONS(FUNCTIONS),
      .PAIRS(PAIRS),
      .QUEUE_SIZE(QUEUE_SIZE)
  ) u_store (
      .clk,
      .rst,
      .wiped,
      .who,
      .queue_number(queue_t'(selected)),
      .config_place,
      .device_read (state_q == READS),
      .queue_read  (state_q == LOOKS_UP),
      .device,
      .virtq,
      .config_word,
      .device_write(acts && device_write),
      .device_new,
      .queue_write ((acts && queue_write) || stilled),
      .queue_new,
      .config_write(acts && config_write),
      .config_new  (wdata_q),
      .config_strb (wstrb_q)
  );

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
          size: virtq.size,
          vector: selected,
          ring: {virtq.addresses[1], virtq.addresses[0][31:4], 4'd0},
          driver: {virtq.addresses[3], virtq.addresses[2][31:2], 2'd0},
          device: {virtq.addresses[5], virtq.addresses[4][31:2], 2'd0}
      };

  always_ff @(posedge clk) begin
    flr_done <= 1'b0;
    if (pause_q != '0) pause_q <= pause_q - 1'b1;
    if (acts) resets_q <= resets_q + RESETS_W'(effect.resets) - RESETS_W'(effect.ends) - RESETS_W'(effect.finishes);
    if (m_irq_ready) irq_q <= 1'b0;
    if (acts && effect.interrupts && effect.vector != NO_VECTOR) begin
      irq_q        <= 1'b1;
      irq_func_q   <= number_q;
      irq_vector_q <= effect.vector;
    end

    case (state_q)
      WAITS: begin
        if (take_flr) begin
          job_q    <= FLR;
          number_q <= flr_func;
          state_q  <= 32'(flr_func) >= FIRST && 32'(flr_func) < NUMBERS ? READS : CLEARS;
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
        rdata_q <= effect.rdata;
        kind_q  <= effect.kind;
        case (job_q)
          ACCESS: begin
            state_q <= effect.tells ? TELLS : RESPONDS;
            if (effect.begins) begin
              job_q   <= BEGIN;
              queue_q <= '0;
              state_q <= READS;
            end
          end
          BEGIN: begin
            state_q <= effect.tells ? TELLS : last_queue ? RESPONDS : LOOKS_UP;
            if (!effect.tells) queue_q <= queue_q + 1'b1;
          end
          MANAGES: state_q <= RESPONDS;
          WALK: begin
            state_q      <= effect.tells ? TELLS : effect.finishes && device.flr ? CLEARS : WAITS;
            clean_q      <= effect.clean;
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
      CLEARS: begin
        if (clear_ready || !clear_valid) begin
          flr_done <= 1'b1;
          state_q  <= WAITS;
        end
      end
      default: if (write_q ? axil_req.bready : axil_req.rready) state_q <= WAITS;
    endcase
    if (rst) begin
      state_q      <= WAITS;
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
  assign clear_valid   = state_q == CLEARS && 32'(number_q) < NUMBERS;
  assign clear_func    = NUMBERS_W'(number_q);
  assign flr_done_func = number_q;
  assign idle          = takes && !irq_q && !faults_q && resets_q == '0 && !s_irq_valid && !flr_valid &&
      axil_quiet(axil_req, axil_rsp);

`ifndef SYNTHESIS
  offer_contract #(
      .WIDTH(16)
  ) u_flr (
      .clk,
      .rst,
      .valid(flr_valid),
      .ready(flr_ready),
      .data (flr_func)
  );
  onehot_contract #(
      .WIDTH(5)
  ) u_take (
      .clk,
      .rst,
      .valid (1'b1),
      .select({take_flr, take_access, take_fault, take_walk, take_irq})
  );
  range_contract #(
      .WIDTH($bits(state_q)),
      .MOST (32'(RESPONDS))
  ) u_state (
      .clk,
      .rst,
      .valid (1'b1),
      .number(state_q)
  );
`endif

endmodule
