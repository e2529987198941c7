// SPDX-License-Identifier: Apache-2.0
// Function-level resets of Stratix 10's hard IP, H-tile (Intel 683111, 6.1.10), whose ports these are: each that the IP
// begins is asked for once, and the IP is told when it is over. Functions below PHYSICAL are physical ones: the IP has
// a bit set until it hears of the end, within 100 ms. Function PHYSICAL + N is VF N of physical function 0: the IP says
// its number in one cycle, and waits for it. Functions that the card doesn't have are not answered.
// Latency: up to FUNCTIONS + 1 cycles to a request, 1 back.
module pcie_stratix10_reset #(
    parameter int unsigned FUNCTIONS = 17,
    parameter int unsigned PHYSICAL = 1
) (
    input  logic                clk,
    input  logic                rst,

    input  logic [PHYSICAL-1:0] flr_pf_active,
    output logic [PHYSICAL-1:0] flr_pf_done,
    input  logic                flr_rcvd_vf,
    input  logic [1:0]          flr_rcvd_pf_num,
    input  logic [10:0]         flr_rcvd_vf_num,
    output logic                flr_completed_vf,
    output logic [1:0]          flr_completed_pf_num,
    output logic [10:0]         flr_completed_vf_num,

    output logic                flr_valid,
    input  logic                flr_ready,
    output logic [15:0]         flr_func,
    input  logic                flr_done,
    input  logic [15:0]         flr_done_func
);

  localparam int unsigned FUNC_W = FUNCTIONS > 1 ? $clog2(FUNCTIONS) : 1;

  if (PHYSICAL < 1 || PHYSICAL > 4) begin : gen_bad_physical
    $fatal(1, "pcie_stratix10_reset: PHYSICAL must be 1 to 4, not %0d", PHYSICAL);
  end
  if (FUNCTIONS < PHYSICAL || FUNCTIONS > 2048) begin : gen_bad_functions
    $fatal(1, "pcie_stratix10_reset: FUNCTIONS must be %0d to 2048, not %0d", PHYSICAL, FUNCTIONS);
  end

  logic [PHYSICAL-1:0] active_q;
  logic [FUNCTIONS-1:0] begins, due_q;    // due: not asked for yet
  logic [FUNC_W-1:0] func_q;              // one after the other is looked at

  always_comb begin
    for (int i = 0; i < FUNCTIONS; i++) begin
      begins[i] = flr_rcvd_vf && flr_rcvd_pf_num == 0 && 32'(flr_rcvd_vf_num) + PHYSICAL == i;
    end
    begins[PHYSICAL-1:0] = flr_pf_active & ~active_q;
  end

  always_ff @(posedge clk) begin
    active_q <= flr_pf_active;
    due_q    <= due_q | begins;
    if (flr_ready) flr_valid <= 1'b0;
    if (!flr_valid) begin
      func_q    <= 32'(func_q) == FUNCTIONS - 1 ? '0 : func_q + 1'b1;
      flr_func  <= 16'(func_q);
      flr_valid <= due_q[func_q];
      if (!begins[func_q]) due_q[func_q] <= 1'b0;
    end
    for (int i = 0; i < PHYSICAL; i++) flr_pf_done[i] <= flr_done && 32'(flr_done_func) == i;
    flr_completed_vf     <= flr_done && 32'(flr_done_func) >= PHYSICAL;
    flr_completed_vf_num <= 11'(flr_done_func - 16'(PHYSICAL));
    if (rst) begin
      active_q         <= '0;
      due_q            <= '0;
      func_q           <= '0;
      flr_valid        <= 1'b0;
      flr_pf_done      <= '0;
      flr_completed_vf <= 1'b0;
    end
  end

  assign flr_completed_pf_num = '0;

endmodule
