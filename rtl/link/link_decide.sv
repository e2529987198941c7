// SPDX-License-Identifier: Apache-2.0
// What becomes of each frame of a direction, as tc-netem(8) says it: duplicated, lost, corrupted, reordered; when it
// leaves; and where it waits until then. A copy that duplication made is decided like a frame of its own, but isn't
// duplicated again. A frame leaves at the time at which it was in, plus the delay; with a rate, after the one before it
// and the time that its bytes take. One that is reordered leaves at once.
// While `hold` is high no frame is begun: settings may change once `held` is high too.
// Latency: 9 cycles from a frame to its job, up to 40 by what is set. Throughput: one at a time.
module link_decide
  import link_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned ROOM_W = 10,      // of the lanes' room, in beats
    localparam int unsigned LANE_W = $clog2(DATA_W / 8)
) (
    input  logic                clk,
    input  logic                rst,
    input  logic [63:0]         time_ns,
    input  settings_t           settings,
    input  logic                hold,
    output logic                held,
    input  logic                seed_valid,
    input  logic [3:0][31:0]    seed,
    input  logic                table_valid,  // an entry of the distribution's table
    input  logic [TABLE_W-1:0]  table_index,
    input  logic [15:0]         table_value,

    input  logic                frame_valid,  // stays until its last job is taken
    input  frame_t              frame,
    input  logic [31:0]         queued,       // frames that are held
    input  logic [ROOM_W-1:0]   near_room,    // in beats
    input  logic [ROOM_W-1:0]   soon_room,
    input  logic                far_open,     // there is a place in host memory
    input  logic                far_ready,    // far_valid is taken
    output logic                far_valid,    // the job goes to host memory
    output logic                job_valid,
    input  logic                job_ready,
    output job_t                job,
    output logic                placed,       // a copy goes into `job.lane`
    output decided_t            decided,
    output logic                idle
);

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "link_decide: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (ROOM_W < 2 || ROOM_W > 20) begin : gen_bad_room_w
    $fatal(1, "link_decide: ROOM_W must be 2 to 20, not %0d", ROOM_W);
  end

  typedef enum logic [3:0] {
    READY, DUPLICATE, LOSS, LOST, CORRUPT, BIT, FLIP, REORDER, JITTER, SPREAD, DELAYED, RATE, LANE, PLACE, NEXT
  } state_t;
  typedef enum logic [1:0] {ASK, MIX, TAKE} phase_t;  // of a state that asks for a random number

  state_t state_q;
  phase_t phase_q;
  logic clone_q, twice_q, bad_q, was_bad_q, flip_q, at_once_q;
  logic [15:0] counter_q;              // frames since one was reordered
  logic [63:0] last_ns_q, near_ns_q;   // when the last one leaves: of all that were delayed, of those in NEAR
  logic [FRACTION_W-1:0] last_part_q;

  // --------------------------------------------------------------------------------------------------- random numbers
  logic draw, start, done;
  logic [31:0] random, value_q, drawn_q;
  logic [47:0] a;
  logic [31:0] b;
  // verilator lint_off UNUSEDSIGNAL
  logic [79:0] product;
  // verilator lint_on UNUSEDSIGNAL
  logic [KINDS-1:0][31:0] before_q;    // the last number of each kind
  logic [31:0] circle_q;               // the last jitter's place on the circle
  logic less_q;
  kind_t kind;
  logic wanted, mixes;

  link_random u_random (
      .clk,
      .rst,
      .seed_valid,
      .seed,
      .draw,
      .value(random)
  );
  link_multiply u_multiply (
      .clk,
      .rst,
      .start,
      .a,
      .b,
      .done,
      .product
  );

  logic [15:0] entry;
  ram_sdp #(
      .WIDTH(16),
      .DEPTH(2 ** TABLE_W)
  ) u_table (
      .clk,
      .wr_en  (table_valid),
      .wr_addr(table_index),
      .wr_data(table_value),
      .rd_en  (1'b1),
      .rd_addr(value_q[31-:TABLE_W]),
      .rd_data(entry)
  );

  always_comb begin
    kind   = OF_LOSS;
    wanted = 1'b1;
    mixes  = 1'b1;
    unique case (state_q)
      DUPLICATE: begin
        kind   = OF_DUPLICATE;
        wanted = settings.duplicate != '0 && !clone_q;
      end
      LOSS: begin
        wanted = settings.loss == LOSS_GEMODEL || (settings.loss == LOSS_RANDOM && settings.p != '0);
        mixes  = settings.loss != LOSS_GEMODEL;
      end
      LOST: begin
        wanted = settings.loss == LOSS_GEMODEL;
        mixes  = 1'b0;
      end
      CORRUPT: begin
        kind   = OF_CORRUPT;
        wanted = settings.corrupt != '0;
      end
      BIT: mixes = 1'b0;
      REORDER: begin
        kind   = OF_REORDER;
        wanted = settings.gap != '0 && counter_q >= settings.gap - 1'b1;
      end
      JITTER: wanted = settings.jitter_ns != '0;
      default: wanted = 1'b0;
    endcase
    mixes = mixes && (state_q == JITTER ? settings.jitter_step : settings.rho[kind]) != '0;
  end

  // A number that depends on the last one: value * (1 - rho) + last * rho
  wire [31:0] last = before_q[kind];
  wire [63:0] shift = product[63:0];
  wire [31:0] gap = last >= random ? last - random : random - last;
  // verilator lint_off UNUSEDSIGNAL
  wire [63:0] mixed = less_q ? {drawn_q, 32'b0} - shift : {drawn_q, 32'b0} + shift;
  // verilator lint_on UNUSEDSIGNAL
  // A jitter that depends on the last one is at most half a step away from it, on a circle on which jitters rise from
  // the least to the most and fall again: so all are equally likely, whatever the step.
  wire [31:0] turned = circle_q + shift[63:32] - (settings.jitter_step >> 1);
  wire [31:0] folded = {turned[30:0] ^ {31{turned[31]}}, 1'b0};
  wire asks = state_q inside {DUPLICATE, LOSS, LOST, CORRUPT, BIT, REORDER, JITTER};
  wire drawing = asks && phase_q == ASK && wanted;
  assign draw = drawing;

  // ------------------------------------------------------------------------------------------------------ what is read
  logic [3:0] hits;  // of p, duplicate, corrupt, reorder
  always_comb begin
    hits[0] = value_q <= settings.p;
    hits[1] = value_q <= settings.duplicate;
    hits[2] = value_q <= settings.corrupt;
    hits[3] = value_q <= settings.reorder;
  end
  wire ge_leaves = bad_q ? value_q < settings.r : value_q < settings.p;
  wire ge_lost = value_q < (was_bad_q ? settings.bad_loss : settings.good_loss);
  wire loses = settings.loss == LOSS_GEMODEL ? ge_lost : hits[0];

  wire [17:0] on_wire = 18'(frame.bytes) + 18'(settings.overhead);
  wire [15:0] entry_size = entry[15] ? -entry : entry;
  wire [34:0] spread = settings.shaped ? product[SCALE_W+:35] + 35'(product[SCALE_W-1]) : product[32+:35];

  always_comb begin
    start = 1'b0;
    a     = 48'(settings.jitter_ns);
    b     = '0;
    unique case (state_q)
      FLIP: begin
        start = phase_q == ASK;
        a     = 48'({frame.bytes, 3'b0});
        b     = value_q;
      end
      SPREAD: begin
        start = phase_q == MIX;  // a cycle after the table's address
        a     = settings.shaped ? 48'(settings.jitter_ns) : 48'({settings.jitter_ns, 1'b0});
        b     = settings.shaped ? 32'(entry_size) : value_q;
      end
      RATE: begin
        start = phase_q == ASK && settings.byte_time != '0 && !at_once_q;
        a     = settings.byte_time;
        b     = on_wire[17] ? '0 : 32'(on_wire);
      end
      JITTER: begin
        start = drawing && mixes;
        a     = 48'(settings.jitter_step);
        b     = random;
      end
      default: begin
        start = drawing && mixes;
        a     = 48'(gap);
        b     = settings.rho[kind];
      end
    endcase
  end

  // ---------------------------------------------------------------------------------------------------- when it leaves
  logic signed [34:0] delay_q;
  logic [63:0] sum_q, leave_q, soon_q;
  logic [FRACTION_W-1:0] part_q;
  logic [BYTES_W+2:0] flip_at_q;
  lane_t lane_q;
  logic limited_q;
  wire later = sum_q > last_ns_q;
  wire [63+FRACTION_W:0] base = later ? {sum_q, FRACTION_W'(0)} : {last_ns_q, last_part_q};
  wire [63+FRACTION_W:0] after = base + (64 + FRACTION_W)'(product);
  wire [ROOM_W-1:0] beats = ROOM_W'((frame.bytes + BYTES_W'(DATA_W / 8 - 1)) >> LANE_W);

  assign far_valid    = state_q == PLACE && lane_q == FAR && phase_q == ASK;
  assign job_valid    = state_q == NEXT;
  assign job.lane     = lane_q;
  assign job.again    = twice_q;
  assign job.flip     = flip_q;
  assign job.flip_at  = flip_at_q;
  assign job.leave_ns = leave_q;
  assign job.bytes    = frame.bytes;
  assign placed       = state_q == PLACE && lane_q != NOWHERE && (lane_q != FAR || far_ready);
  assign held         = state_q == READY;
  assign idle         = state_q == READY && !frame_valid;
  assign decided      = '{
          lost: state_q == LOST && phase_q == TAKE && loses,
          limited: state_q == PLACE && limited_q,
          duplicated: state_q == DUPLICATE && phase_q == TAKE && hits[1],
          corrupted: placed && flip_q,
          reordered: placed && at_once_q
      };

  always_ff @(posedge clk) begin
    if (drawing) begin
      drawn_q <= random;
      less_q  <= last < random;
      value_q <= random;
      phase_q <= mixes ? MIX : TAKE;
    end
    if (asks && phase_q == MIX && done) begin
      phase_q <= TAKE;
      if (state_q == JITTER) begin
        value_q  <= folded;
        circle_q <= turned;
      end else begin
        value_q        <= mixed[63:32];
        before_q[kind] <= mixed[63:32];
      end
    end
    // The next state: it begins with ASK.
    if (asks && (phase_q == TAKE || (phase_q == ASK && !wanted))) phase_q <= ASK;

    unique case (state_q)
      READY: begin
        clone_q <= 1'b0;
        twice_q <= 1'b0;
        phase_q <= ASK;
        if (frame_valid && !hold) state_q <= DUPLICATE;
      end
      DUPLICATE: begin
        flip_q    <= 1'b0;
        at_once_q <= 1'b0;
        limited_q <= 1'b0;
        if (phase_q == TAKE) twice_q <= hits[1];
        if (phase_q == TAKE || !wanted) state_q <= LOSS;
      end
      LOSS: begin
        // As in tc-netem: the state before says how likely a loss is, the one after it counts for the next frame.
        was_bad_q <= bad_q;
        if (phase_q == TAKE && settings.loss == LOSS_GEMODEL) bad_q <= bad_q ^ ge_leaves;
        // A random loss is judged in the next state, of the same number.
        if (phase_q == TAKE) begin
          state_q <= LOST;
          if (settings.loss == LOSS_RANDOM) phase_q <= TAKE;
        end
        if (!wanted) state_q <= CORRUPT;
      end
      LOST: begin
        if (phase_q == TAKE) begin
          lane_q  <= NOWHERE;
          state_q <= CORRUPT;
          if (loses) begin
            // Of two copies one is left.
            twice_q <= 1'b0;
            state_q <= twice_q ? CORRUPT : NEXT;
          end
        end
      end
      CORRUPT: begin
        if (phase_q == TAKE) flip_q <= hits[2];
        if (phase_q == TAKE || !wanted) state_q <= phase_q == TAKE && hits[2] ? BIT : REORDER;
      end
      BIT: if (phase_q == TAKE) state_q <= FLIP;
      FLIP: begin
        phase_q   <= MIX;
        flip_at_q <= product[32+:BYTES_W+3];
        if (done && phase_q == MIX) begin
          state_q <= REORDER;
          phase_q <= ASK;
        end
      end
      REORDER: begin
        delay_q <= 35'(settings.delay_ns);
        if (phase_q == TAKE) at_once_q <= hits[3];
        if (phase_q == TAKE || !wanted) state_q <= phase_q == TAKE && hits[3] ? DELAYED : JITTER;
      end
      JITTER: begin
        if (phase_q == TAKE) state_q <= SPREAD;
        if (!wanted) state_q <= DELAYED;
      end
      SPREAD: begin
        phase_q <= phase_q == ASK ? MIX : TAKE;
        if (done && phase_q == TAKE) begin
          if (settings.shaped) delay_q <= entry[15] ? delay_q - spread : delay_q + spread;
          else delay_q <= delay_q - 35'(settings.jitter_ns) + spread;
          state_q <= DELAYED;
        end
      end
      DELAYED: begin
        sum_q   <= frame.time_ns + (at_once_q || delay_q[34] ? 64'd0 : 64'(delay_q));
        phase_q <= ASK;
        state_q <= RATE;
      end
      RATE: begin
        phase_q <= MIX;
        if (at_once_q || settings.byte_time == '0) begin
          leave_q <= sum_q;
          part_q  <= '0;
          state_q <= LANE;
        end else if (done && phase_q == MIX) begin
          {leave_q, part_q} <= after;
          state_q           <= LANE;
        end
        soon_q <= time_ns + {47'b0, settings.lead_ns, 1'b0};
      end
      LANE: begin
        // In RAM behind those that leave before it, in RAM for those that leave soon, or in host memory
        lane_q    <= NOWHERE;
        limited_q <= 1'b1;
        if (queued < settings.limit) begin
          limited_q <= 1'b0;
          if (leave_q >= near_ns_q && beats <= near_room) lane_q <= NEAR;
          else if (leave_q <= soon_q && beats <= soon_room) lane_q <= SOON;
          else if (far_open) lane_q <= FAR;
          else limited_q <= 1'b1;
        end
        phase_q <= ASK;
        state_q <= PLACE;
      end
      PLACE: begin
        if (placed) begin
          if (lane_q == NEAR) near_ns_q <= leave_q;
          counter_q <= at_once_q ? '0 : counter_q + 16'(counter_q != '1);
          if (!at_once_q && (later || settings.byte_time != '0)) {last_ns_q, last_part_q} <= {leave_q, part_q};
        end
        if (lane_q != FAR || far_ready) state_q <= NEXT;
      end
      default: begin
        if (job_ready) begin
          clone_q <= 1'b1;
          twice_q <= 1'b0;
          phase_q <= ASK;
          state_q <= twice_q ? DUPLICATE : READY;
        end
      end
    endcase

    if (seed_valid) begin
      // All that decisions depend on begins anew. The numbers before the first ones are random, too.
      before_q  <= seed;
      circle_q  <= ~seed[0];
      bad_q     <= 1'b0;
      counter_q <= '0;
    end
    if (rst) begin
      state_q     <= READY;
      phase_q     <= ASK;
      before_q    <= '0;
      circle_q    <= '0;
      bad_q       <= 1'b0;
      counter_q   <= '0;
      last_ns_q   <= '0;
      last_part_q <= '0;
      near_ns_q   <= '0;
    end
  end

endmodule
