// SPDX-License-Identifier: Apache-2.0
// Sends whole frames into the network on chip: each one's key is looked up in the IDP table, and the frame leaves with
// the header that this gives, or is taken and dropped when no entry matches.
// A frame is looked up only when its header can be offered at once: so what was routed by an old entry is offered to
// the network 4 cycles after the entry was written at the latest, however long it waits to be taken there (see noc.sv,
// epoch).
// Latency: 2 cycles from a frame's first beat to its header. Throughput: 1 beat a cycle, header included, and 2 cycles
// a frame.
// Backpressure: s_axis_tready is m_axis_tready once the header is out, high for a frame without an entry, otherwise
// low.
module noc_route
  import bridge_pkg::*;
#(
    parameter int unsigned DATA_W = 64,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,
    input  table_write_t      table_write,
    input  noc_address_t      here,

    input  logic              s_axis_tvalid,
    output logic              s_axis_tready,
    input  logic [DATA_W-1:0] s_axis_tdata,
    input  logic [KEEP_W-1:0] s_axis_tkeep,
    input  logic              s_axis_tlast,
    input  logic [31:0]       s_key,         // valid with the first beat
    output noc_header_t       entry,         // what the table gives for this key, ...
    input  noc_header_t       header,        // ... and what is made of it

    output logic              m_axis_tvalid,
    input  logic              m_axis_tready,
    output logic [DATA_W-1:0] m_axis_tdata,
    output logic [KEEP_W-1:0] m_axis_tkeep,
    output logic              m_axis_tlast,

    output logic              unknown,       // a frame is dropped
    output logic              sent           // a frame is sent
);

  typedef enum logic [1:0] {
    ASK,
    LOOK_UP,
    SEND
  } state_t;

  state_t state_q;
  logic known, hit, last, pack_valid, pack_ready;

  assign known = state_q == SEND;
  assign last  = s_axis_tvalid && s_axis_tready && s_axis_tlast;

  logic unused_result_valid;
  idp_table u_table (
      .clk,
      .rst,
      .write       (table_write),
      .here,
      .key_valid   (s_axis_tvalid && state_q == ASK),
      .key         (s_key),
      .result_valid(unused_result_valid),
      .hit,
      .header      (entry)
  );

  always_ff @(posedge clk) begin
    case (state_q)
      ASK:     if (s_axis_tvalid) state_q <= LOOK_UP;
      LOOK_UP: state_q <= SEND;
      default: if (last) state_q <= ASK;
    endcase
    if (rst) state_q <= ASK;
  end

  assign pack_valid    = s_axis_tvalid && known && hit;
  assign s_axis_tready = known && (pack_ready || !hit);
  assign unknown       = last && !hit;
  assign sent          = last && hit;

  noc_pack #(
      .DATA_W(DATA_W)
  ) u_pack (
      .clk,
      .rst,
      .s_axis_tvalid(pack_valid),
      .s_axis_tready(pack_ready),
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .s_header     (header),
      .m_axis_tvalid,
      .m_axis_tready,
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast
  );

`ifndef SYNTHESIS
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
