// SPDX-License-Identifier: Apache-2.0
// The registers of the function engine (regs/host.rdl): sets queues and the moderation of their interrupts, rings
// doorbells, sets the functions' policies and rates, reads counters, and keeps the queues that failed.
// Latency: what is asked of queues and functions is in registers a cycle after the register block has it.
module host_control
  import axi_pkg::*;
  import host_pkg::*;
#(
    parameter int unsigned FUNCTIONS = 16,
    parameter int unsigned PAIRS = 1,
    parameter int unsigned FIRST = 1,
    parameter int unsigned MAX_FRAME = 9216,
    parameter int unsigned LONGEST_CUT = 0,   // frame that is cut into segments
    parameter int unsigned FAULT_VECTOR = 2,  // of the card's own interrupt
    parameter int unsigned WIPES = 72,        // cycles after a reset in which no queue can be set
    parameter bit GATED = 1'b0,               // a clock gate: see clock_gate
    localparam int unsigned QUEUES = FUNCTIONS * PAIRS,
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1,
    localparam int unsigned FUNCTION_W = FUNCTIONS > 1 ? $clog2(FUNCTIONS) : 1
) (
    input  logic                    clk,
    input  logic                    rst,
    input  axil_req_t               axil_req,
    output axil_rsp_t               axil_rsp,

    // Of each side: 0 transmit, 1 receive
    output logic [1:0]              set_valid,
    output logic [1:0]              bell_valid,
    output logic [1:0]              moderate_valid,
    output logic [1:0]              count_valid,
    output logic [QUEUE_W-1:0]      bell_queue,
    output logic [QUEUE_W-1:0]      number,           // of the queue that everything else is about
    output virtq_t                  set,
    output logic [15:0]             moderate_packets,
    output logic [31:0]             moderate_ns,
    input  logic [1:0]              quiet,            // of the queue, some cycles later
    input  place_t [1:0]            place,
    input  logic [1:0]              counted_valid,
    input  logic [1:0][4:0][63:0]   counted,
    input  logic [1:0]              fail_valid,
    output logic [1:0]              fail_ready,
    input  logic [1:0][QUEUE_W-1:0] fail_queue,
    input  fault_t [1:0]            fail_fault,

    output logic                    policy_valid,
    output logic                    pace_valid,
    output logic                    drops_valid,
    output logic [FUNCTION_W-1:0]   owner,            // the function that they are about
    output policy_t                 policy,
    output logic [BYTE_TIME_W-1:0]  pace_time,
    input  logic                    dropped_valid,
    input  policy_drops_t           dropped,

    output logic                    irq_valid,
    input  logic                    irq_ready,
    output logic [15:0]             irq_vector,
    output logic                    idle
);

  if (QUEUES < 1 || QUEUES > 65536) begin : gen_bad_queues
    $fatal(1, "host_control: FUNCTIONS * PAIRS must be 1 to 65536, not %0d", QUEUES);
  end

  localparam int unsigned SETTLED = 64;  // cycles for which a queue is quiet that stays so

  host_regs_pkg::host_regs__in_t regs_in;
  host_regs_pkg::host_regs__out_t regs_out;

  // Accesses wait while counters are read and, after a reset, while the units wipe their memories. There is one read
  // at a time: counters are many, and have a cycle of their own to be chosen in. The register block answers 0 in their
  // place, into which they are put.
  localparam logic [8:0] COUNTED = 9'h080, DROPPED = 9'h120;  // where host.rdl has them, in blocks of 64 bytes
  logic reading_q, chooses_q;
  logic [8:2] read_at_q;
  logic [31:0] counter, counter_q;
  logic counting_q;
  logic [$clog2(WIPES+1)-1:0] wipe_left_q;
  wire busy = counting_q || wipe_left_q != '0 || regs_out.queue.start.count.value || regs_out.policy.start.count.value;

  // The clock runs for accesses, for what is told, and while it changes whether the queue is quiet, and where it is.
  logic gated, looks;
  clock_gate #(
      .GATED(GATED),
      .HOLD(6),  // from a register's access to what it leads to
      .WATCHED($bits(axil_rsp_t) + 15)
  ) u_gate (
      .clk,
      .rst,
      .work   (!axil_quiet(axil_req, axil_rsp) || busy || looks || !idle),
      .watched({axil_rsp, set_valid, bell_valid, moderate_valid, count_valid, fail_ready, policy_valid, pace_valid,
                drops_valid, irq_valid, idle}),
      .gated
  );

  always_ff @(posedge gated) begin
    if (wipe_left_q != '0) wipe_left_q <= wipe_left_q - 1'b1;
    if (rst) wipe_left_q <= ($clog2(WIPES + 1))'(WIPES);
  end
  axil_rsp_t regs_rsp;
  wire arvalid = axil_req.arvalid && !busy && !reading_q;
  wire read_ends = axil_rsp.rvalid && axil_req.rready;
  wire [15:0] read_address = near(axil_req.araddr[15:0]);
  // Addresses of 9 bits: those past them become the last one, where no register is.
  function automatic logic [15:0] near(logic [15:0] address);
    return {7'd0, address[8:0] | {9{address[15:9] != '0}}};
  endfunction
  always_comb begin
    axil_rsp         = regs_rsp;
    axil_rsp.awready = regs_rsp.awready && !busy;
    axil_rsp.wready  = regs_rsp.wready && !busy;
    axil_rsp.arready = regs_rsp.arready && !busy && !reading_q;
    axil_rsp.rdata   = regs_rsp.rdata | counter_q;
  end
  always_ff @(posedge gated) begin
    chooses_q <= 1'b0;
    if (read_ends) reading_q <= 1'b0;
    if (arvalid && regs_rsp.arready) begin
      reading_q <= 1'b1;
      chooses_q <= 1'b1;
      read_at_q <= read_address[8:2];
    end
    if (chooses_q) counter_q <= counter;
    if (rst) begin
      reading_q <= 1'b0;
      chooses_q <= 1'b0;
    end
  end

  host_regs u_regs (
      .clk(gated),
      .rst,
      .s_axil_awaddr (near(axil_req.awaddr[15:0])),
      .s_axil_awprot (axil_req.awprot),
      .s_axil_awvalid(axil_req.awvalid && !busy),
      .s_axil_awready(regs_rsp.awready),
      .s_axil_wdata  (axil_req.wdata),
      .s_axil_wstrb  (axil_req.wstrb),
      .s_axil_wvalid (axil_req.wvalid && !busy),
      .s_axil_wready (regs_rsp.wready),
      .s_axil_bresp  (regs_rsp.bresp),
      .s_axil_bvalid (regs_rsp.bvalid),
      .s_axil_bready (axil_req.bready),
      .s_axil_araddr (read_address),
      .s_axil_arprot (axil_req.arprot),
      .s_axil_arvalid(arvalid),
      .s_axil_arready(regs_rsp.arready),
      .s_axil_rdata  (regs_rsp.rdata),
      .s_axil_rresp  (regs_rsp.rresp),
      .s_axil_rvalid (regs_rsp.rvalid),
      .s_axil_rready (axil_req.rready),
      .hwif_in (regs_in),
      .hwif_out(regs_out)
  );

  // ------------------------------------------------------------------------------------------------ what is asked for
  // All of it leaves in the same cycle, so that commands are beside what they are about.
  wire [1:0] side = regs_out.queue.select.side.value ? 2'b10 : 2'b01;
  wire [15:0] item = regs_out.queue.select.item.value;
  wire [1:0] chosen = 32'(item) < QUEUES ? side : 2'b00;
  wire owner_known = 32'(regs_out.policy.select.item.value) < FUNCTIONS;
  wire changes = regs_out.queue.start.begin_queue.value || regs_out.queue.start.stop.value;
  wire [1:0] counts = regs_out.queue.start.count.value ? chosen : 2'b00;
  wire counts_drops = regs_out.policy.start.count.value && owner_known;
  logic rung_q, rung_side_q;
  wire [15:0] rung_queue = rung_side_q ? regs_out.bell.receive.queue.value : regs_out.bell.transmit.queue.value;
  always_ff @(posedge gated) begin
    set_valid        <= changes ? chosen : 2'b00;
    moderate_valid   <= regs_out.queue.start.moderate.value ? chosen : 2'b00;
    count_valid      <= counts;
    bell_valid       <= rung_q && 32'(rung_queue) < QUEUES ? {rung_side_q, !rung_side_q} : 2'b00;
    bell_queue       <= QUEUE_W'(rung_queue);
    number           <= QUEUE_W'(item);
    moderate_packets <= regs_out.queue.moderate_packets.count.value;
    moderate_ns      <= regs_out.queue.moderate_ns.value.value;
    set              <= '{
        enabled: regs_out.queue.start.begin_queue.value,
        mergeable: regs_out.queue.kind.mergeable.value,
        indirect: regs_out.queue.kind.indirect.value,
        event_index: regs_out.queue.kind.event_index.value,
        checksum: regs_out.queue.kind.checksum.value,
        segment: regs_out.queue.kind.segment.value,
        start: '{wrap: regs_out.queue.at.wrap.value, index: regs_out.queue.at.place.value},
        size: regs_out.queue.kind.size.value,
        vector: regs_out.queue.at.vector.value,
        ring: {regs_out.queue.ring[1].value.value, regs_out.queue.ring[0].value.value},
        driver: {regs_out.queue.driver[1].value.value, regs_out.queue.driver[0].value.value},
        device: {regs_out.queue.device[1].value.value, regs_out.queue.device[0].value.value}
    };
    policy_valid     <= regs_out.policy.start.apply.value && owner_known;
    pace_valid       <= regs_out.policy.start.pace.value && owner_known;
    drops_valid      <= counts_drops;
    owner            <= FUNCTION_W'(regs_out.policy.select.item.value);
    pace_time        <= regs_out.policy.byte_time.value.value;
    policy           <= '{
        service: regs_out.policy.rules.service.value,
        spoofcheck: regs_out.policy.rules.spoofcheck.value,
        trust: regs_out.policy.rules.trust.value,
        qos: regs_out.policy.rules.qos.value,
        vlan: regs_out.policy.rules.vlan.value,
        mac: {regs_out.policy.mac[1].value.value[15:0], regs_out.policy.mac[0].value.value}
    };
    if (rst) begin
      set_valid      <= '0;
      moderate_valid <= '0;
      count_valid    <= '0;
      bell_valid     <= '0;
      policy_valid   <= 1'b0;
      pace_valid     <= 1'b0;
      drops_valid    <= 1'b0;
    end
  end

  // A bell's value is there a cycle after it is written.
  logic [$clog2(SETTLED+1)-1:0] quiet_q;
  logic [QUEUE_W:0] probed_q;
  place_t place_q;  // of the queue, some cycles later
  wire [QUEUE_W:0] probed = {side[1], QUEUE_W'(item)};
  wire place_t place_d = place[regs_out.queue.select.side.value];
  assign looks = place_q != place_d || 32'(quiet_q) != ((quiet & side) == '0 ? 0 : SETTLED);
  always_ff @(posedge gated) begin
    rung_q      <= regs_out.bell.transmit.queue.swmod || regs_out.bell.receive.queue.swmod;
    rung_side_q <= regs_out.bell.receive.queue.swmod;
    if (|counts || counts_drops) counting_q <= 1'b1;
    if (|counted_valid || dropped_valid) counting_q <= 1'b0;
    probed_q <= probed;
    place_q  <= place_d;
    if (probed != probed_q || (quiet & side) == '0) quiet_q <= '0;
    else if (32'(quiet_q) != SETTLED) quiet_q <= quiet_q + 1'b1;
    if (rst) begin
      rung_q     <= 1'b0;
      counting_q <= 1'b0;
      quiet_q    <= '0;
    end
  end

  // -------------------------------------------------------------------------------------------- queues that failed
  typedef struct packed {
    logic               side;
    logic [QUEUE_W-1:0] number;
    fault_t             fault;
  } failed_t;

  logic failed_ready, failed_valid, told_q;
  failed_t failed;
  wire which = !fail_valid[0];
  assign fail_ready = fail_valid[0] ? {1'b0, failed_ready} : {failed_ready, 1'b0};
  stream_fifo #(
      .WIDTH($bits(failed_t)),
      .DEPTH(4)
  ) u_failed (
      .clk(gated),
      .rst,
      .s_valid(|fail_valid),
      .s_ready(failed_ready),
      .s_data ({which, fail_queue[which], fail_fault[which]}),
      .m_valid(failed_valid),
      .m_ready(regs_out.failed.advance.start.value),
      .m_data (failed),
      .count  (),
      .idle   ()
  );
  assign irq_valid  = failed_valid && !told_q;
  assign irq_vector = 16'(FAULT_VECTOR);
  always_ff @(posedge gated) begin
    if (irq_valid && irq_ready) told_q <= 1'b1;
    if (!failed_valid || regs_out.failed.advance.start.value) told_q <= 1'b0;
    if (rst) told_q <= 1'b0;
  end

  always_comb begin
    regs_in                             = '{default: '0};
    regs_in.sizes.functions.next        = 16'(FUNCTIONS);
    regs_in.sizes.pairs.next            = 4'(PAIRS);
    regs_in.sizes.first.next            = 8'(FIRST);
    regs_in.max_frame.bytes.next        = MAX_FRAME;
    regs_in.longest_cut.bytes.next      = LONGEST_CUT;
    regs_in.queue.state.quiet.next      = 32'(quiet_q) == SETTLED && probed == probed_q;
    regs_in.queue.state.place.next      = place_q.index;
    regs_in.queue.state.wrap.next       = place_q.wrap;
    regs_in.failed.first.valid.next     = failed_valid;
    regs_in.failed.first.side.next      = failed.side;
    regs_in.failed.first.fault.next     = failed.fault;
    regs_in.failed.first.queue.next     = 16'(failed.number);
  end

  logic [15:0][31:0] counted_words, dropped_words;
  always_comb begin
    counted_words = '0;
    dropped_words = '0;
    counted_words[COUNTED[5:2]+:10] = counted[regs_out.queue.select.side.value];
    dropped_words[DROPPED[5:2]+:8]  = dropped;
    counter = '0;
    if (read_at_q[8:6] == COUNTED[8:6]) counter = counted_words[read_at_q[5:2]];
    if (read_at_q[8:6] == DROPPED[8:6]) counter = dropped_words[read_at_q[5:2]];
  end

  assign idle = !rung_q && !counting_q && !irq_valid && fail_valid == '0 && set_valid == '0 && moderate_valid == '0
      && bell_valid == '0 && !policy_valid && !pace_valid;

endmodule
