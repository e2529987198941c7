// SPDX-License-Identifier: Apache-2.0
// What the filter engine says beside the frames that it sends, and what it reports: one increment for each counter of
// the register map, every cycle.
package filter_pkg;
  import bpf_pkg::PROGRAMS;
  import headrace_pkg::tx_meta_t;

  localparam int unsigned INSPECTED_PORTS = 2;
  localparam int unsigned BYTES_W = 20;
  localparam int unsigned SLOTS_W = 7;

  // Beside a transmitted frame. At ports 0 and 1 no program has matched.
  typedef struct packed {
    logic [PROGRAMS-1:0][31:0] lengths;  // what each program returned: bytes of the frame for it; 0: not matched
    logic [PROGRAMS-1:0]       matched;  // programs that accepted the packet
    tx_meta_t                  meta;
  } filter_user_t;

  typedef struct packed {
    logic               packet;
    logic               uninspected;
    logic               bad;
    logic               held;
    logic [BYTES_W-1:0] bytes;        // of the packet
  } ingress_events_t;

  typedef struct packed {
    ingress_events_t [INSPECTED_PORTS-1:0] ingress;
    logic                                  inspected;
    logic                                  accepted;
    logic [PROGRAMS-1:0]                   matched;
    logic [PROGRAMS-1:0]                   errors;
    logic [31:0]                           bytes;               // of the inspected packet, on the wire
    logic                                  forwarded;
    logic [BYTES_W-1:0]                    forwarded_bytes;
    logic                                  monitor_dropped;
    logic [SLOTS_W-1:0]                    slots_used;
    logic [SLOTS_W-1:0]                    instructions;
    logic                                  measure_out_of_range;
    logic                                  monitor_ignored;
  } events_t;

endpackage
