// SPDX-License-Identifier: Apache-2.0
// What the editor's parts tell each other: words that are laid over a packet, and sums that are added to.
package editor_pkg;

  // What replaces bytes of a word of 4 bytes; bytes[0] is the first one on the wire.
  typedef struct packed {
    logic            low;    // of byte 2 the low 4 bits only
    logic [3:0]      enable;
    logic [3:0][7:0] bytes;
  } patch_word_t;

  // Words at places of equal low 4 bits share an index.
  localparam int unsigned PATCH_WORDS = 16;
  typedef patch_word_t [PATCH_WORDS-1:0] patch_t;

  // Places in a copy, in words of 4 bytes, and moves by as many.
  typedef logic [5:0] word_t;
  typedef logic signed [6:0] shift_t;

  // A checksum: 2 bytes at the beginning or in the second half of a word.
  typedef struct packed {
    logic        there;
    word_t       at;
    logic        half;
    logic        udp;    // of UDP: 0 stays, and says that there is none
    logic [15:0] delta;
  } sum_t;

endpackage
