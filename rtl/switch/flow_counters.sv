// SPDX-License-Identifier: Apache-2.0
// Packets and bytes of each entry of a flow table. An event counts a packet, sets an entry's counters
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
    flow_event_t        kind;
    logic [BYTES_W-1:0] bytes;
  } event_t;

  event_t counting;
  counts_t old, changed;

  ram_update #(
      .WIDTH($bits(counts_t)),
      .DEPTH(ENTRIES),
      .TAG_W($bits(event_t))
  ) u_counts (
      .clk,
      .rst,
      .valid       (event_valid),
      .write       (event_kind != FLOW_READ),
      .addr        (event_number),
      .tag         ({event_kind, event_bytes}),
      .change_valid(),
      .change_tag  (counting),
      .old,
      .changed,
      .result      ({read_packets, read_bytes}),
      .read_valid,
      .wr_en       (),
      .wr_addr     (),
      .idle
  );

  wire counts = counting.kind == FLOW_COUNT;
  assign changed = counting.kind == FLOW_CLEAR ? '0
      : '{packets: old.packets + 64'(counts), bytes: old.bytes + (counts ? 64'(counting.bytes) : '0)};

endmodule
