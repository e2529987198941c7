// SPDX-License-Identifier: Apache-2.0
// PCI Express transactions (Base Specification 4.0, chapter 2) as the parts of this layer tell each other of them,
// whatever the hard IP makes of them: a header as a struct, and data beside it.
//
// A stream of TLPs has valid, ready, header, data and last. The header stays the same on all beats of a TLP. The
// payload's first DW is lane 0 of the first beat, the others follow without holes; lanes behind its end mean nothing. A
// TLP without data is one beat.
package pcie_pkg;
  // No part needs all of them.
  // verilator lint_off UNUSEDPARAM

  // Status of a completion
  localparam logic [2:0] SUCCESSFUL = 3'b000;
  localparam logic [2:0] UNSUPPORTED = 3'b001;  // UR
  localparam logic [2:0] RETRY = 3'b010;        // CRS, of configuration requests alone
  localparam logic [2:0] ABORTED = 3'b100;      // CA

  // A request by the card.
  typedef struct packed {
    logic        write;       // memory write with data, posted; else a memory read
    logic [15:0] func;        // function that asks: 0 is the physical one
    logic [7:0]  tag;         // of a read; the completions have it too
    logic [63:0] addr;        // of the first DW
    logic [10:0] dwords;      // 1 to 1024
    logic [3:0]  first_be;    // bytes of the first DW
    logic [3:0]  last_be;     // of the last one; 0 with one DW
  } request_t;

  // What the host answers to a read.
  typedef struct packed {
    logic [7:0]  tag;
    logic [2:0]  status;
    logic        poisoned;    // its data are wrong
    logic [12:0] bytes;       // of the request that are still to come, these included
    logic [6:0]  lower_addr;  // of the first byte
    logic [10:0] dwords;      // of data; 0: none
  } completion_t;

  typedef enum logic [1:0] {
    ACCESS_READ,
    ACCESS_WRITE,             // posted
    ACCESS_OTHER              // non-posted and unsupported: I/O, atomic operations
  } access_kind_t;

  // What an answer repeats of the access.
  typedef struct packed {
    logic [15:0] func;        // function that was asked
    logic [15:0] requester;   // who asked: bus, device, function
    logic [9:0]  tag;
    logic [2:0]  traffic_class;
    logic [2:0]  attributes;
  } access_id_t;

  // A request by the host to a base address register's range.
  typedef struct packed {
    access_kind_t kind;
    access_id_t   id;
    logic [2:0]   bar;
    logic [63:0]  addr;       // of the first DW
    logic [10:0]  dwords;
    logic [3:0]   first_be;
    logic [3:0]   last_be;
    logic         poisoned;
  } access_t;

  // The card's completion of it.
  typedef struct packed {
    access_id_t  id;
    logic [2:0]  status;
    logic [12:0] bytes;
    logic [6:0]  lower_addr;
    logic [10:0] dwords;      // of data; 0: none
  } answer_t;

  // Credit limits as flow control has them: credits that the other end has granted since the link came up, modulo the
  // width of the field. What was used since then is counted by who sends.
  typedef struct packed {
    logic        ph_infinite;
    logic        pd_infinite;
    logic        nph_infinite;
    logic [7:0]  ph;          // headers of posted requests
    logic [11:0] pd;          // data of posted requests, 16 bytes each
    logic [7:0]  nph;         // headers of non-posted requests
  } credit_limit_t;

  localparam int unsigned PAGE = 4096;            // no request crosses a multiple of it
  localparam int unsigned CREDIT_BYTES = 16;      // of payload for a data credit

  // verilator lint_on UNUSEDPARAM
endpackage
