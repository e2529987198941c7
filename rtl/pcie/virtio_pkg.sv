// SPDX-License-Identifier: Apache-2.0
// What a virtio network device over PCI is made of (VIRTIO 1.2, 4.1.4 and 5.1), as far as the function engine does it:
// where its structures lie, its features, and what its registers say to the engine.
package virtio_pkg;
  // No part needs all of them.
  // verilator lint_off UNUSEDPARAM

  // Places of the structures in the BAR, which is 16 KB: pages, so that a driver may map one of them
  localparam logic [31:0] COMMON = 32'h0000;
  localparam logic [31:0] ISR = 32'h1000;
  localparam logic [31:0] DEVICE = 32'h2000;
  localparam logic [31:0] NOTIFY = 32'h3000;
  localparam logic [31:0] BAR_BYTES = 32'h4000;
  localparam logic [31:0] MSIX_BYTES = 32'h1000;   // of the BAR with the MSI-X table
  localparam int unsigned NOTIFY_STEP = 4;         // notify_off_multiplier
  localparam int unsigned COMMON_BYTES = 64;
  localparam int unsigned DEVICE_BYTES = 12;       // MAC address, status, max_virtqueue_pairs, MTU
  localparam logic [15:0] VENDOR_ID = 16'h1AF4;
  localparam logic [15:0] DEVICE_ID = 16'h1041;    // a network device, not transitional

  localparam logic [15:0] NO_VECTOR = 16'hffff;

  // Device status
  localparam int unsigned DRIVER_OK = 2;
  localparam int unsigned FEATURES_OK = 3;
  localparam int unsigned NEEDS_RESET = 6;

  // Features
  localparam int unsigned NET_CSUM = 0;
  localparam int unsigned NET_GUEST_CSUM = 1;
  localparam int unsigned NET_MTU = 3;
  localparam int unsigned NET_MAC = 5;
  localparam int unsigned NET_HOST_TSO4 = 11;
  localparam int unsigned NET_HOST_TSO6 = 12;
  localparam int unsigned NET_HOST_ECN = 13;
  localparam int unsigned NET_MRG_RXBUF = 15;
  localparam int unsigned NET_STATUS = 16;
  localparam int unsigned INDIRECT_DESC = 28;
  localparam int unsigned EVENT_IDX = 29;
  localparam int unsigned VERSION_1 = 32;
  localparam int unsigned ACCESS_PLATFORM = 33;
  localparam int unsigned RING_PACKED = 34;
  localparam int unsigned ORDER_PLATFORM = 36;
  localparam int unsigned NOTIFICATION_DATA = 38;
  localparam int unsigned RING_RESET = 40;
  // Those without which the engine can't work, all, and those that a function offers at first: a MAC address and an MTU
  // it has once somebody gives it one.
  localparam logic [63:0] NEEDED = 64'd1 << VERSION_1 | 64'd1 << RING_PACKED;
  localparam logic [63:0] OFFERED = NEEDED | 64'd1 << NET_CSUM | 64'd1 << NET_GUEST_CSUM | 64'd1 << NET_HOST_TSO4 |
      64'd1 << NET_HOST_TSO6 | 64'd1 << NET_HOST_ECN | 64'd1 << NET_MRG_RXBUF | 64'd1 << NET_STATUS |
      64'd1 << INDIRECT_DESC | 64'd1 << EVENT_IDX | 64'd1 << ACCESS_PLATFORM | 64'd1 << ORDER_PLATFORM |
      64'd1 << NOTIFICATION_DATA | 64'd1 << RING_RESET;
  localparam logic [63:0] SUPPORTED = OFFERED | 64'd1 << NET_MAC | 64'd1 << NET_MTU;

  typedef enum logic [2:0] {
    TELL_BELL,    // rings a queue's doorbell
    TELL_BEGIN,
    TELL_STOP,
    TELL_LOOK,    // whether a stopped queue is quiet
    TELL_FAULT    // takes the oldest failure
  } tell_kind_t;

  // What the engine is told of a queue. The settings count for TELL_BEGIN.
  typedef struct packed {
    tell_kind_t  kind;
    logic        receive;        // its side
    logic [15:0] number;         // of the engine's queue
    logic        mergeable;
    logic        indirect;
    logic        event_index;
    logic        checksum;
    logic        segment;
    logic [15:0] size;
    logic [15:0] vector;
    logic [63:0] ring;
    logic [63:0] driver;
    logic [63:0] device;
  } tell_t;

  // What is kept of a function, and of a queue
  typedef struct packed {
    logic [31:0] device_select;
    logic [31:0] driver_select;
    logic [63:0] features;
    logic [15:0] config_vector;
    logic [7:0]  status;
    logic [7:0]  generation;
    logic [15:0] queue_select;
    logic [1:0]  isr;
    logic        resetting;
    logic        flr;            // that is why
  } device_t;
  typedef struct packed {
    logic [5:0][31:0] addresses;
    logic [15:0]      size;
    logic [15:0]      vector;
    logic             enabled;
    logic             begun;     // in the engine
    logic             stopped;   // there
    logic             resetting;
  } virtqueue_t;

  function automatic device_t new_device(logic [7:0] generation);
    new_device               = '0;
    new_device.config_vector = NO_VECTOR;
    new_device.generation    = generation;
  endfunction
  function automatic virtqueue_t new_queue(logic [15:0] size);
    new_queue        = '0;
    new_queue.size   = size;
    new_queue.vector = NO_VECTOR;
  endfunction

  // What happens to a function
  typedef enum logic [2:0] {
    ACCESS,      // by its driver
    BEGIN,       // all queues of a driver that has become ready
    MANAGES,     // access by the card's software
    REQUEST,     // for an interrupt of a queue
    FAULT,       // a queue has failed
    WALK,        // over what is reset
    FLR
  } job_t;
  typedef struct packed {
    job_t        job;
    logic        known;          // there is such a function
    logic [15:0] number;         // of its queue, where that isn't the driver's choice
    logic        write;
    logic [13:2] offset;
    logic [31:0] wdata;
    logic [3:0]  wstrb;
  } action_t;

  // What comes of it, beside what is kept
  typedef struct packed {
    logic        tells;          // the engine is told
    tell_kind_t  kind;
    logic        interrupts;
    logic [15:0] vector;
    logic        begins;         // all queues are to begin
    logic        resets;         // one more function or queue is being reset
    logic        clean;          // walk: this queue has ended, and all before it
    logic        ends;           // the reset of a queue is over
    logic        finishes;       // of a function
    logic [31:0] rdata;
  } effect_t;

  // verilator lint_on UNUSEDPARAM
endpackage
