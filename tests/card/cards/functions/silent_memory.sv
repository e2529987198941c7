// SPDX-License-Identifier: Apache-2.0
// Host memory that answers nothing of the functions that are silent: what they ask for is taken, and goes nowhere.
module silent_memory
  import axi_pkg::*;
#(
    parameter int unsigned FUNCTIONS = 16,
    parameter int unsigned FIRST = 1
) (
    input  logic                      clk,
    input  logic                      rst,
    input  logic [1:0][FUNCTIONS-1:0] silent,  // to reads, to writes
    input  axi_req_t                  s_req,
    output axi_rsp_t                  s_rsp,
    output axi_req_t                  m_req,
    input  axi_rsp_t                  m_rsp
);

  localparam int unsigned ORDER = 64;  // writes whose data have not come

  // What is on offer doesn't change.
  logic [1:0][FUNCTIONS-1:0] silent_q;
  wire stays = (m_req.arvalid && !m_rsp.arready) || (m_req.awvalid && !m_rsp.awready);
  always_ff @(posedge clk) begin
    if (!stays) silent_q <= silent;
    if (rst) silent_q <= '0;
  end
  wire read_lost = silent_q[0][32'(s_req.aruser)-FIRST];
  wire write_lost = silent_q[1][32'(s_req.awuser)-FIRST];

  logic room, data_valid, data_lost;
  stream_queue #(
      .WIDTH(1),
      .DEPTH(ORDER)
  ) u_order (
      .clk,
      .rst,
      .s_valid(s_req.awvalid && s_rsp.awready),
      .s_ready(room),
      .s_data (write_lost),
      .m_valid(data_valid),
      .m_ready(s_req.wvalid && s_rsp.wready && s_req.wlast),
      .m_data (data_lost),
      .idle   ()
  );

  always_comb begin
    m_req         = s_req;
    m_req.arvalid = s_req.arvalid && !read_lost;
    m_req.awvalid = s_req.awvalid && !write_lost && room;
    m_req.wvalid  = s_req.wvalid && data_valid && !data_lost;
    s_rsp         = m_rsp;
    s_rsp.arready = m_rsp.arready || read_lost;
    s_rsp.awready = (m_rsp.awready || write_lost) && room;
    s_rsp.wready  = data_valid && (m_rsp.wready || data_lost);
  end

endmodule
