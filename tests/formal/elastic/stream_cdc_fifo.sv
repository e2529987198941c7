// SPDX-License-Identifier: Apache-2.0
// The crossing as the proof of stream_elastic has it in its place: it has room when it likes, and nothing comes over.
module stream_cdc_fifo #(
    parameter int unsigned WIDTH = 32,
    parameter int unsigned DEPTH = 16
) (
    input  logic             s_clk,
    input  logic             s_rst,
    input  logic             s_valid,
    output logic             s_ready,
    input  logic [WIDTH-1:0] s_data,
    input  logic             m_clk,
    input  logic             m_rst,
    output logic             m_valid,
    input  logic             m_ready,
    output logic [WIDTH-1:0] m_data,
    output logic             s_idle,
    output logic             m_idle
);

  assign s_ready = stream_elastic_proof.room;
  assign m_valid = 1'b0;
  assign m_data  = '0;
  assign s_idle  = 1'b1;
  assign m_idle  = 1'b1;

endmodule
