// SPDX-License-Identifier: Apache-2.0
// filter_dispatch with ports that start a frame in the very cycle in which a core is offered, as the engine's do.
module filter_dispatch_driven #(
    parameter int unsigned CORES = 8,
    localparam int unsigned CORE_W = CORES > 1 ? $clog2(CORES) : 1
) (
    input  logic              clk,
    input  logic              rst,
    input  logic [CORES-1:0]  core_ready,
    input  logic [CORES-1:0]  core_listed,
    input  logic [1:0]        wanted,
    input  logic [1:0]        go,          // the port starts, with a core if one is offered
    output logic [1:0]        offered,
    output logic [CORE_W-1:0] core_0,      // offered to port 0
    output logic [CORE_W-1:0] core_1,
    output logic              idle
);

  logic [1:0][CORE_W-1:0] offered_core;
  assign {core_1, core_0} = offered_core;

  filter_dispatch #(
      .CORES(CORES)
  ) u_dispatch (
      .clk,
      .rst,
      .core_ready,
      .core_listed,
      .wanted,
      .taken(wanted & go & offered),
      .offered,
      .offered_core,
      .idle
  );

endmodule
