// SPDX-License-Identifier: Apache-2.0
// What the loop card says beside its frames.
package loop_pkg;

  typedef struct packed {
    logic [1:0][31:0]       length;
    logic [1:0]             chosen;
    headrace_pkg::tx_meta_t meta;
  } user_t;

endpackage
