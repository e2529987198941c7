// SPDX-License-Identifier: Apache-2.0
// The FIFO as the proof of packet_store has it in its place: it counts what it holds, and offers it when it likes.
module stream_fifo #(
    parameter int unsigned WIDTH = 32,
    parameter int unsigned DEPTH = 32,
    localparam int unsigned COUNT_W = $clog2(DEPTH + 1)
) (
    input  logic               clk,
    input  logic               rst,
    input  logic               s_valid,
    output logic               s_ready,
    input  logic [WIDTH-1:0]   s_data,
    output logic               m_valid,
    input  logic               m_ready,
    output logic [WIDTH-1:0]   m_data,
    output logic [COUNT_W-1:0] count,
    output logic               idle
);

  logic [COUNT_W-1:0] count_q;

  always_ff @(posedge clk) begin
    count_q <= count_q + COUNT_W'(s_valid && s_ready) - COUNT_W'(m_valid && m_ready);
    if (rst) count_q <= '0;
  end

  assign s_ready = count_q != COUNT_W'(DEPTH);
  assign m_valid = count_q != '0 && packet_store_proof.offers;
  assign m_data  = '0;
  assign count   = count_q;
  assign idle    = count_q == '0;

endmodule
