// SPDX-License-Identifier: Apache-2.0
// Where packets wait whose flows have moved to another unit, until the one that they came to before has none left from
// that time: a store of whole packets of all sources, in the order in which they came.
// Latency: 4 cycles from a packet's last beat to its description. Throughput: 1 beat a cycle.
// Backpressure: s_axis_tready comes from a register, low while the store is full.
module rpu_parking
  import rpu_fabric_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned STORE_KB = 32,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic                    clk,
    input  logic                    rst,
    input  logic [SOURCES-1:0]      park,        // a packet of this source is on its way here
    output logic [SOURCES-1:0]      parking,     // there are packets of this source, or were a moment ago
    output logic [SOURCES-1:0][1:0] generation,  // another one each time that `parking` ends
    input  logic                    s_axis_tvalid,
    output logic                    s_axis_tready,
    input  logic [DATA_W-1:0]       s_axis_tdata,
    input  logic [KEEP_W-1:0]       s_axis_tkeep,
    input  logic                    s_axis_tlast,
    input  packet_t                 s_axis_tuser,
    output logic                    packet_valid,
    input  logic                    packet_ready,
    output packet_t                 packet,
    output logic                    m_axis_tvalid,
    input  logic                    m_axis_tready,
    output logic [DATA_W-1:0]       m_axis_tdata,
    output logic [KEEP_W-1:0]       m_axis_tkeep,
    output logic                    m_axis_tlast,
    input  logic                    gone,        // a packet of `gone_source` has come to its unit's queue
    input  logic [1:0]              gone_source,
    output logic                    idle
);

  if (STORE_KB < 1 || STORE_KB > 1024 || 2 ** $clog2(STORE_KB) != STORE_KB) begin : gen_bad_store_kb
    $fatal(1, "rpu_parking: STORE_KB must be a power of two from 1 to 1024, not %0d", STORE_KB);
  end

  localparam int unsigned DEPTH = STORE_KB * 1024 / KEEP_W;
  localparam int unsigned PARKED_W = $clog2(DEPTH) + 2;  // those on their way here count too

  logic list_ready, store_idle, list_idle;

  packet_fifo #(
      .DATA_W(DATA_W),
      .DEPTH(DEPTH),
      .DROP_WHEN_FULL(1'b0)
  ) u_store (
      .clk,
      .rst,
      .s_axis_tvalid,
      .s_axis_tready,
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .s_axis_tuser (1'b0),
      .s_drop       (1'b0),
      .m_axis_tvalid,
      .m_axis_tready,
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_tuser (),
      .used         (),
      .dropped      (),  // none is longer than a source's store, which is no larger
      .idle         (store_idle)
  );

  stream_fifo #(
      .WIDTH($bits(packet_t)),
      .DEPTH(DEPTH + 4)
  ) u_list (
      .clk,
      .rst,
      .s_valid(s_axis_tvalid && s_axis_tready && s_axis_tlast),
      .s_ready(list_ready),
      .s_data (s_axis_tuser),
      .m_valid(packet_valid),
      .m_ready(packet_ready),
      .m_data (packet),
      .count  (),
      .idle   (list_idle)
  );

  assign idle          = store_idle && list_idle && parking == '0;

  // The heads of sources hear that a packet has gone two cycles after what it changes.
  for (genvar i = 0; i < SOURCES; i++) begin : gen_source
    logic [PARKED_W-1:0] count_q;
    logic [1:0] were_q;  // there were some
    logic [1:0] generation_q;
    wire some = count_q != '0;

    always_ff @(posedge clk) begin
      count_q <= count_q + PARKED_W'(park[i]) - PARKED_W'(gone && gone_source == 2'(i));
      were_q  <= {were_q[0], some};
      if (!some && were_q == 2'b10 && !park[i]) generation_q <= generation_q + 1'b1;
      if (rst) begin
        count_q      <= '0;
        were_q       <= '0;
        generation_q <= '0;
      end
    end

    assign parking[i]    = some || were_q != '0;
    assign generation[i] = generation_q;
  end

`ifndef SYNTHESIS
  logic checks;
  first_reset u_first_reset (.clk, .rst, .checks);

  always_ff @(posedge clk) begin
    if (checks) begin
      assert (!s_axis_tvalid || list_ready) else $error("%m: more packets than the store can hold");
    end
  end
`else
  wire unused = &{1'b0, list_ready};
`endif

endmodule
