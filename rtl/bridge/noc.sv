// Network on chip: a line of switches with four blocks each. Block n of switch s is port 4 s + n.
// A packet for a place without a block that takes packets (SINKS) is dropped whole and counted.
// Epochs: a packet belongs to the epoch whose bit was up 4 cycles before its first beat was offered here. So when a table
// entry is written and the bit flipped after that, all that was routed by the old entry belongs to the old epoch (noc_route
// offers a packet as soon as it is looked up), however long it waits to be taken; once in_flight of the old epoch is 0,
// every such packet is where it was sent. entered = delivered + dropped + in_flight.
// Latency: 2 cycles a switch. Throughput and backpressure: as noc_switch.
module noc
  import bridge_pkg::*;
#(
    parameter int unsigned DATA_W = 64,
    parameter int unsigned SWITCHES = 2,
    parameter logic [SWITCHES*BLOCKS-1:0] SINKS = '1,
    localparam int unsigned KEEP_W = DATA_W / 8,
    localparam int unsigned N = SWITCHES * BLOCKS,
    localparam int unsigned COUNT_W = $clog2(N + 1)
) (
    input  logic                     clk,
    input  logic                     rst,

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

    input  logic                     epoch,
    output logic [1:0][15:0]         in_flight,  // of each epoch: entered, and neither delivered nor dropped
    output logic [COUNT_W-1:0]       entered,    // packets whose first beat was offered a cycle ago
    output logic [COUNT_W-1:0]       delivered,  // packets whose last beat was taken a cycle ago
    output logic [COUNT_W-1:0]       dropped,    // or dropped
    output logic                     idle
);

  if (DATA_W < 32 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "noc: DATA_W must be 32, 64, 128, 256 or 512");
  end
  if (SWITCHES < 1 || SWITCHES > 16) begin : gen_bad_switches
    $fatal(1, "noc: SWITCHES must be 1 to 16");
  end

  localparam int unsigned EPOCH_DELAY = 4;
  localparam int unsigned P = BLOCKS + 2;
  localparam int unsigned LEFT = BLOCKS;
  localparam int unsigned RIGHT = BLOCKS + 1;

  // The epoch of each packet that comes in, fixed when it is offered
  logic [EPOCH_DELAY-1:0] epoch_q;
  logic [N-1:0] first_q, seen_q, tag_q, tag, enter;
  assign enter = s_axis_tvalid & first_q & ~seen_q;
  assign tag   = (enter & {N{epoch_q[EPOCH_DELAY-1]}}) | (~enter & tag_q);

  always_ff @(posedge clk) begin
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
  logic [SWITCHES-1:0][P-1:0] sw_s_valid, sw_s_ready, sw_s_last, sw_s_user;
  logic [SWITCHES-1:0][P-1:0] sw_m_valid, sw_m_ready, sw_m_last, sw_m_user, sw_dropped, sw_dropped_epoch;
  logic [SWITCHES-1:0][P-1:0][DATA_W-1:0] sw_s_data, sw_m_data;
  logic [SWITCHES-1:0][P-1:0][KEEP_W-1:0] sw_s_keep, sw_m_keep;
  logic [N-1:0] m_epoch, gone, gone_epoch;

  for (genvar s = 0; s < SWITCHES; s++) begin : gen_switch
    for (genvar b = 0; b < BLOCKS; b++) begin : gen_block
      localparam int unsigned I = s * BLOCKS + b;
      assign sw_s_valid[s][b]  = s_axis_tvalid[I];
      assign sw_s_data[s][b]   = s_axis_tdata[I];
      assign sw_s_keep[s][b]   = s_axis_tkeep[I];
      assign sw_s_last[s][b]   = s_axis_tlast[I];
      assign sw_s_user[s][b]   = tag[I];
      assign s_axis_tready[I]  = sw_s_ready[s][b];
      assign m_axis_tvalid[I]  = sw_m_valid[s][b];
      assign m_axis_tdata[I]   = sw_m_data[s][b];
      assign m_axis_tkeep[I]   = sw_m_keep[s][b];
      assign m_axis_tlast[I]   = sw_m_last[s][b];
      assign m_epoch[I]        = sw_m_user[s][b];
      assign sw_m_ready[s][b]  = m_axis_tready[I];
      assign gone[I]           = sw_dropped[s][b];
      assign gone_epoch[I]     = sw_dropped_epoch[s][b];
    end

    if (s > 0) begin : gen_left
      assign sw_s_valid[s][LEFT] = sw_m_valid[s-1][RIGHT];
      assign sw_s_data[s][LEFT]  = sw_m_data[s-1][RIGHT];
      assign sw_s_keep[s][LEFT]  = sw_m_keep[s-1][RIGHT];
      assign sw_s_last[s][LEFT]  = sw_m_last[s-1][RIGHT];
      assign sw_s_user[s][LEFT]  = sw_m_user[s-1][RIGHT];
      assign sw_m_ready[s][LEFT] = sw_s_ready[s-1][RIGHT];
    end else begin : gen_no_left
      assign sw_s_valid[s][LEFT] = 1'b0;
      assign sw_s_data[s][LEFT]  = '0;
      assign sw_s_keep[s][LEFT]  = '0;
      assign sw_s_last[s][LEFT]  = 1'b0;
      assign sw_s_user[s][LEFT]  = 1'b0;
      assign sw_m_ready[s][LEFT] = 1'b1;
    end

    if (s < SWITCHES - 1) begin : gen_right
      assign sw_s_valid[s][RIGHT] = sw_m_valid[s+1][LEFT];
      assign sw_s_data[s][RIGHT]  = sw_m_data[s+1][LEFT];
      assign sw_s_keep[s][RIGHT]  = sw_m_keep[s+1][LEFT];
      assign sw_s_last[s][RIGHT]  = sw_m_last[s+1][LEFT];
      assign sw_s_user[s][RIGHT]  = sw_m_user[s+1][LEFT];
      assign sw_m_ready[s][RIGHT] = sw_s_ready[s+1][LEFT];
    end else begin : gen_no_right
      assign sw_s_valid[s][RIGHT] = 1'b0;
      assign sw_s_data[s][RIGHT]  = '0;
      assign sw_s_keep[s][RIGHT]  = '0;
      assign sw_s_last[s][RIGHT]  = 1'b0;
      assign sw_s_user[s][RIGHT]  = 1'b0;
      assign sw_m_ready[s][RIGHT] = 1'b1;
    end

    noc_switch #(
        .DATA_W(DATA_W),
        .SWITCHES(SWITCHES),
        .ID(s),
        .SINKS(SINKS)
    ) u_switch (
        .clk,
        .rst,
        .s_axis_tvalid(sw_s_valid[s]),
        .s_axis_tready(sw_s_ready[s]),
        .s_axis_tdata (sw_s_data[s]),
        .s_axis_tkeep (sw_s_keep[s]),
        .s_axis_tlast (sw_s_last[s]),
        .s_axis_tuser (sw_s_user[s]),
        .m_axis_tvalid(sw_m_valid[s]),
        .m_axis_tready(sw_m_ready[s]),
        .m_axis_tdata (sw_m_data[s]),
        .m_axis_tkeep (sw_m_keep[s]),
        .m_axis_tlast (sw_m_last[s]),
        .m_axis_tuser (sw_m_user[s]),
        .dropped      (sw_dropped[s]),
        .dropped_epoch(sw_dropped_epoch[s])
    );
  end

  // Accounts, a cycle later. All switches know all sinks: a packet is dropped, if at all, where it enters.
  logic [N-1:0] enter_q, arrive_q, arrive_epoch_q, gone_q, gone_epoch_q;
  logic [1:0][15:0] in_flight_q;
  always_ff @(posedge clk) begin
    enter_q        <= enter;
    arrive_q       <= m_axis_tvalid & m_axis_tready & m_axis_tlast;
    arrive_epoch_q <= m_epoch;
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

  assign in_flight = in_flight_q;
  assign entered   = COUNT_W'($countones(enter_q));
  assign delivered = COUNT_W'($countones(arrive_q));
  assign dropped   = COUNT_W'($countones(gone_q));
  assign idle      = s_axis_tvalid == '0 && enter_q == '0 && arrive_q == '0 && gone_q == '0 && in_flight_q == '0;

endmodule
