// SPDX-License-Identifier: Apache-2.0
// Network on chip: a line of switches with four blocks each. Block n of switch s is port 4 s + n.
// A packet for a place without a block that takes packets (SINKS) is dropped whole and counted.
//
// Three networks lie beside each other, with registers and links of their own: one for packets between blocks of
// hardware, and two for those to block SOFTWARE: bulk ones, which come out of its port, and express ones (critical,
// while `express` is high), which come out of m_express. Software may stop for ever, and with it these two; they never
// stop the first one nor each other:
// - A packet chooses its network at the switch where it enters, and stays there; no register or link is shared.
// - An output of a switch waits for its own link only, so an input waits only for the output that its packet needs.
// - On the line a packet goes in one direction, and never turns back: a register waits for registers nearer to its
//   goal, never in a circle. The way to software has one direction.
// - All blocks but SOFTWARE take packets without end: slots drop what they have no room for, Ethernet ports send at the
//   speed of their line. So what is in the first network gets where it goes, whatever software does.
// What remains is a source that has a packet for software at its head: the packets behind it, from that source, wait
// with it.
//
// Epochs: a packet belongs to the epoch whose bit was up 4 cycles before its first beat was offered here. So when a
// table entry is written and the bit flipped after that, all that was routed by the old entry belongs to the old epoch
// (noc_route offers a packet as soon as it is looked up), however long it waits to be taken; once in_flight of the old
// epoch is 0, every such packet is where it was sent. entered = delivered + dropped + in_flight.
// Latency: 2 cycles a switch. Throughput and backpressure: as noc_switch.
module noc
  import bridge_pkg::*;
#(
    parameter int unsigned DATA_W = 64,
    parameter int unsigned SWITCHES = 2,
    parameter logic [SWITCHES*BLOCKS-1:0] SINKS = '1,
    parameter int unsigned SOFTWARE = 2,        // at switch 0
    parameter bit          GATED = 1'b0,        // clock gates: see clock_gate
    localparam int unsigned KEEP_W = DATA_W / 8,
    localparam int unsigned N = SWITCHES * BLOCKS,
    localparam int unsigned COUNT_W = $clog2(N + 2)
) (
    input  logic                     clk,
    input  logic                     rst,
    input  logic                     express,

    input  logic [N-1:0]             s_axis_tvalid,
    output logic [N-1:0]             s_axis_tready,
    input  logic [N-1:0][DATA_W-1:0] s_axis_tdata,
    input  logic [N-1:0][KEEP_W-1:0] s_axis_tkeep,
    input  logic [N-1:0]             s_axis_tlast,

    output logic [N-1:0]             m_axis_tvalid,
    input  logic [N-1:0]             m_axis_tready,
    output logic [N-1:0][DATA_W-1:0] m_axis_tdata,
    output logic [N-1:0][KEEP_W-1:0] m_axis_tkeep,
    output logic [N-1:0]             m_axis_tlast,

    output logic                     m_express_tvalid,
    input  logic                     m_express_tready,
    output logic [DATA_W-1:0]        m_express_tdata,
    output logic [KEEP_W-1:0]        m_express_tkeep,
    output logic                     m_express_tlast,

    input  logic                     epoch,
    output logic [1:0][15:0]         in_flight,  // of each epoch: entered, and neither delivered nor dropped
    output logic [COUNT_W-1:0]       entered,    // packets whose first beat was offered a cycle ago
    output logic [COUNT_W-1:0]       delivered,  // packets whose last beat was taken a cycle ago
    output logic [COUNT_W-1:0]       dropped,    // or dropped
    output logic                     idle
);

  if (DATA_W < 32 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "noc: DATA_W must be 32, 64, 128, 256 or 512, not %0d", DATA_W);
  end
  if (SWITCHES < 1 || SWITCHES > 16) begin : gen_bad_switches
    $fatal(1, "noc: SWITCHES must be 1 to 16, not %0d", SWITCHES);
  end
  if (SOFTWARE >= BLOCKS) begin : gen_bad_software
    $fatal(1, "noc: SOFTWARE must be a block of switch 0, 0 to 3, not %0d", SOFTWARE);
  end

  localparam int unsigned EPOCH_DELAY = 4;
  localparam int unsigned P = BLOCKS + 4;  // ports of a switch
  localparam int unsigned LEFT = BLOCKS;
  localparam int unsigned RIGHT = BLOCKS + 1;
  localparam int unsigned BULK = BLOCKS + 2;
  localparam int unsigned EXPRESS = BLOCKS + 3;
  localparam int unsigned BEAT_W = DATA_W + KEEP_W + 2;  // {epoch, last, keep, data}

  // The epoch of each packet that comes in, fixed when it is offered
  logic [EPOCH_DELAY-1:0] epoch_q;
  logic accounts_clk;  // of epochs and accounts
  clock_gate #(
      .GATED(GATED),
      .WATCHED(32 + 3 * COUNT_W)
  ) u_gate (
      .clk,
      .rst,
      .work   (!idle || epoch_q != {EPOCH_DELAY{epoch}}),
      .watched({in_flight, entered, delivered, dropped}),
      .gated  (accounts_clk)
  );
  logic [N-1:0] first_q, seen_q, tag_q, tag, enter;
  assign enter = s_axis_tvalid & first_q & ~seen_q;
  assign tag   = (enter & {N{epoch_q[EPOCH_DELAY-1]}}) | (~enter & tag_q);

  always_ff @(posedge accounts_clk) begin
    epoch_q <= {epoch_q[EPOCH_DELAY-2:0], epoch};
    tag_q   <= tag;
    for (int unsigned i = 0; i < N; i++) begin
      if (s_axis_tvalid[i]) begin
        seen_q[i] <= !(s_axis_tready[i] && s_axis_tlast[i]);
        if (s_axis_tready[i]) first_q[i] <= s_axis_tlast[i];
      end
    end
    if (rst) begin
      epoch_q <= '0;
      first_q <= '1;
      seen_q  <= '0;
    end
  end

  // The line: [switch][port]
  logic [SWITCHES-1:0][P-1:0] sw_s_valid, sw_s_ready, sw_m_valid, sw_m_ready, sw_dropped, sw_dropped_epoch;
  logic [SWITCHES-1:0][P-1:0][BEAT_W-1:0] sw_s_beat, sw_m_beat;
  logic [SWITCHES-1:0] sw_idle;
  logic [N-1:0] m_epoch, gone, gone_epoch;
  logic express_epoch;

  for (genvar s = 0; s < SWITCHES; s++) begin : gen_switch
    logic switch_clk;
    clock_gate #(
        .GATED(GATED),
        .WATCHED(3 * P + 1)
    ) u_gate (
        .clk,
        .rst,
        .work   (sw_s_valid[s] != '0 || !sw_idle[s]),
        .watched({sw_s_ready[s], sw_m_valid[s], sw_dropped[s], sw_idle[s]}),
        .gated  (switch_clk)
    );
    for (genvar b = 0; b < BLOCKS; b++) begin : gen_block
      localparam int unsigned I = s * BLOCKS + b;
      localparam int unsigned OUT = I == SOFTWARE ? BULK : b;
      assign sw_s_valid[s][b] = s_axis_tvalid[I];
      assign sw_s_beat[s][b]  = {tag[I], s_axis_tlast[I], s_axis_tkeep[I], s_axis_tdata[I]};
      assign s_axis_tready[I] = sw_s_ready[s][b];
      stream_contract #(
          .DATA_W(DATA_W)
      ) u_contract (
          .clk(switch_clk),
          .rst,
          .tvalid(s_axis_tvalid[I]),
          .tready(s_axis_tready[I]),
          .tdata (s_axis_tdata[I]),
          .tkeep (s_axis_tkeep[I]),
          .tlast (s_axis_tlast[I])
      );
      assign gone[I]          = sw_dropped[s][b];
      assign gone_epoch[I]    = sw_dropped_epoch[s][b];

      assign m_axis_tvalid[I]   = sw_m_valid[s][OUT];
      assign sw_m_ready[s][OUT] = m_axis_tready[I];
      assign {m_epoch[I], m_axis_tlast[I], m_axis_tkeep[I], m_axis_tdata[I]} = sw_m_beat[s][OUT];
      stream_contract #(
          .DATA_W(DATA_W)
      ) u_out_contract (
          .clk(switch_clk),
          .rst,
          .tvalid(m_axis_tvalid[I]),
          .tready(m_axis_tready[I]),
          .tdata (m_axis_tdata[I]),
          .tkeep (m_axis_tkeep[I]),
          .tlast (m_axis_tlast[I])
      );
      if (I == SOFTWARE) begin : gen_software
        assign sw_m_ready[s][b] = 1'b1;  // nothing comes out here
      end
    end

    // What leaves to the left comes in from the right; at the ends of the line there is nothing.
    if (s > 0) begin : gen_left
      assign sw_s_valid[s][LEFT]   = sw_m_valid[s-1][RIGHT];
      assign sw_s_beat[s][LEFT]    = sw_m_beat[s-1][RIGHT];
      assign sw_m_ready[s][LEFT]   = sw_s_ready[s-1][RIGHT];
      assign sw_m_ready[s][BULK]   = sw_s_ready[s-1][BULK];
      assign sw_m_ready[s][EXPRESS] = sw_s_ready[s-1][EXPRESS];
    end else begin : gen_no_left
      assign sw_s_valid[s][LEFT]    = 1'b0;
      assign sw_s_beat[s][LEFT]     = '0;
      assign sw_m_ready[s][LEFT]    = 1'b1;
      assign sw_m_ready[s][EXPRESS] = m_express_tready;
    end

    if (s < SWITCHES - 1) begin : gen_right
      assign sw_s_valid[s][RIGHT]   = sw_m_valid[s+1][LEFT];
      assign sw_s_beat[s][RIGHT]    = sw_m_beat[s+1][LEFT];
      assign sw_m_ready[s][RIGHT]   = sw_s_ready[s+1][LEFT];
      assign sw_s_valid[s][BULK]    = sw_m_valid[s+1][BULK];
      assign sw_s_beat[s][BULK]     = sw_m_beat[s+1][BULK];
      assign sw_s_valid[s][EXPRESS] = sw_m_valid[s+1][EXPRESS];
      assign sw_s_beat[s][EXPRESS]  = sw_m_beat[s+1][EXPRESS];
    end else begin : gen_no_right
      assign sw_s_valid[s][RIGHT]   = 1'b0;
      assign sw_s_beat[s][RIGHT]    = '0;
      assign sw_m_ready[s][RIGHT]   = 1'b1;
      assign sw_s_valid[s][BULK]    = 1'b0;
      assign sw_s_beat[s][BULK]     = '0;
      assign sw_s_valid[s][EXPRESS] = 1'b0;
      assign sw_s_beat[s][EXPRESS]  = '0;
    end

    noc_switch #(
        .DATA_W(DATA_W),
        .SWITCHES(SWITCHES),
        .ID(s),
        .SINKS(SINKS),
        .SOFTWARE(SOFTWARE)
    ) u_switch (
        .clk(switch_clk),
        .rst,
        .express,
        .s_valid      (sw_s_valid[s]),
        .s_ready      (sw_s_ready[s]),
        .s_beat       (sw_s_beat[s]),
        .m_valid      (sw_m_valid[s]),
        .m_ready      (sw_m_ready[s]),
        .m_beat       (sw_m_beat[s]),
        .dropped      (sw_dropped[s]),
        .dropped_epoch(sw_dropped_epoch[s]),
        .idle         (sw_idle[s])
    );
  end

  assign m_express_tvalid = sw_m_valid[0][EXPRESS];
  assign {express_epoch, m_express_tlast, m_express_tkeep, m_express_tdata} = sw_m_beat[0][EXPRESS];

  // Accounts, a cycle later. All switches know all sinks: a packet is dropped, if at all, where it enters.
  logic [N-1:0] enter_q, gone_q, gone_epoch_q;
  logic [N:0] arrive_q, arrive_epoch_q;
  logic [1:0][15:0] in_flight_q;
  always_ff @(posedge accounts_clk) begin
    enter_q        <= enter;
    arrive_q       <= {m_express_tvalid, m_axis_tvalid} & {m_express_tready, m_axis_tready}
        & {m_express_tlast, m_axis_tlast};
    arrive_epoch_q <= {express_epoch, m_epoch};
    gone_q         <= gone;
    gone_epoch_q   <= gone_epoch;
    in_flight_q[0] <= in_flight_q[0] + 16'($countones(enter_q & ~tag_q))
        - 16'($countones(arrive_q & ~arrive_epoch_q)) - 16'($countones(gone_q & ~gone_epoch_q));
    in_flight_q[1] <= in_flight_q[1] + 16'($countones(enter_q & tag_q))
        - 16'($countones(arrive_q & arrive_epoch_q)) - 16'($countones(gone_q & gone_epoch_q));
    if (rst) begin
      enter_q     <= '0;
      arrive_q    <= '0;
      gone_q      <= '0;
      in_flight_q <= '0;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge accounts_clk) begin
    if (!rst) assert (!in_flight_q[0][15] && !in_flight_q[1][15]) else $error("more packets have left than entered");
    if (!rst && idle) assert (in_flight_q == '0) else $error("%m: a packet is nowhere");
  end
`endif

  assign in_flight = in_flight_q;
  assign entered   = COUNT_W'($countones(enter_q));
  assign delivered = COUNT_W'($countones(arrive_q));
  assign dropped   = COUNT_W'($countones(gone_q));
  assign idle      = s_axis_tvalid == '0 && sw_idle == '1 && enter_q == '0 && arrive_q == '0 && gone_q == '0;

`ifndef SYNTHESIS
  stream_contract #(
      .DATA_W(DATA_W)
  ) u_express_contract (
      .clk(accounts_clk),
      .rst,
      .tvalid(m_express_tvalid),
      .tready(m_express_tready),
      .tdata (m_express_tdata),
      .tkeep (m_express_tkeep),
      .tlast (m_express_tlast)
  );
`endif

endmodule
