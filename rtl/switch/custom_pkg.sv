// SPDX-License-Identifier: Apache-2.0
// Types of the custom actions.
package custom_pkg;

  localparam int unsigned PLACE_W = 18;  // a place in a packet
  localparam int unsigned OFFSET_W = 7;  // in a beat, 0 to 64

  // Where a beat's payload lies. Beats are counted from the packet's third byte on: there, the payload begins at a
  // multiple of 4, and no sample lies in two beats. Offsets are 0 if what they tell lies before the beat, and its width
  // if behind it.
  typedef struct packed {
    logic                first;   // beat of its packet
    logic                last;
    logic                fir;     // to be done
    logic                crc;
    logic                begins;  // the payload begins in it
    logic                folds;   // the CRC looks at it
    logic                ends;    // and at none behind it
    logic [OFFSET_W-1:0] start;   // of the payload
    logic [OFFSET_W-1:0] tail;    // of the payload's last 4 bytes
    logic [OFFSET_W-1:0] stop;    // behind the payload
    logic [OFFSET_W-1:0] bytes;   // of the packet in it
  } span_t;

  // What is written into a packet when all of it has been seen. Places are counted from its first byte on.
  typedef struct packed {
    logic               summed;      // it has a checksum
    logic [15:0]        checksum;    // as it lies there: its first byte in the low bits
    logic [7:0]         payload_at;  // the checksum lies 2 bytes before
    logic               crc;         // its payload ends with a CRC
    logic [31:0]        crc_word;    // whose bytes are each where its place's low 2 bits say
    logic [PLACE_W-1:0] crc_at;
  } patch_t;

endpackage
