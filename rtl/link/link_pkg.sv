// SPDX-License-Identifier: Apache-2.0
// Types of the link emulator: the settings of a direction, in tc-netem's terms, frames, and what is told of them.
// A probability is a threshold: a random number of 32 bits that is at most as large hits; 0 never does.
package link_pkg;

  localparam int unsigned BYTES_W = 17;        // of a frame
  localparam int unsigned FRACTION_W = 24;     // of a byte's time, in 2**-24 ns
  localparam int unsigned BYTE_TIME_W = 48;
  localparam int unsigned TABLE_W = 12;        // entries of a distribution's table: 4096, as in tc-netem
  localparam int unsigned SCALE_W = 13;        // a table's entry is in 2**-13 of the jitter

  // What has a probability that may depend on the last one
  typedef enum logic [1:0] {OF_LOSS, OF_DUPLICATE, OF_CORRUPT, OF_REORDER} kind_t;
  localparam int unsigned KINDS = 4;

  typedef enum logic [1:0] {
    LOSS_NONE,
    LOSS_RANDOM,   // with probability p
    LOSS_GEMODEL   // Gilbert-Elliott
  } loss_t;

  typedef struct packed {
    logic [31:0]             delay_ns;
    logic [30:0]             jitter_ns;
    logic [31:0]             jitter_step; // width around the last one's place on a circle, in 2**-32; 0: anywhere
    logic                    shaped;      // the jitter comes out of the table, else it is uniform
    logic [BYTE_TIME_W-1:0]  byte_time;   // of the rate; 0: none
    logic signed [15:0]      overhead;    // bytes of a frame more on the wire
    logic [31:0]             limit;       // frames that are held at most
    loss_t                   loss;
    logic [31:0]             p;           // loss, or to the bad state
    logic [31:0]             r;           // back to the good state
    logic [31:0]             bad_loss;    // in the bad state: 1-h
    logic [31:0]             good_loss;   // in the good state: 1-k
    logic [31:0]             duplicate;
    logic [31:0]             corrupt;
    logic [31:0]             reorder;
    logic [15:0]             gap;         // 0: nothing is reordered
    logic [KINDS-1:0][31:0]  rho;         // correlations, less 2**-32; 0: none
    logic [15:0]             lead_ns;     // a frame is fetched so long before its time
  } settings_t;

  typedef struct packed {
    logic [63:0]        time_ns;  // at which it was in whole
    logic [BYTES_W-1:0] bytes;
  } frame_t;

  // Where a frame waits
  typedef enum logic [1:0] {
    NEAR,     // in RAM, behind those that leave before it
    SOON,     // in RAM, the earliest one first
    FAR,      // in host memory
    NOWHERE   // it is dropped
  } lane_t;

  typedef struct packed {
    lane_t              lane;
    logic               again;    // another copy of the frame follows
    logic               flip;     // a bit is changed
    logic [BYTES_W+2:0] flip_at;  // in bits
    logic [63:0]        leave_ns;
    logic [BYTES_W-1:0] bytes;
  } job_t;

  typedef struct packed {
    logic received;  // a frame has come in, those that are dropped there too
    logic bad;       // dropped: it had a bad FCS, or was cut off on the wire
    logic too_long;  // dropped: it was longer than a frame may be
    logic no_room;   // dropped: it found no room
  } entered_t;

  typedef struct packed {
    logic lost;
    logic limited;
    logic duplicated;
    logic corrupted;
    logic reordered;
  } decided_t;

endpackage
