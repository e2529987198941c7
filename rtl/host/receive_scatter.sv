// SPDX-License-Identifier: Apache-2.0
// Lays frames, each behind its virtio-net header, into the buffers that their queue has. Queues have turns; in a turn a
// queue gets TURN_BYTES, each buffer counted as 64 bytes more, and what a turn gave too much the next ones lack. When
// it has no buffer or frame left, or its turn is over, what it began is put aside. After LOT frames a turn is cut when
// one is due that is urgent; what is left of it, one turn's bytes at most, the next one has in addition.
// With mergeable buffers a frame takes as many chains as it needs; their number is written into the header at the end,
// unless it is 1. Else a frame that is longer than its chain is dropped, and nothing of the chain counts as written.
// A queue that is not enabled goes on with a chain that it began, and then all its frames are dropped. One that failed
// passes over the rest of the chain.
// Latency: 7 cycles from a turn to its first piece. Throughput: a turn in 9 cycles and 3 a frame in a buffer; a piece
// in 2. Backpressure: waits for piece_ready, as long as the bus is not ready, and for event_ready, and for few cycles
// for ends_ready and fault_ready.
//
//  TURN -> LOAD -> BEGIN -> PICK -> STORE -> TURN         LEAVE before STORE: a run is put aside
//                            |
//    buffer -----------------+-> MEASURE <-> PIECE -> PICK
//    chain's last buffer ----+-> MEASURE <-> PIECE -> CHAIN_END -> PICK, or DROP where the frame doesn't fit
//    frame's last piece of   |
//    several chains ---------+-> .. PIECE -> NUMBER_LOW -> NUMBER_HIGH -> PICK or CHAIN_END
//    failed buffer ----------+-> FAULT -> FAULT_END -> PICK
//    queue is off -----------+-> DROP -> PICK
module receive_scatter
  import host_pkg::*;
  import receive_pkg::*;
#(
    parameter int unsigned QUEUES = 16,
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1
) (
    input  logic               clk,
    input  logic               rst,
    input  logic               wipe,
    input  logic [QUEUE_W-1:0] wipe_queue,
    input  logic               set_valid,
    input  logic [QUEUE_W-1:0] set_queue,
    input  logic               set_enabled,
    input  logic               set_mergeable,
    input  logic               set_checksum,
    input  logic               fail_valid,     // never together with set_valid
    input  logic [QUEUE_W-1:0] fail_queue,
    input  logic [QUEUE_W-1:0] probe_queue,
    output logic               probe_begun,    // a frame or chain of it is; 2 cycles later

    input  logic               turn_valid,
    output logic               turn_ready,
    input  logic [QUEUE_W-1:0] turn_queue,
    input  logic               turn_urgent,    // it is one for whom long turns end
    output logic               again_valid,    // the queue wants a further turn
    input  logic               again_ready,

    output logic               pop_valid,      // of `visited`
    input  logic               pop_ready,
    input  logic               popped_valid,
    input  logic               popped_none,
    input  cell_t              popped_first,
    input  bytes_t             popped_total,
    input  logic               popped_valid_sum,
    output logic               freed_valid,    // cells of `visited` that were freed since reset, modulo
    output cells_t             freed_cells,

    output logic               open_valid,
    input  logic               open_ready,
    output logic [QUEUE_W-1:0] open_queue,
    input  logic               buffer_valid,
    output logic               buffer_ready,
    input  buffer_t            buffer,
    input  logic               buffer_none,
    output logic               close,

    output logic               piece_valid,
    input  logic               piece_ready,    // stays until a piece comes
    output piece_t             piece,
    output logic [QUEUE_W-1:0] visited,        // of the turn
    input  logic               used_room,      // one more chain of it can become used
    input  logic               room,           // a run can begin
    output logic               blocked,
    output logic               begins,
    output run_t               begins_run,
    output logic               ends_valid,
    input  logic               ends_ready,     // stays until an end comes
    output run_end_t           ends,
    output used_t              ends_used,
    output logic               fault_valid,
    input  logic               fault_ready,
    output fault_t             fault,
    output logic               event_valid,
    input  logic               event_ready,    // stays until an event is told
    output event_t             what,
    output logic               idle
);

  if (QUEUES < 1 || QUEUES > 65536) begin : gen_bad_queues
    $fatal(1, "receive_scatter: QUEUES must be 1 to 65536, not %0d", QUEUES);
  end

  localparam int unsigned TURN_BYTES = 2048;
  localparam int unsigned BUFFER_COST = 64;
  localparam int unsigned LOT = 4;        // frames
  typedef logic [19:0] credit_t;  // the upper half are numbers below 0

  typedef struct packed {
    logic enabled;
    logic failed;
    logic mergeable;
    logic checksum;
  } config_t;

  // What a queue goes on with: a frame that was taken off its list, or of one that is done the rest of the chain; and
  // the next frame of the list.
  typedef struct packed {
    logic        frame;
    logic        come;
    cell_t       come_first;
    bytes_t      come_total;
    logic        come_sum;
    cell_t       first;
    bytes_t      total;      // header and frame
    bytes_t      left;       // of it
    logic        valid_sum;
    logic        chain;      // begun, and not at its end
    logic        over;       // the rest of the chain is not needed
    bytes_t      written;    // into the chain
    logic [15:0] chains;     // of the frame, that have ended
    logic [63:0] low_addr;   // of the header's num_buffers
    logic [63:0] high_addr;
    credit_t     credit;     // bytes that it may have, less 1: below 0 its turn is over
    logic        cut;        // the last turn was: what is left of its credit counts
    cells_t      freed;
    run_t        run;
  } context_t;

  typedef enum logic [3:0] {
    TURN,
    LOAD,
    BEGIN,
    PICK,       // a frame, then a buffer for it
    MEASURE,    // how much of the buffer the next piece has; waits until all can be told
    PIECE,
    NUMBER_LOW, // num_buffers
    NUMBER_HIGH,
    CHAIN_END,
    FAULT,
    FAULT_END,
    DROP,       // the frame
    LEAVE,      // a run ends
    STORE
  } state_t;
  state_t state_q;

  config_t config_data, config_q;
  context_t data, now_q;
  logic [QUEUE_W-1:0] queue_q;
  assign visited = queue_q;

  // ---------------------------------------------------------------------------------------------- what queues are like
  wire change = set_valid || fail_valid;
  ram_fit #(
      .WIDTH($bits(config_t)),
      .DEPTH(QUEUES)
  ) u_config (
      .clk,
      .wr_en  (wipe || change),
      .wr_addr(wipe ? wipe_queue : set_valid ? set_queue : fail_queue),
      .wr_data(wipe ? '0 : set_valid ? config_t'{set_enabled, 1'b0, set_mergeable, set_checksum} : 4'b0100),
      .rd_en  (1'b1),
      .rd_addr(turn_queue),
      .rd_data(config_data)
  );
  ram_fit #(
      .WIDTH($bits(context_t)),
      .DEPTH(QUEUES)
  ) u_context (
      .clk,
      .wr_en  (wipe || close),
      .wr_addr(wipe ? wipe_queue : queue_q),
      .wr_data(wipe ? '0 : now_q),
      .rd_en  (1'b1),
      .rd_addr(turn_queue),
      .rd_data(data)
  );
  logic begun, probe_q;
  ram_fit #(
      .WIDTH(1),
      .DEPTH(QUEUES)
  ) u_begun (
      .clk,
      .wr_en  (wipe || close),
      .wr_addr(wipe ? wipe_queue : queue_q),
      .wr_data(!wipe && (now_q.frame || now_q.chain || now_q.come)),
      .rd_en  (1'b1),
      .rd_addr(probe_queue),
      .rd_data(begun)
  );
  always_ff @(posedge clk) begin
    probe_q     <= state_q != TURN && queue_q == probe_queue;
    probe_begun <= begun || probe_q;
  end

  // ----------------------------------------------------------------------------------------------- the frame to come
  // Asked for when the turn begins, and when it becomes the one at hand.
  logic ask_q, asked_q, none_q, load;
  wire ask = (state_q == LOAD && !data.come) || load;
  wire asking = ask_q || asked_q;
  assign pop_valid = ask || ask_q;
  always_ff @(posedge clk) begin
    ask_q <= pop_valid && !pop_ready;
    if (popped_valid) asked_q <= 1'b0;
    if (pop_valid && pop_ready) asked_q <= 1'b1;
    if (popped_valid) none_q <= popped_none;
    if (state_q == LOAD) none_q <= 1'b0;
    if (rst) begin
      ask_q   <= 1'b0;
      asked_q <= 1'b0;
    end
  end

  // ------------------------------------------------------------------------------------------------------ the buffer
  logic starts_q;                // of the turn no piece of the frame was given yet
  logic run_q;                   // a run is begun
  logic again_q;
  logic last_q;
  logic [15:0] id_q, slots_q;
  logic [63:0] addr_q;
  bytes_t rest_q;                // of the buffer
  logic [9:0] bytes_q;           // of the piece
  fault_t fault_q;
  cells_t cells_q;               // that the frame has
  logic freed_q;
  wire live = config_q.enabled || now_q.chain;
  wire broke = now_q.credit[19];
  logic [2:0] lot_q;             // frames that the turn may have before it is cut
  logic cut_q;                   // it is, unless a frame or chain has begun
  logic [2:0] age_q;             // cycles of the turn, as far as answers about the queue take any
  bytes_t at_q;                  // of the frame that was given
  logic [9:0] to_line_q;         // bytes to the next line that no burst crosses
  logic numbered_q;              // the frame has ended other chains
  logic frame_ends_q, buffer_ends_q;  // with the piece
  logic simple_end_q;            // frame and chain end with this cycle's piece, and nothing else is to do
  logic has_low_q, has_high_q;   // the buffer has the bytes of num_buffers,
  logic [3:0] low_step_q, high_step_q;  // so far on

  wire rest_fits = rest_q <= bytes_t'(to_line_q);
  wire left_fits = now_q.left <= bytes_t'(to_line_q);
  wire fills = rest_q >= now_q.left;  // the frame ends in this buffer
  wire all_ready = piece_ready && event_ready && ends_ready;

  // A buffer is wanted for the frame, or to get to the chain's end.
  wire cuts = cut_q && !run_q && !now_q.chain && !now_q.over;
  wire wanting = state_q == PICK && live && !broke && !cuts && age_q[2] && (now_q.over || now_q.frame);
  wire may_run = run_q || (room && used_room);
  assign buffer_ready = wanting && may_run;
  wire take = buffer_valid && buffer_ready;
  assign begins     = take && !run_q && !buffer.failed;
  assign begins_run = now_q.run + 1'b1;
  assign blocked    = wanting && !run_q && !room && buffer_valid;

  assign turn_ready = state_q == TURN && open_ready && !wipe;
  assign open_valid = state_q == TURN && turn_valid && !wipe;
  assign open_queue = turn_queue;

  // ------------------------------------------------------------------------------------------------- what goes out
  wire number_piece = state_q == NUMBER_LOW || state_q == NUMBER_HIGH;
  wire chain_ends_aside = state_q == LEAVE;
  wire piece_go = state_q == PIECE || (state_q == DROP && piece_ready && event_ready);
  assign piece_valid = state_q == PIECE || number_piece || (state_q == DROP && event_ready);
  wire frame_goes = (state_q == PIECE && frame_ends_q) || state_q == DROP;
  always_comb begin
    piece           = '0;
    piece.owner     = queue_t'(queue_q);
    piece.writes    = state_q != DROP;
    piece.fixes     = number_piece;
    piece.starts    = starts_q;
    piece.ends      = frame_goes;
    piece.valid_sum = now_q.valid_sum && config_q.checksum;
    piece.value     = state_q == NUMBER_LOW ? now_q.chains[7:0] : now_q.chains[15:8];
    piece.at        = at_q;
    piece.bytes     = number_piece ? 10'd1 : bytes_q;
    piece.addr      = state_q == NUMBER_LOW ? now_q.low_addr : state_q == NUMBER_HIGH ? now_q.high_addr : addr_q;
    piece.first     = now_q.first;
    piece.cells     = cells_q;
  end

  kind_t drop_kind_q;
  assign event_valid = piece_go && frame_goes;
  assign what.owner  = queue_t'(queue_q);
  assign what.kind   = state_q == DROP ? drop_kind_q : EVENT_PASSED;
  assign what.bytes  = now_q.total - bytes_t'(HEADER_BYTES);

  // A chain of which the frame isn't done is followed by another one of the frame's.
  wire goes_on = now_q.frame && !now_q.over && config_q.mergeable && config_q.enabled;
  assign ends_valid = simple_end_q || state_q == CHAIN_END
      || (state_q == FAULT_END && run_q) || chain_ends_aside;
  assign ends = state_q == FAULT_END ? RUN_VOID : state_q == LEAVE ? RUN_ASIDE : RUN_USED;
  always_comb begin
    ends_used.more  = state_q == CHAIN_END && goes_on;
    ends_used.id    = id_q;
    ends_used.slots = slots_q;
    ends_used.bytes = 32'(now_q.written);
    if (state_q == PIECE) ends_used.bytes = 32'(now_q.written) + 32'(bytes_q);
    else if (!now_q.over && !goes_on) ends_used.bytes = '0;  // the frame is dropped
  end
  assign fault_valid = state_q == FAULT;
  assign fault       = fault_q;
  assign close       = state_q == STORE && !asking && (!again_q || again_ready);
  assign again_valid = state_q == STORE && !asking && again_q;

  assign freed_valid = freed_q;
  assign freed_cells = now_q.freed;

  // ------------------------------------------------------------------------------------------------------- the turn
  assign load = now_q.come && ((state_q == PICK && !now_q.over && !now_q.frame) || simple_end_q);
  wire credit_t next_credit = (broke || now_q.cut ? now_q.credit : '1) + credit_t'(TURN_BYTES);
  assign idle = state_q == TURN && !turn_valid && !asking;

  function automatic cells_t cells_of(bytes_t total);
    return cells_t'((32'(total) + CELL_BYTES - HEADER_BYTES - 1) / CELL_BYTES);
  endfunction

  always_ff @(posedge clk) begin
    freed_q <= event_valid;
    cut_q   <= turn_urgent && lot_q == 0;
    if (event_valid && lot_q != 0) lot_q <= lot_q - 1'b1;
    if (!age_q[2]) age_q <= age_q + 1'b1;
    numbered_q   <= now_q.chains != 0;
    simple_end_q <= 1'b0;
    unique case (state_q)
      TURN: begin
        queue_q <= turn_queue;
        age_q   <= '0;
        if (turn_valid && turn_ready) state_q <= LOAD;
      end
      LOAD: begin
        now_q    <= data;
        config_q <= config_data;
        starts_q <= 1'b1;
        run_q    <= 1'b0;
        again_q  <= 1'b0;
        lot_q    <= 3'(LOT);
        state_q  <= BEGIN;
      end
      BEGIN: begin
        now_q.credit <= next_credit;
        now_q.cut    <= 1'b0;
        cells_q      <= cells_of(now_q.total);
        at_q         <= now_q.total - now_q.left;
        drop_kind_q  <= EVENT_OFF;
        state_q      <= PICK;
        if (config_q.failed && now_q.chain && now_q.frame) begin
          now_q.over    <= 1'b1;
          now_q.written <= '0;
          state_q       <= DROP;
        end
      end
      PICK: begin
        if (broke) begin
          again_q <= 1'b1;
          state_q <= run_q ? LEAVE : STORE;
        end else if (!now_q.over && !now_q.frame) begin
          if (none_q && !asking && !now_q.come) state_q <= STORE;
        end else if (!live) begin
          drop_kind_q <= EVENT_OFF;
          state_q     <= DROP;
        end else if (cuts) begin
          now_q.cut <= 1'b1;
          if (now_q.credit >= credit_t'(TURN_BYTES)) now_q.credit <= credit_t'(TURN_BYTES - 1);
          again_q   <= 1'b1;
          state_q   <= STORE;
        end else if (take) begin
          run_q        <= !buffer.failed || run_q;
          last_q       <= buffer.last;
          id_q         <= buffer.id;
          slots_q      <= buffer.slots;
          addr_q       <= buffer.addr;
          rest_q       <= buffer.bytes;
          to_line_q    <= 10'(BURST_BYTES) - {1'b0, buffer.addr[8:0]};
          fault_q      <= fault_t'(buffer.bytes[2:0]);
          now_q.credit <= now_q.credit - credit_t'(BUFFER_COST);
          if (begins) now_q.run <= begins_run;
          if (buffer.failed) state_q <= FAULT;
          else begin
            now_q.chain <= 1'b1;
            if (!now_q.chain) now_q.written <= '0;
            if (!now_q.over && buffer.bytes != 0) state_q <= MEASURE;
            else if (buffer.last) state_q <= CHAIN_END;
          end
        end else if (wanting && (buffer_valid || buffer_none)) begin
          again_q <= buffer_valid && !blocked;
          state_q <= run_q ? LEAVE : STORE;
        end
      end
      MEASURE: begin
        buffer_ends_q <= rest_fits || (fills && left_fits);
        frame_ends_q  <= fills && left_fits;
        simple_end_q  <= all_ready && fills && left_fits && last_q && !numbered_q;
        bytes_q       <= fills && left_fits ? 10'(now_q.left) : rest_fits ? 10'(rest_q) : to_line_q;
        has_low_q     <= at_q <= 10 && at_q + rest_q > 10;
        has_high_q    <= at_q <= 11 && at_q + rest_q > 11;
        low_step_q    <= 4'd10 - at_q[3:0];
        high_step_q   <= 4'd11 - at_q[3:0];
        if (all_ready) state_q <= PIECE;
      end
      PIECE: begin
        starts_q      <= 1'b0;
        addr_q        <= addr_q + 64'(bytes_q);
        rest_q        <= rest_q - bytes_t'(bytes_q);
        to_line_q     <= 10'(BURST_BYTES);
        at_q          <= at_q + bytes_t'(bytes_q);
        now_q.left    <= now_q.left - bytes_t'(bytes_q);
        now_q.written <= now_q.written + bytes_t'(bytes_q);
        now_q.credit  <= now_q.credit - credit_t'(bytes_q);
        if (has_low_q) now_q.low_addr <= addr_q + 64'(low_step_q);
        if (has_high_q) now_q.high_addr <= addr_q + 64'(high_step_q);
        if (frame_ends_q) begin
          now_q.frame  <= 1'b0;
          now_q.freed  <= now_q.freed + cells_q;
          now_q.chains <= now_q.chains + 1'b1;
          now_q.over   <= !simple_end_q;
          now_q.chain  <= !simple_end_q;
          if (simple_end_q) run_q <= 1'b0;
          state_q <= numbered_q ? NUMBER_LOW : PICK;
        end else state_q <= !buffer_ends_q ? MEASURE : last_q ? CHAIN_END : PICK;
      end
      NUMBER_LOW: if (piece_ready) state_q <= NUMBER_HIGH;
      NUMBER_HIGH: if (piece_ready) state_q <= last_q ? CHAIN_END : PICK;
      CHAIN_END:
      if (ends_ready) begin
        run_q       <= 1'b0;
        now_q.chain <= 1'b0;
        now_q.over  <= 1'b0;
        if (goes_on) now_q.chains <= now_q.chains + 1'b1;
        drop_kind_q <= config_q.enabled ? EVENT_SHORT : EVENT_OFF;
        state_q     <= !now_q.over && !goes_on ? DROP : PICK;
      end
      FAULT:
      if (fault_ready) begin
        config_q.enabled <= 1'b0;
        config_q.failed  <= 1'b1;
        state_q          <= FAULT_END;
      end
      FAULT_END:
      if (!run_q || ends_ready) begin
        run_q       <= 1'b0;
        now_q.chain <= 1'b0;
        now_q.over  <= 1'b0;
        state_q     <= PICK;
      end
      DROP:
      if (piece_go) begin
        now_q.frame  <= 1'b0;
        now_q.freed  <= now_q.freed + cells_q;
        now_q.credit <= now_q.credit - credit_t'(BUFFER_COST);
        state_q      <= PICK;
      end
      LEAVE:
      if (ends_ready) begin
        run_q   <= 1'b0;
        state_q <= STORE;
      end
      default: if (close) state_q <= TURN;  // STORE
    endcase
    if (popped_valid) begin
      now_q.come       <= !popped_none;
      now_q.come_first <= popped_first;
      now_q.come_total <= popped_total;
      now_q.come_sum   <= popped_valid_sum;
    end
    if (load) begin
      now_q.come      <= 1'b0;
      now_q.frame     <= 1'b1;
      now_q.first     <= now_q.come_first;
      now_q.total     <= now_q.come_total;
      now_q.left      <= now_q.come_total;
      now_q.valid_sum <= now_q.come_sum;
      now_q.chains    <= '0;
      at_q            <= '0;
      starts_q        <= 1'b1;
      cells_q         <= cells_of(now_q.come_total);
    end
    if (rst) begin
      state_q      <= TURN;
      freed_q      <= 1'b0;
      simple_end_q <= 1'b0;
    end
  end

endmodule
