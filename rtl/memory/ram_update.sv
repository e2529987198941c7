// SPDX-License-Identifier: Apache-2.0
// Read-modify-write RAM. An operation reads a word, has it changed, and writes what it was changed to if it is a write.
// It sees what all writes before it wrote, also when they come in consecutive cycles. What a word has before the first
// write is not defined.
// Latency: STEPS cycles to the change, one more to the result. Throughput: an operation a cycle. Backpressure: none.
//
//  step    0      1              2        3       4
//  STEPS
//      1   read   change         write
//      2   read   choose         change   write
//      3   read   word is kept   choose   change  write
//
// What the STEPS + 1 operations before one write is not in the word that it reads. Their results are chosen in its
// place, but for that of the last one, which is there at the change only.
module ram_update #(
    parameter int unsigned WIDTH = 64,
    parameter int unsigned DEPTH = 512,
    parameter int unsigned TAG_W = 1,
    parameter int unsigned STEPS = 2,
    localparam int unsigned ADDR_W = DEPTH > 1 ? $clog2(DEPTH) : 1
) (
    input  logic              clk,
    input  logic              rst,
    input  logic              valid,
    input  logic              write,
    input  logic [ADDR_W-1:0] addr,
    input  logic [TAG_W-1:0]  tag,           // comes out with the old word
    output logic              change_valid,
    output logic [TAG_W-1:0]  change_tag,
    output logic [WIDTH-1:0]  old,
    input  logic [WIDTH-1:0]  changed,       // follows old and change_tag within the cycle
    output logic [WIDTH-1:0]  result,        // what was changed in the cycle before:
    output logic              read_valid,    // by an operation that is no write
    output logic              wr_en,         // by a write, which now writes it
    output logic [ADDR_W-1:0] wr_addr,
    output logic              idle
);

  if (STEPS < 1 || STEPS > 3) begin : gen_bad_steps
    $fatal(1, "ram_update: STEPS must be 1 to 3, not %0d", STEPS);
  end
  if (TAG_W < 1) begin : gen_bad_tag_w
    $fatal(1, "ram_update: TAG_W must be at least 1, not %0d", TAG_W);
  end

  logic [STEPS+2:1] valid_q;
  logic [STEPS+1:1] writes_q;
  logic [STEPS+1:1][ADDR_W-1:0] addr_q;
  logic [STEPS:1][TAG_W-1:0] tag_q;
  logic [STEPS+1:1] follows;  // a write of the same word began so many cycles before
  logic [STEPS:1][STEPS+1:1] follows_q;
  logic [WIDTH-1:0] word, result_q, before_q;

  ram_fit #(
      .WIDTH(WIDTH),
      .DEPTH(DEPTH)
  ) u_ram (
      .clk,
      .wr_en,
      .wr_addr,
      .wr_data(result),
      .rd_en  (valid),
      .rd_addr(addr),
      .rd_data(word)
  );

  always_comb for (int unsigned i = 1; i <= STEPS + 1; i++) follows[i] = writes_q[i] && addr_q[i] == addr;

  always_ff @(posedge clk) begin
    if (valid || valid_q != '0) begin
      valid_q   <= {valid_q[STEPS+1:1], valid};
      writes_q  <= {writes_q[STEPS:1], valid && write};
      addr_q    <= {addr_q[STEPS:1], addr};
      tag_q     <= (STEPS * TAG_W)'({tag_q, tag});
      follows_q <= (STEPS * (STEPS + 1))'({follows_q, follows});
    end
    if (valid_q[STEPS+1]) before_q <= result_q;
    if (valid_q[STEPS]) result_q <= changed;
    if (rst) begin
      valid_q  <= '0;
      writes_q <= '0;
    end
  end

  if (STEPS < 2) begin : gen_straight
    always_comb begin
      old = word;
      if (follows_q[1][2]) old = before_q;
      if (follows_q[1][1]) old = result_q;
    end
  end else begin : gen_choose
    logic [WIDTH-1:0] kept, chosen_q;
    if (STEPS == 2) begin : gen_word
      assign kept = word;
    end else begin : gen_kept
      logic [WIDTH-1:0] word_q, earlier_q;
      always_ff @(posedge clk) begin
        if (valid_q[STEPS+2]) earlier_q <= before_q;
        if (valid_q[1]) word_q <= word;
      end
      assign kept = follows_q[STEPS-1][STEPS+1] ? earlier_q : word_q;
    end
    always_ff @(posedge clk) begin
      if (valid_q[STEPS-1]) begin
        chosen_q <= kept;
        if (follows_q[STEPS-1][3]) chosen_q <= before_q;
        if (follows_q[STEPS-1][2]) chosen_q <= result_q;
      end
    end
    assign old = follows_q[STEPS][1] ? result_q : chosen_q;
  end

  assign change_valid = valid_q[STEPS];
  assign change_tag   = tag_q[STEPS];
  assign result       = result_q;
  assign wr_en        = writes_q[STEPS+1];
  assign wr_addr      = addr_q[STEPS+1];
  assign read_valid   = valid_q[STEPS+1] && !wr_en;
  assign idle         = valid_q[STEPS+1:1] == '0;

endmodule
