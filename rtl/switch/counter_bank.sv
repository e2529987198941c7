// SPDX-License-Identifier: Apache-2.0
// COUNTERS pairs of counters, of packets and of their bytes. After reset all become 0, one a cycle; what comes in that
// time is not counted.
// Throughput: 1 packet a cycle, of the same counter too. Numbers from COUNTERS on are not counted, and read as 0.
// A read and a clear take a cycle in which nothing is counted, and wait for one. Of two that wait, the clear comes
// first.
// Latency of a read: 4 cycles and that wait. It has what was counted before that cycle.
// Backpressure: none on packets. clear_ready is a register, low while a clear waits. One read at a time.
module counter_bank
  import switch_pkg::BYTES_W;
#(
    parameter int unsigned COUNTERS = 1024,
    parameter int unsigned NUMBER_W = 16
) (
    input  logic                clk,
    input  logic                rst,

    input  logic                count_valid,
    input  logic [NUMBER_W-1:0] count_number,
    input  logic [BYTES_W-1:0]  count_bytes,

    input  logic                clear_valid,
    output logic                clear_ready,
    input  logic [NUMBER_W-1:0] clear_number,

    input  logic                read,          // one cycle; the next one after read_valid
    input  logic [NUMBER_W-1:0] read_number,
    output logic                read_valid,    // one cycle, with the values
    output logic [63:0]         packets,
    output logic [63:0]         bytes,
    output logic                idle
);

  if (COUNTERS < 2 || 2 ** $clog2(COUNTERS) != COUNTERS) begin : gen_bad_counters
    $fatal(1, "counter_bank: COUNTERS must be a power of two from 2, not %0d", COUNTERS);
  end
  if (NUMBER_W < $clog2(COUNTERS) || NUMBER_W > 32) begin : gen_bad_number_w
    $fatal(1, "counter_bank: NUMBER_W must be log2(COUNTERS) to 32, not %0d", NUMBER_W);
  end

  localparam int unsigned ADDR_W = $clog2(COUNTERS);

  typedef struct packed {
    logic [63:0] packets;
    logic [63:0] bytes;
  } pair_t;

  typedef struct packed {
    logic               zero;
    logic               packets;
    logic [BYTES_W-1:0] bytes;
  } change_t;

  logic op_valid, op_write, ops_idle;
  logic [ADDR_W-1:0] op_number;
  change_t op, change;
  pair_t old, changed;
  logic clear_pending_q, read_pending_q;
  logic [NUMBER_W-1:0] clear_number_q, read_number_q;
  logic [ADDR_W:0] wipe_at_q;
  wire wiped = wipe_at_q[ADDR_W];
  wire clears = !count_valid && clear_pending_q && wiped;
  wire reads = !count_valid && !clear_pending_q && read_pending_q && wiped;

  function automatic logic exists(logic [NUMBER_W-1:0] number);
    return number >> ADDR_W == '0;
  endfunction

  always_comb begin
    op        = '0;
    op_valid  = 1'b0;
    op_write  = 1'b1;
    op_number = '0;
    if (!wiped) begin
      op_valid  = 1'b1;
      op.zero   = 1'b1;
      op_number = wipe_at_q[ADDR_W-1:0];
    end else if (count_valid) begin
      op_valid   = exists(count_number);
      op_number  = count_number[ADDR_W-1:0];
      op.packets = 1'b1;
      op.bytes   = count_bytes;
    end else if (clears) begin
      op_valid  = exists(clear_number_q);
      op.zero   = 1'b1;
      op_number = clear_number_q[ADDR_W-1:0];
    end else if (reads) begin
      op_valid  = 1'b1;
      op_write  = 1'b0;
      op.zero   = !exists(read_number_q);
      op_number = read_number_q[ADDR_W-1:0];
    end
  end

  ram_update #(
      .WIDTH($bits(pair_t)),
      .DEPTH(COUNTERS),
      .TAG_W($bits(change_t))
  ) u_pairs (
      .clk,
      .rst,
      .valid       (op_valid),
      .write       (op_write),
      .addr        (op_number),
      .tag         (op),
      .change_valid(),
      .change_tag  (change),
      .old,
      .changed,
      .result      ({packets, bytes}),
      .read_valid,
      .wr_en       (),
      .wr_addr     (),
      .idle        (ops_idle)
  );

  assign changed = change.zero ? '0
      : '{packets: old.packets + 64'(change.packets), bytes: old.bytes + 64'(change.bytes)};

  always_ff @(posedge clk) begin
    if (clear_valid && !clear_pending_q) begin
      clear_pending_q <= 1'b1;
      clear_number_q  <= clear_number;
    end else if (clears) begin
      clear_pending_q <= 1'b0;
    end
    if (read) begin
      read_pending_q <= 1'b1;
      read_number_q  <= read_number;
    end else if (reads) begin
      read_pending_q <= 1'b0;
    end
    if (!wiped) wipe_at_q <= wipe_at_q + 1'b1;
    if (rst) begin
      clear_pending_q <= 1'b0;
      read_pending_q  <= 1'b0;
      wipe_at_q       <= '0;
    end
  end

  assign clear_ready = !clear_pending_q;
  assign idle        = wiped && !clear_pending_q && !read_pending_q && ops_idle;

endmodule
