// SPDX-License-Identifier: Apache-2.0
// Interrupts of all queues (side 0 transmit, 1 receive): as often as moderation lets, and only where the driver wants
// them (VIRTIO 1.2, 2.8.10). An interrupt comes when so many packets are used, or the first of them has been for so
// long, whichever is earlier; without a time, with each. Each side reads as if the other were not there.
// A queue whose structure can't be read fails.
// Latency, throughput and backpressure: see interrupt_side. An interrupt that is not taken holds up others.
module host_interrupt
  import axi_pkg::*;
  import host_pkg::*;
#(
    parameter int unsigned QUEUES = 16,
    parameter int unsigned PAIRS = 1,
    parameter int unsigned FIRST = 1,
    parameter int unsigned DATA_W = 512,
    parameter int unsigned READS = 16,    // of each side under way; a side's ID above theirs
    parameter bit GATED = 1'b0,           // a clock gate: see clock_gate
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1
) (
    input  logic                    clk,
    input  logic                    rst,
    input  logic [63:0]             time_ns,

    input  logic [1:0]              set_valid,         // a side's at most every other cycle
    input  logic [QUEUE_W-1:0]      set_queue,
    input  virtq_t                  set,
    input  logic [1:0]              moderate_valid,    // one at most in the QUEUES cycles after reset
    input  logic [QUEUE_W-1:0]      moderate_queue,
    input  logic [15:0]             moderate_packets,
    input  logic [31:0]             moderate_ns,
    input  logic [QUEUE_W-1:0]      probe_queue,
    output logic [1:0]              probe_quiet,

    input  logic [1:0]              done_valid,        // as virtq_used says it
    input  logic [1:0][QUEUE_W-1:0] done_queue,
    input  logic [1:0][15:0]        done_count,
    input  place_t [1:0]            done_place,
    input  logic [1:0][16:0]        done_slots,

    // Reads only; data beside
    output axi_req_t                axi_req,
    // verilator lint_off UNUSEDSIGNAL
    input  axi_rsp_t                axi_rsp,
    // verilator lint_on UNUSEDSIGNAL
    input  logic [DATA_W-1:0]       axi_rdata,

    output logic                    irq_valid,
    input  logic                    irq_ready,
    output logic [15:0]             irq_function,
    output logic [15:0]             irq_vector,
    output logic [1:0]              fail_valid,        // one cycle
    output logic [1:0][QUEUE_W-1:0] fail_queue,
    output fault_t [1:0]            fail_fault,
    output logic [63:0]             wake_ns,           // no timer rings before; all ones: there is none
    output logic                    idle               // a timer may run
);

  if (QUEUES < 1 || QUEUES > 2 ** 16) begin : gen_bad_queues
    $fatal(1, "host_interrupt: QUEUES must be 1 to 65536, not %0d", QUEUES);
  end
  if (PAIRS < 1 || PAIRS > 8) begin : gen_bad_pairs
    $fatal(1, "host_interrupt: PAIRS must be 1 to 8, not %0d", PAIRS);
  end
  if (FIRST + QUEUES > 2 ** 16) begin : gen_bad_first
    $fatal(1, "host_interrupt: FIRST must leave room for the functions below 65536, not be %0d", FIRST);
  end
  if (DATA_W < 64 || DATA_W > 1024 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "host_interrupt: DATA_W must be a power of two from 64 to 1024, not %0d", DATA_W);
  end
  if (READS < 4 || READS > 64 || 2 ** $clog2(READS) != READS) begin : gen_bad_reads
    $fatal(1, "host_interrupt: READS must be a power of two from 4 to 64, not %0d", READS);
  end

  localparam int unsigned SLOT_W = $clog2(READS);
  typedef struct packed {
    logic [SLOT_W:0] id;
    logic [63:0]     addr;
    logic [15:0]     user;
  } read_t;
  typedef struct packed {
    logic [15:0] owner;
    logic [15:0] vector;
  } irq_t;

  logic reads_idle, irqs_idle;
  logic [1:0] read_valid, read_ready, side_irq_valid, side_irq_ready, side_idle, side_rests;
  logic [1:0][SLOT_W-1:0] read_slot;
  logic [1:0][63:0] read_addr, side_wake;
  logic [1:0][15:0] read_user, side_function, side_vector;

  // While it only waits for host memory, or for a timer, the clock rests.
  logic gated;
  logic [QUEUE_W-1:0] probe_queue_q;
  clock_gate #(
      .GATED(GATED),
      .HOLD(6),  // until all that is told is of the state that is left
      .WATCHED(64 + 7)
  ) u_gate (
      .clk,
      .rst,
      .work   (set_valid != '0 || moderate_valid != '0 || done_valid != '0 || axi_rsp.rvalid ||
               probe_queue != probe_queue_q || time_ns >= wake_ns || !(&side_rests && reads_idle && irqs_idle)),
      .watched({probe_quiet, axi_req.arvalid, irq_valid, fail_valid, wake_ns, idle}),
      .gated
  );
  always_ff @(posedge gated) probe_queue_q <= probe_queue;

  for (genvar i = 0; i < 2; i++) begin : gen_side
    interrupt_side #(
        .QUEUES(QUEUES),
        .PAIRS (PAIRS),
        .FIRST (FIRST),
        .DATA_W(DATA_W),
        .READS (READS)
    ) u_side (
        .clk(gated),
        .rst,
        .time_ns,
        .set_valid     (set_valid[i]),
        .set_queue,
        .set,
        .moderate_valid(moderate_valid[i]),
        .moderate_queue,
        .moderate_packets,
        .moderate_ns,
        .probe_queue,
        .probe_quiet   (probe_quiet[i]),
        .done_valid    (done_valid[i]),
        .done_queue    (done_queue[i]),
        .done_count    (done_count[i]),
        .done_place    (done_place[i]),
        .done_slots    (done_slots[i]),
        .read_valid    (read_valid[i]),
        .read_ready    (read_ready[i]),
        .read_slot     (read_slot[i]),
        .read_addr     (read_addr[i]),
        .read_user     (read_user[i]),
        .data_valid    (axi_rsp.rvalid && axi_rsp.rid[SLOT_W] == 1'(i)),
        .data_slot     (axi_rsp.rid[SLOT_W-1:0]),
        .data          (axi_rdata),
        .data_error    (axi_rsp.rresp[1]),
        .irq_valid     (side_irq_valid[i]),
        .irq_ready     (side_irq_ready[i]),
        .irq_function  (side_function[i]),
        .irq_vector    (side_vector[i]),
        .fail_valid    (fail_valid[i]),
        .fail_queue    (fail_queue[i]),
        .wake_ns       (side_wake[i]),
        .rests         (side_rests[i]),
        .idle          (side_idle[i])
    );
    assign fail_fault[i] = FAULT_MEMORY;
  end

  // ---------------------------------------------------------------------------------------------- the sides take turns
  logic read_last_q, irq_last_q, reads_ready, irqs_ready;
  wire read_side = read_valid[!read_last_q] ? !read_last_q : read_last_q;
  wire irq_side = side_irq_valid[!irq_last_q] ? !irq_last_q : irq_last_q;
  always_ff @(posedge gated) begin
    if (|read_valid && reads_ready) read_last_q <= read_side;
    if (|side_irq_valid && irqs_ready) irq_last_q <= irq_side;
    if (rst) begin
      read_last_q <= 1'b0;
      irq_last_q  <= 1'b0;
    end
  end
  assign read_ready     = 2'(reads_ready) << read_side;
  assign side_irq_ready = 2'(irqs_ready) << irq_side;

  read_t read;
  irq_t irq;
  logic reading;
  stream_reg #(
      .WIDTH($bits(read_t))
  ) u_read (
      .clk(gated),
      .rst,
      .s_valid(|read_valid),
      .s_ready(reads_ready),
      .s_data ({read_side, read_slot[read_side], read_addr[read_side], read_user[read_side]}),
      .m_valid(reading),
      .m_ready(axi_rsp.arready),
      .m_data (read),
      .idle   (reads_idle)
  );
  stream_reg #(
      .WIDTH($bits(irq_t))
  ) u_irq (
      .clk(gated),
      .rst,
      .s_valid(|side_irq_valid),
      .s_ready(irqs_ready),
      .s_data ({side_function[irq_side], side_vector[irq_side]}),
      .m_valid(irq_valid),
      .m_ready(irq_ready),
      .m_data (irq),
      .idle   (irqs_idle)
  );

  assign axi_req = '{
          arid: 8'(read.id),
          araddr: read.addr,
          arsize: 3'($clog2(DATA_W / 8)),
          arburst: 2'b01,
          aruser: read.user,
          arvalid: reading,
          rready: 1'b1,
          default: '0
      };

  assign irq_function = irq.owner;
  assign irq_vector   = irq.vector;

  // Both are of the cycle before; what comes in that one is not idle either.
  logic idle_q, comes_q;
  always_ff @(posedge gated) begin
    wake_ns <= side_wake[0] < side_wake[1] ? side_wake[0] : side_wake[1];
    idle_q  <= &side_idle && reads_idle && irqs_idle;
    comes_q <= set_valid != '0 || moderate_valid != '0 || done_valid != '0;
    if (rst) begin
      wake_ns <= '1;
      idle_q  <= 1'b0;
      comes_q <= 1'b0;
    end
  end
  assign idle = idle_q && !comes_q;

endmodule
