// SPDX-License-Identifier: Apache-2.0
// Takes packets from the network on chip apart: the payload goes on as a frame, with the header beside it.
// A packet without a payload is malformed: it is dropped and `malformed` is high for one cycle. Of a payload of more
// than MAX_PACKET bytes only the first beats go on, as many as MAX_PACKET bytes take, the last of them with m_too_long:
// whoever takes them drops the frame then, and counts it.
// Latency: none: the beats of the payload pass straight through. Throughput: 1 beat a cycle, header beats included.
// Backpressure: s_axis_tready is m_axis_tready, high within headers and where a packet is cut off.
module noc_unpack
  import bridge_pkg::*;
#(
    parameter int unsigned DATA_W = 64,
    parameter int unsigned MAX_PACKET = 1514,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,

    input  logic              s_axis_tvalid,
    output logic              s_axis_tready,
    input  logic [DATA_W-1:0] s_axis_tdata,
    input  logic [KEEP_W-1:0] s_axis_tkeep,
    input  logic              s_axis_tlast,

    output logic              m_axis_tvalid,
    input  logic              m_axis_tready,
    output logic [DATA_W-1:0] m_axis_tdata,
    output logic [KEEP_W-1:0] m_axis_tkeep,
    output logic              m_axis_tlast,
    output logic              m_too_long,  // valid with the last beat
    output noc_header_t       m_header,    // valid with every beat

    output logic              malformed,
    output logic              idle         // between packets
);

  if (DATA_W < 32 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "noc_unpack: DATA_W must be 32, 64, 128, 256 or 512, not %0d", DATA_W);
  end
  if (MAX_PACKET < 1 || MAX_PACKET > 65535) begin : gen_bad_max_packet
    $fatal(1, "noc_unpack: MAX_PACKET must be 1 to 65535, not %0d", MAX_PACKET);
  end

  localparam int unsigned HEADER_BEATS = (80 + DATA_W - 1) / DATA_W;
  localparam int unsigned MAX_BEATS = (MAX_PACKET + KEEP_W - 1) / KEEP_W;
  localparam int unsigned BEAT_W = MAX_BEATS > 1 ? $clog2(MAX_BEATS) : 1;
  // Lanes of beat MAX_BEATS that are too many
  localparam logic [KEEP_W-1:0] TOO_MANY = MAX_PACKET % KEEP_W == 0 ? '0 : '1 << (MAX_PACKET % KEEP_W);

  typedef enum logic [1:0] {
    HEADER,
    PAYLOAD,
    REST     // of a payload that is too long
  } state_t;

  state_t state_q;
  logic [1:0] header_beat_q;
  logic [BEAT_W-1:0] beat_q;
  logic first_q;
  logic [HEADER_BEATS*DATA_W-1:0] header_q;
  logic empty, limit, last, take;

  assign empty         = first_q && s_axis_tlast && !s_axis_tkeep[0];
  assign limit         = beat_q == BEAT_W'(MAX_BEATS - 1);
  assign last          = s_axis_tlast || limit;
  assign take          = s_axis_tvalid && s_axis_tready;
  assign s_axis_tready = state_q != PAYLOAD || m_axis_tready || empty;

  assign m_axis_tvalid = s_axis_tvalid && state_q == PAYLOAD && !empty;
  assign m_axis_tdata  = s_axis_tdata;
  assign m_axis_tkeep  = s_axis_tkeep;
  assign m_axis_tlast  = last;
  assign m_too_long    = limit && (!s_axis_tlast || (s_axis_tkeep & TOO_MANY) != '0);
  assign m_header      = noc_header(header_q[79:0]);
  assign malformed     = take && s_axis_tlast && (state_q == HEADER || (state_q == PAYLOAD && empty));
  assign idle          = state_q == HEADER && header_beat_q == '0;

  always_ff @(posedge clk) begin
    if (take) begin
      case (state_q)
        HEADER: begin
          for (int unsigned i = 0; i < HEADER_BEATS; i++) begin
            if (header_beat_q == 2'(i)) header_q[i*DATA_W+:DATA_W] <= s_axis_tdata;
          end
          beat_q        <= '0;
          first_q       <= 1'b1;
          header_beat_q <= header_beat_q + 1'b1;
          if (header_beat_q == 2'(HEADER_BEATS - 1)) begin
            header_beat_q <= '0;
            state_q       <= PAYLOAD;
          end
        end
        PAYLOAD: begin
          beat_q  <= beat_q + 1'b1;
          first_q <= 1'b0;
          if (limit && !s_axis_tlast) state_q <= REST;
        end
        default: ;
      endcase
      if (s_axis_tlast) begin
        header_beat_q <= '0;
        state_q       <= HEADER;
      end
    end
    if (rst) begin
      header_beat_q <= '0;
      state_q       <= HEADER;
    end
  end

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
