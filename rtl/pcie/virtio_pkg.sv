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

  // verilator lint_on UNUSEDPARAM
endpackage
