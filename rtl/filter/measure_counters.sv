// SPDX-License-Identifier: Apache-2.0
// MEASURES pairs of counters (packets, bytes), one pair counted up each cycle, readable at any time.
// A read takes a cycle in which nothing is counted: `read_wait` asks for one. After reset all are wiped (`ready`).
module measure_counters
  import bpf_pkg::MEASURES;
#(
    parameter int unsigned BYTES_W = 32,
    localparam int unsigned ADDR_W = $clog2(MEASURES)
) (
    input  logic               clk,
    input  logic               rst,
    output logic               ready,

    input  logic               count_valid,
    input  logic [ADDR_W-1:0]  count_index,
    input  logic [BYTES_W-1:0] count_bytes,

    input  logic               read_req,      // one cycle
    input  logic [ADDR_W-1:0]  read_index,
    output logic               read_wait,
    output logic               read_done,     // one cycle; the values stay until the next one
    output logic [63:0]        read_packets,
    output logic [63:0]        read_bytes,
    output logic               idle
);

  if (BYTES_W < 1 || BYTES_W > 64) begin : gen_bad_bytes_w
    $fatal(1, "measure_counters: BYTES_W must be 1 to 64, not %0d", BYTES_W);
  end

  typedef struct packed {
    logic [63:0] packets;
    logic [63:0] bytes;
  } pair_t;

  typedef struct packed {
    logic               zero;
    logic               read;
    logic [BYTES_W-1:0] bytes;
  } change_t;

  change_t op, change;
  pair_t old, changed;
  logic change_valid, ops_idle, read_pending_q;
  logic [ADDR_W-1:0] read_index_q;
  logic [ADDR_W:0] wipe_at_q;
  wire reads = !count_valid && read_pending_q;
  wire wipes = !count_valid && !read_pending_q && !ready;

  assign ready     = wipe_at_q[ADDR_W];
  assign idle      = ready && !read_pending_q && ops_idle;
  assign read_wait = read_pending_q;
  assign op        = '{zero: wipes, read: reads, bytes: count_bytes};

  ram_update #(
      .WIDTH($bits(pair_t)),
      .DEPTH(MEASURES),
      .TAG_W($bits(change_t)),
      .STEPS(1)
  ) u_pairs (
      .clk,
      .rst,
      .valid     (count_valid || reads || wipes),
      .write     (!reads),
      .addr      (count_valid ? count_index : reads ? read_index_q : wipe_at_q[ADDR_W-1:0]),
      .tag       (op),
      .change_valid,
      .change_tag(change),
      .old,
      .changed,
      .result    (),
      .read_valid(read_done),
      .wr_en     (),
      .wr_addr   (),
      .idle      (ops_idle)
  );

  assign changed = change.zero ? '0 : '{packets: old.packets + 1'b1, bytes: old.bytes + 64'(change.bytes)};

  always_ff @(posedge clk) begin
    if (change_valid && change.read) {read_packets, read_bytes} <= old;
    if (read_req) begin
      read_pending_q <= 1'b1;
      read_index_q   <= read_index;
    end else if (!count_valid) begin
      read_pending_q <= 1'b0;
    end
    if (wipes) wipe_at_q <= wipe_at_q + 1'b1;
    if (rst) begin
      wipe_at_q      <= '0;
      read_pending_q <= 1'b0;
    end
  end

endmodule
