// SPDX-License-Identifier: Apache-2.0
// Reads the match fields of each packet that passes by: see switch_headers for what is read.
// The packet goes on unchanged, a cycle later. Its fields come once, in the order of packets, on a stream of their own:
// 24 cycles (NARROW: 12) after its last beat or, if that comes first, after the beat with the last byte that is looked
// at. So what waits for the fields with the packet must hold the beats of that time.
// Throughput: a beat a cycle, so a packet a cycle of packets of one beat.
// Backpressure: s_axis_tready is made of registers. It is low when m_axis is stalled, and before a packet's first beat
// while 32 packets (NARROW: 16) are under way to m_head.
module switch_parser
  import switch_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter bit NARROW = 1'b0,  // in_port, Ethernet, VLAN, IPv4 and ports only
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,
    input  logic              s_axis_tvalid,
    output logic              s_axis_tready,
    input  logic [DATA_W-1:0] s_axis_tdata,
    input  logic [KEEP_W-1:0] s_axis_tkeep,
    input  logic              s_axis_tlast,
    input  logic [PORT_W-1:0] s_axis_tuser,   // in_port, the same on each beat of a packet
    output logic              m_axis_tvalid,
    input  logic              m_axis_tready,
    output logic [DATA_W-1:0] m_axis_tdata,
    output logic [KEEP_W-1:0] m_axis_tkeep,
    output logic              m_axis_tlast,
    output logic [PORT_W-1:0] m_axis_tuser,
    output logic              m_head_valid,
    input  logic              m_head_ready,
    output match_t            m_head_match,
    output layers_t           m_head_layers,
    output logic              idle
);

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "switch_parser: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end

  localparam int unsigned WORDS = NARROW ? HEAD_WORDS_NARROW : HEAD_WORDS;
  localparam int unsigned HEAD = 14 + 4 * WORDS;
  localparam int unsigned BEATS = (HEAD + KEEP_W - 1) / KEEP_W;
  localparam int unsigned LEN_W = $clog2(BEATS * KEEP_W + 1);
  localparam int unsigned BEAT_W = $clog2(BEATS + 1);
  localparam int unsigned KEEP_COUNT_W = $clog2(KEEP_W + 1);
  localparam int unsigned PACKETS = NARROW ? 16 : 32;  // more than the cycles from s_axis to m_head
  localparam int unsigned COUNT_W = $clog2(PACKETS + 1);

  // ------------------------------------------------------------------------------------------------------- the packet
  logic reg_ready, reg_idle, room_q, inside_q;
  wire begins = !inside_q;
  wire taken = s_axis_tvalid && s_axis_tready;

  assign s_axis_tready = reg_ready && (room_q || inside_q);

  stream_reg #(
      .WIDTH(DATA_W + KEEP_W + 1 + PORT_W)
  ) u_packet (
      .clk,
      .rst,
      .s_valid(s_axis_tvalid && (room_q || inside_q)),
      .s_ready(reg_ready),
      .s_data ({s_axis_tdata, s_axis_tkeep, s_axis_tlast, s_axis_tuser}),
      .m_valid(m_axis_tvalid),
      .m_ready(m_axis_tready),
      .m_data ({m_axis_tdata, m_axis_tkeep, m_axis_tlast, m_axis_tuser}),
      .idle   (reg_idle)
  );

  // Packets whose fields are still to be taken: no more than the queue before m_head can hold.
  logic [COUNT_W-1:0] count_q;
  wire push = taken && begins;
  wire pop = m_head_valid && m_head_ready;

  always_ff @(posedge clk) begin
    if (taken) inside_q <= !s_axis_tlast;
    if (push && !pop) count_q <= count_q + 1'b1;
    if (pop && !push) count_q <= count_q - 1'b1;
    room_q <= pop || count_q != (push ? COUNT_W'(PACKETS - 1) : COUNT_W'(PACKETS));
    if (rst) begin
      inside_q <= 1'b0;
      count_q  <= '0;
      room_q   <= 1'b0;
    end
  end

  // ---------------------------------------------------------------------------------------------------- its beginning
  logic [KEEP_COUNT_W-1:0] beat_bytes;
  keep_bytes #(.KEEP_W(KEEP_W)) u_bytes (.keep(s_axis_tkeep), .bytes(beat_bytes));

  // verilator lint_off UNUSEDSIGNAL
  logic [BEATS*DATA_W-1:0] head_q;  // its end may lie behind what is looked at
  // verilator lint_on UNUSEDSIGNAL
  logic [BEAT_W-1:0] beat_q;  // BEATS: the beginning is there
  logic [LEN_W-1:0] len_q;
  logic [PORT_W-1:0] port_q;
  logic done_q;
  wire beginning = taken && beat_q != BEAT_W'(BEATS);

  always_ff @(posedge clk) begin
    done_q <= beginning && (s_axis_tlast || beat_q == BEAT_W'(BEATS - 1));
    for (int unsigned i = 0; i < BEATS; i++) begin
      if (beginning && beat_q == BEAT_W'(i)) head_q[DATA_W*i+:DATA_W] <= s_axis_tdata;
    end
    if (beginning) begin
      beat_q <= beat_q + 1'b1;
      len_q  <= LEN_W'(beat_q * KEEP_W) + LEN_W'(beat_bytes);
      port_q <= s_axis_tuser;
    end
    if (taken && s_axis_tlast) beat_q <= '0;
    if (rst) begin
      beat_q <= '0;
      done_q <= 1'b0;
    end
  end

  // -------------------------------------------------------------------------------------------------------- its fields
  logic found, found_room;
  match_t found_match;
  layers_t found_layers;

  switch_headers #(
      .NARROW(NARROW)
  ) u_headers (
      .clk,
      .rst,
      .s_valid  (done_q),
      .s_in_port(port_q),
      .s_length (len_q > LEN_W'(HEAD) ? 8'(HEAD) : 8'(len_q)),
      .s_bytes  (head_q[8*HEAD-1:0]),
      .m_valid  (found),
      .m_match  (found_match),
      .m_layers (found_layers)
  );

  stream_queue #(
      .WIDTH($bits(match_t) + $bits(layers_t)),
      .DEPTH(PACKETS)
  ) u_found (
      .clk,
      .rst,
      .s_valid(found),
      .s_ready(found_room),  // room is counted above
      .s_data ({found_match, found_layers}),
      .m_valid(m_head_valid),
      .m_ready(m_head_ready),
      .m_data ({m_head_match, m_head_layers}),
      .idle   ()
  );

  assign idle = reg_idle && count_q == '0 && !inside_q;

`ifndef SYNTHESIS
  ready_contract u_ready (
      .clk,
      .rst,
      .valid(found),
      .ready(found_room)
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
