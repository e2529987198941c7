// SPDX-License-Identifier: Apache-2.0
// Packets from the host: before each are HOST_HEAD bytes, in words of 32 bits, the lowest byte first: word 0 in_port in
// bits 7:0, the first table in 11:8, a program in 31:16; words 2 and 3 metadata, 4 and 5 the tunnel's number. A packet
// that was cut off (s_axis_cut, with its last beat) or that ends before the head does is dropped.
// Latency: store and forward. Throughput: a beat a cycle. Backpressure: tready is low while the store is full.
module packet_from_host
  import switch_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned STORE_KB = 16,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,
    input  logic              s_axis_tvalid,
    output logic              s_axis_tready,
    input  logic [DATA_W-1:0] s_axis_tdata,
    input  logic [KEEP_W-1:0] s_axis_tkeep,
    input  logic              s_axis_tlast,
    input  logic              s_axis_cut,
    output logic              m_axis_tvalid,
    input  logic              m_axis_tready,
    output logic [DATA_W-1:0] m_axis_tdata,
    output logic [KEEP_W-1:0] m_axis_tkeep,
    output logic              m_axis_tlast,
    output source_t           m_source,
    output logic              taken,         // a packet has begun
    output logic              dropped,
    output logic              idle
);

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "packet_from_host: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (STORE_KB < 1 || STORE_KB > 1024 || 2 ** $clog2(STORE_KB) != STORE_KB) begin : gen_bad_store_kb
    $fatal(1, "packet_from_host: STORE_KB must be a power of two from 1 to 1024, not %0d", STORE_KB);
  end

  localparam int unsigned BEATS = (HOST_HEAD + KEEP_W - 1) / KEEP_W;
  localparam int unsigned BEAT_W = $clog2(BEATS + 1);
  localparam int unsigned TUNNEL_BEAT = 16 / KEEP_W;  // of the head
  localparam int unsigned TUNNEL_BIT = 128 % DATA_W;

  logic [BEAT_W-1:0] head_q;  // beats of the head that have come; BEATS: all
  source_t source_q;
  logic store_ready, store_dropped, store_idle, short_q;
  wire behind = head_q == BEAT_W'(BEATS);
  wire beat = s_axis_tvalid && s_axis_tready;

  assign s_axis_tready = store_ready;
  assign taken         = beat && head_q == '0;

  always_ff @(posedge clk) begin
    if (beat) head_q <= s_axis_tlast ? '0 : behind ? head_q : head_q + 1'b1;
    if (taken) begin
      source_q <= '{
          in_port: s_axis_tdata[7:0],
          next: s_axis_tdata[11:8],
          program_at: s_axis_tdata[31:16],
          metadata: s_axis_tdata[127:64],
          tunnel_id: '0
      };
    end
    if (beat && head_q == BEAT_W'(TUNNEL_BEAT)) source_q.tunnel_id <= s_axis_tdata[TUNNEL_BIT+:64];
    short_q <= beat && s_axis_tlast && !behind;
    if (rst) begin
      head_q  <= '0;
      short_q <= 1'b0;
    end
  end
  assign dropped = store_dropped || short_q;

  // Outputs that nobody needs here stay open.
  // verilator lint_off PINCONNECTEMPTY
  packet_fifo #(
      .DATA_W(DATA_W),
      .USER_W($bits(source_t)),
      .DEPTH(STORE_KB * 1024 / KEEP_W),
      .DROP_WHEN_FULL(1'b0)
  ) u_store (
      .clk,
      .rst,
      .s_axis_tvalid(s_axis_tvalid && behind),
      .s_axis_tready(store_ready),
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .s_axis_tuser (source_q),
      .s_drop       (s_axis_cut),
      .m_axis_tvalid,
      .m_axis_tready,
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_tuser (m_source),
      .used         (),
      .dropped      (store_dropped),
      .idle         (store_idle)
  );
  // verilator lint_on PINCONNECTEMPTY

  assign idle = store_idle && head_q == '0 && !short_q && !store_dropped;

endmodule
