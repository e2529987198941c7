// SPDX-License-Identifier: Apache-2.0
// Packets and bytes of each entry of a flow table, in block RAM. An event counts a packet, sets an entry's counters
// to 0, or reads them; each sees the ones before it, also when they come in consecutive cycles for one entry.
// What an entry has before the first FLOW_CLEAR is not defined.
// Latency: 3 cycles from FLOW_READ to its counters. Throughput: an event a cycle. Backpressure: none.
module flow_counters
  import switch_pkg::*;
#(
    parameter int unsigned ENTRIES = 4224,
    localparam int unsigned NUMBER_W = ENTRIES > 1 ? $clog2(ENTRIES) : 1
) (
    input  logic                       clk,
    input  logic                       rst,
    input  logic                       event_valid,
    input  flow_event_t                event_kind,
    input  logic        [NUMBER_W-1:0] event_number,
    input  logic         [BYTES_W-1:0] event_bytes,  // of a packet
    output logic                       read_valid,
    output logic                [63:0] read_packets,
    output logic                [63:0] read_bytes,
    output logic                       idle
);

  if (ENTRIES < 1) begin : gen_bad_entries
    $fatal(1, "flow_counters: ENTRIES must be at least 1, not %0d", ENTRIES);
  end

  typedef struct packed {
    logic [63:0] packets;
    logic [63:0] bytes;
  } counts_t;

  typedef struct packed {
    flow_event_t         kind;
    logic [NUMBER_W-1:0] number;
    logic [BYTES_W-1:0]  bytes;
  } event_t;

  // Stage 0 reads, 1 has the word, 2 adds, 3 writes; the RAM has what left stage 3 before this one read.
  logic [4:1] valid_q;
  event_t [3:1] event_q;
  logic [NUMBER_W-1:0] last_q;  // number in stage 4
  logic follows_q;  // stage 3 has the same entry as stage 2
  counts_t word, base_q, sum_q, last_sum_q;

  wire counts_t base = follows_q ? sum_q : base_q;

  function automatic logic same(logic [NUMBER_W-1:0] later, logic valid, logic [NUMBER_W-1:0] number);
    return valid && later == number;
  endfunction

  ram_sdp #(
      .WIDTH($bits(counts_t)),
      .DEPTH(ENTRIES)
  ) u_counts (
      .clk,
      .wr_en  (valid_q[3] && event_q[3].kind != FLOW_READ),
      .wr_addr(event_q[3].number),
      .wr_data(sum_q),
      .rd_en  (event_valid),
      .rd_addr(event_number),
      .rd_data(word)
  );

  always_ff @(posedge clk) begin
    valid_q <= {valid_q[3:1], event_valid};
    if (event_valid) event_q[1] <= '{kind: event_kind, number: event_number, bytes: event_bytes};
    if (valid_q[1]) begin
      event_q[2] <= event_q[1];
      follows_q  <= same(event_q[1].number, valid_q[2], event_q[2].number);
      base_q     <= word;
      if (same(event_q[1].number, valid_q[4], last_q)) base_q <= last_sum_q;
      if (same(event_q[1].number, valid_q[3], event_q[3].number)) base_q <= sum_q;
    end
    if (valid_q[2]) begin
      event_q[3] <= event_q[2];
      sum_q.packets <= base.packets + 64'(event_q[2].kind == FLOW_COUNT);
      sum_q.bytes <= base.bytes + (event_q[2].kind == FLOW_COUNT ? 64'(event_q[2].bytes) : '0);
      if (event_q[2].kind == FLOW_CLEAR) sum_q <= '0;
    end
    if (valid_q[3]) begin
      last_q <= event_q[3].number;
      last_sum_q <= sum_q;
    end
    if (rst) valid_q <= '0;
  end

  assign read_valid   = valid_q[3] && event_q[3].kind == FLOW_READ;
  assign read_packets = sum_q.packets;
  assign read_bytes   = sum_q.bytes;
  assign idle         = valid_q[3:1] == '0;

endmodule
