// SPDX-License-Identifier: Apache-2.0
// Stores the packets of one source whole and finds out what the balancer must know of each: its flow hash, or the unit
// that it names, and the host's function that it came from. A packet that finds no room is dropped whole unless the
// source is to wait (hold); and so is, whatever is set, one of more than the store holds, one that begins while the
// source is not open, one that its sender cut off and one for a unit that can't be.
// Latency: 7 cycles from a packet's last beat to its description, with block RAM.
// Throughput: 1 beat a cycle, for packets of one beat too.
// Backpressure: s_axis_tready comes from a register: always high without hold, low while the store is full with it.
module rpu_ingress
  import rpu_pkg::*, rpu_fabric_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned UNITS = 8,
    parameter int unsigned PORT = 0,
    parameter int unsigned STORE_KB = 32,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,
    input  logic              open,
    input  logic              hold,
    input  logic [ KEY_W-1:0] key,
    input  logic              s_axis_tvalid,
    output logic              s_axis_tready,
    input  logic [DATA_W-1:0] s_axis_tdata,
    input  logic [KEEP_W-1:0] s_axis_tkeep,
    input  logic              s_axis_tlast,
    input  unit_tx_t          s_axis_tuser,   // its port, if it is for no unit: where it came from
    input  logic              s_cut,          // with the last beat: the packet is not whole
    output logic              packet_valid,
    input  logic              packet_ready,
    output packet_t           packet,
    output logic              m_axis_tvalid,
    input  logic              m_axis_tready,
    output logic [DATA_W-1:0] m_axis_tdata,
    output logic [KEEP_W-1:0] m_axis_tkeep,
    output logic              m_axis_tlast,
    output logic              dropped,        // for lack of room, not open, or cut off by who sent it
    output logic              refused,        // no such unit
    output logic              idle
);

  if (PORT >= SOURCES) begin : gen_bad_port
    $fatal(1, "rpu_ingress: PORT must be less than %0d, not %0d", SOURCES, PORT);
  end
  if (UNITS < 1 || UNITS > MAX_UNITS) begin : gen_bad_units
    $fatal(1, "rpu_ingress: UNITS must be 1 to %0d, not %0d", MAX_UNITS, UNITS);
  end
  if (STORE_KB < 1 || STORE_KB > 1024 || 2 ** $clog2(STORE_KB) != STORE_KB) begin : gen_bad_store_kb
    $fatal(1, "rpu_ingress: STORE_KB must be a power of two from 1 to 1024, not %0d", STORE_KB);
  end

  localparam int unsigned DEPTH = STORE_KB * 1024 / KEEP_W;

  // ------------------------------------------------------------------------------------------------------- store
  localparam int unsigned SPARE = 4;  // beats, which come in before a source is held off

  logic begun_q, closed_q, store_dropped, store_idle;
  logic wait_q;
  logic [3:0] lately_q;               // a packet's last beat has come in, and is perhaps not at the output yet
  logic [$clog2(DEPTH):0] used;
  wire taken = s_axis_tvalid && s_axis_tready;
  wire closed = begun_q ? closed_q : !open;  // judged by a packet's first beat
  wire nobody = s_axis_tuser.to_unit && 32'(s_axis_tuser.port) >= UNITS;

  packet_fifo #(
      .DATA_W(DATA_W),
      .DEPTH(DEPTH)
  ) u_store (
      .clk,
      .rst,
      .s_axis_tvalid(taken),
      .s_axis_tready(),
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .s_axis_tuser(1'b0),
      .s_drop      (closed || nobody || s_cut),
      .m_axis_tvalid,
      .m_axis_tready,
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_tuser(),
      .used,
      .dropped     (store_dropped),
      .idle        (store_idle)
  );

  // A packet that fills the store alone is not held off: it could never get out.
  assign s_axis_tready = !wait_q;
  always_ff @(posedge clk) begin
    lately_q <= {lately_q[2:0], taken && s_axis_tlast};
    wait_q   <= hold && used >= ($clog2(DEPTH) + 1)'(DEPTH - SPARE)
        && (m_axis_tvalid || lately_q != '0 || (taken && s_axis_tlast));
    if (rst) begin
      lately_q <= '0;
      wait_q   <= 1'b0;
    end
  end

  // ------------------------------------------------------------------------------------------------- description
  logic ended_q, nobody_q, cut_q;
  logic tuple_valid, hash_valid, key_idle, hash_idle, list_idle, list_ready;
  logic [TUPLE_W-1:0] tuple;
  logic [31:0] hash;
  unit_tx_t [3:0] user_q;  // beside the pipeline of the hash

  rpu_flow_key #(
      .DATA_W(DATA_W)
  ) u_key (
      .clk,
      .rst,
      .s_taken(taken),
      .s_data (s_axis_tdata),
      .s_keep (s_axis_tkeep),
      .s_last (s_axis_tlast),
      .s_kept (!store_dropped),
      .m_valid(tuple_valid),
      .m_tuple(tuple),
      .idle   (key_idle)
  );

  rpu_toeplitz u_hash (
      .clk,
      .rst,
      .key,
      .s_valid(tuple_valid),
      .s_tuple(tuple),
      .m_valid(hash_valid),
      .m_hash (hash),
      .idle   (hash_idle)
  );

  always_ff @(posedge clk) begin
    if (taken) begin
      begun_q  <= !s_axis_tlast;
      closed_q <= closed;
    end
    ended_q  <= taken && s_axis_tlast;
    nobody_q <= nobody;
    cut_q    <= s_cut;
    user_q   <= {user_q[2:0], s_axis_tuser};
    if (rst) begin
      begun_q <= 1'b0;
      ended_q <= 1'b0;
    end
  end

  // As many as there are packets in the store: each has a beat at least, and two are at its output.
  packet_t found;
  assign found = '{
          vf: user_q[3].to_unit ? '0 : user_q[3].port[7:3],
          source: 2'(PORT),
          direct: user_q[3].to_unit,
          unit: UNIT_W'(user_q[3].port),
          hash: hash
      };

  stream_fifo #(
      .WIDTH($bits(packet_t)),
      .DEPTH(DEPTH + 4)
  ) u_list (
      .clk,
      .rst,
      .s_valid(hash_valid),
      .s_ready(list_ready),
      .s_data (found),
      .m_valid(packet_valid),
      .m_ready(packet_ready),
      .m_data (packet),
      .count  (),
      .idle   (list_idle)
  );

  // What a unit's reset has cut off is among the unit's errors.
  assign dropped = ended_q && store_dropped && !nobody_q && !(cut_q && PORT == 32'(PORT_LOOPBACK));
  assign refused = ended_q && store_dropped && nobody_q;
  assign idle    = store_idle && key_idle && hash_idle && list_idle && !begun_q;

`ifndef SYNTHESIS
  logic checks;
  first_reset u_first_reset (.clk, .rst, .checks);

  always_ff @(posedge clk) begin
    if (checks) assert (!hash_valid || list_ready) else $error("%m: more packets than the store can hold");
  end
`else
  wire unused = &{1'b0, list_ready};
`endif

endmodule
