// SPDX-License-Identifier: Apache-2.0
// Ring buffer of packets in block RAM: they come in order and are freed in order; between, any beat can be read any
// number of times. Of each packet that is in as a whole, m_packet tells the index of its last byte; its first beat lies
// behind the last one of the packet before, the very first one at 0. free_to is the place behind a packet that is no
// longer needed.
// A packet longer than the store never gets in: what comes before it must not let it pass.
// Latency: at most 5 cycles from the last beat to m_packet, 2 from rd_en to rd_data. Throughput: a beat a cycle, each
// way.
// Backpressure: s_axis_tready is a register, low while all beats are taken.
module packet_store #(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned STORE_KB = 64,
    localparam int unsigned KEEP_W = DATA_W / 8,
    localparam int unsigned BEATS = STORE_KB * 1024 / KEEP_W,
    localparam int unsigned ADDR_W = $clog2(BEATS),
    localparam int unsigned SIZE_W = $clog2(STORE_KB * 1024)
) (
    input  logic              clk,
    input  logic              rst,
    input  logic              s_axis_tvalid,
    output logic              s_axis_tready,
    input  logic [DATA_W-1:0] s_axis_tdata,
    input  logic [KEEP_W-1:0] s_axis_tkeep,
    input  logic              s_axis_tlast,
    output logic              m_packet_valid,
    input  logic              m_packet_ready,
    output logic [SIZE_W-1:0] m_packet_end,    // its bytes less 1
    input  logic              rd_en,
    input  logic [ADDR_W-1:0] rd_addr,
    output logic [DATA_W-1:0] rd_data,
    input  logic              free_valid,
    input  logic [  ADDR_W:0] free_to,         // with the bit that changes with each round of the ring
    output logic              idle             // empty
);

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "packet_store: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (STORE_KB < 1 || STORE_KB > 1024 || 2 ** $clog2(STORE_KB) != STORE_KB) begin : gen_bad_store_kb
    $fatal(1, "packet_store: STORE_KB must be a power of two from 1 to 1024, not %0d", STORE_KB);
  end

  localparam int unsigned LANE_W = $clog2(KEEP_W);

  // ------------------------------------------------------------------------------------------------------------- beats
  logic [ADDR_W:0] wr_q, tail_q;
  logic ready_q;
  wire push = s_axis_tvalid && ready_q;
  wire [ADDR_W:0] wr_next = wr_q + 1'b1;

  always_ff @(posedge clk) begin
    if (push) wr_q <= wr_next;
    if (free_valid) tail_q <= free_to;
    ready_q <= ((push ? wr_next : wr_q) ^ tail_q) != (ADDR_W + 1)'(BEATS);
    if (rst) begin
      wr_q    <= '0;
      tail_q  <= '0;
      ready_q <= 1'b0;
    end
  end

  assign s_axis_tready = ready_q;

  ram_sdp #(
      .WIDTH  (DATA_W),
      .DEPTH  (BEATS),
      .OUT_REG(1'b1)
  ) u_ram (
      .clk,
      .wr_en  (push),
      .wr_addr(wr_q[ADDR_W-1:0]),
      .wr_data(s_axis_tdata),
      .rd_en,
      .rd_addr,
      .rd_data
  );

  // ----------------------------------------------------------------------------------------------------------- packets
  logic [ADDR_W-1:0] beat_q, beats_q;
  logic [KEEP_W-1:1] keep_q;
  logic [SIZE_W-1:0] end_q;
  logic whole_q, told_q, packets_room;

  logic [LANE_W:0] last_byte;  // in the last beat
  keep_bytes #(.KEEP_W(KEEP_W)) u_bytes (.keep({1'b0, keep_q}), .bytes(last_byte));

  always_ff @(posedge clk) begin
    if (push) beat_q <= s_axis_tlast ? '0 : beat_q + 1'b1;
    if (push && s_axis_tlast) begin
      beats_q <= beat_q;
      keep_q  <= s_axis_tkeep[KEEP_W-1:1];
    end
    whole_q <= push && s_axis_tlast;
    if (whole_q) end_q <= {beats_q, LANE_W'(0)} | SIZE_W'(last_byte);
    told_q <= whole_q;
    if (rst) begin
      beat_q  <= '0;
      whole_q <= 1'b0;
      told_q  <= 1'b0;
    end
  end

  stream_fifo #(
      .WIDTH(SIZE_W),
      .DEPTH(BEATS)
  ) u_packets (
      .clk,
      .rst,
      .s_valid(told_q),
      .s_ready(packets_room),  // it has room for as many packets as there are beats
      .s_data (end_q),
      .m_valid(m_packet_valid),
      .m_ready(m_packet_ready),
      .m_data (m_packet_end),
      .count  (),
      .idle   ()
  );

  assign idle = wr_q == tail_q;

`ifndef SYNTHESIS
  ready_contract u_ready (
      .clk,
      .rst,
      .valid(told_q),
      .ready(packets_room)
  );
  stream_contract #(
      .DATA_W(DATA_W)
  ) u_contract (
      .clk,
      .rst,
      .tvalid(s_axis_tvalid),
      .tready(s_axis_tready),
      .tdata (s_axis_tdata),
      .tkeep (s_axis_tkeep),
      .tlast (s_axis_tlast)
  );
`endif

endmodule
