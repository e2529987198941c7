// SPDX-License-Identifier: Apache-2.0
// The RPU card's fabric: what software sets of the load balancer, and what it tells.
package rpu_fabric_pkg;
  // A card needs not all of them.
  // verilator lint_off UNUSEDPARAM

  localparam int unsigned MAX_UNITS = 16;
  localparam int unsigned UNIT_W = 4;
  localparam int unsigned SOURCES = 4;  // eth0, eth1, host, loopback, numbered as ports are
  localparam int unsigned MAX_SLOTS = 32;
  localparam int unsigned COUNT_W = 6;  // of the slots of a unit
  localparam int unsigned ENTRY_W = 7;  // of the table of flows
  localparam int unsigned TUPLE_W = 288;  // two IPv6 addresses and two ports
  localparam int unsigned KEY_W = 320;

  typedef enum logic [1:0] {
    ROUND_ROBIN  = 2'd0,
    LEAST_LOADED = 2'd1,
    FLOW_HASH    = 2'd2
  } policy_e;

  // May change at any time.
  typedef struct packed {
    policy_e policy;
    logic [MAX_UNITS-1:0] enable;  // units that get packets
    logic [SOURCES-1:0][MAX_UNITS-1:0] receive;  // of each source: units that the balancer may choose for its packets
    logic [SOURCES-1:0] open;  // of each source: taken in; otherwise none waits, and those that begin are dropped
    logic [1:0] hold;  // eth0, eth1: wait when there is no room, instead of dropping
    logic [SOURCES-1:0] prefix;  // of each source: the flow hash is put before its packets, 4 bytes, little endian
    logic [KEY_W-1:0] key;  // of the hash, its first byte in the highest bits
  } settings_t;

  // A word for the table of flows: the packets of hashes that end with `entry` go to this unit.
  typedef struct packed {
    logic               valid;
    logic [ENTRY_W-1:0] entry;
    logic [UNIT_W-1:0]  unit;
  } table_write_t;

  // One cycle each.
  typedef struct packed {
    logic refused;  // a packet to a unit that does not exist or is not enabled was dropped: loopback only
    logic dropped;  // a packet was dropped: no room for it, the source is not open, or the packet is bad
  } source_event_t;

  typedef struct packed {
    logic bad_port;    // it sent a packet to a port that there is none of: dropped
    logic cut;         // a packet that it was sending was cut off by a flush
    logic discarded;   // a packet on its way to it was thrown away because of a flush
    logic slot_error;  // a release of a slot that is free, does not exist or is more than there may be
    logic assigned;    // a packet has got a slot
  } unit_event_t;

  typedef struct packed {
    logic [COUNT_W-1:0] slots;        // that exist
    logic [COUNT_W-1:0] outstanding;  // of these with a packet
  } unit_status_t;

  // Beside what goes to PORT_DRAM and comes back: whose it is, and of which time between its resets
  localparam int unsigned LIFE_W = 16;
  typedef struct packed {
    logic [UNIT_W-1:0] unit;
    logic [LIFE_W-1:0] life;
  } owner_t;

  // What is known of a packet in a store
  typedef struct packed {
    logic [4:0]        vf;      // of the host's functions, the one that it came from
    logic [1:0]        source;
    logic              direct;  // for `unit` and no other; of a parked one: the packet before it of its flow is, too
    logic [UNIT_W-1:0] unit;    // of a parked packet: where the one before it went
    logic [31:0]       hash;
  } packet_t;

  // What goes with a packet from its store to a unit
  typedef struct packed {
    logic [1:0] epoch;  // of the unit when its slot was chosen: another one than now: the slot is no more
    logic [7:0] port;   // as in unit_rx_t
    logic [7:0] slot;
  } feed_user_t;

  // verilator lint_on UNUSEDPARAM
endpackage
