// SPDX-License-Identifier: Apache-2.0
module stream_queue_proof #(
    parameter int unsigned WIDTH = 2,
    parameter int unsigned DEPTH = 4,
    localparam int unsigned ADDR_W = $clog2(DEPTH)
) (
    input logic             clk,
    input logic             rst,
    input logic             mark,
    input logic             s_valid,
    input logic [WIDTH-1:0] s_data,
    input logic             m_ready
);

  logic valid, s_ready, m_valid, followed, fresh_q, idle;
  logic [WIDTH-1:0] m_data, value;
  logic [$clog2(DEPTH+2)-1:0] count, place;

  proof_reset u_reset (.clk, .rst, .valid);
  stream_queue #(.WIDTH(WIDTH), .DEPTH(DEPTH)) dut (.*);
  proof_stable #(.WIDTH(WIDTH)) u_stable (.clk, .rst, .valid(m_valid && valid), .ready(m_ready), .data(m_data));
  proof_follow #(.WIDTH(WIDTH), .MAX(DEPTH)) u_follow (
      .clk, .rst, .valid, .mark, .push(s_valid && s_ready), .push_data(s_data), .pop(m_valid && m_ready),
          .pop_data(m_data),
      .count, .followed, .place, .value
  );

  always_ff @(posedge clk) fresh_q <= rst;

  wire [ADDR_W:0] stored = dut.wr_q - dut.rd_q;
  wire [ADDR_W-1:0] memory_place = dut.rd_q[ADDR_W-1:0] + ADDR_W'(place);

  always_comb begin
    if (valid) begin
      // One cycle of latency, and room for DEPTH words.
      assert (m_valid == (count != 0));
      assert (s_ready == (32'(count) < DEPTH && !fresh_q));

      assert (idle == (count == 0));

      assert (32'(stored) == 32'(count));
      if (followed) assert (dut.u_ram.mem[memory_place] == value);
    end
  end

endmodule
