// SPDX-License-Identifier: Apache-2.0
// What became of the packets of each queue of a side: those that went through and their bytes, and those dropped, by
// reason. After reset all become 0, a counter a cycle; what happens in that time is counted once it is over.
// Latency of a read: 16 cycles, and those of the events before it. Throughput: an event in 4 cycles.
// Backpressure: event_ready is low while EVENTS wait. One read at a time.
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

  typedef enum logic [2:0] {
    CLEAR,
    CHOOSE,
    ADD,
    WRITE,
    FETCH,
    TAKE
  } state_t;

  state_t state_q;
  event_t first;
  logic first_valid, waits_q, events_idle;
  logic [QUEUE_W+1:0] at_q;   // {queue, kind}
  logic [QUEUE_W-1:0] read_queue_q;
  logic [63:0] packets, bytes, packets_q, bytes_q;
  wire clear_ends = 32'(at_q[QUEUE_W+1:2]) == QUEUES - 1 && at_q[1:0] == 2'd3;
  wire changes = state_q == CLEAR || state_q == WRITE;

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
      .m_ready(state_q == WRITE),
      .m_data (first),
      .count  (),
      .idle   (events_idle)
  );

  ram_fit #(
      .WIDTH(64),
      .DEPTH(4 * QUEUES)
  ) u_packets (
      .clk,
      .wr_en  (changes),
      .wr_addr(at_q[$clog2(4*QUEUES)-1:0]),
      .wr_data(packets_q),
      .rd_en  (1'b1),
      .rd_addr(at_q[$clog2(4*QUEUES)-1:0]),
      .rd_data(packets)
  );
  ram_fit #(
      .WIDTH(64),
      .DEPTH(QUEUES)
  ) u_bytes (
      .clk,
      .wr_en  (changes && at_q[1:0] == 2'd0),
      .wr_addr(at_q[QUEUE_W+1:2]),
      .wr_data(bytes_q),
      .rd_en  (1'b1),
      .rd_addr(at_q[QUEUE_W+1:2]),
      .rd_data(bytes)
  );

  // An event: its counters are read while the state is ADD. A read takes the kinds one after the other.
  always_ff @(posedge clk) begin
    read_valid <= 1'b0;
    if (read) begin
      waits_q      <= 1'b1;
      read_queue_q <= read_queue;
    end
    unique case (state_q)
      CLEAR: begin
        at_q <= at_q + 1'b1;
        if (clear_ends) state_q <= CHOOSE;
      end
      CHOOSE: begin
        if (waits_q) begin
          at_q    <= {read_queue_q, 2'd0};
          state_q <= FETCH;
        end else if (first_valid) begin
          at_q    <= {first.number, first.kind};
          state_q <= FETCH;
        end
      end
      FETCH: state_q <= waits_q ? TAKE : ADD;
      ADD: begin
        packets_q <= packets + 1'b1;
        bytes_q   <= bytes + 64'(first.bytes);
        state_q   <= WRITE;
      end
      WRITE: state_q <= CHOOSE;
      default: begin
        if (at_q[1:0] == 2'd0) counted[1:0] <= {bytes, packets};
        else counted[32'(at_q[1:0])+1] <= packets;
        at_q    <= at_q + 1'b1;
        state_q <= FETCH;
        if (at_q[1:0] == 2'd3) begin
          state_q    <= CHOOSE;
          waits_q    <= 1'b0;
          read_valid <= 1'b1;
        end
      end
    endcase
    if (rst) begin
      state_q    <= CLEAR;
      at_q       <= '0;
      packets_q  <= '0;
      bytes_q    <= '0;
      waits_q    <= 1'b0;
      read_valid <= 1'b0;
    end
  end

  assign idle = state_q == CHOOSE && events_idle && !waits_q && !read_valid;

endmodule
