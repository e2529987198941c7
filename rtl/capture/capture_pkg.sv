// SPDX-License-Identifier: Apache-2.0
// What the parts of the capture engine tell each other.
package capture_pkg;

  localparam int unsigned LEN_W = 17;         // of a packet, and of its record
  localparam logic [LEN_W-1:0] MAX_CAPTURED = 65600;  // bytes of a packet: an IP packet of 65,535 and its link layer
  localparam int unsigned HEADER_BYTES = 16;  // of a pcap record

  // A packet that is to become a record.
  typedef struct packed {
    logic             memory;    // it is read out of host memory
    logic             empty;     // no data come for it
    logic [63:0]      time_ns;
    logic [31:0]      wire_len;
    logic [LEN_W-1:0] len;       // bytes to capture
  } packet_t;

  // A pcap record on its way through the writer.
  typedef struct packed {
    logic             drop;      // only throw its data away
    logic             memory;
    logic             empty;
    logic [LEN_W-1:0] len;
    logic [31:0]      wire_len;
    logic [31:0]      nsec;
    logic [31:0]      sec;
  } record_t;

  // One increment for each counter of the register map.
  typedef struct packed {
    logic        packet;         // a descriptor's packet is taken
    logic        read_error;
    logic        record;
    logic [31:0] record_bytes;
    logic        ring_full;
    logic        too_long;
    logic [1:0]  after_error;
  } events_t;

  typedef struct packed {
    logic        frame;
    logic        bad;
    logic        oversize;
    logic        disabled;
    logic        overflow;
    logic        held;
    logic [19:0] bytes;          // of the frame
  } port_events_t;

endpackage
