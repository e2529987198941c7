// SPDX-License-Identifier: Apache-2.0
// Takes a fetch's descriptors apart, one after the other, into buffers. A head that is available and goes on with NEXT
// is taken, but what follows it only if an earlier fetch saw the head available already; otherwise it is read again.
// So is all behind an indirect table.
// Latency: a fetch of n descriptors takes 4 + n cycles at most. Throughput: a descriptor a cycle within a fetch.
// Backpressure: its buffers have room; the last step of a fetch waits while `hold` is high.
module virtq_fetch_parse
  import host_pkg::*, virtq_fetch_pkg::*;
#(
    parameter int unsigned QUEUES = 16,
    parameter int unsigned DATA_W = 512,
    parameter int unsigned READS = 16,
    parameter int unsigned BURST = 16,
    parameter bit WRITABLE = 1'b0,
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1,
    localparam int unsigned LANES = DATA_W / (8 * DESCRIPTOR_BYTES),
    localparam int unsigned BEATS = BURST / LANES,
    localparam int unsigned SLOT_W = $clog2(READS),
    localparam int unsigned BEAT_W = BEATS > 1 ? $clog2(BEATS) : 1
) (
    input  logic               clk,
    input  logic               rst,
    input  logic               hold,

    input  logic               done_valid,
    output logic               done_ready,
    input  logic [ SLOT_W-1:0] done_slot,
    input  logic               done_failed,
    input  logic [5:0]         done_seen,
    input  logic [QUEUE_W-1:0] done_queue,    // these two of the same fetch
    input  fetch_t             done_fetch,
    output logic               rd_en,
    output logic [ SLOT_W-1:0] rd_slot,
    output logic [ BEAT_W-1:0] rd_beat,
    input  logic [ DATA_W-1:0] rd_data,

    output logic               buffer_valid,
    output logic [QUEUE_W-1:0] buffer_queue,
    output logic [7:0]         buffer_place,
    output buffer_t            buffer,

    output logic               end_valid,     // one cycle: the fetch is over
    output logic [QUEUE_W-1:0] end_queue,
    output logic [ SLOT_W-1:0] end_slot,
    output progress_t          end_progress,
    output logic               end_fresh,     // with buffers
    output logic               idle
);

  if (QUEUES < 1 || QUEUES > 65536) begin : gen_bad_queues
    $fatal(1, "virtq_fetch_parse: QUEUES must be 1 to 65536, not %0d", QUEUES);
  end
  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512) begin : gen_bad_data_w
    $fatal(1, "virtq_fetch_parse: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (READS < 2 || READS > 128 || 2 ** SLOT_W != READS) begin : gen_bad_reads
    $fatal(1, "virtq_fetch_parse: READS must be a power of two from 2 to 128, not %0d", READS);
  end
  if (BURST < 4 || BURST > 32 || 2 ** $clog2(BURST) != BURST) begin : gen_bad_burst
    $fatal(1, "virtq_fetch_parse: BURST must be a power of two from 4 to 32, not %0d", BURST);
  end

  typedef struct packed {
    logic [63:0] addr;
    logic [31:0] len;
    logic [15:0] id;
    logic [15:0] flags;
  } descriptor_t;

  // ---------------------------------------------------------------------------------- descriptors one after the other
  typedef enum logic [1:0] {
    WAIT,
    TAKE,
    FINISH
  } step_t;

  step_t step_q;
  logic indirect_q;
  logic [15:0] size_q;
  logic [5:0] lane_q;  // of the next one to ask for, from the fetch's first beat on
  logic [5:0] ask_q, seen_q, left_q;
  logic [4:0] sel_q;
  logic word_q, here_q, failed_q, fresh_q, found_q, eager_q;
  logic [127:0] raw_q;
  // verilator lint_off UNUSEDSIGNAL
  progress_t from_q;  // whose mode the end decides
  // verilator lint_on UNUSEDSIGNAL
  progress_t next;
  logic stop, found, emit;
  wire start = step_q == WAIT && done_valid;
  wire ask = step_q == TAKE && ask_q != 0;
  wire take = step_q == TAKE && here_q && !failed_q;

  assign done_ready = step_q == WAIT;
  assign rd_en      = ask;
  assign rd_slot    = end_slot;
  assign rd_beat    = BEAT_W'(32'(lane_q) / LANES);

  always_ff @(posedge clk) begin
    word_q <= ask && !stop;
    sel_q  <= 5'(32'(lane_q) % LANES);
    here_q <= word_q && !stop;
    if (word_q) raw_q <= rd_data[128*32'(sel_q)+:128];
    if (ask) begin
      lane_q  <= lane_q + 1'b1;
      ask_q  <= ask_q - 1'b1;
    end
    unique case (step_q)
      WAIT: begin
        lane_q  <= 6'(done_fetch.first);
        ask_q   <= done_fetch.count;
        left_q  <= done_fetch.count;
        seen_q  <= done_seen < done_fetch.count ? done_seen : done_fetch.count;
        if (done_valid) step_q <= TAKE;
      end
      TAKE: begin
        if (take) begin
          left_q <= left_q - 1'b1;
          if (!from_q.in_table && seen_q != 0) seen_q <= seen_q - 1'b1;
        end
        if (stop) step_q <= FINISH;
      end
      default: if (!hold) step_q <= WAIT;
    endcase
    if (start) begin
      indirect_q <= done_fetch.indirect;
      size_q     <= done_fetch.size;
      from_q     <= done_fetch.from;
      end_queue  <= done_queue;
      end_slot   <= done_slot;
      failed_q   <= done_failed;
      eager_q    <= done_seen >= done_fetch.count;
    end
    if (rst) begin
      step_q <= WAIT;
      word_q <= 1'b0;
      here_q <= 1'b0;
    end
    // What the descriptor in hand changes
    if (start) begin
      found_q <= 1'b0;
      fresh_q <= 1'b0;
    end else if (step_q == TAKE) begin
      from_q  <= next;
      found_q <= found;
      fresh_q <= fresh_q || emit;
    end
  end

  // -------------------------------------------------------------------------------------------------- a descriptor
  descriptor_t descriptor;
  assign descriptor.addr  = raw_q[63:0];
  assign descriptor.len   = raw_q[95:64];
  assign descriptor.id    = raw_q[111:96];
  assign descriptor.flags = raw_q[127:112];

  fault_t fault;
  buffer_t emitted;
  wire head = !from_q.in_table && from_q.slots == 0;
  wire available = descriptor.flags[AVAIL] == from_q.place.wrap && descriptor.flags[USED] != from_q.place.wrap;
  wire trusted = from_q.trusted != 0;
  wire [15:0] slots = from_q.slots + 16'd1;
  // DPDK leaves WRITE in tables of what is to be read.
  wire wrong_way = WRITABLE ? !descriptor.flags[WRITE] : descriptor.flags[WRITE] && !from_q.in_table;
  wire none = head && !available;
  wire to_table = head && descriptor.flags[INDIRECT];
  wire goes_on = descriptor.flags[NEXT];
  wire last = from_q.in_table ? from_q.entries == 16'd1 : !goes_on;
  wire [5:0] others = seen_q == 0 ? 6'd0 : seen_q - 6'd1;
  wire at_end = 16'(from_q.place.index) + 16'd1 == size_q;

  always_comb begin
    fault = FAULT_NONE;
    if (step_q == TAKE && failed_q) begin
      fault = FAULT_MEMORY;
    end else if (none || !take) begin
      fault = FAULT_NONE;
    end else if (to_table) begin
      if (goes_on || !indirect_q) fault = FAULT_FLAGS;
      else if (descriptor.len[3:0] != 0 || descriptor.len == 0 || descriptor.addr[3:0] != 0) fault = FAULT_LENGTH;
      else if (descriptor.len[31:4] > 28'(size_q)) fault = FAULT_CHAIN;
    end else if (descriptor.flags[INDIRECT]) begin
      fault = FAULT_FLAGS;
    end else if (wrong_way) begin
      fault = FAULT_DIRECTION;
    end else if (!from_q.in_table && goes_on && slots == size_q) begin
      fault = FAULT_CHAIN;
    end

    next  = from_q;
    found = found_q;
    stop  = 1'b0;
    emit  = 1'b0;
    if (take && none) begin
      next.trusted = '0;
      stop         = 1'b1;
    end else if (take) begin
      found = 1'b1;
      stop  = left_q == 6'd1;
      emit  = !to_table;
      if (from_q.in_table) begin
        next.entry    = from_q.entry + 1'b1;
        next.entries  = from_q.entries - 1'b1;
        next.in_table = !last;
        if (last) next.slots = '0;
      end else begin
        next.place.index = at_end ? '0 : from_q.place.index + 1'b1;
        next.place.wrap  = from_q.place.wrap ^ at_end;
        next.slots       = last ? '0 : slots;
        next.trusted     = trusted ? from_q.trusted - 1'b1 : '0;
        if (to_table) begin
          next.in_table = 1'b1;
          next.entry    = descriptor.addr[63:4];
          next.entries  = descriptor.len[19:4];
          next.id       = descriptor.id;
          next.slots    = 16'd1;
        end
        if (to_table || (head && goes_on && !trusted)) begin
          next.trusted = others;
          stop         = 1'b1;
        end
      end
    end
    // Of a queue that has stopped nothing else counts.
    if (fault != FAULT_NONE) begin
      next.stopped = 1'b1;
      stop         = 1'b1;
      emit         = 1'b1;
    end
    if (emit) next.put = from_q.put + 1'b1;

    emitted.failed = fault != FAULT_NONE;
    emitted.last   = last || emitted.failed;
    emitted.addr   = descriptor.addr;
    emitted.bytes  = descriptor.len[31:17] != 0 ? '1 : descriptor.len[16:0];
    if (emitted.failed) emitted.bytes = 17'(fault);
    emitted.id     = from_q.in_table ? from_q.id : descriptor.id;
    emitted.slots  = from_q.in_table ? from_q.slots : slots;
  end

  always_ff @(posedge clk) begin
    buffer_valid <= step_q == TAKE && emit;
    if (emit) begin
      buffer_queue <= end_queue;
      buffer_place <= from_q.put;
      buffer       <= emitted;
    end
    if (rst) buffer_valid <= 1'b0;
  end

  always_comb begin
    end_progress      = from_q;
    end_progress.mode = found_q ? POLL : from_q.off ? CONFIRM : REST;
    if (!from_q.in_table) end_progress.eager = eager_q;
  end
  assign end_valid = step_q == FINISH && !hold;
  assign end_fresh = fresh_q;
  assign idle      = step_q == WAIT && !buffer_valid;

endmodule
