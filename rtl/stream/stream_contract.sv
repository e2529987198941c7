// SPDX-License-Identifier: Apache-2.0
// What every AXI-Stream between parts keeps to, asserted in each simulation: an offer stays as it is until it is taken;
// tkeep has no holes; every beat but a frame's last is full. Watches only: nothing of it is left in synthesis.
// A MAC that doesn't wait takes back what is not taken at once: with STAYS 0 an offer may go or change.
module stream_contract #(
    parameter int unsigned DATA_W = 64,
    parameter bit          STAYS = 1'b1,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    // Synthesis sees no use of them.
    // verilator lint_off UNUSEDSIGNAL
    input logic              clk,
    input logic              rst,
    input logic              tvalid,
    input logic              tready,
    input logic [DATA_W-1:0] tdata,
    input logic [KEEP_W-1:0] tkeep,
    input logic              tlast
    // verilator lint_on UNUSEDSIGNAL
);

  if (DATA_W < 8 || DATA_W % 8 != 0) begin : gen_bad_data_w
    $fatal(1, "stream_contract: DATA_W must be a multiple of 8, not %0d", DATA_W);
  end

`ifndef SYNTHESIS
  logic checks;
  first_reset u_first_reset (.clk, .rst, .checks);

  logic [DATA_W+KEEP_W:0] offer_q;
  logic waits_q;

  always_ff @(posedge clk) begin
    waits_q <= STAYS && tvalid && !tready && !rst;
    if ((STAYS && tvalid && !tready) || waits_q) begin
      automatic logic [DATA_W+KEEP_W:0] offer = {tlast, tkeep, tdata};
      if (!waits_q) offer_q <= offer;
      else if (checks) assert (tvalid && offer == offer_q) else $error("an offered beat went or changed");
    end
    if (checks && tvalid) begin
      assert ((tkeep & (tkeep + 1'b1)) == '0) else $error("tkeep has a hole");
      assert (tlast || &tkeep) else $error("a beat within a frame is not full");
    end
  end
`endif

endmodule
