// SPDX-License-Identifier: Apache-2.0
// Gives the cells of frames back, following their links, for two that are done with frames: one whose frames are
// written, and one whose frames could not be kept.
// Throughput: a cell in 2 cycles, if the links can be read. Backpressure: ready is low while cells of another are
// freed.
module receive_free
  import receive_pkg::*;
(
    input  logic         clk,
    input  logic         rst,
    input  logic   [1:0] s_valid,
    output logic   [1:0] s_ready,
    input  cell_t  [1:0] s_first,
    input  cells_t [1:0] s_cells,     // 1 at least
    output logic         next_valid,
    input  logic         next_ready,  // the link is read, the answer comes a cycle later
    output cell_t        next_of,
    input  cell_t        next_cell,
    output logic         free_valid,
    output cell_t        free_cell,
    output logic         idle
);

  logic busy_q, wait_q, turn_q;  // wait_q: the next cell's number comes in this cycle
  cell_t cell_q;
  cells_t left_q;
  logic final_q;                 // it is the frame's last
  wire step = busy_q && !wait_q && (final_q || next_ready);
  wire pick = s_valid[turn_q] ? turn_q : !turn_q;
  wire take = !busy_q && s_valid != 0;

  assign s_ready    = busy_q ? 2'b00 : 2'b01 << pick;
  assign next_valid = busy_q && !wait_q && !final_q;
  assign next_of    = cell_q;
  assign idle       = !busy_q && !free_valid;

  always_ff @(posedge clk) begin
    wait_q     <= step && !final_q;
    free_valid <= step;
    free_cell  <= cell_q;
    if (step) begin
      busy_q  <= !final_q;
      left_q  <= left_q - 1'b1;
      final_q <= left_q == 2;
    end
    if (wait_q) cell_q <= next_cell;
    if (take) begin
      busy_q  <= 1'b1;
      turn_q  <= !pick;
      cell_q  <= s_first[pick];
      left_q  <= s_cells[pick];
      final_q <= s_cells[pick] == 1;
    end
    if (rst) begin
      busy_q     <= 1'b0;
      wait_q     <= 1'b0;
      turn_q     <= 1'b0;
      free_valid <= 1'b0;
    end
  end

endmodule
