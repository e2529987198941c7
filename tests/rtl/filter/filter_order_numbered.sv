// SPDX-License-Identifier: Apache-2.0
// filter_order for packets that are known by a number.
module filter_order_numbered
  import bpf_pkg::*;
#(
    parameter int unsigned CORES = 8,
    localparam int unsigned CORE_W = CORES > 1 ? $clog2(CORES) : 1
) (
    input  logic                   clk,
    input  logic                   rst,
    input  logic [1:0]             arrived,
    input  logic [CORE_W-1:0]      core_0,
    input  logic [CORE_W-1:0]      core_1,
    input  logic                   arrived_set,
    input  logic [63:0]            time_ns,
    input  logic [CORES-1:0]       finished_valid,
    input  logic [CORES-1:0][15:0] finished_number,
    output logic [CORES-1:0]       pop,
    input  logic                   stall,
    output logic                   out_valid,
    output logic [15:0]            out_number,
    output logic [CORE_W-1:0]      out_core,
    output logic                   out_port,
    output logic [63:0]            out_time_ns,
    output logic [SETS-1:0]        set_busy,
    output logic                   idle
);

  finished_t finished[CORES];
  finished_t out_finished;
  always_comb begin
    for (int i = 0; i < int'(CORES); i++) begin
      finished[i]         = '0;
      finished[i].pkt.len = finished_number[i];
    end
  end
  assign out_number = out_finished.pkt.len;

  filter_order #(
      .CORES(CORES)
  ) u_order (
      .clk,
      .rst,
      .arrived,
      .arrived_core({core_1, core_0}),
      .arrived_set,
      .time_ns,
      .finished_valid,
      .finished,
      .pop,
      .stall,
      .out_valid,
      .out_finished,
      .out_core,
      .out_port,
      .out_time_ns,
      .set_busy,
      .idle
  );

endmodule
