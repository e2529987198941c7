// SPDX-License-Identifier: Apache-2.0
// Counts the bytes of each packet of a stream; only a packet's last beat may be short, and it has no holes.
// Latency: 1 cycle from the last beat; m_bytes then stays until the next beat. Throughput: a beat a cycle. Never
// stalls.
module byte_counter
  import switch_pkg::BYTES_W;
#(
    parameter int unsigned DATA_W = 512,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic               clk,
    input  logic               rst,
    input  logic               s_valid,  // a beat has been taken
    input  logic [KEEP_W-1:0]  s_keep,
    input  logic               s_last,
    output logic               m_ended,  // a packet has
    output logic [BYTES_W-1:0] m_bytes
);

  if (DATA_W < 8 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "byte_counter: DATA_W must be a power of two from 8 on, not %0d", DATA_W);
  end

  logic [BYTES_W-1:0] before_q;  // bytes of the beats before

  logic [$clog2(KEEP_W+1)-1:0] beat_bytes;
  keep_bytes #(.KEEP_W(KEEP_W)) u_bytes (.keep(s_keep), .bytes(beat_bytes));

  always_ff @(posedge clk) begin
    m_ended <= s_valid && s_last;
    if (s_valid) begin
      before_q <= s_last ? '0 : before_q + BYTES_W'(KEEP_W);
      m_bytes  <= before_q + BYTES_W'(beat_bytes);
    end
    if (rst) begin
      m_ended  <= 1'b0;
      before_q <= '0;
    end
  end

endmodule
