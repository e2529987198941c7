// SPDX-License-Identifier: Apache-2.0
// Statistics of the packets that arrive in each window of 2^window_log2 ns; windows are aligned to multiples of their
// length. `window` is high for one cycle when a window has ended; the statistics are then, and up to the next time,
// those of it. When time jumps over whole windows, the statistics are those of the last one of them: empty. A packet
// counts for the window in whose time it arrives. Gaps are measured from the packet before, wherever that was.
// An empty window has no packets or bytes, the largest minima and maxima of 0. Latency: 2 cycles. Takes a packet in any
// cycle. wake_ns is the end of the running window while that matters: for the statistics, or because of `watch`.
module traffic_analyser
  import bridge_pkg::*;
(
    input  logic        clk,
    input  logic        rst,
    input  logic [63:0] time_ns,
    input  logic [4:0]  window_log2,  // 10 to 30; others count as the nearest of these
    input  logic        packet,
    input  logic [15:0] packet_bytes,
    input  logic        watch,        // somebody waits for the end of windows even if they are empty

    output logic        window,
    output logic [31:0] packets,
    output logic [31:0] bytes,
    output logic [31:0] gap_min,      // ns; at most 2^32 - 1
    output logic [31:0] gap_max,
    output logic [15:0] size_min,
    output logic [15:0] size_max,

    output logic        idle,
    output logic [63:0] wake_ns
);

  localparam int unsigned LEAST = 10, MOST = 30;

  // Windows
  // In units of 2^LEAST ns. The bits set in `part` are those within a window.
  logic [63-LEAST:0] last_q;
  logic [63-LEAST:0] part, following, now;
  logic window_d, jump;

  assign now = time_ns[63:LEAST];
  always_comb begin
    part = '0;
    for (int unsigned index = 0; index < MOST - LEAST; index++) part[index] = 32'(window_log2) > LEAST + index;
    following = (last_q | part) + 1'b1;
    window_d  = ((now ^ last_q) & ~part) != 0;
    jump      = ((now ^ following) & ~part) != 0;
  end

  // The running window
  typedef struct packed {
    logic [31:0] packets;
    logic [31:0] bytes;
    logic [31:0] gap_min;
    logic [31:0] gap_max;
    logic [15:0] size_min;
    logic [15:0] size_max;
  } traffic_t;
  localparam traffic_t EMPTY = '{gap_min: '1, size_min: '1, default: '0};

  // A packet's gap is worked out in the cycle before it counts; the windows are that one cycle late.
  logic [63:0] packet_ns_q, since;  // time of the last packet
  logic before_q;                   // there was one
  logic packet_q, gap_q;            // a packet counts now; it has a gap
  logic jump_q, window_q;
  logic [31:0] gap_ns_q;
  logic [15:0] size_q;

  assign since = time_ns - packet_ns_q;
  always_ff @(posedge clk) begin
    last_q   <= now;
    window_q <= window_d;
    jump_q   <= jump;
    packet_q <= packet;
    gap_q    <= packet && before_q;
    size_q   <= packet_bytes;
    gap_ns_q <= since[31:0];
    if (since[63:32] != 0) gap_ns_q <= '1;
    if (packet) begin
      packet_ns_q <= time_ns;
      before_q    <= 1'b1;
    end
    if (rst) begin
      window_q <= 1'b0;
      packet_q <= 1'b0;
      before_q <= 1'b0;
    end
  end

  traffic_t running_q, whole_q;
  logic counted_q;  // running_q is not empty; the same of whole_q
  logic whole_counted_q;
  always_ff @(posedge clk) begin
    running_q.packets <= (window_q ? '0 : running_q.packets) + 32'(packet_q);
    running_q.bytes   <= (window_q ? '0 : running_q.bytes) + (packet_q ? 32'(size_q) : '0);
    counted_q         <= packet_q || (counted_q && !window_q);
    if (gap_q && (window_q || gap_ns_q < running_q.gap_min)) running_q.gap_min <= gap_ns_q;
    if (gap_q && (window_q || gap_ns_q > running_q.gap_max)) running_q.gap_max <= gap_ns_q;
    if (packet_q && (window_q || size_q < running_q.size_min)) running_q.size_min <= size_q;
    if (packet_q && (window_q || size_q > running_q.size_max)) running_q.size_max <= size_q;
    if (rst || (window_q && !gap_q)) begin
      running_q.gap_min <= EMPTY.gap_min;
      running_q.gap_max <= EMPTY.gap_max;
    end
    if (rst || (window_q && !packet_q)) begin
      running_q.size_min <= EMPTY.size_min;
      running_q.size_max <= EMPTY.size_max;
    end
    if (window_q) begin
      whole_q         <= running_q;
      whole_counted_q <= counted_q;
    end
    if (rst || (window_q && jump_q)) begin
      whole_q         <= EMPTY;
      whole_counted_q <= 1'b0;
    end
    window <= window_q;
    if (rst) begin
      running_q.packets <= '0;
      running_q.bytes   <= '0;
      counted_q         <= 1'b0;
      window            <= 1'b0;
    end
  end

  assign packets  = whole_q.packets;
  assign bytes    = whole_q.bytes;
  assign gap_min  = whole_q.gap_min;
  assign gap_max  = whole_q.gap_max;
  assign size_min = whole_q.size_min;
  assign size_max = whole_q.size_max;
  assign idle     = !window && !window_q && !window_d && !packet && !packet_q;
  assign wake_ns  = watch || counted_q || whole_counted_q ? {following, LEAST'(0)} : NEVER;

endmodule
