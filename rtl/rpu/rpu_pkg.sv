// SPDX-License-Identifier: Apache-2.0
// What the parts of the RPU card share: descriptors, what travels beside a packet to and from a unit, the ports that a
// packet can go to, and the errors and interrupts of a unit.
package rpu_pkg;
  // A card needs not all of them.
  // verilator lint_off UNUSEDPARAM

  // Ports, as descriptors name them
  localparam logic [7:0] PORT_ETH0 = 8'd0;
  localparam logic [7:0] PORT_ETH1 = 8'd1;
  localparam logic [7:0] PORT_HOST = 8'd2;
  localparam logic [7:0] PORT_LOOPBACK = 8'd3;
  localparam logic [7:0] PORT_DRAM = 8'd4;

  // The host may have functions, up to MAX_FUNCTIONS: the port of number N is PORT_HOST + 8 * N.
  localparam int unsigned VF_W = 5;
  localparam int unsigned MAX_FUNCTIONS = 2 ** VF_W;

  function automatic logic is_host(logic [7:0] port, int unsigned functions);
    is_host = port[2:0] == PORT_HOST[2:0] && 32'(port[7:3]) < functions;
  endfunction

  // What a unit's software has where
  localparam logic [31:0] ACCEL_BASE = 32'h0040_0000;
  localparam logic [31:0] DMEM_BASE = 32'h0080_0000;
  localparam logic [31:0] PMEM_BASE = 32'h0100_0000;
  localparam logic [31:0] IMEM_BASE = 32'h0200_0000;

  // A descriptor as software sees it: 64 bits, its length in the lowest ones.
  typedef struct packed {
    logic [31:0] data;  // address in the unit: packet memory, or data memory
    logic [7:0]  port;
    logic [7:0]  tag;   // a slot from 1; 0: none
    logic [15:0] len;   // bytes; 0: the packet is dropped
  } desc_t;

  // What software asks for with a descriptor
  localparam logic [7:0] SEND_PACKET = 8'd0;
  localparam logic [7:0] SEND_DONE = 8'd1;     // a packet, too
  localparam logic [7:0] SEND_UNIT = 8'd2;     // to the unit `port`
  localparam logic [7:0] SEND_SLOTS = 8'd3;    // slots 1 to `tag` are there, for packets
  localparam logic [7:0] SEND_WRITE = 8'd4;    // to host memory
  localparam logic [7:0] SEND_READ = 8'd5;     // from host memory

  typedef struct packed {
    logic [7:0]  kind;
    logic [63:0] dram_addr;
    desc_t       desc;
  } send_t;

  // The first beat of what a unit sends to PORT_DRAM. The data of a write follow it.
  typedef struct packed {
    logic        is_read;
    logic        data_memory;  // of the unit; otherwise packet memory
    logic [23:0] addr;         // there
    logic [4:0]  tag;          // flag that a read sets; 0: none
    logic [15:0] len;          // not 0
    logic [63:0] dram_addr;
  } dram_request_t;

  // The first beat of what comes from PORT_DRAM: a part of what a unit has asked for follows it, unless reading it has
  // failed.
  typedef struct packed {
    logic        data_memory;
    logic [23:0] addr;
    logic [4:0]  tag;          // of the last part, otherwise 0
  } dram_answer_t;

  // A request for host memory is done.
  typedef struct packed {
    logic        valid;
    logic        failed;
    logic [7:0]  unit;
    logic        current;      // the unit was not in reset since
    logic [63:0] addr;         // where it failed, or the beginning of what did
  } dram_event_t;

  // The same with what it is, found out once; nothing else is done with one that is not valid but to drop its packet
  typedef struct packed {
    send_t send;
    logic  valid;
    logic  to_packet;    // of a kind that gives a slot back
    logic  has_slot;     // and there is such a slot
    logic  is_packet;
    logic  is_slots;
    logic  is_read;      // of host memory
    logic  is_write;
    logic  is_empty;     // no bytes of host memory
    logic  data_memory;  // where its bytes are; otherwise packet memory
  } checked_t;

  // A store into the broadcast region
  typedef struct packed {
    logic [23:0] addr;         // in data memory
    logic [31:0] data;
    logic [3:0]  strb;
  } word_t;

  // What the host sees of a unit
  typedef struct packed {
    logic [19:0] flags;
    logic [19:0] seen;         // of ERRORS, acknowledged or not
    logic [15:0] mask;
    logic [31:0] active;       // slots with packets, from slot 1
    logic        evict_ready;
  } core_status_t;

  // Beside all beats of a packet on its way to a unit
  typedef struct packed {
    logic [7:0] port;   // where it came from; for a message of another unit, PORT_LOOPBACK
    logic [7:0] slot;   // from 1, free until now
  } unit_rx_t;

  // Beside all beats of a packet that a unit sends. Its slot is freed by the unit itself, by a release.
  typedef struct packed {
    logic       to_unit;  // port names a unit, whose slot the balancer chooses
    logic [7:0] port;
  } unit_tx_t;

  // From a unit to the balancer
  typedef struct packed {
    logic       all;    // slots 1 to `slot` exist and are free; otherwise `slot` is free again
    logic [7:0] slot;
  } release_t;

  // Interrupt flags 15:0, and errors 19:16, as in the flags register
  localparam int unsigned FLAG_TIMER = 0;
  localparam int unsigned FLAG_PACKET = 1;
  localparam int unsigned FLAG_DRAM = 2;
  localparam int unsigned FLAG_BROADCAST = 3;
  localparam int unsigned FLAG_POKE = 4;
  localparam int unsigned FLAG_EVICT = 5;
  localparam int unsigned FLAG_BROADCAST_FULL = 8;
  localparam int unsigned FLAG_ACCELERATOR = 9;
  localparam int unsigned FLAG_DUPLICATE_SLOT = 10;
  localparam int unsigned FLAG_INVALID_SLOT = 11;
  localparam int unsigned FLAG_INVALID_DESC = 12;
  localparam int unsigned FLAG_DRAM_ERROR = 13;  // raises no interrupt: firmware may not know it
  localparam int unsigned FLAG_IMEM = 16;
  localparam int unsigned FLAG_DMEM = 17;
  localparam int unsigned FLAG_PMEM = 18;
  localparam int unsigned FLAG_IO = 19;
  localparam logic [19:0] ERRORS = 20'hF_3D00;

  // What happens on a stream in a cycle, for counters
  typedef struct packed {
    logic       packet;        // the last beat of one is taken
    logic       stall;         // a beat is not taken
    logic [7:0] bytes;         // of a beat that is taken
  } traffic_t;

  // A part of a packet that an accelerator wants to see: `len` bytes from `addr` in packet memory on
  typedef struct packed {
    logic [23:0] addr;
    logic [15:0] len;   // not 0
  } accel_job_t;

  // verilator lint_on UNUSEDPARAM
endpackage
