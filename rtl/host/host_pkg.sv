// SPDX-License-Identifier: Apache-2.0
// Virtual functions: what the units of the function engine tell each other of packed virtqueues (VIRTIO 1.2, 2.8).
// Queues are numbered on each side by themselves: function * PAIRS + pair.
package host_pkg;
  // No unit needs all of them.
  // verilator lint_off UNUSEDPARAM

  localparam int unsigned HEADER_BYTES = 12;      // virtio-net header with VERSION_1, before each frame
  localparam int unsigned DESCRIPTOR_BYTES = 16;

  // Flags of a descriptor
  localparam int unsigned NEXT = 0;
  localparam int unsigned WRITE = 1;              // the device writes the buffer
  localparam int unsigned INDIRECT = 2;
  localparam int unsigned AVAIL = 7;
  localparam int unsigned USED = 15;

  // A place in a ring: where the next descriptor lies, and the wrap counter there.
  typedef struct packed {
    logic        wrap;
    logic [14:0] index;
  } place_t;

  // A queue as software sets it. It goes to all units of its side at once. With `enabled` the queue begins at `start`;
  // software sets it so only while the queue is quiet. Without, no chain of descriptors is begun any more, and those
  // that are begun come to their end.
  typedef struct packed {
    logic        enabled;
    logic        mergeable;     // VIRTIO_NET_F_MRG_RXBUF
    logic        indirect;      // VIRTIO_F_INDIRECT_DESC
    logic        event_index;   // VIRTIO_F_EVENT_IDX
    logic        checksum;      // transmit: VIRTIO_NET_F_CSUM; receive: VIRTIO_NET_F_GUEST_CSUM
    logic        segment;       // transmit: VIRTIO_NET_F_HOST_TSO4, HOST_TSO6
    place_t      start;
    logic [15:0] size;          // descriptors, 1 to 32,768
    logic [15:0] vector;        // of its interrupt
    logic [63:0] ring;          // address of the descriptors, a multiple of 16
    logic [63:0] driver;        // address of the driver's event suppression structure
    logic [63:0] device;        // address of the device's
  } virtq_t;

  // A buffer of a chain, direct or out of an indirect table. One that can't be is `failed` and the last of its queue;
  // its bytes say why.
  typedef struct packed {
    logic        failed;
    logic        last;          // of the chain
    logic [63:0] addr;
    logic [16:0] bytes;         // longer ones count as 131,071
    logic [15:0] id;            // with last: the buffer ID
    logic [15:0] slots;         // with last: descriptors of the ring that the chain has, 1 to 32,768
  } buffer_t;

  // Why a queue failed; in a failed buffer's bytes
  typedef enum logic [2:0] {
    FAULT_NONE = 0,
    FAULT_MEMORY = 1,           // host memory answered with an error
    FAULT_CHAIN = 2,            // longer than the ring, or than its indirect table
    FAULT_FLAGS = 3,            // flags that can't be: an indirect table within one, or with NEXT, or not agreed upon
    FAULT_DIRECTION = 4,        // a buffer to write where one to read is due, or the reverse
    FAULT_LENGTH = 5            // an indirect table that is no multiple of 16, or empty
  } fault_t;

  // A chain that the card needs no more: it becomes used. The chains of a packet in several have `more` but the last.
  // Chains of a queue come in the order of the ring.
  typedef struct packed {
    logic        more;
    logic [15:0] id;
    logic [15:0] slots;
    logic [31:0] bytes;         // that were written
  } used_t;

  // virtio-net header, in the order of its bytes from the lowest on
  typedef struct packed {
    logic [15:0] num_buffers;
    logic [15:0] csum_offset;
    logic [15:0] csum_start;
    logic [15:0] gso_size;
    logic [15:0] hdr_len;
    logic [7:0]  gso_type;
    logic [7:0]  flags;
  } net_header_t;

  localparam int unsigned NEEDS_CSUM = 0;         // in net_header_t.flags
  localparam int unsigned DATA_VALID = 1;
  localparam logic [6:0] GSO_TCPV4 = 7'd1;        // in net_header_t.gso_type, beside its highest bit, GSO_ECN
  localparam logic [6:0] GSO_TCPV6 = 7'd4;

  // What a function may send and is to receive. MAC addresses in the order of their bytes, from the lowest on.
  typedef struct packed {
    logic        service;       // its port VLAN's tags are of 802.1ad, not of 802.1Q
    logic        spoofcheck;    // what it sends must come from `mac`
    logic        trust;         // it receives frames to any station
    logic [2:0]  qos;           // of its port VLAN's tags
    logic [11:0] vlan;          // its port VLAN; 0: none, tags are its own
    logic [47:0] mac;           // 0: not set, it receives frames to any station
  } policy_t;

  // Frames that a policy has dropped, each side by two reasons
  typedef struct packed {
    logic [63:0] filtered_mac;  // received: to another station
    logic [63:0] filtered_vlan; // received: not of the port VLAN
    logic [63:0] had_tag;       // sent: with a tag, where there is a port VLAN
    logic [63:0] spoofed;       // sent: from another MAC address
  } policy_drops_t;

  // Ethertypes of tags
  localparam logic [15:0] CUSTOMER_TAG = 16'h8100;  // 802.1Q
  localparam logic [15:0] SERVICE_TAG = 16'h88A8;   // 802.1ad
  localparam logic [15:0] OLD_TAG = 16'h9100;       // before 802.1ad, of some vendors

  localparam int unsigned BYTE_TIME_W = 32;       // of the time of a byte at a function's rate
  localparam int unsigned BYTE_TIME_FRACTION = 19; // of these bits, below a ns

  // verilator lint_on UNUSEDPARAM
endpackage
