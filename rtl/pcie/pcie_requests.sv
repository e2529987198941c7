// SPDX-License-Identifier: Apache-2.0
// Joins reads and writes into one stream of requests, in turn and whole ones only. Both have their credits, so that
// neither holds up the other.
// Latency: 1 cycle. Throughput: 1 beat a cycle. Backpressure: one cycle after m_ready.
module pcie_requests
  import pcie_pkg::*;
#(
    parameter int unsigned DATA_W = 512
) (
    input  logic              clk,
    input  logic              rst,

    input  logic              read_valid,
    output logic              read_ready,
    input  request_t          read_header,

    input  logic              write_valid,
    output logic              write_ready,
    input  request_t          write_header,
    input  logic [DATA_W-1:0] write_data,
    input  logic              write_last,

    output logic              m_valid,
    input  logic              m_ready,
    output request_t          m_header,
    output logic [DATA_W-1:0] m_data,
    output logic              m_last,

    output logic              idle
);

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "pcie_requests: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end

  logic within_q, turn_q, room;  // amid a write; writes are next
  wire write = write_valid && (within_q || turn_q || !read_valid);
  assign write_ready = room && write;
  assign read_ready  = room && !write && !within_q;

  always_ff @(posedge clk) begin
    if (write_ready) within_q <= !write_last;
    if (write_ready && write_last) turn_q <= 1'b0;
    if (read_valid && read_ready) turn_q <= 1'b1;
    if (rst) begin
      within_q <= 1'b0;
      turn_q   <= 1'b0;
    end
  end

  stream_reg #(
      .WIDTH($bits(request_t) + DATA_W + 1)
  ) u_out (
      .clk,
      .rst,
      .s_valid(write || (read_valid && !within_q)),
      .s_ready(room),
      .s_data ({write ? write_header : read_header, write_data, !write || write_last}),
      .m_valid,
      .m_ready,
      .m_data ({m_header, m_data, m_last}),
      .idle
  );

endmodule
