// SPDX-License-Identifier: Apache-2.0
// What the parts of checksum and segmentation offload tell each other.
package offload_pkg;
  // No part needs all of them.
  // verilator lint_off UNUSEDPARAM

  localparam int unsigned HEAD_BYTES = 64;  // of a frame, that are looked at for its headers
  localparam int unsigned VIEW_BYTES = 44;  // of them from the packet's type on: IPv6's header, of the next one two
  localparam int unsigned PLACE_W = 17;     // of a byte in a frame
  localparam logic [7:0] TCP = 8'd6;
  localparam logic [7:0] UDP = 8'd17;

  // Where a frame's headers lie, in bytes
  typedef struct packed {
    logic               known;              // TCP or UDP in one IPv4 or IPv6 packet, if `least` isn't behind `ends`
    logic               v6;
    logic               tcp;                // else UDP
    logic [4:0]         ip;
    logic [11:0]        l4;                 // TCP's or UDP's header
    logic [11:0]        least;              // behind it, without TCP's options
    logic [PLACE_W-1:0] ends;               // behind the packet, as its IP header says
  } heads_t;

  // What is to become of a frame that is sent
  typedef struct packed {
    logic               cut;                // into segments, of TCP over IPv6 or IPv4
    logic               v6;
    logic [15:0]        size;               // of TCP's data in a segment; not 0
    logic [PLACE_W-1:0] bytes;              // of the frame
  } request_t;

  localparam int unsigned LONGEST_CUT = 65600; // frame that is to be cut
  localparam int unsigned MOST_W = 10;      // 2^MOST_W segments of a frame at most: other queues wait for them
  localparam int unsigned SERIES_BYTES = 128; // of a frame to cut, among which its headers end, in whole words of 4 + 2
  localparam int unsigned SERIES = 4;       // frames whose headers wait
  localparam int unsigned SEGMENTS = 16;    // that wait
  localparam int unsigned SERIES_W = $clog2(SERIES);

  // A frame that is cut: its headers, and their sums without what differs between segments
  typedef struct packed {
    logic               v6;
    logic [6:0]         ip;
    logic [6:0]         l4;
    logic [6:0]         bytes;              // of all headers
    logic [15:0]        id;
    logic [31:0]        sequence_number;
    logic [15:0]        flags;              // and the length of TCP's header
    logic [23:0]        ip_sum;
    logic [23:0]        l4_sum;
  } series_t;

  typedef struct packed {
    logic               last;               // of its series
    logic [15:0]        bytes;              // of TCP's data
    logic [31:0]        sum;
  } segment_t;

  // What a beat behind segment_cut belongs to
  typedef enum logic [1:0] {
    PART_FRAME,                             // a frame that goes out as it is
    PART_SEGMENT,                           // a segment's data, in the lanes that they go out in
    PART_NONE                               // a frame that is dropped: no data
  } part_t;

  // verilator lint_on UNUSEDPARAM
endpackage
