// Switch of the network on chip: four blocks (ports 0 to 3), the switch to the left (port 4) and that to the right (5) of a
// line of switches. A packet goes to its block here, or towards its switch; one to a place that is not there is dropped.
// Wormhole: an output stays with an input until the packet's end. Of packets that wait for the same output, the one of the
// highest level goes first, round robin within a level; a packet under way is never interrupted. Order is kept from each
// input to each output. As a packet never turns back on the line, no circle of waiting can arise.
// Latency: 2 cycles. Throughput: 1 beat a cycle on each port, without a gap between packets from different inputs;
// 1 cycle after a packet from the same one.
// Backpressure: s_axis_tready comes straight from a register; a stalled output stalls the inputs whose packet it has.
module noc_switch
  import bridge_pkg::*;
#(
    parameter int unsigned DATA_W = 64,
    parameter int unsigned SWITCHES = 2,
    parameter int unsigned ID = 0,                             // this one's number on the line
    parameter logic [SWITCHES*BLOCKS-1:0] SINKS = '1,          // blocks that take packets
    localparam int unsigned KEEP_W = DATA_W / 8,
    localparam int unsigned N = BLOCKS + 2
) (
    input  logic                     clk,
    input  logic                     rst,

    input  logic [N-1:0]             s_axis_tvalid,
    output logic [N-1:0]             s_axis_tready,
    input  logic [N-1:0][DATA_W-1:0] s_axis_tdata,
    input  logic [N-1:0][KEEP_W-1:0] s_axis_tkeep,
    input  logic [N-1:0]             s_axis_tlast,
    input  logic [N-1:0]             s_axis_tuser,             // the packet's epoch: travels beside it

    output logic [N-1:0]             m_axis_tvalid,
    input  logic [N-1:0]             m_axis_tready,
    output logic [N-1:0][DATA_W-1:0] m_axis_tdata,
    output logic [N-1:0][KEEP_W-1:0] m_axis_tkeep,
    output logic [N-1:0]             m_axis_tlast,
    output logic [N-1:0]             m_axis_tuser,

    output logic [N-1:0]             dropped,                  // the last beat of a packet from this input is dropped
    output logic [N-1:0]             dropped_epoch
);

  localparam int unsigned LEFT = BLOCKS;
  localparam int unsigned RIGHT = BLOCKS + 1;

  typedef struct packed {
    logic [N-1:0]      target;  // output of a packet that begins with this beat; none: it is dropped
    logic              epoch;
    logic              last;
    logic [KEEP_W-1:0] keep;
    logic [DATA_W-1:0] data;
  } beat_t;

  logic [N-1:0] valid, pop, first_q, drop_q, drop, granted;
  beat_t [N-1:0] beat;
  logic [N-1:0][N-1:0] outranks;  // [i][j]: the first beat of input i is of a higher level than that of input j
  logic [N-1:0][N-1:0] grant_q;   // [output][input]: is served

  for (genvar i = 0; i < N; i++) begin : gen_input
    noc_address_t address;
    logic exists, away, right;
    logic [N-1:0] target;
    assign address = s_axis_tdata[i][5:0];
    assign away    = exists && 32'(address.switch_id) != ID;
    assign right   = 32'(address.switch_id) > ID;

    always_comb begin
      exists = 1'b0;
      for (int unsigned n = 0; n < SWITCHES * BLOCKS; n++) if (32'(address) == n) exists = SINKS[n];
      target = '0;
      for (int unsigned o = 0; o < BLOCKS; o++) target[o] = exists && !away && 32'(address.block) == o;
      target[LEFT]  = i != LEFT && away && !right;
      target[RIGHT] = i != RIGHT && away && right;
    end

    stream_reg #(
        .WIDTH($bits(beat_t))
    ) u_reg (
        .clk,
        .rst,
        .s_valid(s_axis_tvalid[i]),
        .s_ready(s_axis_tready[i]),
        .s_data ({target, s_axis_tuser[i], s_axis_tlast[i], s_axis_tkeep[i], s_axis_tdata[i]}),
        .m_valid(valid[i]),
        .m_ready(pop[i]),
        .m_data (beat[i])
    );

    always_comb begin
      granted[i] = 1'b0;
      pop[i]     = drop[i];
      for (int unsigned o = 0; o < N; o++) begin
        granted[i] |= grant_q[o][i];
        pop[i] |= grant_q[o][i] && m_axis_tready[o];
      end
      for (int unsigned j = 0; j < N; j++) outranks[i][j] = beat[i].data[7:6] > beat[j].data[7:6];
    end

    assign drop[i]          = first_q[i] ? beat[i].target == '0 : drop_q[i];
    assign dropped[i]       = valid[i] && drop[i] && beat[i].last;
    assign dropped_epoch[i] = beat[i].epoch;
  end

  always_ff @(posedge clk) begin
    for (int unsigned i = 0; i < N; i++) begin
      if (valid[i] && pop[i]) begin
        first_q[i] <= beat[i].last;
        drop_q[i]  <= drop[i];
      end
    end
    if (rst) first_q <= '1;
  end

  for (genvar o = 0; o < N; o++) begin : gen_output
    logic [N-1:0] request, best, behind, pick;
    logic free;
    beat_t out;

    assign behind = ~(grant_q[o] | (grant_q[o] - 1'b1));  // the inputs after the one that is served

    always_comb begin
      for (int unsigned i = 0; i < N; i++) request[i] = valid[i] && first_q[i] && beat[i].target[o] && !granted[i];
      best = request;
      for (int unsigned i = 0; i < N; i++) begin
        for (int unsigned j = 0; j < N; j++) if (request[j] && outranks[j][i]) best[i] = 1'b0;
      end
      pick = |(best & behind) ? best & behind & -(best & behind) : best & -best;

      out = '0;
      for (int unsigned i = 0; i < N; i++) out |= {$bits(beat_t) {grant_q[o][i]}} & beat[i];
    end

    assign m_axis_tvalid[o] = |(grant_q[o] & valid);
    assign m_axis_tdata[o]  = out.data;
    assign m_axis_tkeep[o]  = out.keep;
    assign m_axis_tlast[o]  = out.last;
    assign m_axis_tuser[o]  = out.epoch;
    assign free             = grant_q[o] == '0 || (m_axis_tvalid[o] && m_axis_tready[o] && m_axis_tlast[o]);

    always_ff @(posedge clk) begin
      if (free) grant_q[o] <= pick;
      if (rst) grant_q[o] <= '0;
    end
  end

endmodule
