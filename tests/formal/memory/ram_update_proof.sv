// SPDX-License-Identifier: Apache-2.0
// Follows one word, whichever `mark` picks at a reset: each operation on it sees what the last write made of it,
// whatever the change and however long before.
module ram_update_proof #(
    parameter int unsigned WIDTH = 1,
    parameter int unsigned DEPTH = 3,
    parameter int unsigned STEPS = 1,
    localparam int unsigned ADDR_W = DEPTH > 1 ? $clog2(DEPTH) : 1,
    localparam int unsigned TAG_W = ADDR_W + 1
) (
    input logic              clk,
    input logic              rst,
    input logic [ADDR_W-1:0] mark,
    input logic              begins,
    input logic              write,
    input logic [ADDR_W-1:0] addr,
    input logic [WIDTH-1:0]  changed,
    input logic [WIDTH-1:0]  anything  // read from a word that is being written
);

  typedef struct packed {
    logic              write;
    logic [ADDR_W-1:0] addr;
  } op_t;

  logic valid, change_valid, read_valid, wr_en, idle;
  logic [TAG_W-1:0] change_tag;
  logic [ADDR_W-1:0] wr_addr;
  logic [WIDTH-1:0] old, result;

  proof_reset u_reset (.clk, .rst, .valid);
  ram_update #(
      .WIDTH(WIDTH),
      .DEPTH(DEPTH),
      .TAG_W(TAG_W),
      .STEPS(STEPS)
  ) dut (.*, .valid(begins), .tag({write, addr}));

  // The operations by their age, and what becomes of the word.
  logic [STEPS+1:1] valid_q;
  op_t [STEPS+1:1] op_q;
  logic [ADDR_W-1:0] watched_q;
  logic known_q;
  logic [WIDTH-1:0] value_q, changed_q;
  logic [2:0] since_q;  // cycles since the word was changed
  wire op_t now = op_q[STEPS];
  wire op_t done = op_q[STEPS+1];
  wire done_valid = valid_q[STEPS+1];
  wire sees = change_valid && now.addr == watched_q && known_q;

  always_ff @(posedge clk) begin
    valid_q   <= {valid_q[STEPS:1], begins};
    op_q      <= {op_q[STEPS:1], write, addr};
    changed_q <= changed;
    if (since_q != '1) since_q <= since_q + 1'b1;
    if (valid_q[STEPS] && now.write && now.addr == watched_q) begin
      value_q <= changed;
      known_q <= 1'b1;
      since_q <= 3'd1;
    end
    if (rst) begin
      watched_q <= mark;
      known_q   <= 1'b0;
      since_q   <= '1;
      valid_q   <= '0;
    end
  end

  logic [WIDTH-1:0] in_ram;
  assign in_ram = dut.u_ram.mem[watched_q];

  always_comb begin
    assume (32'(mark) < DEPTH && 32'(addr) < DEPTH);
    if (valid) begin
      if (sees) assert (old == value_q);

      assert (change_valid == valid_q[STEPS]);
      if (change_valid) assert (change_tag == now);
      if (done_valid) assert (result == changed_q);
      assert (read_valid == (done_valid && !done.write));
      assert (wr_en == (done_valid && done.write));
      if (wr_en) assert (wr_addr == done.addr);
      assert (idle == (valid_q == '0));

      assert ((dut.writes_q & ~dut.valid_q[STEPS+1:1]) == '0);
      assert (32'(watched_q) < DEPTH);
      if (known_q) assert ((wr_en && wr_addr == watched_q ? result : in_ram) == value_q);

      cover (read_valid && done.addr == watched_q && known_q);
      cover (idle && known_q);
    end
  end

  for (genvar i = 1; i <= STEPS + 2; i++) begin : gen_since
    always_comb if (valid) cover (sees && 32'(since_q) == i);
  end

endmodule
