// SPDX-License-Identifier: Apache-2.0
// What is asked of an exact_table and what it answers.
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

endpackage
