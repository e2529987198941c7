// Types that every card shares: what travels beside a frame on the Ethernet ports.
package headrace_pkg;

  // Filter programs that can run on a packet at once.
  localparam int unsigned PROGRAMS = 4;

  // Beside a received frame, valid with its last beat.
  typedef struct packed {
    logic        error;     // bad FCS or cut off on the wire
    logic [31:0] wire_len;  // bytes the frame had on the wire; 0: as many as were received
  } rx_meta_t;

  // Beside a transmitted frame, the same on every beat.
  typedef struct packed {
    logic [PROGRAMS-1:0][15:0] snaplen;       // bytes of the frame that are for each program; 0: not matched
    logic [31:0]               lost;          // packets lost at this port since the last frame
    logic [PROGRAMS-1:0]       matched;       // programs that accepted the packet
    logic [7:0]                port;          // ingress port
    logic                      error;         // send with a bad FCS
    logic [31:0]               wire_len;      // as in rx_meta_t
    logic [63:0]               timestamp_ns;  // arrival of the first beat
  } tx_meta_t;

endpackage
