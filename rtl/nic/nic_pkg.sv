// SPDX-License-Identifier: Apache-2.0
// The NIC between Ethernet ports and virtual functions (VFs): what software sets, and what is found out of a frame.
package nic_pkg;
  // No part needs all of them.
  // verilator lint_off UNUSEDPARAM

  localparam int unsigned MAX_PORTS = 4;
  localparam int unsigned MAX_FUNCTIONS = 256;
  localparam int unsigned MAX_PAIRS = 8;
  localparam int unsigned PORT_W = 2;
  localparam int unsigned VF_W = 8;
  localparam int unsigned PAIR_W = 3;
  localparam int unsigned VLAN_W = 12;
  localparam int unsigned HASH_W = 6;  // of the hash: what the indirection table of a function is read with

  // A function as software sets it. One that is not enabled gets no frames, and what it sends is dropped.
  typedef struct packed {
    logic              enabled;
    logic              promiscuous;  // gets frames of all VLANs, and those for stations that nobody knows
    logic [PORT_W-1:0] uplink;       // its Ethernet port
    logic [VLAN_W-1:0] vlan;         // 0: frames without a tag
  } vf_t;

  typedef struct packed {
    logic              valid;
    logic [VF_W-1:0]   number;
    vf_t               vf;
  } vf_write_t;

  // A word of the indirection tables: the frames of a function whose hash ends with `hash` go to this queue pair.
  typedef struct packed {
    logic              valid;
    logic [VF_W-1:0]   number;
    logic [HASH_W-1:0] hash;
    logic [PAIR_W-1:0] pair;
  } pair_write_t;

  // A station, as the key of the table that knows its function
  typedef struct packed {
    logic [PORT_W-1:0] port;         // the Ethernet port whose network it is in
    logic [VLAN_W-1:0] vlan;
    logic [47:0]       mac;          // its first byte in the highest bits
  } station_t;

  typedef struct packed {
    logic              drop;         // from a function that is not enabled
    logic              from_vf;
    logic [VF_W-1:0]   vf;           // that it comes from
    logic [PORT_W-1:0] port;         // that it comes from, or the function's uplink
  } origin_t;

  // What is known of a frame
  typedef struct packed {
    origin_t           origin;
    logic              group;        // broadcast or multicast
    logic              known;        // the table has its station
    logic [VF_W-1:0]   vf;           // of this function
    logic [VLAN_W-1:0] vlan;
    logic [HASH_W-1:0] hash;
  } found_t;

  // A copy of a frame that is to be sent
  typedef struct packed {
    logic              none;         // nothing is sent
    logic              last;         // of the frame, whose room is free then
    logic              to_port;
    logic [PORT_W-1:0] port;
    logic [VF_W-1:0]   vf;
    logic [PAIR_W-1:0] pair;
  } copy_t;

  // One cycle each; received + extra = to_vf + to_port + dropped + frames inside
  typedef struct packed {
    logic received;
    logic to_vf;
    logic to_port;
    logic extra;    // a frame got another copy than its first
    logic dropped;  // a frame got none
  } path_event_t;

  // An Ethernet port's
  typedef struct packed {
    logic received;  // those that are dropped, too
    logic bad;       // by the wire: dropped
    logic dropped;   // for want of room, or because the port is not enabled
    logic sent;
  } port_event_t;

  // verilator lint_on UNUSEDPARAM
endpackage
