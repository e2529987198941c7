// SPDX-License-Identifier: Apache-2.0
// What the editor's parts tell each other.
package editor_pkg;

  // Places in a copy, in words of 4 bytes, and moves by as many.
  typedef logic [5:0] word_t;
  typedef logic signed [6:0] shift_t;

  // What of a copy says where its bytes come from.
  typedef struct packed {
    logic [1:0] tags;
    logic [1:0] labels;
    logic [7:0] cut;
    logic       sends;  // it goes somewhere
    logic       frees;  // the last one of its packet
  } order_t;

  // A beat of a packet that is read, and the beat of the copy that it makes.
  typedef struct packed {
    logic       first;  // of its copy
    logic       sends;  // there is one
    logic       last;   // of those that are sent
    logic       waits;  // for the packet's beat that follows
    logic       ahead;  // the packet's beats are ahead of the copy's
    logic       none;   // of the headers is there: nothing is edited
    word_t      shift;  // of what comes behind the front
    logic [4:0] beat;   // of the copy; the highest number for all beyond
    logic [5:0] rest;   // bytes of the last beat, less 1
  } step_t;

  // What replaces bytes of a word of 4 bytes; bytes[0] is the first one on the wire.
  typedef struct packed {
    logic            low;    // of byte 2 the low 4 bits only
    logic [3:0]      enable;
    logic [3:0][7:0] bytes;
  } patch_word_t;

  // Words at places of equal low bits share an index.
  localparam int unsigned PATCH_WORDS = 16;
  localparam int unsigned PATCH_WORDS_NARROW = 8;  // of what is edited of a header, be it of IPv4 at most
  typedef patch_word_t [PATCH_WORDS-1:0] patch_t;

  // A checksum: 2 bytes at the beginning or in the second half of a word.
  typedef struct packed {
    logic        there;
    word_t       at;
    logic        half;
    logic        udp;    // of UDP: 0 stays, and says that there is none
    logic        crc;    // half of a CRC, whose bits change
    logic [15:0] delta;
  } sum_t;

endpackage
