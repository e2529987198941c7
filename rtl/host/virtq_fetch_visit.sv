// SPDX-License-Identifier: Apache-2.0
// The consumer's side: keeps the buffers of all queues, DEPTH each, and gives out those of the queue that is visited.
// Of a queue that is not enabled it gives out the rest of a chain that is begun.
// Latency: 4 cycles from the visit's begin to the first buffer. Throughput: a buffer a cycle.
// Backpressure: open_ready is low during a visit and a cycle or two after it.
module virtq_fetch_visit
  import host_pkg::*;
#(
    parameter int unsigned QUEUES = 16,
    parameter int unsigned DEPTH = 32,
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1
) (
    input  logic               clk,
    input  logic               rst,
    input  logic               wipe,
    input  logic [QUEUE_W-1:0] wipe_queue,

    input  logic               set_valid,
    input  logic [QUEUE_W-1:0] set_queue,
    input  logic               set_enabled,
    input  logic               wr_valid,       // a buffer comes in
    input  logic [QUEUE_W-1:0] wr_queue,
    // verilator lint_off UNUSEDSIGNAL
    input  logic [7:0]         wr_place,       // modulo DEPTH
    // verilator lint_on UNUSEDSIGNAL
    input  buffer_t            wr_buffer,
    input  logic               end_valid,      // not together with set_valid; what came in to there may go out
    input  logic [QUEUE_W-1:0] end_queue,
    input  logic [7:0]         end_put,
    input  logic [QUEUE_W-1:0] ask_queue,      // of which `taken` and `mid` tell
    output logic [7:0]         taken,
    output logic               mid,
    input  logic [QUEUE_W-1:0] probe_queue,
    output logic               probe_mid,      // a chain is offered, or some of it was taken, and some not
    output logic               turn_valid,     // one cycle: there may be room that wasn't there
    output logic [QUEUE_W-1:0] turn_queue,

    input  logic               open_valid,
    output logic               open_ready,
    input  logic [QUEUE_W-1:0] open_queue,
    output logic               buffer_valid,
    input  logic               buffer_ready,
    output buffer_t            buffer,
    output logic               buffer_none,
    input  logic               close,
    output logic               idle
);

  if (QUEUES < 1 || QUEUES > 65536) begin : gen_bad_queues
    $fatal(1, "virtq_fetch_visit: QUEUES must be 1 to 65536, not %0d", QUEUES);
  end
  if (DEPTH < 4 || DEPTH > 128 || 2 ** $clog2(DEPTH) != DEPTH) begin : gen_bad_depth
    $fatal(1, "virtq_fetch_visit: DEPTH must be a power of two from 4 to 128, not %0d", DEPTH);
  end

  localparam int unsigned PLACE_W = $clog2(DEPTH);
  localparam int unsigned AHEAD = 6;  // buffers read and not taken
  typedef struct packed {
    logic       mid;
    logic [7:0] taken;
  } consumed_t;

  // ------------------------------------------------------------------------------------- what is known of all queues
  wire restart = set_valid && set_enabled;
  logic visit_q, open_q, run_q;  // open_q: the visit's first cycle; run_q: from the second on
  logic closing_q;               // the visit has ended, and what was taken is being noted
  logic [QUEUE_W-1:0] queue_q;
  logic enabled, enabled_q;
  logic [7:0] put, put_q;
  consumed_t earlier, now_q, told;
  // verilator lint_off UNUSEDSIGNAL
  consumed_t probed;
  // verilator lint_on UNUSEDSIGNAL
  logic note_q, noted;  // what was taken is not in the RAM yet
  consumed_t note_what_q;
  assign noted = note_q && !restart && !wipe;

  ram_dist #(
      .WIDTH(1),
      .DEPTH(QUEUES)
  ) u_enabled (
      .clk,
      .wr_en  (set_valid || wipe),
      .wr_addr(wipe ? wipe_queue : set_queue),
      .wr_data(set_enabled && !wipe),
      .rd_addr(queue_q),
      .rd_data(enabled)
  );
  ram_dist #(
      .WIDTH(8),
      .DEPTH(QUEUES)
  ) u_put (
      .clk,
      .wr_en  (restart || end_valid || wipe),
      .wr_addr(wipe ? wipe_queue : restart ? set_queue : end_queue),
      .wr_data(wipe || restart ? 8'd0 : end_put),
      .rd_addr(queue_q),
      .rd_data(put)
  );
  logic [2:0][QUEUE_W-1:0] consumed_at;
  consumed_t [2:0] consumed;
  assign consumed_at             = {queue_q, ask_queue, probe_queue};
  assign {earlier, told, probed}  = consumed;
  assign {mid, taken}             = told;
  assign probe_mid                = probed.mid || (buffer_valid && probe_queue == queue_q);
  for (genvar i = 0; i < 3; i++) begin : gen_consumed
    ram_dist #(
        .WIDTH($bits(consumed_t)),
        .DEPTH(QUEUES)
    ) u_ram (
        .clk,
        .wr_en  (restart || note_q || wipe),
        .wr_addr(wipe ? wipe_queue : restart ? set_queue : queue_q),
        .wr_data(wipe || restart ? '0 : note_what_q),
        .rd_addr(consumed_at[i]),
        .rd_data(consumed[i])
    );
  end

  // --------------------------------------------------------------------------------------------------------- a visit
  logic [7:0] read_q;
  logic [2:0] ahead_q;
  logic word_q, word2_q, shown;  // word2_q: a cycle after word_q
  buffer_t word, word_data_q;
  wire end_visit = visit_q && close;
  wire more = run_q && read_q != put_q;
  wire read = more && ahead_q != 3'(AHEAD);
  logic offered_q;               // what is offered stays, also when the queue is stopped
  wire may = now_q.mid || enabled_q || offered_q;
  wire take = buffer_valid && buffer_ready;
  wire consumed_t after = '{mid: !buffer.last, taken: now_q.taken + 1'b1};

  assign open_ready   = !visit_q && !closing_q && !wipe;
  assign buffer_valid = shown && may;
  assign buffer_none  = run_q && !buffer_valid && (shown || (ahead_q == 0 && !more));
  assign idle         = !visit_q && !closing_q && !turn_valid;

  always_ff @(posedge clk) begin
    open_q    <= open_valid && open_ready;
    enabled_q <= enabled;
    put_q     <= put;
    if (open_valid && open_ready) begin
      visit_q <= 1'b1;
      queue_q <= open_queue;
    end
    if (open_q) run_q <= 1'b1;
    if (open_q) begin
      now_q  <= earlier;
      read_q <= earlier.taken;
    end
    if (read) read_q <= read_q + 1'b1;
    if (take) now_q <= after;
    word_q  <= read && !end_visit;
    word2_q <= word_q && !end_visit;
    word_data_q <= word;
    offered_q <= buffer_valid && !buffer_ready && !end_visit;
    ahead_q <= ahead_q + 3'(read) - 3'(take);
    if (end_visit) begin
      visit_q <= 1'b0;
      run_q   <= 1'b0;
      open_q  <= 1'b0;
    end
    if (!visit_q || end_visit) ahead_q <= '0;

    if (noted) note_q <= 1'b0;
    if (take) begin
      note_q      <= 1'b1;
      note_what_q <= after;
    end
    // Room may be there for another fetch: said when the visit ends, and within a long one now and then.
    if (end_visit) closing_q <= 1'b1;
    if (closing_q && !note_q) closing_q <= 1'b0;
    turn_valid <= (noted && note_what_q.taken[1:0] == 0) || (closing_q && !note_q);
    turn_queue <= queue_q;
    if (rst) begin
      visit_q    <= 1'b0;
      open_q     <= 1'b0;
      run_q      <= 1'b0;
      note_q     <= 1'b0;
      closing_q  <= 1'b0;
      word_q     <= 1'b0;
      word2_q    <= 1'b0;
      turn_valid <= 1'b0;
      offered_q  <= 1'b0;
    end
  end

  offer_contract #(
      .WIDTH($bits(buffer_t))
  ) u_contract (
      .clk,
      .rst  (rst || close),
      .valid(buffer_valid),
      .ready(buffer_ready),
      .data (buffer)
  );

  localparam int unsigned AT_W = $clog2(QUEUES * DEPTH);
  ram_fit #(
      .WIDTH($bits(buffer_t)),
      .DEPTH(QUEUES * DEPTH)
  ) u_buffers (
      .clk,
      .wr_en  (wr_valid),
      .wr_addr(AT_W'({wr_queue, wr_place[PLACE_W-1:0]})),
      .wr_data(wr_buffer),
      .rd_en  (1'b1),
      .rd_addr(AT_W'({queue_q, read_q[PLACE_W-1:0]})),
      .rd_data(word)
  );
  logic unused_ready;
  stream_queue #(
      .WIDTH($bits(buffer_t)),
      .DEPTH(2 ** $clog2(AHEAD))
  ) u_ahead (
      .clk,
      .rst    (rst || !visit_q || end_visit),
      .s_valid(word2_q),
      .s_ready(unused_ready),
      .s_data (word_data_q),
      .m_valid(shown),
      .m_ready(buffer_ready && may),
      .m_data (buffer),
      .idle   ()
  );

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst) begin
      assert (!close || visit_q) else $error("%m: an end of no visit");
      assert (!(restart && end_valid)) else $error("%m: a fetch ends while a queue is set");
      assert (!word2_q || unused_ready) else $error("%m: a buffer is lost");
    end
  end
`endif

endmodule
