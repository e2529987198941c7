// SPDX-License-Identifier: Apache-2.0
// Joins AXI4 managers that have IDs of their own into one. A manager's IDs stay apart from the others', on reads and
// writes each by itself, so that no manager waits for another one's memory: above each comes a number of the manager's,
// as short as the width of its IDs leaves it. Addresses are taken in turn, so that none starves; write data follow in
// the order of their addresses, so that who offers an address must have the data, or get them without another's help.
// Latency: 1 cycle for write data, answers, read data, and addresses of whose turn it is; 1 more for others' addresses,
// and write data come 2 cycles after their address at the earliest. Throughput: one address each way and one beat each
// way a cycle. Backpressure: a manager that doesn't take its read data or answers holds up all others'; arready and
// awready, which say whose turn it is, do not wait for arvalid and awvalid.
module host_bus
  import axi_pkg::*;
#(
    parameter int unsigned MANAGERS = 2,
    parameter int unsigned MEM_W = 512,
    // Four bits for each manager, the first one's lowest: how wide the IDs are; 15: it has none of that kind; 8:
    // they are below 192, which leaves room for others.
    parameter bit [63:0] READ_WIDTHS = '0,
    parameter bit [63:0] WRITE_WIDTHS = '0,
    localparam int unsigned BYTES = MEM_W / 8
) (
    input  logic                           clk,
    input  logic                           rst,
    input  axi_req_t [MANAGERS-1:0]        s_req,
    input  logic [MANAGERS-1:0][MEM_W-1:0] s_wdata,
    input  logic [MANAGERS-1:0][BYTES-1:0] s_wstrb,
    output axi_rsp_t [MANAGERS-1:0]        s_rsp,
    output logic [MEM_W-1:0]               s_rdata,  // for all of them
    output axi_req_t                       m_req,
    output logic [MEM_W-1:0]               m_wdata,
    output logic [BYTES-1:0]               m_wstrb,
    input  axi_rsp_t                       m_rsp,
    input  logic [MEM_W-1:0]               m_rdata,
    output logic                           idle      // no address or data inside
);

  if (MANAGERS < 2 || MANAGERS > 16) begin : gen_bad_managers
    $fatal(1, "host_bus: MANAGERS must be 2 to 16, not %0d", MANAGERS);
  end
  if (MEM_W < 8 || MEM_W > 1024 || 2 ** $clog2(MEM_W) != MEM_W) begin : gen_bad_mem_w
    $fatal(1, "host_bus: MEM_W must be a power of two from 8 to 1024, not %0d", MEM_W);
  end

  // --------------------------------------------------------------------------------------------------------------- IDs
  localparam int unsigned NONE = 15;
  localparam int unsigned MOST = 192;  // IDs of a manager

  // Where a manager's IDs begin: the wider ones first, so that each begins at a multiple of how many it has. For the
  // manager after the last one: how many IDs there are of all.
  function automatic int unsigned base_of(bit [63:0] widths, int unsigned manager);
    base_of = 0;
    for (int unsigned i = 0; i < MANAGERS; i++) begin
      if (i != manager && widths[4*i+:4] != 4'(NONE)) begin
        if (manager == MANAGERS || widths[4*i+:4] > widths[4*manager+:4]
            || (widths[4*i+:4] == widths[4*manager+:4] && i < manager)) begin
          base_of += widths[4*i+:4] == 4'd8 ? MOST : 1 << widths[4*i+:4];
        end
      end
    end
  endfunction

  if (base_of(READ_WIDTHS, MANAGERS) > 256) begin : gen_bad_read_widths
    $fatal(1, "host_bus: READ_WIDTHS make %0d IDs, more than 256", base_of(READ_WIDTHS, MANAGERS));
  end
  if (base_of(WRITE_WIDTHS, MANAGERS) > 256) begin : gen_bad_write_widths
    $fatal(1, "host_bus: WRITE_WIDTHS make %0d IDs, more than 256", base_of(WRITE_WIDTHS, MANAGERS));
  end

  localparam int unsigned INDEX_W = $clog2(MANAGERS);
  localparam int unsigned ORDER = 64;  // bursts whose data have not come
  typedef logic [INDEX_W-1:0] index_t;
  typedef struct packed {
    logic [7:0]  id;
    logic [63:0] addr;
    logic [7:0]  len;
    logic [2:0]  size;
    logic [1:0]  burst;
    logic [15:0] user;
  } address_t;

  typedef logic [MANAGERS-1:0] set_t;
  typedef struct packed {
    logic             last;
    logic [BYTES-1:0] strobes;
    logic [MEM_W-1:0] data;
  } beat_t;

  address_t [MANAGERS-1:0] reads, writes;
  beat_t [MANAGERS-1:0] beats;
  logic [MANAGERS-1:0][7:0] read_own, write_own;
  set_t ar_valid, aw_valid, w_valid, w_lasts, r_comes, b_comes, r_takes, b_takes;
  logic [7:0] rid, bid;
  for (genvar i = 0; i < int'(MANAGERS); i++) begin : gen_manager
    localparam int unsigned READ_W = int'(READ_WIDTHS[4*i+:4]);
    localparam int unsigned WRITE_W = int'(WRITE_WIDTHS[4*i+:4]);
    localparam bit READS = READ_W != NONE;
    localparam bit WRITES = WRITE_W != NONE;
    localparam logic [7:0] READ_MASK = READS ? 8'((1 << READ_W) - 1) : '0;
    localparam logic [7:0] WRITE_MASK = WRITES ? 8'((1 << WRITE_W) - 1) : '0;
    localparam logic [7:0] READ_BASE = READS ? 8'(base_of(READ_WIDTHS, i)) : '0;
    localparam logic [7:0] WRITE_BASE = WRITES ? 8'(base_of(WRITE_WIDTHS, i)) : '0;
    assign ar_valid[i]  = s_req[i].arvalid && READS;
    assign aw_valid[i]  = s_req[i].awvalid && WRITES;
    assign w_valid[i]   = s_req[i].wvalid && WRITES;
    assign w_lasts[i]   = s_req[i].wlast;
    assign reads[i]     = READS ? '{
            id: READ_BASE | (s_req[i].arid & READ_MASK),
            addr: s_req[i].araddr,
            len: s_req[i].arlen,
            size: s_req[i].arsize,
            burst: s_req[i].arburst,
            user: s_req[i].aruser
        } : '0;
    assign writes[i]    = WRITES ? '{
            id: WRITE_BASE | (s_req[i].awid & WRITE_MASK),
            addr: s_req[i].awaddr,
            len: s_req[i].awlen,
            size: s_req[i].awsize,
            burst: s_req[i].awburst,
            user: s_req[i].awuser
        } : '0;
    assign beats[i]     = WRITES ? '{last: s_req[i].wlast, strobes: s_wstrb[i], data: s_wdata[i]} : '0;
    assign r_comes[i]   = READS && (READ_W == 8 ? m_rsp.rid < 8'(MOST) : (m_rsp.rid & ~READ_MASK) == READ_BASE);
    assign b_comes[i]   = WRITES && (WRITE_W == 8 ? m_rsp.bid < 8'(MOST) : (m_rsp.bid & ~WRITE_MASK) == WRITE_BASE);
    assign read_own[i]  = rid & READ_MASK;
    assign write_own[i] = bid & WRITE_MASK;
    assign r_takes[i]   = s_req[i].rready;
    assign b_takes[i]   = s_req[i].bready;
`ifndef SYNTHESIS
    // Wires of their own: a simulator puts a structure together for a process that reads some of it.
    wire arvalid = s_req[i].arvalid;
    wire awvalid = s_req[i].awvalid;
    wire [7:0] arid = s_req[i].arid;
    wire [7:0] awid = s_req[i].awid;
    localparam int unsigned READ_IDS = READ_W == 8 ? MOST : 1 << READ_W;
    localparam int unsigned WRITE_IDS = WRITE_W == 8 ? MOST : 1 << WRITE_W;
    always_ff @(posedge clk) begin
      if (!rst && arvalid) assert (READS && 32'(arid) < READ_IDS) else $error("%m: wrong ID");
      if (!rst && awvalid) assert (WRITES && 32'(awid) < WRITE_IDS) else $error("%m: wrong ID");
    end
`endif
  end

  // --------------------------------------------------------------------------------------------------------- addresses
  // Whose turn it is, as a number and as a bit. It moves on when that one's address is taken, or there is none, to the
  // next one that offers an address; who has the turn can't offer two at once, and is not asked.
  typedef struct packed {
    set_t   one;
    set_t   above;  // those after it
    index_t number;
  } turn_t;

  function automatic turn_t turn_of(index_t number);
    turn_of.number = number;
    for (int unsigned i = 0; i < MANAGERS; i++) begin
      turn_of.one[i]   = index_t'(i) == number;
      turn_of.above[i] = index_t'(i) > number;
    end
  endfunction

  function automatic turn_t next(set_t valid, turn_t turn);
    set_t asks, asks_above;
    asks       = valid & ~turn.one;
    asks_above = asks & turn.above;
    next       = turn;
    for (int i = int'(MANAGERS) - 1; i >= 0; i--) if (asks[i]) next = turn_of(index_t'(i));
    for (int i = int'(MANAGERS) - 1; i >= 0; i--) if (asks_above[i]) next = turn_of(index_t'(i));
  endfunction

  turn_t ar_q, aw_q;
  logic ar_ready, aw_reg_ready, aw_ready, order_ready, order_valid, w_ready, order_idle, ar_idle, aw_idle, w_idle;
  index_t w;    // whose write data come next, as a number
  set_t w_one;  // and as a bit
  address_t m_ar, m_aw;
  wire ar_offered = |(ar_valid & ar_q.one);
  wire aw_offered = |(aw_valid & aw_q.one);
  assign aw_ready = aw_reg_ready && order_ready;

  always_ff @(posedge clk) begin
    if (ar_ready || !ar_offered) ar_q <= next(ar_valid, ar_q);
    if (aw_ready || !aw_offered) aw_q <= next(aw_valid, aw_q);
    if (rst) begin
      ar_q <= turn_of('0);
      aw_q <= turn_of('0);
    end
  end

  stream_reg #(
      .WIDTH($bits(address_t))
  ) u_read (
      .clk,
      .rst,
      .s_valid(ar_offered),
      .s_ready(ar_ready),
      .s_data (reads[ar_q.number]),
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
      .s_valid(aw_offered && order_ready),
      .s_ready(aw_reg_ready),
      .s_data (writes[aw_q.number]),
      .m_valid(m_req.awvalid),
      .m_ready(m_rsp.awready),
      .m_data (m_aw),
      .idle   (aw_idle)
  );

  // -------------------------------------------------------------------------------------------------------- write data
  stream_fifo #(
      .WIDTH(MANAGERS + INDEX_W),
      .DEPTH(ORDER)
  ) u_order (
      .clk,
      .rst,
      .s_valid(aw_offered && aw_reg_ready),
      .s_ready(order_ready),
      .s_data ({aw_q.one, aw_q.number}),
      .m_valid(order_valid),
      .m_ready(|(w_one & w_valid & w_lasts) && w_ready),
      .m_data ({w_one, w}),
      .count  (),
      .idle   (order_idle)
  );
  stream_reg #(
      .WIDTH($bits(beat_t))
  ) u_data (
      .clk,
      .rst,
      .s_valid(order_valid && |(w_one & w_valid)),
      .s_ready(w_ready),
      .s_data (beats[w]),
      .m_valid(m_req.wvalid),
      .m_ready(m_rsp.wready),
      .m_data ({m_req.wlast, m_wstrb, m_wdata}),
      .idle   (w_idle)
  );

  assign m_req.arid    = m_ar.id;
  assign m_req.araddr  = m_ar.addr;
  assign m_req.arlen   = m_ar.len;
  assign m_req.arsize  = m_ar.size;
  assign m_req.arburst = m_ar.burst;
  assign m_req.aruser  = m_ar.user;
  assign m_req.awid    = m_aw.id;
  assign m_req.awaddr  = m_aw.addr;
  assign m_req.awlen   = m_aw.len;
  assign m_req.awsize  = m_aw.size;
  assign m_req.awburst = m_aw.burst;
  assign m_req.awuser  = m_aw.user;

  // --------------------------------------------------------------------------------------------- read data and answers
  logic r_valid, r_ready, r_last, r_idle, b_valid, b_ready, b_idle;
  logic [1:0] r_resp, b_resp;
  set_t r_mine, b_mine;

  stream_reg #(
      .WIDTH(MANAGERS + 8 + 2 + 1 + MEM_W)
  ) u_back (
      .clk,
      .rst,
      .s_valid(m_rsp.rvalid),
      .s_ready(m_req.rready),
      .s_data ({r_comes, m_rsp.rid, m_rsp.rresp, m_rsp.rlast, m_rdata}),
      .m_valid(r_valid),
      .m_ready(r_ready),
      .m_data ({r_mine, rid, r_resp, r_last, s_rdata}),
      .idle   (r_idle)
  );
  stream_reg #(
      .WIDTH(MANAGERS + 8 + 2)
  ) u_answer (
      .clk,
      .rst,
      .s_valid(m_rsp.bvalid),
      .s_ready(m_req.bready),
      .s_data ({b_comes, m_rsp.bid, m_rsp.bresp}),
      .m_valid(b_valid),
      .m_ready(b_ready),
      .m_data ({b_mine, bid, b_resp}),
      .idle   (b_idle)
  );
  assign r_ready = &(~r_mine | r_takes);
  assign b_ready = &(~b_mine | b_takes);

  always_comb begin
    for (int i = 0; i < int'(MANAGERS); i++) begin
      s_rsp[i].arready = ar_ready && ar_q.one[i];
      s_rsp[i].awready = aw_ready && aw_q.one[i];
      s_rsp[i].wready  = order_valid && w_one[i] && w_ready;
      s_rsp[i].rvalid  = r_valid && r_mine[i];
      s_rsp[i].rid     = read_own[i];
      s_rsp[i].rresp   = r_resp;
      s_rsp[i].rlast   = r_last;
      s_rsp[i].bvalid  = b_valid && b_mine[i];
      s_rsp[i].bid     = write_own[i];
      s_rsp[i].bresp   = b_resp;
    end
  end

  assign idle = ar_idle && aw_idle && w_idle && order_idle && r_idle && b_idle;

endmodule
