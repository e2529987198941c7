// SPDX-License-Identifier: Apache-2.0
// What the parts of accel_matcher share. Patterns are told apart by the bytes they end with, in lower case: a key of up
// to 4 bytes, the last one in bits 7:0. Kinds: patterns of 1, 2, 3, and 4 or more bytes.
package matcher_pkg;
  // A card needs not all of them.
  // verilator lint_off UNUSEDPARAM

  localparam int unsigned LANES = 16;      // bytes of a row, seen in one cycle
  localparam int unsigned RING = 64;       // rows that are kept for the exact comparison
  localparam int unsigned RING_W = 6;
  localparam int unsigned BUCKETS = 2048;

  typedef logic [3:0] kinds_t;

  // A row's candidates: for each byte the kinds of patterns that may end there.
  typedef struct packed {
    logic [7:0]             tag;
    logic                   last;   // of its job
    logic [4:0]             bytes;
    logic [11:0]            number; // in its job
    logic [RING_W-1:0]      ring;   // where its bytes are kept
    kinds_t [LANES-1:0]     kinds;
  } candidates_t;

  // What is reported; id 0: the end of a job
  typedef struct packed {
    logic [7:0]  tag;
    logic [15:0] position;  // bytes of the job up to the pattern's end
    logic [15:0] id;
  } match_t;

  // A word of the tables on its way in; words of 0x10000 on are rows of patterns.
  typedef struct packed {
    logic        valid;
    logic [21:0] index;  // of the word: its address / 4
    logic [31:0] data;
  } load_t;

  // Control of a row of a pattern: 8 bytes, the lower ones unused where there are less
  typedef struct packed {
    logic [1:0]  kind;
    logic        nocase;
    logic        last;   // of its pattern
    logic [2:0]  step;   // its last byte is 8 * step bytes before the pattern's last
    logic [3:0]  bytes;
    logic [15:0] id;
  } control_t;

  function automatic logic [7:0] fold(logic [7:0] letter);
    return letter >= "A" && letter <= "Z" ? letter | 8'h20 : letter;
  endfunction

  // Hashes: each byte at a place of its own, around the end.
  function automatic logic [13:0] hash4(logic [31:0] key);
    return {6'd0, key[7:0]} ^ {2'd0, key[15:8], 4'd0} ^ {key[22:16], 6'd0, key[23]} ^ {key[26:24], 6'd0, key[31:27]};
  endfunction
  function automatic logic [12:0] hash3(logic [23:0] key);
    return {5'd0, key[7:0]} ^ {key[15:8], 5'd0} ^ {key[19:16], 5'd0, key[23:20]};
  endfunction
  function automatic logic [4:0] hash2(logic [7:0] before_last);
    return before_last[4:0] ^ {before_last[7:5], 2'd0};
  endfunction
  function automatic logic [10:0] bucket(logic [31:0] key, logic [1:0] kind);
    logic [10:0] seed;
    seed = kind[1] ? 11'h2AA : '0;
    if (kind[0]) seed ^= 11'h555;
    return seed ^ {3'd0, key[7:0]} ^ {key[15:8], 3'd0} ^ {key[20:16], 3'd0, key[23:21]} ^
           {key[25:24], 3'd0, key[31:26]};
  endfunction

  // verilator lint_on UNUSEDPARAM
endpackage
