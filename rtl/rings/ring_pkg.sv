// SPDX-License-Identifier: Apache-2.0
// The host port's rings: what software sets of a ring, and what it tells.
package ring_pkg;
  // A card needs not all of them.
  // verilator lint_off UNUSEDPARAM

  localparam int unsigned DESCRIPTOR_W = 128;

  typedef struct packed {
    logic [63:0] base;
    logic [4:0]  log2;
    logic [31:0] posted;
  } ring_t;

  // As it was fetched
  typedef struct packed {
    logic        failed;
    logic [63:0] place;  // its address
    logic [31:0] bytes;
    logic [63:0] addr;
  } descriptor_t;

  // One cycle each
  typedef struct packed {
    logic packet;
    logic failed;
    logic too_long;
    logic dropped;
  } ring_event_t;

  // verilator lint_on UNUSEDPARAM
endpackage
