// SPDX-License-Identifier: Apache-2.0
// Finds out of the frames that pass by whom they are for: looks up (port, VLAN, destination MAC) in the table of
// stations, and hashes addresses and ports as receive side scaling does. The VLAN is that of a frame's outer tag, 0
// without one. A frame of less than 14 bytes is one to drop.
// Latency: 9 cycles from a frame's last beat. Throughput: 1 frame a cycle. Never stalls.
module nic_lookup
  import nic_pkg::*;
  import table_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned STATIONS = 1024,
    parameter int unsigned BEATS_W = 9,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic                             clk,
    input  logic                             rst,
    input  logic [rpu_fabric_pkg::KEY_W-1:0] hash_key,   // its first byte in the highest bits

    input  logic                             op_valid,   // on the table, as in exact_table
    output logic                             op_ready,
    input  table_op_t                        op,
    input  station_t                         op_station,
    input  logic [VF_W-1:0]                  op_vf,
    output logic                             op_done,
    output table_answer_t                    op_answer,

    input  logic                             s_taken,    // a beat passes in this cycle
    input  logic [DATA_W-1:0]                s_data,
    input  logic [KEEP_W-1:0]                s_keep,
    input  logic                             s_last,
    input  origin_t                          s_origin,   // with the last beat
    output logic                             m_valid,
    output found_t                           m_found,
    output logic [BEATS_W-1:0]               m_beats,    // of the frame
    output logic                             idle
);

  if (BEATS_W < 2 || BEATS_W > 20) begin : gen_bad_beats_w
    $fatal(1, "nic_lookup: BEATS_W must be 2 to 20, not %0d", BEATS_W);
  end

  // ---------------------------------------------------------------------------------------------- destination and VLAN
  localparam int unsigned HEAD = 18;  // addresses, a tag, and a type
  localparam int unsigned BEATS = (HEAD + KEEP_W - 1) / KEEP_W;

  // verilator lint_off UNUSEDSIGNAL
  logic [BEATS-1:0][DATA_W-1:0] head_q;  // what no field is in is left out in synthesis
  logic [BEATS-1:0][KEEP_W-1:0] keep_q;
  // verilator lint_on UNUSEDSIGNAL
  logic [BEATS_W-1:0] count_q, beats_q;
  origin_t origin_q;
  logic ended_q;

  always_ff @(posedge clk) begin
    ended_q <= s_taken && s_last;
    if (s_taken) begin
      for (int unsigned i = 0; i < BEATS; i++) begin
        if (32'(count_q) == i) head_q[i] <= s_data;
        if (32'(count_q) == i) keep_q[i] <= s_keep;
        else if (count_q == '0) keep_q[i] <= '0;
      end
      count_q  <= s_last ? '0 : count_q + 1'b1;
      beats_q  <= count_q + 1'b1;
      origin_q <= s_origin;
    end
    if (rst) begin
      ended_q <= 1'b0;
      count_q <= '0;
    end
  end

  function automatic logic [7:0] byte_at(int unsigned at);
    return head_q[at/KEEP_W][8*(at%KEEP_W)+:8];
  endfunction

  typedef struct packed {
    origin_t            origin;
    logic               group;
    logic [VLAN_W-1:0]  vlan;
    logic [BEATS_W-1:0] beats;
  } frame_t;

  wire [15:0] kind = {byte_at(12), byte_at(13)};
  wire has_tag = (kind == 16'h8100 || kind == 16'h88a8 || kind == 16'h9100) && keep_q[15/KEEP_W][15%KEEP_W];
  station_t station;
  frame_t frame;
  always_comb begin
    station.port      = origin_q.port;
    station.vlan      = has_tag ? {4'(byte_at(14)), byte_at(15)} : '0;
    station.mac       = {byte_at(0), byte_at(1), byte_at(2), byte_at(3), byte_at(4), byte_at(5)};
    frame.origin      = origin_q;
    frame.origin.drop = origin_q.drop || !keep_q[0][13];
    frame.group       = station.mac[40];
    frame.vlan        = station.vlan;
    frame.beats       = beats_q;
  end

  // -------------------------------------------------------------------------------------------------- table and hash
  localparam int unsigned HASH_AT = 3;  // cycles after a frame's end, in which its hash is there

  frame_t [EXACT_LATENCY-1:0] frame_q;
  logic [EXACT_LATENCY-HASH_AT-1:0][HASH_W-1:0] hash_q;
  logic [EXACT_LATENCY-2:0] there_q;  // a frame, so many cycles after its end
  logic hit, table_idle, key_idle, hash_idle, tuple_valid;
  logic [VF_W-1:0] vf;
  logic [rpu_fabric_pkg::TUPLE_W-1:0] tuple;
  // verilator lint_off UNUSEDSIGNAL
  logic [31:0] hash;
  // verilator lint_on UNUSEDSIGNAL

  exact_table #(
      .KEY_W($bits(station_t)),
      .RESULT_W(VF_W),
      .ENTRIES(STATIONS)
  ) u_stations (
      .clk,
      .rst,
      .key_valid   (ended_q),
      .key         (station),
      .result_valid(m_valid),
      .hit,
      .result      (vf),
      .op_valid,
      .op_ready,
      .op,
      .op_key      (op_station),
      .op_result   (op_vf),
      .op_done,
      .op_answer,
      .idle        (table_idle)
  );

  rpu_flow_key #(
      .DATA_W(DATA_W)
  ) u_flow (
      .clk,
      .rst,
      .s_taken,
      .s_data,
      .s_keep,
      .s_last,
      .s_kept (1'b1),
      .m_valid(tuple_valid),
      .m_tuple(tuple),
      .idle   (key_idle)
  );

  rpu_toeplitz u_hash (
      .clk,
      .rst,
      .key    (hash_key),
      .s_valid(tuple_valid),
      .s_tuple(tuple),
      .m_valid(),
      .m_hash (hash),
      .idle   (hash_idle)
  );

  always_ff @(posedge clk) begin
    there_q <= {there_q[EXACT_LATENCY-3:0], ended_q};
    if (ended_q || there_q != '0) begin
      frame_q <= {frame_q[EXACT_LATENCY-2:0], frame};
      hash_q  <= {hash_q[EXACT_LATENCY-HASH_AT-2:0], hash[HASH_W-1:0]};
    end
    if (rst) there_q <= '0;
  end

  wire frame_t told = frame_q[EXACT_LATENCY-1];
  assign m_found = '{
          origin: told.origin,
          group: told.group,
          known: hit,
          vf: vf,
          vlan: told.vlan,
          hash: hash_q[EXACT_LATENCY-HASH_AT-1]
      };
  assign m_beats = told.beats;
  assign idle    = table_idle && key_idle && hash_idle && !ended_q && count_q == '0;

endmodule
