// SPDX-License-Identifier: Apache-2.0
// Joins several AXI4 managers into one: instead of IDs of its own, a manager has its number as the ID of all its
// bursts, so that each gets its answers in order. Addresses are taken in turn; write data follow in the order of their
// addresses. Read data and answers go straight to who asked.
// Latency: 1 cycle for addresses and write data, none back. Throughput: one address each way and one beat a cycle.
module axi_mux
  import axi_pkg::*;
#(
    parameter int unsigned MANAGERS = 2,
    parameter int unsigned MEM_W = 64,
    localparam int unsigned BYTES = MEM_W / 8
) (
    input  logic                           clk,
    input  logic                           rst,
    // verilator lint_off UNUSEDSIGNAL
    input  axi_req_t [MANAGERS-1:0]        s_req,    // without its IDs
    // verilator lint_on UNUSEDSIGNAL
    input  logic [MANAGERS-1:0][MEM_W-1:0] s_wdata,
    input  logic [MANAGERS-1:0][BYTES-1:0] s_wstrb,
    output axi_rsp_t [MANAGERS-1:0]        s_rsp,    // data come beside, for all of them
    output axi_req_t                       m_req,
    output logic [MEM_W-1:0]               m_wdata,
    output logic [BYTES-1:0]               m_wstrb,
    input  axi_rsp_t                       m_rsp,
    output logic                           idle      // no address or data inside
);

  if (MANAGERS < 2 || MANAGERS > 16) begin : gen_bad_managers
    $fatal(1, "axi_mux: MANAGERS must be 2 to 16, not %0d", MANAGERS);
  end
  if (MEM_W < 8 || MEM_W > 1024 || 2 ** $clog2(MEM_W) != MEM_W) begin : gen_bad_mem_w
    $fatal(1, "axi_mux: MEM_W must be a power of two from 8 to 1024, not %0d", MEM_W);
  end

  localparam int unsigned INDEX_W = $clog2(MANAGERS);
  localparam int unsigned ORDER = 64;  // bursts whose data have not come
  typedef logic [INDEX_W-1:0] index_t;
  typedef struct packed {
    index_t      id;
    logic [63:0] addr;
    logic [7:0]  len;
    logic [2:0]  size;
    logic [1:0]  burst;
    logic [15:0] user;
  } address_t;

  function automatic index_t next(logic [MANAGERS-1:0] asks, index_t last);
    next = last;
    for (int i = int'(MANAGERS) - 1; i >= 0; i--) if (asks[i]) next = index_t'(i);
    for (int i = int'(MANAGERS) - 1; i >= 0; i--) if (asks[i] && index_t'(i) > last) next = index_t'(i);
  endfunction

  // ------------------------------------------------------------------------------------------------------- addresses
  logic [MANAGERS-1:0] ar_valid, aw_valid;
  index_t ar_last_q, aw_last_q, ar, aw, w;
  logic ar_ready, aw_reg_ready, aw_ready, order_ready, w_valid, w_ready, order_idle, ar_idle, aw_idle, w_idle;
  address_t m_ar, m_aw;

  always_comb begin
    for (int i = 0; i < int'(MANAGERS); i++) begin
      ar_valid[i] = s_req[i].arvalid;
      aw_valid[i] = s_req[i].awvalid;
    end
  end
  assign ar       = next(ar_valid, ar_last_q);
  assign aw       = next(aw_valid, aw_last_q);
  assign aw_ready = aw_reg_ready && order_ready;

  always_ff @(posedge clk) begin
    if (ar_valid != '0 && ar_ready) ar_last_q <= ar;
    if (aw_valid != '0 && aw_ready) aw_last_q <= aw;
    if (rst) begin
      ar_last_q <= '0;
      aw_last_q <= '0;
    end
  end

  stream_reg #(
      .WIDTH($bits(address_t))
  ) u_read (
      .clk,
      .rst,
      .s_valid(ar_valid != '0),
      .s_ready(ar_ready),
      .s_data ({
        ar, s_req[ar].araddr, s_req[ar].arlen, s_req[ar].arsize, s_req[ar].arburst, s_req[ar].aruser
      }),
      .m_valid(m_req.arvalid),
      .m_ready(m_rsp.arready),
      .m_data (m_ar),
      .idle   (ar_idle)
  );
  stream_reg #(
      .WIDTH($bits(address_t))
  ) u_write (
      .clk,
      .rst,
      .s_valid(aw_valid != '0 && order_ready),
      .s_ready(aw_reg_ready),
      .s_data ({
        aw, s_req[aw].awaddr, s_req[aw].awlen, s_req[aw].awsize, s_req[aw].awburst, s_req[aw].awuser
      }),
      .m_valid(m_req.awvalid),
      .m_ready(m_rsp.awready),
      .m_data (m_aw),
      .idle   (aw_idle)
  );

  // ------------------------------------------------------------------------------------------------------- write data
  stream_queue #(
      .WIDTH(INDEX_W),
      .DEPTH(ORDER)
  ) u_order (
      .clk,
      .rst,
      .s_valid(aw_valid != '0 && aw_reg_ready),
      .s_ready(order_ready),
      .s_data (aw),
      .m_valid(w_valid),
      .m_ready(s_req[w].wvalid && s_req[w].wlast && w_ready),
      .m_data (w),
      .idle   (order_idle)
  );
  stream_reg #(
      .WIDTH(MEM_W + BYTES + 1)
  ) u_data (
      .clk,
      .rst,
      .s_valid(w_valid && s_req[w].wvalid),
      .s_ready(w_ready),
      .s_data ({s_req[w].wlast, s_wstrb[w], s_wdata[w]}),
      .m_valid(m_req.wvalid),
      .m_ready(m_rsp.wready),
      .m_data ({m_req.wlast, m_wstrb, m_wdata}),
      .idle   (w_idle)
  );

  assign m_req.arid    = 8'(m_ar.id);
  assign m_req.araddr  = m_ar.addr;
  assign m_req.arlen   = m_ar.len;
  assign m_req.arsize  = m_ar.size;
  assign m_req.arburst = m_ar.burst;
  assign m_req.aruser  = m_ar.user;
  assign m_req.awid    = 8'(m_aw.id);
  assign m_req.awaddr  = m_aw.addr;
  assign m_req.awlen   = m_aw.len;
  assign m_req.awsize  = m_aw.size;
  assign m_req.awburst = m_aw.burst;
  assign m_req.awuser  = m_aw.user;
  assign m_req.rready  = s_req[index_t'(m_rsp.rid)].rready;
  assign m_req.bready  = s_req[index_t'(m_rsp.bid)].bready;

  always_comb begin
    for (int i = 0; i < int'(MANAGERS); i++) begin
      s_rsp[i]         = m_rsp;
      s_rsp[i].arready = ar_ready && ar == index_t'(i) && ar_valid[i];
      s_rsp[i].awready = aw_ready && aw == index_t'(i) && aw_valid[i];
      s_rsp[i].wready  = w_valid && w == index_t'(i) && w_ready;
      s_rsp[i].rvalid  = m_rsp.rvalid && index_t'(m_rsp.rid) == index_t'(i);
      s_rsp[i].bvalid  = m_rsp.bvalid && index_t'(m_rsp.bid) == index_t'(i);
    end
  end

  assign idle = ar_idle && aw_idle && w_idle && order_idle;

endmodule
