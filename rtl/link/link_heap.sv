// SPDX-License-Identifier: Apache-2.0
// Entries by the time of each, the earliest one first: a binary heap in RAM. Entries of the same time come out in any
// order.
// Latency: an entry is at the head 2 cycles after it was pushed, if it is the earliest and the only one; a push and a
// pop take 2 cycles for each level that the entry moves, at most 2 * log2(DEPTH) + 3.
// Backpressure: push_ready is low meanwhile and while the heap is full, and head_valid meanwhile.
module link_heap #(
    parameter int unsigned DEPTH = 4096,     // a power of two; DEPTH - 1 entries
    parameter int unsigned REST_W = 32       // of an entry beside its time
) (
    input  logic                 clk,
    input  logic                 rst,
    input  logic                 push_valid,
    output logic                 push_ready,
    input  logic [63:0]          push_time,
    input  logic [REST_W-1:0]    push_rest,
    output logic                 head_valid,
    input  logic                 head_ready,  // takes it
    output logic [63:0]          head_time,
    output logic [REST_W-1:0]    head_rest,
    output logic                 empty,
    output logic                 idle         // nothing moves
);

  if (DEPTH < 4 || DEPTH > 2 ** 20 || 2 ** $clog2(DEPTH) != DEPTH) begin : gen_bad_depth
    $fatal(1, "link_heap: DEPTH must be a power of two from 4 to 1048576, not %0d", DEPTH);
  end

  if (REST_W < 1) begin : gen_bad_rest_w
    $fatal(1, "link_heap: REST_W must be at least 1, not %0d", REST_W);
  end

  localparam int unsigned INDEX_W = $clog2(DEPTH);
  localparam int unsigned ADDR_W = INDEX_W - 1;
  typedef logic [INDEX_W-1:0] index_t;
  typedef struct packed {
    logic [63:0]       at;
    logic [REST_W-1:0] rest;
  } entry_t;
  typedef enum logic [2:0] {READY, UP_READ, UP, LAST, DOWN_READ, DOWN} state_t;

  // Entries are numbered from 1; the children of i are 2 i and 2 i + 1, side by side. The first one is in a register.
  state_t state_q;
  index_t count_q, hole_q;
  entry_t top_q, item_q;
  logic write;
  index_t write_index;
  logic [ADDR_W-1:0] read_at;
  entry_t write_entry;
  entry_t [1:0] pair;  // even, odd

  for (genvar i = 0; i < 2; i++) begin : gen_ram
    ram_sdp #(
        .WIDTH($bits(entry_t)),
        .DEPTH(DEPTH / 2)
    ) u_ram (
        .clk,
        .wr_en  (write && write_index[0] == (i == 1)),
        .wr_addr(write_index[INDEX_W-1:1]),
        .wr_data(write_entry),
        .rd_en  (1'b1),
        .rd_addr(read_at),
        .rd_data(pair[i])
    );
  end

  wire index_t above = hole_q >> 1;
  wire entry_t parent = above == index_t'(1) ? top_q : pair[above[0]];
  wire up = item_q.at < parent.at;
  wire [INDEX_W:0] left = {hole_q, 1'b0};
  wire [INDEX_W:0] right = {hole_q, 1'b1};
  wire has_left = left <= (INDEX_W + 1)'(count_q);
  wire has_right = right <= (INDEX_W + 1)'(count_q);
  wire second = has_right && pair[1].at < pair[0].at;
  wire entry_t child = pair[second];
  wire down = has_left && child.at < item_q.at;
  wire push = push_valid && push_ready;
  wire pop = head_valid && head_ready;

  always_comb begin
    read_at = above[INDEX_W-1:1];                                // UP_READ
    if (state_q == READY) read_at = count_q[INDEX_W-1:1];        // the last one
    if (state_q == DOWN_READ) read_at = hole_q[ADDR_W-1:0];      // its children
    write_index = hole_q;
    write_entry = item_q;
    if (state_q == UP && up) write_entry = parent;
    if (state_q == DOWN && down) write_entry = child;
    write = state_q inside {UP, DOWN} && hole_q != index_t'(1);
  end

  always_ff @(posedge clk) begin
    unique case (state_q)
      READY: begin
        if (pop) begin
          count_q <= count_q - 1'b1;
          hole_q  <= index_t'(1);
          if (count_q != index_t'(1)) state_q <= LAST;
        end else if (push) begin
          count_q <= count_q + 1'b1;
          hole_q  <= count_q + 1'b1;
          item_q  <= {push_time, push_rest};
          if (count_q == '0) top_q <= {push_time, push_rest};
          else state_q <= UP_READ;
        end
      end
      UP_READ: state_q <= UP;
      UP: begin
        state_q <= up && above != index_t'(1) ? UP_READ : READY;
        if (up) hole_q <= above;
        if (up && above == index_t'(1)) top_q <= item_q;
      end
      LAST: begin
        item_q  <= pair[index_t'(count_q + 1'b1) & index_t'(1)];
        state_q <= DOWN_READ;
      end
      DOWN_READ: state_q <= DOWN;
      default: begin  // DOWN
        state_q <= down ? DOWN_READ : READY;
        if (down) hole_q <= index_t'(left) | index_t'(second);
        if (hole_q == index_t'(1)) top_q <= down ? child : item_q;
      end
    endcase
    if (rst) begin
      state_q <= READY;
      count_q <= '0;
    end
  end

  assign push_ready = state_q == READY && count_q != '1 && !pop;
  assign head_valid = state_q == READY && count_q != '0;
  assign head_time  = top_q.at;
  assign head_rest  = top_q.rest;
  assign empty      = count_q == '0;
  assign idle       = state_q == READY;

endmodule
