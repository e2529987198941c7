// SPDX-License-Identifier: Apache-2.0
// What comes in by an Ethernet port: whole packets wait here for their turn; bad ones, those that find no room, and
// those of a closed port are dropped. A port that holds keeps its link off instead while there is no room.
// Latency: 3 cycles from the last beat. Throughput: a beat a cycle.
// Backpressure: s_axis_tready comes from a register: always high without hold, low while the store is full with it.
module ingress_port
  import switch_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned STORE_KB = 16,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,
    input  logic              receiving,
    input  logic              hold,
    input  logic              s_axis_tvalid,
    output logic              s_axis_tready,
    input  logic [DATA_W-1:0] s_axis_tdata,
    input  logic [KEEP_W-1:0] s_axis_tkeep,
    input  logic              s_axis_tlast,
    input  logic              s_error,       // with the last beat
    output logic              m_axis_tvalid,
    input  logic              m_axis_tready,
    output logic [DATA_W-1:0] m_axis_tdata,
    output logic [KEEP_W-1:0] m_axis_tkeep,
    output logic              m_axis_tlast,
    output received_t         received,
    output logic              idle
);

  if (STORE_KB < 1 || STORE_KB > 1024 || 2 ** $clog2(STORE_KB) != STORE_KB) begin : gen_bad_store_kb
    $fatal(1, "ingress_port: STORE_KB must be a power of two from 1 to 1024, not %0d", STORE_KB);
  end

  localparam int unsigned DEPTH = STORE_KB * 1024 / KEEP_W;
  localparam int unsigned SPARE = 4;  // beats that come after the store is seen to be full
  localparam int unsigned USED_W = $clog2(DEPTH) + 1;

  logic dropped, store_idle, wait_q;
  logic [3:0] lately_q;  // a packet's last beat has come in, and is perhaps not at the output yet
  logic [USED_W-1:0] used;
  wire taken = s_axis_tvalid && s_axis_tready;

  // A packet that fills the store alone is not held off: it could never get out.
  assign s_axis_tready = !wait_q;
  always_ff @(posedge clk) begin
    lately_q <= {lately_q[2:0], taken && s_axis_tlast};
    wait_q   <= hold && used >= USED_W'(DEPTH - SPARE) && (m_axis_tvalid || lately_q != '0 || (taken && s_axis_tlast));
    if (rst) begin
      lately_q <= '0;
      wait_q   <= 1'b0;
    end
  end

  // Outputs that nobody needs here stay open.
  // verilator lint_off PINCONNECTEMPTY
  packet_fifo #(
      .DATA_W(DATA_W),
      .DEPTH (DEPTH)
  ) u_store (
      .clk,
      .rst,
      .s_axis_tvalid(taken),
      .s_axis_tready(),
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .s_axis_tuser (1'b0),
      .s_drop       (s_error || !receiving),
      .m_axis_tvalid,
      .m_axis_tready,
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_tuser (),
      .used,
      .dropped,
      .idle         (store_idle)
  );
  // verilator lint_on PINCONNECTEMPTY

  logic ended, error_q;
  logic [BYTES_W-1:0] bytes;
  byte_counter #(
      .DATA_W(DATA_W)
  ) u_bytes (
      .clk,
      .rst,
      .s_valid(taken),
      .s_keep (s_axis_tkeep),
      .s_last (s_axis_tlast),
      .m_ended(ended),
      .m_bytes(bytes)
  );

  always_ff @(posedge clk) error_q <= s_error;
  assign received = '{
          taken: ended && !error_q,
          errored: ended && error_q,
          dropped: ended && !error_q && dropped,
          bytes: bytes
      };

  assign idle = store_idle && !s_axis_tvalid && lately_q == '0 && !ended;

endmodule
