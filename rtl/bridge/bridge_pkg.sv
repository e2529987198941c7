// SPDX-License-Identifier: Apache-2.0
// Types of the bridge: the packet header on the network on chip, what lies in shared memory, tables and messages.
package bridge_pkg;

  localparam int unsigned BLOCKS = 4;         // of a switch
  localparam int unsigned TABLE_ENTRIES = 8;  // of each IDP table
  localparam int unsigned TAG_W = 4;          // of host buffers
  localparam logic [63:0] NEVER = '1;         // of wake_ns: no timer is armed
  localparam int unsigned H2S_LANES = 2;
  localparam int unsigned BULK_LANE = 0;
  localparam int unsigned EXPRESS_LANE = 1;

  // Where a block is on the network on chip.
  typedef struct packed {
    logic [3:0] switch_id;
    logic [1:0] block;
  } noc_address_t;

  // Header of a packet on the network on chip; its bytes are those of EmbedNet, first byte first:
  // 0: level, address; 1: bit 0 egress, bit 1 critical; 2 to 5: source; 6 to 9: destination, both big-endian.
  typedef struct packed {
    logic [1:0]   level;        // priority
    noc_address_t address;
    logic         egress;
    logic         critical;     // latency-critical
    logic [31:0]  source;       // IDPs
    logic [31:0]  destination;
  } noc_header_t;

  // In front of each packet in shared memory; its three words are in the byte order of the host, little-endian:
  // word 0: bits 31:28 switch, 27:26 block, 25:24 priority, 23 egress, 22 critical, 15:0 bytes of payload.
  localparam int unsigned HEADER_WORDS = 3;
  typedef struct packed {
    logic [31:0] destination;   // word 2
    logic [31:0] source;        // word 1
    logic [3:0]  switch_id;
    logic [1:0]  block;
    logic [1:0]  level;
    logic        egress;
    logic        critical;
    logic [5:0]  reserved;
    logic [15:0] length;
  } memory_header_t;

  // The bytes of a header on the network on chip, byte 0 in bits 7:0.
  function automatic logic [79:0] noc_bytes(noc_header_t header);
    logic [31:0] source, destination;
    source      = header.source;
    destination = header.destination;
    return {
      destination[7:0], destination[15:8], destination[23:16], destination[31:24],
      source[7:0], source[15:8], source[23:16], source[31:24],
      6'd0, header.critical, header.egress, header.level, header.address
    };
  endfunction

  function automatic noc_header_t noc_header(logic [79:0] bytes);
    noc_header_t header;
    header.level       = bytes[7:6];
    header.address     = bytes[5:0];
    header.egress      = bytes[8];
    header.critical    = bytes[9];
    header.source      = {bytes[23:16], bytes[31:24], bytes[39:32], bytes[47:40]};
    header.destination = {bytes[55:48], bytes[63:56], bytes[71:64], bytes[79:72]};
    return header;
  endfunction

  function automatic memory_header_t to_memory(noc_header_t header, logic [15:0] length);
    memory_header_t result;
    result             = '0;
    result.destination = header.destination;
    result.source      = header.source;
    result.switch_id   = header.address.switch_id;
    result.block       = header.address.block;
    result.level       = header.level;
    result.egress      = header.egress;
    result.critical    = header.critical;
    result.length      = length;
    return result;
  endfunction

  function automatic noc_header_t to_noc(memory_header_t header);
    return '{
        level: header.level,
        address: '{switch_id: header.switch_id, block: header.block},
        egress: header.egress,
        critical: header.critical,
        source: header.source,
        destination: header.destination
    };
  endfunction

  // What an entry of an IDP table gives: the header of the packets that it matches.
  typedef struct packed {
    logic         valid;
    noc_header_t  header;
    logic [31:0]  key;
    logic [31:0]  mask;      // bits of the key that count
  } table_entry_t;

  // One entry is written in one cycle, in the table of the block at `address`.
  typedef struct packed {
    logic                             valid;
    noc_address_t                     address;
    logic [$clog2(TABLE_ENTRIES)-1:0] index;
    table_entry_t                     entry;
  } table_write_t;

  // A buffer in host memory that software gives to the card; it begins at a page of 4 KB.
  typedef struct packed {
    logic [TAG_W-1:0] tag;
    logic [14:0]      words;  // of 32 bits: H2S, its room; S2H, its content
    logic [51:0]      page;   // address / 4096
  } buffer_t;

  // What the card tells software about a buffer: tag, packets, words; H2S has packets = 0 after a write error, and
  // REFUSED words where the buffer was too small for the batch.
  localparam logic [14:0] REFUSED = '1;
  typedef struct packed {
    logic [TAG_W-1:0] tag;
    logic [12:0]      packets;
    logic [14:0]      words;
  } h2s_message_t;

  typedef struct packed {
    logic [TAG_W-1:0] tag;
    logic [12:0]      packets;     // sent
    logic             valid;       // always 1: a message is never 0
    logic [11:0]      reserved;
    logic             malformed;   // a count or a length is not true: the rest of the buffer is dropped
    logic             read_error;  // its memory could not be read: the rest of the buffer is dropped
  } s2h_message_t;

  // How H2S forms its batches.
  typedef struct packed {
    logic        single;      // each packet for itself
    logic [16:0] bytes;       // of a batch at most
    logic [31:0] timeout_ns;  // since the batch's first packet; 0: none
  } batching_t;

  // What software sets at a port, of H2S beside batching_t, and at a slot.
  typedef struct packed {
    logic       enable;
    logic       flow_control;
    logic [6:0] key_offset;
  } port_settings_t;

  typedef struct packed {
    logic        enable;
    logic        wait_for_room;
    logic [31:0] wait_limit_ns;
    logic        express;
  } h2s_settings_t;

  typedef struct packed {
    logic        enable;
    logic        hold;
    logic [31:0] packet_ns;    // of block_generic
    logic [31:0] byte_ns_256;
  } slot_settings_t;

  // What happens in a cycle, for the counters.
  typedef struct packed {
    logic        frame;        // has come in
    logic [15:0] frame_bytes;  // of it; 65535 for more
    logic        bad;
    logic        disabled;
    logic        too_long;
    logic        overflow;
    logic        unknown;
    logic        sent;
    logic        tx_malformed;
    logic        held;         // a frame waits for flow control
  } port_events_t;

  // Of a lane of H2S.
  typedef struct packed {
    logic        packet;         // taken into a batch
    logic [15:0] packet_bytes;   // of its payload
    logic        malformed;
    logic        too_long;
    logic        no_room;
    logic        disabled;
    logic        closed;         // a batch
    logic [2:0]  closed_reason;  // 0 full, 1 timeout, 2 critical, 3 single, 4 flush
    logic        write_error;
    logic [12:0] write_error_packets;
    logic        buffer_refused;
    logic        post_lost;      // a buffer was posted where there was no place for it
  } h2s_events_t;

  typedef struct packed {
    logic        packet;         // begins to be sent
    logic [15:0] packet_bytes;
    logic        malformed;      // with its buffer's message
    logic        read_error;
    logic        post_lost;
  } s2h_events_t;

  // Whether anything happens: the amounts say nothing by themselves.
  function automatic logic h2s_happens(h2s_events_t events);
    events.packet_bytes        = '0;
    events.closed_reason       = '0;
    events.write_error_packets = '0;
    return events != '0;
  endfunction

  function automatic logic s2h_happens(s2h_events_t events);
    events.packet_bytes = '0;
    return events != '0;
  endfunction

  typedef struct packed {
    logic received;
    logic overflow;
    logic malformed;
    logic unknown;
    logic refused;   // by the kernel
    logic sent;
  } slot_events_t;

  // The traffic of a window.
  typedef struct packed {
    logic [31:0] packets;
    logic [31:0] bytes;
    logic [31:0] gap_min;   // ns
    logic [31:0] gap_max;
    logic [15:0] size_min;  // bytes
    logic [15:0] size_max;
  } traffic_t;

endpackage
