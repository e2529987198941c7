// SPDX-License-Identifier: Apache-2.0
// Packet memory in cells of CELL_BEATS beats, which packets of any queues share: a packet is a list of cells, linked by
// who writes it. The users keep first and last cell of each packet; this block keeps the free ones, the links and the
// data. It gives a cell out as soon as it is freed.
// Latency: data and links 1 cycle after rd_en.
// Throughput: a cell given out, one freed, one link written and one read, a beat written and one read, each a cycle.
// Backpressure: none but alloc_valid, which is low while no cell is free. A read of a beat or link that is being
// written returns an undefined value.
module cell_store #(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned CELLS = 256,
    parameter int unsigned CELL_BEATS = 4,
    localparam int unsigned CELL_W = $clog2(CELLS),
    localparam int unsigned BEAT_W = CELL_BEATS > 1 ? $clog2(CELL_BEATS) : 1,
    localparam int unsigned COUNT_W = $clog2(CELLS + 1)
) (
    input  logic               clk,
    input  logic               rst,

    output logic               alloc_valid,
    input  logic               alloc_ready,
    output logic [ CELL_W-1:0] alloc_cell,
    input  logic               free_valid,
    input  logic [ CELL_W-1:0] free_cell,
    output logic [COUNT_W-1:0] free,        // cells not in use; one just freed is on offer 4 cycles later at most

    input  logic               link_en,     // link_next follows link_cell
    input  logic [ CELL_W-1:0] link_cell,
    input  logic [ CELL_W-1:0] link_next,
    input  logic               next_en,
    input  logic [ CELL_W-1:0] next_of,
    output logic [ CELL_W-1:0] next_cell,   // what follows next_of

    input  logic               wr_en,
    input  logic [ CELL_W-1:0] wr_cell,
    input  logic [ BEAT_W-1:0] wr_beat,
    input  logic [ DATA_W-1:0] wr_data,
    input  logic               rd_en,
    input  logic [ CELL_W-1:0] rd_cell,
    input  logic [ BEAT_W-1:0] rd_beat,
    output logic [ DATA_W-1:0] rd_data,

    output logic               idle         // all cells are free
);

  if (DATA_W < 8 || DATA_W > 1024) begin : gen_bad_data_w
    $fatal(1, "cell_store: DATA_W must be 8 to 1024, not %0d", DATA_W);
  end
  if (CELLS < 16 || 2 ** CELL_W != CELLS) begin : gen_bad_cells
    $fatal(1, "cell_store: CELLS must be a power of two from 16, not %0d", CELLS);
  end
  if (CELL_BEATS < 1 || CELL_BEATS > 256 || 2 ** $clog2(CELL_BEATS) != CELL_BEATS) begin : gen_bad_cell_beats
    $fatal(1, "cell_store: CELL_BEATS must be a power of two from 1 to 256, not %0d", CELL_BEATS);
  end

  number_pool #(
      .COUNT(CELLS)
  ) u_cells (
      .clk,
      .rst,
      .lend_valid(alloc_valid),
      .lend_ready(alloc_ready),
      .lend      (alloc_cell),
      .back_valid(free_valid),
      .back      (free_cell),
      .free,
      .idle
  );

  ram_fit #(
      .WIDTH(CELL_W),
      .DEPTH(CELLS)
  ) u_links (
      .clk,
      .wr_en  (link_en),
      .wr_addr(link_cell),
      .wr_data(link_next),
      .rd_en  (next_en),
      .rd_addr(next_of),
      .rd_data(next_cell)
  );

  localparam int unsigned AT_W = CELL_W + $clog2(CELL_BEATS);
  ram_fit #(
      .WIDTH(DATA_W),
      .DEPTH(CELLS * CELL_BEATS)
  ) u_data (
      .clk,
      .wr_en,
      .wr_addr(AT_W'({wr_cell, wr_beat} >> (BEAT_W - $clog2(CELL_BEATS)))),
      .wr_data,
      .rd_en,
      .rd_addr(AT_W'({rd_cell, rd_beat} >> (BEAT_W - $clog2(CELL_BEATS)))),
      .rd_data
  );

endmodule
