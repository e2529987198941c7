// SPDX-License-Identifier: Apache-2.0
// What the parts of host_receive tell each other. Cells have CELL_BYTES; their numbers, and queues', are as wide as the
// most of them need.
package receive_pkg;
  // No part needs all of them.
  // verilator lint_off UNUSEDPARAM

  localparam int unsigned CELL_BYTES = 256;
  localparam int unsigned BURST_BYTES = 512;  // no burst crosses a multiple of it
  localparam int unsigned MOST_IDS = 64;
  localparam int unsigned RUNS = 32;          // runs of bursts under way with an ID

  typedef logic [15:0] queue_t;
  typedef logic [11:0] cell_t;
  typedef logic [12:0] cells_t;               // how many
  typedef logic [16:0] bytes_t;               // of a header and a frame
  typedef logic [5:0]  run_t;                 // number of a queue's run, modulo more than RUNS

  // What becomes of a frame that is in the cells
  typedef enum logic [1:0] {
    WHOLE,
    CUT,                                      // its sender gave it up
    TOO_MUCH                                  // longer than frames may be, or the cells did not suffice
  } end_t;

  typedef struct packed {
    queue_t owner;
    end_t   what;
    logic   valid_sum;
    cell_t  first;
    cells_t cells;
    bytes_t bytes;
  } frame_t;

  typedef enum logic [1:0] {
    EVENT_PASSED,
    EVENT_SHORT,                              // dropped: the chain was too short
    EVENT_FULL,                               // dropped: no room
    EVENT_OFF                                 // dropped: the queue is not enabled
  } kind_t;

  typedef struct packed {
    queue_t owner;
    kind_t  kind;
    bytes_t bytes;
  } event_t;

  // A burst, and what is done after it
  typedef struct packed {
    queue_t      owner;
    logic        writes;                      // else no burst
    logic        fixes;                       // its one byte is `value`
    logic        starts;                      // the first one of the frame, or the first one since it was put aside
    logic        ends;                        // the frame's cells are free afterwards
    logic        valid_sum;
    logic [7:0]  value;
    bytes_t      at;                          // of the first byte in header and frame
    logic [9:0]  bytes;
    logic [63:0] addr;
    cell_t       first;
    cells_t      cells;
  } piece_t;

  // The end of a run of bursts of a queue
  typedef enum logic [1:0] {
    RUN_ASIDE,                                // the chain goes on with another run
    RUN_USED,                                 // the chain becomes used
    RUN_VOID                                  // it is given up
  } run_end_t;

  // verilator lint_on UNUSEDPARAM
endpackage
