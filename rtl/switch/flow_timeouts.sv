// SPDX-License-Identifier: Apache-2.0
// Timeouts of a flow table's entries. Keeps the tick of each entry's last use, and its timeouts: an entry expires when
// it was not used for `idle` ticks or tick `hard_at` has come. Each time time_ns passes a multiple of 2^26 ns, a sweep
// looks at the entries up to the highest one that has had a timeout. An expiry is told once and takes the entry's
// timeouts away, until they are set again; one that is already offered then is told all the same. A hard one goes
// before an idle one. A use that is later than the present tick, because time was set back, is no reason to expire.
//
// wake_ns is when the next sweep begins; all ones when there are no timeouts. The end of the last timeout shows in it
// after the next sweep. After reset set_ready is low until all timeouts are wiped.
//
// Throughput: a sweep takes a cycle an entry, and waits while an expiry does. Reads of the last use: 2 cycles, 1 a
// cycle. Backpressure: none for uses and reads; set_ready is low for a cycle at an expiry.
module flow_timeouts
  import switch_pkg::*;
#(
    parameter int unsigned ENTRIES = 4224,
    localparam int unsigned NUMBER_W = ENTRIES > 1 ? $clog2(ENTRIES) : 1
) (
    input  logic                   clk,
    input  logic                   rst,
    // verilator lint_off UNUSEDSIGNAL
    input  logic            [63:0] time_ns,
    // verilator lint_on UNUSEDSIGNAL
    input  logic                   use_valid,
    input  logic    [NUMBER_W-1:0] use_number,
    input  logic                   read_valid,
    input  logic    [NUMBER_W-1:0] read_number,
    output logic      [TICK_W-1:0] read_used,
    input  logic                   set_valid,
    output logic                   set_ready,
    input  logic    [NUMBER_W-1:0] set_number,
    input  logic            [31:0] set_idle,     // in ticks; 0: none
    input  logic      [TICK_W-1:0] set_hard_at,  // tick; 0: never
    output logic                   expired_valid,
    input  logic                   expired_ready,
    output expiry_t                expired,
    output logic            [63:0] wake_ns,
    output logic                   rests,        // its clock may stop until something comes
    output logic                   idle
);

  if (ENTRIES < 1 || ENTRIES > 2 ** ENTRY_W) begin : gen_bad_entries
    $fatal(1, "flow_timeouts: ENTRIES must be 1 to %0d, not %0d", 2 ** ENTRY_W, ENTRIES);
  end

  localparam int unsigned SWEEP_LSB = 26;
  localparam int unsigned PERIOD_W = 64 - SWEEP_LSB;

  typedef struct packed {
    logic [31:0]       idle;
    logic [TICK_W-1:0] hard_at;
  } timeouts_t;

  typedef enum logic [2:0] {
    WIPE,    // takes all timeouts away
    REST,
    SWEEP,
    DISARM,  // takes those of the entry that expired away
    TELL,
    END
  } state_t;

  state_t state_q;
  logic [TICK_W-1:0] tick_q;
  logic [PERIOD_W-1:0] period_q;  // of the last sweep
  logic due_q;
  logic armed_q, seen_q;  // there may be timeouts; the sweep has seen some
  logic [NUMBER_W-1:0] top_q;  // the highest entry that may have one
  logic [NUMBER_W-1:0] walk_q;  // the entry that is read
  logic [NUMBER_W-1:0] at_q;  // the entry that is judged, or the next one
  logic ended_q;  // the sweep has read the last one

  // Last uses

  logic [1:0] clash_q;  // the use was written as it was read
  logic [TICK_W-1:0] used_word;

  wire [NUMBER_W-1:0] used_at = read_valid ? read_number : walk_q;

  ram_sdp #(
      .WIDTH  (TICK_W),
      .DEPTH  (ENTRIES),
      .OUT_REG(1'b1)
  ) u_used (
      .clk,
      .wr_en  (use_valid),
      .wr_addr(use_number),
      .wr_data(tick_q),
      .rd_en  (read_valid || state_q == SWEEP),
      .rd_addr(used_at),
      .rd_data(used_word)
  );

  wire [TICK_W-1:0] used = clash_q[1] ? tick_q : used_word;

  assign read_used = used;

  always_ff @(posedge clk) begin
    tick_q  <= time_ns[TICK_LSB+:TICK_W];
    clash_q <= {clash_q[0], use_valid && use_number == used_at};
  end

  // Timeouts

  timeouts_t word;

  wire sets = set_valid && set_ready;
  wire clears = state_q == WIPE || state_q == DISARM;

  assign set_ready = !clears;

  ram_sdp #(
      .WIDTH  ($bits(timeouts_t)),
      .DEPTH  (ENTRIES),
      .OUT_REG(1'b1)
  ) u_timeouts (
      .clk,
      .wr_en  (clears || sets),
      .wr_addr(state_q == WIPE ? walk_q : state_q == DISARM ? at_q : set_number),
      .wr_data(clears ? '0 : {set_idle, set_hard_at}),
      .rd_en  (state_q == SWEEP),
      .rd_addr(walk_q),
      .rd_data(word)
  );

  // Sweep: an entry is read, its words come, age and hard timeout are known, then whether it has expired. What is set
  // meanwhile may be missed by entries that have been read: they are read again.

  logic [4:1] walks_q;
  logic [TICK_W-1:0] age_q;
  logic [31:0] idle_q;
  logic [4:3] has_q, hard_q;
  logic idle_over_q;

  wire reads = state_q == SWEEP && !read_valid && !ended_q && !sets;
  wire last = at_q == top_q;
  wire over = hard_q[4] || idle_over_q;
  wire due = time_ns[63:SWEEP_LSB] != period_q;

  always_ff @(posedge clk) begin
    due_q   <= due;
    wake_ns <= armed_q ? {period_q + 1'b1, SWEEP_LSB'(0)} : '1;
    walks_q <= state_q == SWEEP && !sets ? {walks_q[3:1], reads} : '0;
    if (walks_q[2]) begin
      age_q <= tick_q - used;
      idle_q <= word.idle;
      has_q[3] <= word != '0;
      hard_q[3] <= word.hard_at != '0 && tick_q >= word.hard_at;
    end
    if (walks_q[3]) begin
      has_q[4] <= has_q[3];
      hard_q[4] <= hard_q[3];
      idle_over_q <= idle_q != '0 && !age_q[TICK_W-1] && age_q >= TICK_W'(idle_q);
    end
    unique case (state_q)
      WIPE: begin
        walk_q <= walk_q + 1'b1;
        if (32'(walk_q) == ENTRIES - 1) state_q <= REST;
      end
      REST: begin
        walk_q  <= '0;
        at_q    <= '0;
        ended_q <= 1'b0;
        seen_q  <= 1'b0;
        if (due_q) begin
          period_q <= time_ns[63:SWEEP_LSB];
          due_q <= 1'b0;
          if (armed_q) state_q <= SWEEP;
        end
      end
      SWEEP: begin
        if (reads) begin
          walk_q  <= walk_q + 1'b1;
          ended_q <= walk_q == top_q;
        end
        if (sets) begin
          walk_q  <= at_q;
          ended_q <= 1'b0;
        end else if (walks_q[4] && over) begin
          expired <= '{hard: hard_q[4], number: ENTRY_W'(at_q)};
          state_q <= DISARM;
        end else if (walks_q[4]) begin
          at_q   <= at_q + 1'b1;
          seen_q <= seen_q || has_q[4];
          if (last) state_q <= END;
        end
      end
      DISARM: begin
        expired_valid <= 1'b1;
        state_q <= TELL;
      end
      TELL: begin
        walk_q  <= at_q + 1'b1;
        ended_q <= 1'b0;
        if (expired_ready) begin
          expired_valid <= 1'b0;
          at_q <= at_q + 1'b1;
          state_q <= last ? END : SWEEP;
        end
      end
      END: begin
        armed_q <= seen_q;
        if (!seen_q) top_q <= '0;
        state_q <= REST;
      end
      default: state_q <= WIPE;
    endcase
    if (sets) begin
      if ({set_idle, set_hard_at} != '0) begin
        armed_q <= 1'b1;
        seen_q  <= 1'b1;
        if (set_number > top_q) top_q <= set_number;
      end
    end
    if (rst) begin
      state_q <= WIPE;
      walk_q <= '0;
      armed_q <= 1'b0;
      top_q <= '0;
      expired_valid <= 1'b0;
    end
  end

  assign idle  = state_q == REST && !(armed_q && due_q);
  assign rests = state_q == REST && !due && !due_q;

`ifndef SYNTHESIS
  range_contract #(
      .WIDTH($bits(state_q)),
      .MOST (32'(END))
  ) u_state (
      .clk,
      .rst,
      .valid (1'b1),
      .number(state_q)
  );
`endif

endmodule
