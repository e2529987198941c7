// SPDX-License-Identifier: Apache-2.0
// What is asked of an exact_table and what it answers, and the latencies of tables in cycles.
package table_pkg;

  typedef enum logic [1:0] {
    INSERT,
    CHANGE,  // the result of a key that is there
    REMOVE
  } table_op_t;

  typedef enum logic [1:0] {
    DONE,
    EXISTS,
    NOT_FOUND,
    FULL
  } table_answer_t;

  localparam int unsigned EXACT_LATENCY = 8;

  // Levels of a ternary_table's AND tree: 4 chunks, then 8 nodes each.
  function automatic int unsigned ternary_levels(int unsigned key_w, int unsigned chunk_w);
    int unsigned nodes = ((key_w + chunk_w - 1) / chunk_w + 3) / 4;
    ternary_levels = 1;
    while (nodes > 1) begin
      nodes = (nodes + 7) / 8;
      ternary_levels++;
    end
  endfunction

  function automatic int unsigned ternary_latency(int unsigned key_w, int unsigned entries, int unsigned chunk_w);
    int unsigned index_w = entries > 1 ? $clog2(entries) : 1;
    return 2 + ternary_levels(key_w, chunk_w) + (index_w + 2) / 3;
  endfunction

endpackage
