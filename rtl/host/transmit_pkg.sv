// SPDX-License-Identifier: Apache-2.0
// What the parts of host_transmit tell each other.
package transmit_pkg;
  // No part needs all of them.
  // verilator lint_off UNUSEDPARAM

  localparam int unsigned CELL_BYTES = 256;
  localparam int unsigned BURST_BYTES = 512;    // a read ends at a multiple of it, so never crosses 4 KB
  localparam int unsigned BURSTS = 8;           // of a job, asked for and not yet there
  localparam int unsigned SHORTEST_FRAME = 14;

  localparam int unsigned FRAME_W = 17;         // bytes of a frame
  localparam int unsigned BURST_W = $clog2(BURSTS);

  // A read to ask for, or, with `token`, the end of a job whose last read didn't say so.
  typedef struct packed {
    logic               token;
    logic               last;                   // of the job
    logic [BURST_W-1:0] slot;                   // among the job's reads
    logic [15:0]        user;
    logic [63:0]        addr;
    logic [9:0]         bytes;
  } piece_t;

  // A read as its data come: lanes of its first and last byte
  typedef struct packed {
    logic       last;                           // of the job
    logic [5:0] first_lane;
    logic [5:0] last_lane;
  } burst_t;

  // A job, which is a packet on its way, as it is known when its chain ends
  typedef struct packed {
    logic [2:0]         fault;
    logic               dropped;
    logic               checksum;               // may be asked for
    logic [FRAME_W-1:0] bytes;                  // of the frame
    logic [15:0]        id;
    logic [15:0]        slots;
    logic [8:0]         cells;                  // that its bytes take
  } chain_t;

  // What matters of its virtio-net header
  typedef struct packed {
    logic        segment;                       // gso_type is not 0
    logic        tcp;                           // it is a known one,
    logic        v6;                            // and which
    logic [15:0] segment_size;
    logic        needs_sum;
    logic [15:0] sum_start;
    logic [15:0] sum_offset;
  } header_t;

  // verilator lint_on UNUSEDPARAM
endpackage
