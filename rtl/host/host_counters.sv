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

  typedef logic [1:0][63:0] pair_t;  // packets, bytes

  // After a reset `clear_q`, later the kinds of a read (`reads_q`), one a cycle, go before events.
  event_t first;
  logic first_valid, clear_q, waits_q, reads_q, events_idle;
  logic [QUEUE_W-1:0] read_queue_q;
  at_t at_q;
  wire clear_ends = 32'(at_q[QUEUE_W+1:2]) == QUEUES - 1 && at_q[1:0] == 2'd3;
  wire take = first_valid && !clear_q && !reads_q;
  wire at_t at = clear_q || reads_q ? at_q : {first.number, first.kind};

  // Step 1 has what the RAMs read, step 2 has it in a register, step 3 adds, and step 4 writes. What the four before
  // it write is not in what was read: one step before (`same`), or more (`from`: 1 two, 2 three, 3 four steps).
  logic [5:1] writes_q;
  logic [3:1] clears_q, shows_q;
  at_t [5:1] ats_q;
  logic [3:1][16:0] bytes_q;
  logic same2_q, same3_q;
  logic [1:0] from2_q;
  pair_t found, found_q, old, old_q, sum4_q, sum5_q, sum6_q;
  logic [4:1] match;

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
      .m_ready(!clear_q && !reads_q),
      .m_data (first),
      .count  (),
      .idle   (events_idle)
  );

  ram_fit #(
      .WIDTH(64),
      .DEPTH(4 * QUEUES)
  ) u_packets (
      .clk,
      .wr_en  (writes_q[4]),
      .wr_addr(ats_q[4][$clog2(4*QUEUES)-1:0]),
      .wr_data(sum4_q[0]),
      .rd_en  (1'b1),
      .rd_addr(at[$clog2(4*QUEUES)-1:0]),
      .rd_data(found[0])
  );
  ram_fit #(
      .WIDTH(64),
      .DEPTH(QUEUES)
  ) u_bytes (
      .clk,
      .wr_en  (writes_q[4] && ats_q[4][1:0] == 2'd0),
      .wr_addr(ats_q[4][QUEUE_W+1:2]),
      .wr_data(sum4_q[1]),
      .rd_en  (1'b1),
      .rd_addr(at[QUEUE_W+1:2]),
      .rd_data(found[1])
  );

  always_comb begin
    for (int unsigned i = 1; i <= 4; i++) match[i] = writes_q[i+1] && ats_q[i+1] == ats_q[1];
  end
  assign old = same3_q ? sum4_q : old_q;

  always_ff @(posedge clk) begin
    if (clear_q || reads_q) at_q <= at_q + 1'b1;
    if (clear_ends) clear_q <= 1'b0;
    if (reads_q && at_q[1:0] == 2'd3) reads_q <= 1'b0;
    if (waits_q && !clear_q) begin
      waits_q <= 1'b0;
      reads_q <= 1'b1;
      at_q    <= {read_queue_q, 2'd0};
    end
    if (read) begin
      waits_q      <= 1'b1;
      read_queue_q <= read_queue;
    end
    writes_q <= {writes_q[4:1], take || clear_q};
    clears_q <= {clears_q[2:1], clear_q};
    shows_q  <= {shows_q[2:1], reads_q};
    ats_q    <= {ats_q[4:1], at};
    bytes_q  <= {bytes_q[2:1], first.bytes};
    same2_q  <= match[1];
    same3_q  <= same2_q;
    from2_q  <= match[2] ? 2'd1 : match[3] ? 2'd2 : {2{match[4]}};
    found_q  <= found;
    case (from2_q)
      2'd0: old_q <= found_q;
      2'd1: old_q <= sum4_q;
      2'd2: old_q <= sum5_q;
      default: old_q <= sum6_q;
    endcase
    sum4_q[0] <= old[0] + 1'b1;
    sum4_q[1] <= old[1] + 64'(bytes_q[3]);
    if (clears_q[3]) sum4_q <= '0;
    sum5_q <= sum4_q;
    sum6_q <= sum5_q;
    if (shows_q[3] && ats_q[3][1:0] == 2'd0) counted[1:0] <= old[1:0];
    for (int unsigned i = 1; i < 4; i++) if (shows_q[3] && 32'(ats_q[3][1:0]) == i) counted[i+1] <= old[0];
    read_valid <= shows_q[3] && ats_q[3][1:0] == 2'd3;
    if (rst) begin
      clear_q    <= 1'b1;
      at_q       <= '0;
      waits_q    <= 1'b0;
      reads_q    <= 1'b0;
      read_valid <= 1'b0;
      writes_q   <= '0;
      shows_q    <= '0;
    end
  end

  assign idle = !clear_q && !waits_q && !reads_q && shows_q == '0 && !read_valid && events_idle && writes_q[4:1] == '0;

endmodule
