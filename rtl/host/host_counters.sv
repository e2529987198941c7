// SPDX-License-Identifier: Apache-2.0
// What became of the packets of each queue of a side: those that went through and their bytes, and those dropped, by
// reason. After reset all become 0, a counter a cycle; what happens in that time is counted once it is over.
// Latency of a read: 10 cycles; it has the events up to 3 cycles before. Throughput: an event a cycle, of the same
// counter too; a read takes the place of 4.
// Backpressure: event_ready is low while EVENTS wait: not but for the first cycles and many reads. One read at a time.
module host_counters #(
    parameter int unsigned QUEUES = 16,
    parameter int unsigned EVENTS = 16,
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1
) (
    input  logic               clk,
    input  logic               rst,

    input  logic               event_valid,
    output logic               event_ready,
    input  logic [QUEUE_W-1:0] event_queue,
    input  logic [1:0]         event_kind,   // 0 passed; dropped: 1 it can't be, 2 no room, 3 the queue is off
    input  logic [16:0]        event_bytes,

    input  logic               read,         // one cycle; the next one after read_valid
    input  logic [QUEUE_W-1:0] read_queue,
    output logic               read_valid,   // one cycle; the values stay until the next read
    output logic [4:0][63:0]   counted,      // passed, their bytes, dropped by reason
    output logic               idle
);

  if (QUEUES < 1 || QUEUES > 65536) begin : gen_bad_queues
    $fatal(1, "host_counters: QUEUES must be 1 to 65536, not %0d", QUEUES);
  end

  typedef struct packed {
    logic [QUEUE_W-1:0] number;
    logic [1:0]         kind;
    logic [16:0]        bytes;
  } event_t;

  typedef logic [QUEUE_W+1:0] at_t;  // {queue, kind}

  // After a reset `wipe_q`, later the kinds of a read (`reads_q`), one a cycle, go before events.
  event_t first;
  logic first_valid, wipe_q, waits_q, reads_q, events_idle;
  logic [QUEUE_W-1:0] read_queue_q;
  at_t at_q;
  wire wipe_ends = 32'(at_q[QUEUE_W+1:2]) == QUEUES - 1 && at_q[1:0] == 2'd3;
  wire valid = first_valid || wipe_q || reads_q;
  wire at_t at = wipe_q || reads_q ? at_q : {first.number, first.kind};

  logic change_valid, wipes, shows, counts_idle;
  logic [1:0] kind;
  logic [16:0] bytes;
  logic [1:0][63:0] old;  // packets, bytes

  stream_fifo #(
      .WIDTH($bits(event_t)),
      .DEPTH(EVENTS)
  ) u_events (
      .clk,
      .rst,
      .s_valid(event_valid),
      .s_ready(event_ready),
      .s_data ({event_queue, event_kind, event_bytes}),
      .m_valid(first_valid),
      .m_ready(!wipe_q && !reads_q),
      .m_data (first),
      .count  (),
      .idle   (events_idle)
  );

  ram_update #(
      .WIDTH(64),
      .DEPTH(4 * QUEUES),
      .TAG_W(4),
      .STEPS(3)
  ) u_packets (
      .clk,
      .rst,
      .valid,
      .write     (!reads_q),
      .addr      (at[$clog2(4*QUEUES)-1:0]),
      .tag       ({wipe_q, reads_q, at[1:0]}),
      .change_valid,
      .change_tag({wipes, shows, kind}),
      .old       (old[0]),
      .changed   (wipes ? '0 : old[0] + 1'b1),
      .result    (),
      .read_valid(),
      .wr_en     (),
      .wr_addr   (),
      .idle      (counts_idle)
  );
  ram_update #(
      .WIDTH(64),
      .DEPTH(QUEUES),
      .TAG_W(17),
      .STEPS(3)
  ) u_bytes (
      .clk,
      .rst,
      .valid       (valid && at[1:0] == 2'd0),
      .write       (!reads_q),
      .addr        (at[QUEUE_W+1:2]),
      .tag         (first.bytes),
      .change_valid(),
      .change_tag  (bytes),
      .old         (old[1]),
      .changed     (wipes ? '0 : old[1] + 64'(bytes)),
      .result      (),
      .read_valid  (),
      .wr_en       (),
      .wr_addr     (),
      .idle        ()
  );

  always_ff @(posedge clk) begin
    if (wipe_q || reads_q) at_q <= at_q + 1'b1;
    if (wipe_ends) wipe_q <= 1'b0;
    if (reads_q && at_q[1:0] == 2'd3) reads_q <= 1'b0;
    if (waits_q && !wipe_q) begin
      waits_q <= 1'b0;
      reads_q <= 1'b1;
      at_q    <= {read_queue_q, 2'd0};
    end
    if (read) begin
      waits_q      <= 1'b1;
      read_queue_q <= read_queue;
    end
    read_valid <= change_valid && shows && kind == 2'd3;
    if (change_valid && shows) begin
      if (kind == 2'd0) counted[1:0] <= old;
      for (int unsigned i = 1; i < 4; i++) if (32'(kind) == i) counted[i+1] <= old[0];
    end
    if (rst) begin
      wipe_q     <= 1'b1;
      at_q       <= '0;
      waits_q    <= 1'b0;
      reads_q    <= 1'b0;
      read_valid <= 1'b0;
    end
  end

  assign idle = !wipe_q && !waits_q && !reads_q && events_idle && counts_idle;

endmodule
