// SPDX-License-Identifier: Apache-2.0
// Function-level resets of UltraScale+'s integrated block (AMD PG213), whose ports these are: a function that the block
// says is in reset is asked for once, and the block is told when that is done. Function 0 is physical function 0,
// function N the block's function FIRST_VF + N - 1, a virtual one, of which the first is its function 4.
// Between two resets a function is out of it for as long as all are looked at once, some FUNCTIONS cycles.
// Latency: FUNCTIONS + 1 cycles to a request, 1 back.
module pcie_ultrascale_reset #(
    parameter int unsigned FUNCTIONS = 17,
    parameter int unsigned FIRST_VF = 4
) (
    input  logic         clk,
    input  logic         rst,

    // Of physical functions the first one, of virtual ones those that there are.
    // verilator lint_off UNUSEDSIGNAL
    input  logic [3:0]   cfg_flr_in_process,
    input  logic [251:0] cfg_vf_flr_in_process,
    // verilator lint_on UNUSEDSIGNAL
    output logic [3:0]   cfg_flr_done,
    output logic [7:0]   cfg_vf_flr_func_num,
    output logic         cfg_vf_flr_done,

    output logic         flr_valid,
    input  logic         flr_ready,
    output logic [15:0]  flr_func,
    input  logic         flr_done,
    input  logic [15:0]  flr_done_func
);

  localparam int unsigned PHYSICAL = 4;
  localparam int unsigned FUNC_W = FUNCTIONS > 1 ? $clog2(FUNCTIONS) : 1;

  if (FIRST_VF < PHYSICAL || FIRST_VF > 255) begin : gen_bad_first_vf
    $fatal(1, "pcie_ultrascale_reset: FIRST_VF must be 4 to 255, not %0d", FIRST_VF);
  end
  if (FUNCTIONS < 2 || FUNCTIONS + FIRST_VF > 257) begin : gen_bad_functions
    $fatal(1, "pcie_ultrascale_reset: FUNCTIONS must be 2 to %0d, not %0d", 257 - FIRST_VF, FUNCTIONS);
  end

  // One function after the other is looked at.
  logic [FUNCTIONS-1:0] asked_q;
  logic [FUNC_W-1:0] func_q;
  wire [FUNCTIONS-1:0] in_process = {cfg_vf_flr_in_process[FIRST_VF-PHYSICAL+:FUNCTIONS-1], cfg_flr_in_process[0]};

  always_ff @(posedge clk) begin
    if (flr_ready) flr_valid <= 1'b0;
    if (!flr_valid) begin
      func_q          <= 32'(func_q) == FUNCTIONS - 1 ? '0 : func_q + 1'b1;
      flr_func        <= 16'(func_q);
      flr_valid       <= in_process[func_q] && !asked_q[func_q];
      asked_q[func_q] <= in_process[func_q];
    end
    cfg_flr_done        <= {3'd0, flr_done && flr_done_func == '0};
    cfg_vf_flr_done     <= flr_done && flr_done_func != '0;
    cfg_vf_flr_func_num <= 8'(flr_done_func + 16'(FIRST_VF - 1));
    if (rst) begin
      flr_valid       <= 1'b0;
      func_q          <= '0;
      asked_q         <= '0;
      cfg_flr_done    <= '0;
      cfg_vf_flr_done <= 1'b0;
    end
  end

endmodule
