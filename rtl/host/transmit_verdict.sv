// SPDX-License-Identifier: Apache-2.0
// What becomes of each job that may go: its frame is sent, with a checksum if one is asked for, or dropped; its queue
// fails, with what comes after it, if host memory answered with an error or its chain can't be.
// The checksum is that of VIRTIO 1.2, 5.1.6.2, and as Linux's skb_checksum_help has it: one of 0 is sent as 0xFFFF,
// which is the same in ones' complement, and for UDP doesn't mean that there is none.
// Frames to be cut into segments get none here; what becomes of those, who cuts them tells.
// Latency: 4 cycles. Throughput: a job a cycle.
// Backpressure: the stages stop while m_valid waits for m_ready; next_ready follows m_ready.
module transmit_verdict
  import host_pkg::*;
  import transmit_pkg::*;
  import offload_pkg::request_t;
#(
    parameter int unsigned QUEUES = 16,
    parameter int unsigned JOBS = 64,
    parameter int unsigned CELL_W = 8,
    parameter int unsigned INDEX_W = 11,
    parameter int unsigned MAX_FRAME = 9216,
    parameter bit SEGMENT = 1'b0,
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1,
    localparam int unsigned JOB_W = $clog2(JOBS)
) (
    input  logic               clk,
    input  logic               rst,
    input  logic               wipe,         // of wipe_queue
    input  logic [QUEUE_W-1:0] wipe_queue,
    input  logic               set_valid,    // with set_enabled the queue is well again
    input  logic [QUEUE_W-1:0] set_queue,
    input  logic               set_enabled,
    input  logic               set_segment,

    input  logic               next_valid,
    output logic               next_ready,
    input  logic [  JOB_W-1:0] next_job,
    output logic               record_en,    // of next_job, whose records come a cycle later
    input  logic [QUEUE_W-1:0] record_queue,
    input  chain_t             record_chain,
    input  header_t            record_header,
    input  logic [       31:0] record_sum,
    input  logic [ CELL_W-1:0] record_cell,
    input  logic [INDEX_W-1:0] record_beats,
    input  logic               record_error,

    output logic               m_valid,
    input  logic               m_ready,
    output logic [  JOB_W-1:0] m_job,
    output logic [QUEUE_W-1:0] m_queue,
    output chain_t             m_chain,      // dropped: is not sent; fault: does not become used either
    output logic [ CELL_W-1:0] m_cell,
    output logic [INDEX_W-1:0] m_beats,      // in cells
    output logic               m_patch,      // bytes from m_place on become those of m_value
    output logic [FRAME_W-1:0] m_place,
    output logic [       15:0] m_value,      // the upper byte comes first
    output request_t           m_request,

    output logic               fail_valid,
    output logic [QUEUE_W-1:0] fail_queue,
    output fault_t             fail_fault,
    output logic               packet,
    output logic               dropped,
    output logic [QUEUE_W-1:0] event_queue,
    output logic [FRAME_W-1:0] event_bytes,
    output logic               idle
);

  // ------------------------------------------------------------------------------------ stages 1 and 2: records
  logic valid_1, valid_2, valid_3, advance;  // all stages at once
  logic [JOB_W-1:0] job_1, job_2;
  logic [QUEUE_W-1:0] queue_2;
  chain_t chain_2;
  header_t header_2;
  logic [CELL_W-1:0] cell_2;
  logic [INDEX_W-1:0] beats_2;
  logic error_2;
  logic [16:0] sum_2;

  assign next_ready = advance;
  assign record_en  = next_valid && next_ready;
  assign advance    = (!m_valid || m_ready) && !set_valid && !wipe;

  always_ff @(posedge clk) begin
    if (advance) begin
      valid_1  <= next_valid;
      job_1    <= next_job;
      valid_2  <= valid_1;
      job_2    <= job_1;
      queue_2  <= record_queue;
      chain_2  <= record_chain;
      header_2 <= record_header;
      cell_2   <= record_cell;
      beats_2  <= record_beats;
      error_2  <= record_error;
      sum_2    <= 17'(record_sum[15:0]) + 17'(record_sum[31:16]);
    end
    if (rst) begin
      valid_1 <= 1'b0;
      valid_2 <= 1'b0;
    end
  end

  // ---------------------------------------------------------------------------------- stage 3: sums of them, half way
  logic [JOB_W-1:0] job_3;
  logic [QUEUE_W-1:0] queue_3;
  chain_t chain_3;
  logic [CELL_W-1:0] cell_3;
  logic [INDEX_W-1:0] beats_3;
  logic error_3, patch_3, beyond_3, odd_3;
  // verilator lint_off UNUSEDSIGNAL
  header_t header_3;
  // verilator lint_on UNUSEDSIGNAL
  logic [15:0] sum_3;
  logic [FRAME_W-1:0] place_3, last_3;  // last_3: the frame's last byte

  always_ff @(posedge clk) begin
    if (advance) begin
      valid_3  <= valid_2;
      job_3    <= job_2;
      queue_3  <= queue_2;
      chain_3  <= chain_2;
      cell_3   <= cell_2;
      beats_3  <= beats_2;
      error_3  <= error_2;
      header_3 <= header_2;
      patch_3  <= header_2.needs_sum && chain_2.checksum && !header_2.segment;
      odd_3    <= header_2.sum_start[0];
      beyond_3 <= FRAME_W'(header_2.sum_start) >= chain_2.bytes;
      place_3  <= FRAME_W'(header_2.sum_start) + FRAME_W'(header_2.sum_offset);
      last_3   <= chain_2.bytes - 1'b1;
      sum_3    <= sum_2[15:0] + 16'(sum_2[16]);
    end
    if (rst) valid_3 <= 1'b0;
  end

  // ------------------------------------------------------------------------------------------ stage 4: the verdict
  // Which queues have failed: written in the same cycle as it is read, one stage after the other's.
  logic failed, segments;
  wire [15:0] turned = odd_3 ? {sum_3[7:0], sum_3[15:8]} : sum_3;
  wire outside = beyond_3 || place_3 >= last_3;
  wire fault_t fault = chain_3.fault != FAULT_NONE ? fault_t'(chain_3.fault) : error_3 ? FAULT_MEMORY : FAULT_NONE;
  wire fails = fault != FAULT_NONE;
  wire cut = header_3.segment && header_3.tcp && segments;
  wire long = !cut && 32'(chain_3.bytes) > MAX_FRAME;
  wire drop = failed || fails || chain_3.dropped || long || (header_3.segment && !cut) || (patch_3 && outside);
  wire judge = valid_3 && advance;

  ram_dist #(
      .WIDTH(1),
      .DEPTH(QUEUES)
  ) u_failed (
      .clk,
      .wr_en  (wipe || (set_valid && set_enabled) || (judge && fails)),
      .wr_addr(wipe ? wipe_queue : set_valid ? set_queue : queue_3),
      .wr_data(!wipe && !set_valid),
      .rd_addr(queue_3),
      .rd_data(failed)
  );

  if (SEGMENT) begin : gen_segment
    ram_dist #(
        .WIDTH(1),
        .DEPTH(QUEUES)
    ) u_segments (
        .clk,
        .wr_en  (set_valid && set_enabled),
        .wr_addr(set_queue),
        .wr_data(set_segment),
        .rd_addr(queue_3),
        .rd_data(segments)
    );
  end else begin : gen_whole
    assign segments = 1'b0;
    wire unused = &{1'b0, set_segment};
  end

  always_ff @(posedge clk) begin
    if (m_ready) m_valid <= 1'b0;
    if (advance) begin
      m_valid         <= valid_3;
      m_job           <= job_3;
      m_queue         <= queue_3;
      m_chain         <= chain_3;
      m_chain.dropped <= drop;
      m_chain.fault   <= failed || fails ? 3'(FAULT_MEMORY) : 3'(FAULT_NONE);
      m_cell          <= cell_3;
      m_beats         <= beats_3;
      m_patch         <= patch_3;
      m_place         <= place_3;
      m_value         <= turned == 16'hFFFF ? 16'hFFFF : ~turned;
      m_request       <= '{cut: cut, v6: header_3.v6, size: header_3.segment_size, bytes: chain_3.bytes};
    end
    fail_valid  <= judge && fails && !failed;
    fail_queue  <= queue_3;
    fail_fault  <= fault;
    packet      <= judge && !drop && !cut;
    dropped     <= judge && drop;
    event_queue <= queue_3;
    event_bytes <= chain_3.bytes;
    if (rst) begin
      m_valid    <= 1'b0;
      fail_valid <= 1'b0;
      packet     <= 1'b0;
      dropped    <= 1'b0;
    end
  end

  assign idle = !next_valid && !valid_1 && !valid_2 && !valid_3 && !m_valid && !fail_valid && !packet && !dropped;

endmodule
