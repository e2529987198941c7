// SPDX-License-Identifier: Apache-2.0
// Way of packets out of an Ethernet port, whose MAC can't pause inside a frame: a packet leaves when it is in whole.
// One that was cut off (s_cut, with its last beat) and one of more than the store holds are dropped and told.
// Latency: store and forward. Throughput: 1 beat a cycle, for packets of one beat too.
// Backpressure: s_axis_tready comes from a register, low while the store is full.
module rpu_port_tx
  import headrace_pkg::tx_meta_t;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned STORE_KB = 32,
    parameter int unsigned PORT = 0,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,
    input  logic [63:0]       time_ns,

    input  logic              s_axis_tvalid,
    output logic              s_axis_tready,
    input  logic [DATA_W-1:0] s_axis_tdata,
    input  logic [KEEP_W-1:0] s_axis_tkeep,
    input  logic              s_axis_tlast,
    input  logic              s_cut,

    output logic              tx_tvalid,
    input  logic              tx_tready,
    output logic [DATA_W-1:0] tx_tdata,
    output logic [KEEP_W-1:0] tx_tkeep,
    output logic              tx_tlast,
    output tx_meta_t          tx_tuser,      // timestamp_ns: of the cycle in which the first beat is first offered

    output logic              dropped,
    output logic              idle
);

  if (STORE_KB < 1 || STORE_KB > 1024 || 2 ** $clog2(STORE_KB) != STORE_KB) begin : gen_bad_store_kb
    $fatal(1, "rpu_port_tx: STORE_KB must be a power of two from 1 to 1024, not %0d", STORE_KB);
  end

  logic store_idle;

  // Outputs that nobody needs here stay open.
  // verilator lint_off PINCONNECTEMPTY
  packet_fifo #(
      .DATA_W(DATA_W),
      .DEPTH(STORE_KB * 1024 / KEEP_W),
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
      .s_drop       (s_cut),
      .m_axis_tvalid(tx_tvalid),
      .m_axis_tready(tx_tready),
      .m_axis_tdata (tx_tdata),
      .m_axis_tkeep (tx_tkeep),
      .m_axis_tlast (tx_tlast),
      .m_axis_tuser (),
      .used         (),
      .dropped,
      .idle         (store_idle)
  );
  // verilator lint_on PINCONNECTEMPTY

  logic begun_q;                   // the packet's first beat has been offered
  logic [63:0] stamp_q;
  always_ff @(posedge clk) begin
    if (!begun_q) stamp_q <= time_ns;
    begun_q <= tx_tvalid && !(tx_tready && tx_tlast);
    if (rst) begun_q <= 1'b0;
  end
  always_comb begin
    tx_tuser              = '0;
    tx_tuser.timestamp_ns = begun_q ? stamp_q : time_ns;
    tx_tuser.port         = 8'(PORT);
  end

  assign idle = !s_axis_tvalid && store_idle && !dropped;

endmodule
