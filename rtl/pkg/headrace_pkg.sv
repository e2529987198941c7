// SPDX-License-Identifier: Apache-2.0
// Types that every card shares: what travels beside a frame on the Ethernet ports. What belongs to one card is not
// among them: a card's tx_tuser may have bits of its own above tx_meta_t.
package headrace_pkg;

  // Beside a received frame, valid with its last beat.
  typedef struct packed {
    logic        error;     // bad FCS or cut off on the wire
    logic        cut;       // a capture kept a part of the frame only
    logic [31:0] wire_len;  // with cut: bytes the frame had on the wire
  } rx_meta_t;

  // Beside a transmitted frame, the same on every beat.
  typedef struct packed {
    logic [31:0] lost;          // packets lost at this port since the last frame
    logic [7:0]  port;          // ingress port
    logic        error;         // send with a bad FCS
    logic        cut;           // as in rx_meta_t
    logic [31:0] wire_len;
    logic [63:0] timestamp_ns;  // arrival of the first beat
  } tx_meta_t;

endpackage
