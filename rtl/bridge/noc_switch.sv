// SPDX-License-Identifier: Apache-2.0
// Switch of the network on chip: four blocks (ports 0 to 3), the switch to the left (port 4) and that to the right (5)
// of a line of switches, and the way to software, to the left only: BULK (6) and EXPRESS (7). A packet goes to its
// block here, or towards its switch; one to a place that is not there is dropped. What blocks send to software takes
// BULK, or EXPRESS when it is critical and `express` is high, and stays there: no other packet uses these, so software
// that doesn't read stops nothing but what is on the way to it.
// Wormhole: an output stays with an input until the packet's end. Of packets that wait for the same output, the one of
// the highest level goes first, round robin within a level; a packet under way is never interrupted. Order is kept from
// each input to each output. As a packet never turns back on the line, no circle of waiting can arise.
// Latency: 2 cycles. Throughput: 1 beat a cycle on each port, without a gap between packets from different inputs;
// 1 cycle after a packet from the same one.
// Backpressure: s_ready comes straight from a register; a stalled output stalls the inputs whose packet it has.
module noc_switch
  import bridge_pkg::*;
#(
    parameter int unsigned DATA_W = 64,
    parameter int unsigned SWITCHES = 2,
    parameter int unsigned ID = 0,                             // this one's number on the line
    parameter logic [SWITCHES*BLOCKS-1:0] SINKS = '1,          // blocks that take packets
    parameter int unsigned SOFTWARE = 2,                       // of switch 0: hands packets to software
    localparam int unsigned KEEP_W = DATA_W / 8,
    localparam int unsigned N = BLOCKS + 4,
    localparam int unsigned BEAT_W = DATA_W + KEEP_W + 2       // {epoch, last, keep, data}
) (
    input  logic                     clk,
    input  logic                     rst,
    input  logic                     express,

    input  logic [N-1:0]             s_valid,
    output logic [N-1:0]             s_ready,
    input  logic [N-1:0][BEAT_W-1:0] s_beat,

    output logic [N-1:0]             m_valid,
    input  logic [N-1:0]             m_ready,
    output logic [N-1:0][BEAT_W-1:0] m_beat,

    output logic [N-1:0]             dropped,                  // the last beat of a packet from this input is dropped
    output logic [N-1:0]             dropped_epoch,
    output logic                     idle                      // no packet inside, nor a part of one
);

  if (DATA_W < 32 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "noc_switch: DATA_W must be 32, 64, 128, 256 or 512, not %0d", DATA_W);
  end
  if (SOFTWARE >= BLOCKS) begin : gen_bad_software
    $fatal(1, "noc_switch: SOFTWARE must be a block of switch 0, 0 to 3, not %0d", SOFTWARE);
  end
  if (ID >= SWITCHES || SWITCHES > 16) begin : gen_bad_id
    $fatal(1, "noc_switch: SWITCHES must be 1 to 16, and ID less, not %0d and %0d", SWITCHES, ID);
  end

  localparam int unsigned LEFT = BLOCKS;
  localparam int unsigned RIGHT = BLOCKS + 1;
  localparam int unsigned BULK = BLOCKS + 2;
  localparam int unsigned EXPRESS = BLOCKS + 3;

  typedef struct packed {
    logic              epoch;
    logic              last;
    logic [KEEP_W-1:0] keep;
    logic [DATA_W-1:0] data;
  } beat_t;

  typedef struct packed {
    logic [N-1:0] target;  // output of a packet that begins with this beat; none: it is dropped
    beat_t        beat;
  } routed_t;

  logic [N-1:0] valid, pop, first_q, drop_q, drop, granted, reg_idle;
  routed_t [N-1:0] head;
  logic [N-1:0][N-1:0] grant_q;  // [output][input]: is served

  for (genvar i = 0; i < N; i++) begin : gen_input
    beat_t beat;
    noc_address_t address;
    logic exists, away, right, software, urgent;
    logic [N-1:0] target;
    assign beat     = s_beat[i];
    assign address  = beat.data[5:0];
    assign away     = 32'(address.switch_id) != ID;
    assign right    = 32'(address.switch_id) > ID;
    assign software = 32'(address) == SOFTWARE;
    assign urgent   = express && beat.data[9];

    always_comb begin
      {exists, target} = 'x;  // nobody looks then
      if (s_valid[i]) begin
        exists = 1'b0;
        for (int unsigned n = 0; n < SWITCHES * BLOCKS; n++) if (32'(address) == n) exists = SINKS[n];
        target = '0;
        if (i >= BULK) target[i] = 1'b1;
        else if (exists && software) begin
          target[BULK]    = i < BLOCKS && !urgent;
          target[EXPRESS] = i < BLOCKS && urgent;
        end else if (exists) begin
          for (int unsigned o = 0; o < BLOCKS; o++) target[o] = !away && 32'(address.block) == o;
          target[LEFT]  = i != LEFT && away && !right;
          target[RIGHT] = i != RIGHT && away && right;
        end
      end
    end

    stream_reg #(
        .WIDTH($bits(routed_t))
    ) u_reg (
        .clk,
        .rst,
        .s_valid(s_valid[i]),
        .s_ready(s_ready[i]),
        .s_data ({target, beat}),
        .m_valid(valid[i]),
        .m_ready(pop[i]),
        .m_data (head[i]),
        .idle   (reg_idle[i])
    );

    assign drop[i]          = first_q[i] ? head[i].target == '0 : drop_q[i];
    assign dropped[i]       = valid[i] && drop[i] && head[i].beat.last;
    assign dropped_epoch[i] = head[i].beat.epoch;
  end

  always_comb begin
    granted = '0;
    pop     = drop;
    for (int unsigned o = 0; o < N; o++) begin
      granted |= grant_q[o];
      pop |= grant_q[o] & {N{m_ready[o]}};
    end
  end

  always_ff @(posedge clk) begin
    for (int unsigned i = 0; i < N; i++) begin
      if (valid[i] && pop[i]) begin
        first_q[i] <= head[i].beat.last;
        drop_q[i]  <= drop[i];
      end
    end
    if (rst) first_q <= '1;
  end

  wire [N-1:0] begins = valid & first_q & ~granted;  // packets that wait for an output, or are dropped

  for (genvar o = 0; o < N; o++) begin : gen_output
    logic [N-1:0] request, best, behind, pick;
    logic free;
    beat_t out;

    always_comb begin
      {request, best, behind} = 'x;  // nobody looks then
      pick = '0;
      if (begins != '0) begin
        for (int unsigned i = 0; i < N; i++) request[i] = begins[i] && head[i].target[o];
        best = request;
        for (int unsigned i = 0; i < N; i++) begin
          for (int unsigned j = 0; j < N; j++) begin
            if (request[j] && head[j].beat.data[7:6] > head[i].beat.data[7:6]) best[i] = 1'b0;
          end
        end
        behind = ~(grant_q[o] | (grant_q[o] - 1'b1));  // the inputs after the one that is served
        pick = |(best & behind) ? best & behind & -(best & behind) : best & -best;
      end

      out = '0;
      for (int unsigned i = 0; i < N; i++) if (grant_q[o][i]) out |= head[i].beat;
    end

    assign m_valid[o] = |(grant_q[o] & valid);
    assign m_beat[o]  = out;
    assign free       = grant_q[o] == '0 || (m_valid[o] && m_ready[o] && out.last);

    always_ff @(posedge clk) begin
      if (free) grant_q[o] <= pick;
      if (rst) grant_q[o] <= '0;
    end

`ifndef SYNTHESIS
    // The links to software take packets from blocks and from themselves only, and what comes by them stays on them.
    localparam logic [N-1:0] OTHERS = o < BULK ? {N{1'b1}} << BULK : ({N{1'b1}} << BLOCKS) & ~(N'(1) << o);
    always_ff @(posedge clk) assert (rst || (grant_q[o] & OTHERS) == '0) else $error("networks are mixed");
`endif
  end

  assign idle = reg_idle == '1 && first_q == '1;

endmodule
