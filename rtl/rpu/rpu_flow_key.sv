// SPDX-License-Identifier: Apache-2.0
// Reads what makes a flow from the packets that pass by: source and destination address of IPv4 or IPv6, and the ports
// of TCP, UDP and SCTP if the packet is no fragment. Up to two VLAN tags and IPv4's options are skipped. The packet of
// another kind, or one too short for its headers, has the empty tuple. An IPv6 packet with extension headers has none
// of its ports read.
// Latency: 2 cycles from a packet's last beat to its tuple. Never stalls.
module rpu_flow_key
  import rpu_fabric_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic               clk,
    input  logic               rst,
    input  logic               s_taken,  // a beat passes in this cycle
    input  logic [ DATA_W-1:0] s_data,
    input  logic [ KEEP_W-1:0] s_keep,
    input  logic               s_last,
    input  logic               s_kept,   // a cycle after a packet's last beat: it is one to tell of
    output logic               m_valid,
    output logic [TUPLE_W-1:0] m_tuple,  // from the highest bits on
    output logic               idle      // no tuple on its way
);

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "rpu_flow_key: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end

  // Ethernet with two tags, the longest IPv4 header and two ports are 86 bytes.
  localparam int unsigned HEAD = 86;
  localparam int unsigned BEATS = (HEAD + KEEP_W - 1) / KEEP_W;
  localparam int unsigned ROOM = BEATS * KEEP_W;
  localparam int unsigned LEN_W = $clog2(ROOM + 1);
  localparam int unsigned BEAT_W = $clog2(BEATS + 1);
  localparam int unsigned KEEP_COUNT_W = $clog2(KEEP_W + 1);

  logic [KEEP_COUNT_W-1:0] beat_bytes;
  keep_bytes #(.KEEP_W(KEEP_W)) u_bytes (.keep(s_keep), .bytes(beat_bytes));

  // ---------------------------------------------------------------------------------------------- first beats
  // verilator lint_off UNUSEDSIGNAL
  logic [BEATS*DATA_W-1:0] head_q;  // those that no header has its fields in are left out in synthesis
  // verilator lint_on UNUSEDSIGNAL
  logic [BEAT_W-1:0] beat_q;
  logic [LEN_W-1:0] len_q;
  logic end_q;

  always_ff @(posedge clk) begin
    end_q <= s_taken && s_last;
    if (s_taken) begin
      for (int unsigned i = 0; i < BEATS; i++) if (beat_q == BEAT_W'(i)) head_q[DATA_W*i+:DATA_W] <= s_data;
      if (beat_q != BEAT_W'(BEATS)) begin
        beat_q <= beat_q + 1'b1;
        len_q  <= LEN_W'(beat_q * KEEP_W) + LEN_W'(beat_bytes);
      end
      if (s_last) beat_q <= '0;
    end
    if (rst) begin
      beat_q <= '0;
      end_q  <= 1'b0;
    end
  end

  // ---------------------------------------------------------------------------------------------- their fields
  function automatic logic [15:0] type_at(logic [BEATS*DATA_W-1:0] head, int unsigned at);
    return {head[8*at+:8], head[8*at+8+:8]};
  endfunction

  function automatic logic is_tag(logic [15:0] kind);
    return kind == 16'h8100 || kind == 16'h88a8 || kind == 16'h9100;
  endfunction

  wire first_tag = is_tag(type_at(head_q, 12));
  wire second_tag = first_tag && is_tag(type_at(head_q, 16));

  localparam int unsigned IP_MAX = 64;
  logic [IP_MAX-1:0][7:0] ip;  // bytes from the IP header on
  logic [15:0] kind;
  logic [LEN_W-1:0] ip_len;  // bytes there are of it

  always_comb begin
    kind   = second_tag ? type_at(head_q, 20) : first_tag ? type_at(head_q, 16) : type_at(head_q, 12);
    ip_len = len_q - (second_tag ? LEN_W'(22) : first_tag ? LEN_W'(18) : LEN_W'(14));
    if (len_q < (second_tag ? LEN_W'(22) : first_tag ? LEN_W'(18) : LEN_W'(14))) ip_len = '0;
    ip = 'x;  // nobody looks then
    if (end_q) ip = second_tag ? head_q[8*22+:8*IP_MAX] : first_tag ? head_q[8*18+:8*IP_MAX] : head_q[8*14+:8*IP_MAX];
  end

  wire [3:0] words = ip[0][3:0];  // of an IPv4 header
  wire is_v4 = kind == 16'h0800 && ip[0][7:4] == 4'd4 && words >= 4'd5 && ip_len >= LEN_W'(20);
  wire is_v6 = kind == 16'h86dd && ip[0][7:4] == 4'd6 && ip_len >= LEN_W'(40);
  wire fragment = {ip[6][5:0], ip[7]} != '0;  // more are to come, or an offset
  wire [7:0] protocol = is_v4 ? ip[9] : ip[6];
  wire [3:0] port_word = is_v4 ? words : 4'd10;
  wire has_ports = (protocol == 8'd6 || protocol == 8'd17 || protocol == 8'd132) && !(is_v4 && fragment)
      && ip_len >= LEN_W'({port_word, 2'b00}) + LEN_W'(4);
  logic [31:0] ports;
  logic [255:0] v6_pair;  // both addresses, in the order of the wire
  logic [63:0] v4_pair;
  logic [TUPLE_W-1:0] tuple_q;
  logic valid_q;

  always_comb begin
    ports = '0;
    for (int unsigned i = 5; i < 16; i++) begin
      if (has_ports && port_word == 4'(i)) ports = {ip[4*i], ip[4*i+1], ip[4*i+2], ip[4*i+3]};
    end
    for (int unsigned i = 0; i < 32; i++) v6_pair[255-8*i-:8] = ip[8+i];
    for (int unsigned i = 0; i < 8; i++) v4_pair[63-8*i-:8] = ip[12+i];
  end

  always_ff @(posedge clk) begin
    valid_q <= end_q && s_kept;
    if (end_q) begin
      tuple_q <= '0;
      if (is_v4) tuple_q <= {v4_pair, ports, 192'b0};
      if (is_v6) tuple_q <= {v6_pair, ports};
    end
    if (rst) valid_q <= 1'b0;
  end

  assign m_valid = valid_q;
  assign m_tuple = tuple_q;
  assign idle    = !end_q && !valid_q;

endmodule
