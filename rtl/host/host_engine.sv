// SPDX-License-Identifier: Apache-2.0
// The function engine: FUNCTIONS virtual functions, each a virtio network device with packed virtqueues in host memory.
// What drivers send comes out of one stream, what goes to them comes in by another, both with the number of a queue.
// Each side fetches descriptors ahead (virtq_fetch), moves packets (host_transmit, host_receive), and makes descriptors
// used (virtq_used); host_interrupt says when drivers are told. Between queues and streams, function_policy keeps
// functions to what they may send and are to receive.
// Latency, throughput and backpressure: those units. s_axis_tready does not depend on drivers: host_receive.
module host_engine
  import axi_pkg::*;
  import host_pkg::*;
#(
    parameter int unsigned FUNCTIONS = 16,
    parameter int unsigned PAIRS = 1,
    parameter int unsigned FIRST = 1,       // number of function 0 beside accesses of host memory, and of interrupts
    parameter int unsigned DATA_W = 512,
    parameter int unsigned STORE_KB = 64,   // for packets, each way; with SEGMENT at least 256 for those of drivers
    parameter int unsigned MAX_FRAME = 9216,
    parameter bit SEGMENT = 1'b1,           // TCP's segmentation is offered
    parameter bit GATED = 1'b0,             // clock gates: see clock_gate
    localparam int unsigned KEEP_W = DATA_W / 8,
    localparam int unsigned QUEUES = FUNCTIONS * PAIRS,
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1,
    localparam int unsigned FUNCTION_W = FUNCTIONS > 1 ? $clog2(FUNCTIONS) : 1
) (
    input  logic               clk,
    input  logic               rst,
    input  logic [63:0]        time_ns,
    input  axil_req_t          axil_req,
    output axil_rsp_t          axil_rsp,

    input  logic               s_axis_tvalid,   // to drivers
    output logic               s_axis_tready,
    input  logic [DATA_W-1:0]  s_axis_tdata,
    input  logic [KEEP_W-1:0]  s_axis_tkeep,
    input  logic               s_axis_tlast,
    input  logic [QUEUE_W-1:0] s_axis_queue,
    output logic               m_axis_tvalid,   // from drivers
    input  logic               m_axis_tready,
    output logic [DATA_W-1:0]  m_axis_tdata,
    output logic [KEEP_W-1:0]  m_axis_tkeep,
    output logic               m_axis_tlast,
    output logic [QUEUE_W-1:0] m_axis_queue,

    output axi_req_t           axi_req,
    output logic [DATA_W-1:0]  axi_wdata,
    output logic [KEEP_W-1:0]  axi_wstrb,
    input  axi_rsp_t           axi_rsp,
    input  logic [DATA_W-1:0]  axi_rdata,

    output logic               irq_valid,
    input  logic               irq_ready,
    output logic [15:0]        irq_function,
    output logic [15:0]        irq_vector,
    output logic [63:0]        wake_ns,
    output logic               idle
);
  // Managers of host memory: what each reads and writes with
  localparam int unsigned MANAGERS = 7;
  localparam int unsigned TRANSMIT_DATA = 0;
  localparam int unsigned TRANSMIT_FETCH = 1;
  localparam int unsigned RECEIVE_FETCH = 2;
  localparam int unsigned RECEIVE_DATA = 3;
  localparam int unsigned TRANSMIT_USED = 4;
  localparam int unsigned RECEIVE_USED = 5;
  localparam int unsigned INTERRUPT = 6;
  localparam int unsigned JOBS = 128;  // packets that are read at once; with them 192 IDs of reads, which cards know
  localparam int unsigned READS = 16;  // fetches of descriptors, and looks, at once, each side
  localparam int unsigned IDS = READS;  // of used elements, each side
  localparam bit [63:0] READ_WIDTHS = 64'h5FF_F447;  // of IDs, manager 0's last; F: none
  localparam bit [63:0] WRITE_WIDTHS = 64'hF44_644F;

  axi_req_t [MANAGERS-1:0] reqs;
  axi_rsp_t [MANAGERS-1:0] rsps;
  logic [MANAGERS-1:0][DATA_W-1:0] wdatas;
  logic [MANAGERS-1:0][KEEP_W-1:0] wstrbs;
  logic [DATA_W-1:0] rdata;
  logic bus_idle, bus_clk;
  logic [MANAGERS-1:0] asks;

  for (genvar i = 0; i < int'(MANAGERS); i++) begin : gen_asks
    assign asks[i] = reqs[i].arvalid || reqs[i].awvalid || reqs[i].wvalid;
  end
  clock_gate #(
      .GATED(GATED),
      .WATCHED(6)
  ) u_bus_gate (
      .clk,
      .rst,
      .work   (asks != '0 || axi_rsp.rvalid || axi_rsp.bvalid || !bus_idle),
      .watched({axi_req.arvalid, axi_req.awvalid, axi_req.wvalid, axi_req.rready, axi_req.bready, bus_idle}),
      .gated  (bus_clk)
  );
  host_bus #(
      .MANAGERS(MANAGERS),
      .MEM_W(DATA_W),
      .READ_WIDTHS(READ_WIDTHS),
      .WRITE_WIDTHS(WRITE_WIDTHS)
  ) u_bus (
      .clk(bus_clk),
      .rst,
      .s_req  (reqs),
      .s_wdata(wdatas),
      .s_wstrb(wstrbs),
      .s_rsp  (rsps),
      .s_rdata(rdata),
      .m_req  (axi_req),
      .m_wdata(axi_wdata),
      .m_wstrb(axi_wstrb),
      .m_rsp  (axi_rsp),
      .m_rdata(axi_rdata),
      .idle   (bus_idle)
  );

  // Both sides: 0 transmit, 1 receive
  virtq_t set;
  logic [1:0] set_valid, bell_valid, moderate_valid, count_valid, counted_valid, fail_valid, fail_ready;
  logic [1:0] fetch_quiet, packets_quiet, used_quiet, interrupt_quiet, quiet_q;
  logic [1:0] fetch_idle, packets_idle, used_idle, counters_idle, faults_idle;
  logic [QUEUE_W-1:0] bell_queue, number;
  logic [15:0] moderate_packets;
  logic [31:0] moderate_ns;
  place_t [1:0] place, done_place;
  logic [1:0][4:0][63:0] counted;
  logic [1:0][QUEUE_W-1:0] fail_queue, done_queue;
  fault_t [1:0] fail_fault;
  logic [1:0] done_valid;
  logic [1:0][15:0] done_count;
  logic [1:0][16:0] done_slots;
  logic control_irq_valid, control_irq_ready, queue_irq_valid, queue_irq_ready;
  logic [15:0] control_vector, queue_function, queue_vector;
  logic control_idle, interrupt_idle, policy_idle;
  logic policy_valid, pace_valid, drops_valid, dropped_valid;
  logic [FUNCTION_W-1:0] owner;
  policy_t policy;
  policy_drops_t dropped;
  logic [BYTE_TIME_W-1:0] pace_time;
  logic [63:0] pace_wake_ns, interrupt_wake_ns;

  host_control #(
      .FUNCTIONS(FUNCTIONS),
      .PAIRS(PAIRS),
      .FIRST(FIRST),
      .MAX_FRAME(MAX_FRAME),
      .LONGEST_CUT(SEGMENT ? offload_pkg::LONGEST_CUT : 0),
      .GATED(GATED),
      .WIPES((QUEUES > JOBS ? QUEUES : JOBS) + 8)
  ) u_control (
      .clk,
      .rst,
      .axil_req,
      .axil_rsp,
      .set_valid,
      .bell_valid,
      .moderate_valid,
      .count_valid,
      .bell_queue,
      .number,
      .set,
      .moderate_packets,
      .moderate_ns,
      .quiet     (quiet_q),
      .place,
      .counted_valid,
      .counted,
      .fail_valid,
      .fail_ready,
      .fail_queue,
      .fail_fault,
      .policy_valid,
      .pace_valid,
      .drops_valid,
      .owner,
      .policy,
      .pace_time,
      .dropped_valid,
      .dropped,
      .irq_valid (control_irq_valid),
      .irq_ready (control_irq_ready),
      .irq_vector(control_vector),
      .idle      (control_idle)
  );
  always_ff @(posedge clk) quiet_q <= fetch_quiet & packets_quiet & used_quiet & interrupt_quiet;

  // From descriptors to those used, each side
  logic [1:0] fresh_valid, open_valid, open_ready, buffer_valid, buffer_ready, buffer_none, close;
  logic [1:0] used_valid, used_ready, event_valid, event_ready, room;
  logic [1:0][QUEUE_W-1:0] fresh_queue, open_queue, used_queue, event_queue, room_queue;
  logic [1:0][15:0] room_begun, room_begun_all;
  buffer_t [1:0] buffer;
  used_t [1:0] used;
  logic [1:0][1:0] event_kind;
  logic [1:0][16:0] event_bytes;
  logic [1:0][2:0] failed;  // packets, used elements, interrupts
  logic [1:0][2:0][QUEUE_W-1:0] failed_queue;
  fault_t [1:0][2:0] failed_fault;

  logic told_clk;  // of what is counted, and of faults
  clock_gate #(
      .GATED(GATED),
      .WATCHED(10)
  ) u_told_gate (
      .clk,
      .rst,
      .work   (event_valid != '0 || count_valid != '0 || !(&counters_idle && &faults_idle)),
      .watched({event_ready, counted_valid, fail_valid, counters_idle, faults_idle}),
      .gated  (told_clk)
  );

  for (genvar side = 0; side < 2; side++) begin : gen_side
    localparam int unsigned FETCH = side == 0 ? TRANSMIT_FETCH : RECEIVE_FETCH;
    localparam int unsigned ELEMENTS = side == 0 ? TRANSMIT_USED : RECEIVE_USED;

    virtq_fetch #(
        .QUEUES(QUEUES),
        .PAIRS(PAIRS),
        .FIRST(FIRST),
        .DATA_W(DATA_W),
        .WRITABLE(side == 1),
        .READS(READS),
        .GATED(GATED)
    ) u_fetch (
        .clk,
        .rst,
        .set_valid   (set_valid[side]),
        .set_queue   (number),
        .set,
        .probe_queue (number),
        .probe_quiet (fetch_quiet[side]),
        .bell_valid  (bell_valid[side]),
        .bell_queue,
        .m_req       (reqs[FETCH]),
        .m_wdata     (wdatas[FETCH]),
        .m_wstrb     (wstrbs[FETCH]),
        .m_rsp       (rsps[FETCH]),
        .m_rdata     (rdata),
        .fresh_valid (fresh_valid[side]),
        .fresh_queue (fresh_queue[side]),
        .open_valid  (open_valid[side]),
        .open_ready  (open_ready[side]),
        .open_queue  (open_queue[side]),
        .buffer_valid(buffer_valid[side]),
        .buffer_ready(buffer_ready[side]),
        .buffer      (buffer[side]),
        .buffer_none (buffer_none[side]),
        .close       (close[side]),
        .idle        (fetch_idle[side])
    );

    virtq_used #(
        .QUEUES(QUEUES),
        .PAIRS(PAIRS),
        .FIRST(FIRST),
        .DATA_W(DATA_W),
        .IDS(IDS),
        .GATED(GATED)
    ) u_used (
        .clk,
        .rst,
        .set_valid  (set_valid[side]),
        .set_queue  (number),
        .set,
        .probe_queue(number),
        .probe_quiet(used_quiet[side]),
        .place_queue(number),
        .place_next (place[side]),
        .room_queue (room_queue[side]),
        .room_begun (room_begun[side]),
        .room_begun_all(room_begun_all[side]),
        .room       (room[side]),
        .used_valid (used_valid[side]),
        .used_ready (used_ready[side]),
        .used_queue (used_queue[side]),
        .used       (used[side]),
        .done_valid (done_valid[side]),
        .done_queue (done_queue[side]),
        .done_count (done_count[side]),
        .done_place (done_place[side]),
        .done_slots (done_slots[side]),
        .fail_valid (failed[side][1]),
        .fail_queue (failed_queue[side][1]),
        .fail_fault (failed_fault[side][1]),
        .axi_req    (reqs[ELEMENTS]),
        .axi_wdata  (wdatas[ELEMENTS]),
        .axi_wstrb  (wstrbs[ELEMENTS]),
        .axi_rsp    (rsps[ELEMENTS]),
        .idle       (used_idle[side])
    );

    host_counters #(
        .QUEUES(QUEUES)
    ) u_counters (
        .clk(told_clk),
        .rst,
        .event_valid(event_valid[side]),
        .event_ready(event_ready[side]),
        .event_queue(event_queue[side]),
        .event_kind (event_kind[side]),
        .event_bytes(event_bytes[side]),
        .read       (count_valid[side]),
        .read_queue (number),
        .read_valid (counted_valid[side]),
        .counted    (counted[side]),
        .idle       (counters_idle[side])
    );

    host_faults #(
        .QUEUES(QUEUES)
    ) u_faults (
        .clk(told_clk),
        .rst,
        .failed      (failed[side]),
        .failed_queue(failed_queue[side]),
        .failed_fault(failed_fault[side]),
        .fail_valid  (fail_valid[side]),
        .fail_ready  (fail_ready[side]),
        .fail_queue  (fail_queue[side]),
        .fail_fault  (fail_fault[side]),
        .idle        (faults_idle[side])
    );
  end

  // Streams between the queues and what functions may do
  logic out_tvalid, out_tready, out_tlast, sent_tvalid, sent_tready, sent_tlast;
  logic received_tvalid, received_tready, received_tlast;
  logic [DATA_W-1:0] out_tdata, sent_tdata, received_tdata;
  logic [KEEP_W-1:0] out_tkeep, sent_tkeep, received_tkeep;
  logic [QUEUE_W-1:0] out_queue, sent_queue, received_queue;
  logic sent_idle, policy_clk;

  clock_gate #(
      .GATED(GATED),
      .HOLD(4),
      .WATCHED(8)
  ) u_policy_gate (
      .clk,
      .rst,
      .work   (out_tvalid || s_axis_tvalid || policy_valid || drops_valid || !sent_idle || !policy_idle),
      .watched({out_tready, s_axis_tready, m_axis_tvalid, received_tvalid, dropped_valid, sent_tvalid, sent_idle,
                policy_idle}),
      .gated  (policy_clk)
  );
  stream_reg #(
      .WIDTH(QUEUE_W + 1 + KEEP_W + DATA_W)
  ) u_sent (
      .clk(policy_clk),
      .rst,
      .s_valid(out_tvalid),
      .s_ready(out_tready),
      .s_data ({out_queue, out_tlast, out_tkeep, out_tdata}),
      .m_valid(sent_tvalid),
      .m_ready(sent_tready),
      .m_data ({sent_queue, sent_tlast, sent_tkeep, sent_tdata}),
      .idle   (sent_idle)
  );

  function_policy #(
      .FUNCTIONS(FUNCTIONS),
      .PAIRS(PAIRS),
      .DATA_W(DATA_W)
  ) u_policy (
      .clk(policy_clk),
      .rst,
      .set_valid    (policy_valid),
      .set_function (owner),
      .set          (policy),
      .read         (drops_valid),
      .read_function(owner),
      .read_valid   (dropped_valid),
      .drops        (dropped),
      .sent_tvalid,
      .sent_tready,
      .sent_tdata,
      .sent_tkeep,
      .sent_tlast,
      .sent_queue,
      .m_axis_tvalid,
      .m_axis_tready,
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_queue,
      .s_axis_tvalid,
      .s_axis_tready,
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .s_axis_queue,
      .received_tvalid,
      .received_tready,
      .received_tdata,
      .received_tkeep,
      .received_tlast,
      .received_queue,
      .idle         (policy_idle)
  );

  logic checked_tvalid, checked_tready, checked_tlast, checked_right, sum_idle;
  logic [DATA_W-1:0] checked_tdata;
  logic [KEEP_W-1:0] checked_tkeep;
  logic [QUEUE_W-1:0] checked_queue;
  logic sum_clk;

  clock_gate #(
      .GATED(GATED),
      .WATCHED(3)
  ) u_sum_gate (
      .clk,
      .rst,
      .work   (received_tvalid || !sum_idle),
      .watched({received_tready, checked_tvalid, sum_idle}),
      .gated  (sum_clk)
  );
  receive_sum #(
      .DATA_W(DATA_W),
      .QUEUES(QUEUES)
  ) u_sum (
      .clk(sum_clk),
      .rst,
      .s_axis_tvalid   (received_tvalid),
      .s_axis_tready   (received_tready),
      .s_axis_tdata    (received_tdata),
      .s_axis_tkeep    (received_tkeep),
      .s_axis_tlast    (received_tlast),
      .s_axis_queue    (received_queue),
      .m_axis_tvalid   (checked_tvalid),
      .m_axis_tready   (checked_tready),
      .m_axis_tdata    (checked_tdata),
      .m_axis_tkeep    (checked_tkeep),
      .m_axis_tlast    (checked_tlast),
      .m_axis_queue    (checked_queue),
      .m_axis_valid_sum(checked_right),
      .idle            (sum_idle)
  );

  logic transmit_packet, transmit_dropped;
  logic [$clog2(JOBS+1)-1:0] transmit_begun, transmit_begun_all;
  host_transmit #(
      .DATA_W(DATA_W),
      .QUEUES(QUEUES),
      .PAIRS(PAIRS),
      .FIRST(FIRST),
      .STORE_KB(SEGMENT && STORE_KB < 256 ? 256 : STORE_KB),
      .JOBS(JOBS),
      .MAX_FRAME(MAX_FRAME),
      .SEGMENT(SEGMENT),
      .GATED(GATED)
  ) u_transmit (
      .clk,
      .rst,
      .time_ns,
      .set_valid    (set_valid[0]),
      .set_queue    (number),
      .set,
      .probe_queue  (number),
      .probe_quiet  (packets_quiet[0]),
      .idle         (packets_idle[0]),
      .wake_ns      (pace_wake_ns),
      .pace_valid,
      .pace_function(owner),
      .pace_time,
      .fresh_valid  (fresh_valid[0]),
      .fresh_queue  (fresh_queue[0]),
      .open_valid   (open_valid[0]),
      .open_ready   (open_ready[0]),
      .open_queue   (open_queue[0]),
      .buffer_valid (buffer_valid[0]),
      .buffer_ready (buffer_ready[0]),
      .buffer       (buffer[0]),
      .buffer_none  (buffer_none[0]),
      .close        (close[0]),
      .m_axi_req    (reqs[TRANSMIT_DATA]),
      .m_axi_rsp    (rsps[TRANSMIT_DATA]),
      .m_axi_rdata  (rdata),
      .m_axis_tvalid(out_tvalid),
      .m_axis_tready(out_tready),
      .m_axis_tdata (out_tdata),
      .m_axis_tkeep (out_tkeep),
      .m_axis_tlast (out_tlast),
      .m_axis_queue (out_queue),
      .room_queue   (room_queue[0]),
      .room_begun   (transmit_begun),
      .room_begun_all(transmit_begun_all),
      .room         (room[0]),
      .used_valid   (used_valid[0]),
      .used_ready   (used_ready[0]),
      .used_queue   (used_queue[0]),
      .used         (used[0]),
      .fail_valid   (failed[0][0]),
      .fail_queue   (failed_queue[0][0]),
      .fail_fault   (failed_fault[0][0]),
      .packet       (transmit_packet),
      .dropped      (transmit_dropped),
      .event_queue  (event_queue[0]),
      .event_bytes  (event_bytes[0])
  );
  assign room_begun[0]     = 16'(transmit_begun);
  assign room_begun_all[0] = 16'(transmit_begun_all);
  assign event_valid[0] = transmit_packet || transmit_dropped;
  assign event_kind[0]  = {1'b0, transmit_dropped};
  assign {wdatas[TRANSMIT_DATA], wstrbs[TRANSMIT_DATA]} = '0;

  host_receive #(
      .QUEUES(QUEUES),
      .PAIRS(PAIRS),
      .FIRST(FIRST),
      .DATA_W(DATA_W),
      .STORE_KB(STORE_KB),
      .MAX_FRAME(MAX_FRAME),
      .GATED(GATED)
  ) u_receive (
      .clk,
      .rst,
      .set_valid       (set_valid[1]),
      .set_queue       (number),
      .set,
      .probe_queue     (number),
      .probe_quiet     (packets_quiet[1]),
      .s_axis_tvalid   (checked_tvalid),
      .s_axis_tready   (checked_tready),
      .s_axis_tdata    (checked_tdata),
      .s_axis_tkeep    (checked_tkeep),
      .s_axis_tlast    (checked_tlast),
      .s_axis_queue    (checked_queue),
      .s_axis_cut      (1'b0),
      .s_axis_valid_sum(checked_right),
      .fresh_valid     (fresh_valid[1]),
      .fresh_queue     (fresh_queue[1]),
      .open_valid      (open_valid[1]),
      .open_ready      (open_ready[1]),
      .open_queue      (open_queue[1]),
      .buffer_valid    (buffer_valid[1]),
      .buffer_ready    (buffer_ready[1]),
      .buffer          (buffer[1]),
      .buffer_none     (buffer_none[1]),
      .close           (close[1]),
      .room_queue      (room_queue[1]),
      .room_begun      (room_begun[1]),
      .room_begun_all  (room_begun_all[1]),
      .room            (room[1]),
      .used_valid      (used_valid[1]),
      .used_ready      (used_ready[1]),
      .used_queue      (used_queue[1]),
      .used            (used[1]),
      .fail_valid      (failed[1][0]),
      .fail_queue      (failed_queue[1][0]),
      .fail_fault      (failed_fault[1][0]),
      .axi_req         (reqs[RECEIVE_DATA]),
      .axi_wdata       (wdatas[RECEIVE_DATA]),
      .axi_wstrb       (wstrbs[RECEIVE_DATA]),
      .axi_rsp         (rsps[RECEIVE_DATA]),
      .event_valid     (event_valid[1]),
      .event_ready     (event_ready[1]),
      .event_queue     (event_queue[1]),
      .event_kind      (event_kind[1]),
      .event_bytes     (event_bytes[1]),
      .idle            (packets_idle[1])
  );

  logic [1:0] done_valid_q;
  logic [1:0][QUEUE_W-1:0] done_queue_q;
  logic [1:0][15:0] done_count_q;
  place_t [1:0] done_place_q;
  logic [1:0][16:0] done_slots_q;
  always_ff @(posedge clk) begin
    done_valid_q <= done_valid;
    done_queue_q <= done_queue;
    done_count_q <= done_count;
    done_place_q <= done_place;
    done_slots_q <= done_slots;
    if (rst) done_valid_q <= '0;
  end

  host_interrupt #(
      .QUEUES(QUEUES),
      .PAIRS(PAIRS),
      .FIRST(FIRST),
      .DATA_W(DATA_W),
      .READS(READS),
      .GATED(GATED)
  ) u_interrupt (
      .clk,
      .rst,
      .time_ns,
      .set_valid,
      .set_queue     (number),
      .set,
      .moderate_valid,
      .moderate_queue(number),
      .moderate_packets,
      .moderate_ns,
      .probe_queue   (number),
      .probe_quiet   (interrupt_quiet),
      .done_valid    (done_valid_q),
      .done_queue    (done_queue_q),
      .done_count    (done_count_q),
      .done_place    (done_place_q),
      .done_slots    (done_slots_q),
      .axi_req       (reqs[INTERRUPT]),
      .axi_rsp       (rsps[INTERRUPT]),
      .axi_rdata     (rdata),
      .irq_valid     (queue_irq_valid),
      .irq_ready     (queue_irq_ready),
      .irq_function  (queue_function),
      .irq_vector    (queue_vector),
      .fail_valid    ({failed[1][2], failed[0][2]}),
      .fail_queue    ({failed_queue[1][2], failed_queue[0][2]}),
      .fail_fault    ({failed_fault[1][2], failed_fault[0][2]}),
      .wake_ns       (interrupt_wake_ns),
      .idle          (interrupt_idle)
  );
  assign {wdatas[INTERRUPT], wstrbs[INTERRUPT]} = '0;

  // A failure is told by the card's own function, 0; what is offered stays.
  logic told_q;
  wire tells = control_irq_valid && (told_q || !queue_irq_valid);
  always_ff @(posedge clk) begin
    told_q <= tells && !irq_ready;
    if (rst) told_q <= 1'b0;
  end
  assign irq_valid         = tells || queue_irq_valid;
  assign irq_function      = tells ? 16'd0 : queue_function;
  assign irq_vector        = tells ? control_vector : queue_vector;
  assign control_irq_ready = tells && irq_ready;
  assign queue_irq_ready   = !tells && irq_ready;

  assign wake_ns = pace_wake_ns < interrupt_wake_ns ? pace_wake_ns : interrupt_wake_ns;
`ifndef SYNTHESIS
  // What host_transmit tells of its packets can't wait.
  always_ff @(posedge clk) if (!rst) assert (!event_valid[0] || event_ready[0]) else $error("%m: an event is lost");
`endif

  assign idle = bus_idle && control_idle && interrupt_idle && policy_idle && sum_idle && sent_idle && &fetch_idle &&
      &packets_idle && &used_idle && &counters_idle && &faults_idle && done_valid_q == '0;

endmodule
