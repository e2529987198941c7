// SPDX-License-Identifier: Apache-2.0
// Gives each chain that becomes used its place in the ring and makes the used element of it. Of chains that become
// used together the first one's element is made last: it is kept here until the last chain of them has come, then
// goes beside that one's (`first`), and comes back (`again`) once all others are written.
// Latency: 2 cycles to `made`. Throughput: a chain every other cycle, in the cycles with `turn`.
// Backpressure: none of its own; who gives chains waits for all that they need.
module used_place
  import host_pkg::*;
#(
    parameter int unsigned QUEUES = 16,
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1
) (
    input  logic               clk,
    input  logic               rst,
    input  logic               turn,          // high every other cycle
    input  logic               set_valid,     // enabled ones only, at most every other cycle
    input  logic [QUEUE_W-1:0] set_queue,
    input  place_t             set_start,
    input  logic [15:0]        set_size,
    input  logic [63:4]        set_ring,
    input  logic [QUEUE_W-1:0] place_queue,   // held
    output place_t             place_next,    // where its next used element goes, 3 cycles later

    input  logic               take,          // with `turn`
    input  logic [QUEUE_W-1:0] take_queue,
    input  logic               take_again,    // no new chain, but this element:
    input  place_t             again_place,
    input  used_t              taken,         // the chain; ID and bytes of the element
    input  logic               failed,        // of the queue, 1 cycle later

    // 1 cycle after `take`: whether it makes an element, in which an entry is used
    output logic               makes,
    // 2 cycles after `take`
    output logic               made_valid,
    output logic [63:4]        made_addr,     // of the descriptor
    output logic [63:0]        made_data,     // its second half
    output logic               made_member,   // one of several, not the first and not the last
    output logic               made_last,     // the last of several
    output place_t             made_from,     // where the chain, or the first of them, began
    output logic [16:0]        made_slots,    // of the chain, or all of them
    output logic [15:0]        first_id,
    output logic [31:0]        first_bytes,
    output logic               idle
);

  if (QUEUES < 1 || QUEUES > 2 ** 16) begin : gen_bad_queues
    $fatal(1, "used_place: QUEUES must be 1 to 65536, not %0d", QUEUES);
  end

  typedef struct packed {
    place_t      next;
    logic        amid;     // chains that become used together have begun: what follows is of the first
    place_t      from;
    logic [15:0] id;
    logic [31:0] bytes;
    logic [16:0] slots;    // of all up to now
  } state_t;

  // A set waits for the cycle in which no chain writes: those write 2 cycles after they are taken.
  logic set_q;
  logic [QUEUE_W-1:0] set_queue_q;
  place_t set_start_q;
  wire set_writes = set_q && !turn;
  always_ff @(posedge clk) begin
    set_q <= set_valid || (set_q && turn);
    if (set_valid) begin
      set_queue_q <= set_queue;
      set_start_q <= set_start;
    end
    if (rst) set_q <= 1'b0;
  end

  logic taken_q, again_q;
  logic [QUEUE_W-1:0] queue_q;
  place_t again_place_q;
  used_t chain_q;
  always_ff @(posedge clk) begin
    taken_q       <= take;
    again_q       <= take_again;
    again_place_q <= again_place;
    queue_q       <= take_queue;
    chain_q       <= taken;
    if (rst) taken_q <= 1'b0;
  end

  // --------------------------------------------------------------------------------------------------- state of queues
  state_t state, state_q, state_d, start;
  logic [15:0] size, size_q;
  logic [16:0] sum_q;
  logic [63:4] ring;
  logic writes_q;
  logic [QUEUE_W-1:0] written_q;
  wire state_wr = set_writes || writes_q;
  wire [QUEUE_W-1:0] state_at = set_writes ? set_queue_q : written_q;
  wire state_t state_data = set_writes ? start : state_d;

  always_comb begin
    start      = '0;
    start.next = set_start_q;
  end

  ram_through #(
      .WIDTH($bits(state_t)),
      .DEPTH(QUEUES)
  ) u_state (
      .clk,
      .wr_en  (state_wr),
      .wr_addr(state_at),
      .wr_data(state_data),
      .rd_addr(take_queue),
      .rd_data(state)
  );
  ram_fit #(
      .WIDTH(76),
      .DEPTH(QUEUES)
  ) u_ring (
      .clk,
      .wr_en  (set_valid),
      .wr_addr(set_queue),
      .wr_data({set_size, set_ring}),
      .rd_en  (take),
      .rd_addr(take_queue),
      .rd_data({size, ring})
  );

  logic [QUEUE_W-1:0] place_queue_q;
  place_t seen;
  always_ff @(posedge clk) begin
    place_queue_q <= place_queue;
    place_next    <= seen;
  end
  ram_through #(
      .WIDTH($bits(place_t)),
      .DEPTH(QUEUES)
  ) u_place (
      .clk,
      .wr_en  (state_wr),
      .wr_addr(state_at),
      .wr_data(state_data.next),
      .rd_addr(place_queue_q),
      .rd_data(seen)
  );

  // ------------------------------------------------------------------------------------------------ the place after it
  wire first = !state.amid && chain_q.more;
  wire [16:0] slots = (state.amid ? state.slots : '0) + {1'b0, chain_q.slots};
  always_ff @(posedge clk) begin
    writes_q      <= taken_q && !again_q && !failed;
    written_q     <= queue_q;
    sum_q         <= {2'b0, state.next.index} + {1'b0, chain_q.slots};
    size_q        <= size;
    state_q       <= state;
    state_q.amid  <= chain_q.more;
    state_q.slots <= slots;
    if (!state.amid) begin
      state_q.from  <= state.next;
      state_q.id    <= chain_q.id;
      state_q.bytes <= chain_q.bytes;
    end
    if (rst) writes_q <= 1'b0;
  end

  wire [17:0] beyond = {1'b0, sum_q} - {2'b0, size_q};
  wire wraps = !beyond[17];
  always_comb begin
    state_d            = state_q;
    state_d.next.index = wraps ? beyond[14:0] : sum_q[14:0];
    state_d.next.wrap  = state_q.next.wrap ^ wraps;
  end
  assign makes = taken_q && (again_q || (!failed && !first));

  // ------------------------------------------------------------------------------------------------------- the element
  logic [63:4] ring_q;
  place_t at_q;
  logic [15:0] id_q;
  logic [31:0] bytes_q;
  always_ff @(posedge clk) begin
    made_valid  <= makes;
    ring_q      <= ring;
    at_q        <= again_q ? again_place_q : state.next;
    id_q        <= chain_q.id;
    bytes_q     <= chain_q.bytes;
    made_member <= state.amid && chain_q.more;
    made_last   <= state.amid && !chain_q.more;
    made_from   <= state.amid ? state.from : state.next;
    made_slots  <= slots;
    first_id    <= state.id;
    first_bytes <= state.bytes;
    if (rst) made_valid <= 1'b0;
  end

  logic [15:0] flags;
  always_comb begin
    flags        = '0;
    flags[WRITE] = bytes_q != '0;
    flags[AVAIL] = at_q.wrap;
    flags[USED]  = at_q.wrap;
  end
  assign made_addr = ring_q + 60'(at_q.index);
  assign made_data = {flags, id_q, bytes_q};
  assign idle      = !set_q && !taken_q && !made_valid;

  wire unused = &{1'b0, state_q.next.index, beyond[16:15], sum_q[16:15]};

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst) assert (!set_valid || !set_q || set_writes) else $error("%m: queues are set in successive cycles");
    if (!rst) assert (!taken_q || !turn) else $error("%m: a chain is taken out of turn");
    if (!rst && taken_q && !again_q && !failed) begin
      assert (chain_q.slots != '0 && chain_q.slots <= size) else $error("%m: a chain of %0d slots", chain_q.slots);
    end
  end
`endif

endmodule
