// The harness's own test card: ports 0 and 1 wired to each other through one register, copies of port 0 at port 2.
// Latency: 1 cycle. Never waits for tx_tready; rx_tready is high in one of READY_EVERY cycles.
module loop_card
  import headrace_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned READY_EVERY = 1,
    localparam int unsigned PORTS = 3,
    localparam int unsigned MEM_W = 64
) (
    input  logic                               clk,
    input  logic                               rst,
    input  logic [         63:0]               time_ns,
    input  logic [    PORTS-1:0]               rx_tvalid,
    output logic [    PORTS-1:0]               rx_tready,
    input  logic [    PORTS-1:0][  DATA_W-1:0] rx_tdata,
    input  logic [    PORTS-1:0][DATA_W/8-1:0] rx_tkeep,
    input  logic [    PORTS-1:0]               rx_tlast,
    input  logic [    PORTS-1:0][        32:0] rx_tuser,
    output logic [    PORTS-1:0]               tx_tvalid,
    input  logic [    PORTS-1:0]               tx_tready,
    output logic [    PORTS-1:0][  DATA_W-1:0] tx_tdata,
    output logic [    PORTS-1:0][DATA_W/8-1:0] tx_tkeep,
    output logic [    PORTS-1:0]               tx_tlast,
    output tx_meta_t [PORTS-1:0]               tx_tuser,
    input  logic [         15:0]               s_axil_awaddr,
    input  logic [          2:0]               s_axil_awprot,
    input  logic                               s_axil_awvalid,
    output logic                               s_axil_awready,
    input  logic [         31:0]               s_axil_wdata,
    input  logic [          3:0]               s_axil_wstrb,
    input  logic                               s_axil_wvalid,
    output logic                               s_axil_wready,
    output logic [          1:0]               s_axil_bresp,
    output logic                               s_axil_bvalid,
    input  logic                               s_axil_bready,
    input  logic [         15:0]               s_axil_araddr,
    input  logic [          2:0]               s_axil_arprot,
    input  logic                               s_axil_arvalid,
    output logic                               s_axil_arready,
    output logic [         31:0]               s_axil_rdata,
    output logic [          1:0]               s_axil_rresp,
    output logic                               s_axil_rvalid,
    input  logic                               s_axil_rready,
    output logic [          7:0]               m_axi_awid,
    output logic [         63:0]               m_axi_awaddr,
    output logic [          7:0]               m_axi_awlen,
    output logic [          2:0]               m_axi_awsize,
    output logic [          1:0]               m_axi_awburst,
    output logic [         15:0]               m_axi_awuser,
    output logic                               m_axi_awvalid,
    input  logic                               m_axi_awready,
    output logic [    MEM_W-1:0]               m_axi_wdata,
    output logic [  MEM_W/8-1:0]               m_axi_wstrb,
    output logic                               m_axi_wlast,
    output logic                               m_axi_wvalid,
    input  logic                               m_axi_wready,
    input  logic [          7:0]               m_axi_bid,
    input  logic [          1:0]               m_axi_bresp,
    input  logic                               m_axi_bvalid,
    output logic                               m_axi_bready,
    output logic [          7:0]               m_axi_arid,
    output logic [         63:0]               m_axi_araddr,
    output logic [          7:0]               m_axi_arlen,
    output logic [          2:0]               m_axi_arsize,
    output logic [          1:0]               m_axi_arburst,
    output logic [         15:0]               m_axi_aruser,
    output logic                               m_axi_arvalid,
    input  logic                               m_axi_arready,
    input  logic [          7:0]               m_axi_rid,
    input  logic [    MEM_W-1:0]               m_axi_rdata,
    input  logic [          1:0]               m_axi_rresp,
    input  logic                               m_axi_rlast,
    input  logic                               m_axi_rvalid,
    output logic                               m_axi_rready,
    output logic                               irq_valid,
    input  logic                               irq_ready,
    output logic [         15:0]               irq_function,
    output logic [         15:0]               irq_vector,
    output logic                               idle
);

  logic [31:0] turn_q;
  wire ready = turn_q == 0;
  assign rx_tready = {PORTS{ready}};

  // 0 -> 1, 1 -> 0, 0 -> 2
  localparam int unsigned FROM[PORTS] = '{1, 0, 0};

  logic [PORTS-1:0] inside_q;
  logic [PORTS-1:0][63:0] arrival_q;

  for (genvar p = 0; p < PORTS; ++p) begin : gen_port
    wire take = rx_tvalid[FROM[p]] && ready;
    rx_meta_t rx_meta;
    assign rx_meta = rx_tuser[FROM[p]];

    tx_meta_t meta;
    always_comb begin
      meta = '0;
      meta.timestamp_ns = inside_q[p] ? arrival_q[p] : time_ns;
      meta.wire_len = rx_meta.wire_len;
      meta.error = rx_meta.error;
      meta.port = 8'(FROM[p]);
      // Program 0 accepts everything whole, program 1 what comes in at an even time and of that 20 bytes.
      meta.matched = {2'b00, !meta.timestamp_ns[0], 1'b1};
      meta.snaplen = {16'd0, 16'd0, 16'd20, 16'hffff};
    end

    always_ff @(posedge clk) begin
      tx_tvalid[p] <= take;
      if (take) begin
        tx_tdata[p] <= rx_tdata[FROM[p]];
        tx_tkeep[p] <= rx_tkeep[FROM[p]];
        tx_tlast[p] <= rx_tlast[FROM[p]];
        tx_tuser[p] <= meta;
        inside_q[p] <= !rx_tlast[FROM[p]];
        if (!inside_q[p]) arrival_q[p] <= time_ns;
      end
      if (rst) begin
        tx_tvalid[p] <= 1'b0;
        inside_q[p]  <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk) begin
    turn_q <= turn_q == READY_EVERY - 1 ? '0 : turn_q + 1'b1;
    if (rst) turn_q <= '0;
  end

  assign idle = !(|tx_tvalid) && !(|inside_q) && READY_EVERY == 1;

  // One register: it counts the clock; every other address is refused.
  logic [31:0] count_q;
  always_ff @(posedge clk) begin
    count_q <= count_q + 1'b1;
    s_axil_bvalid <= (s_axil_awvalid && s_axil_awready) || (s_axil_bvalid && !s_axil_bready);
    if (s_axil_awvalid && s_axil_awready) s_axil_bresp <= s_axil_awaddr == 0 ? 2'b00 : 2'b10;
    if (s_axil_wvalid && s_axil_wready) count_q <= s_axil_wdata;
    s_axil_rvalid <= (s_axil_arvalid && s_axil_arready) || (s_axil_rvalid && !s_axil_rready);
    if (s_axil_arvalid && s_axil_arready) begin
      s_axil_rdata <= count_q;
      s_axil_rresp <= s_axil_araddr == 0 ? 2'b00 : 2'b10;
    end
    if (rst) begin
      s_axil_bvalid <= 1'b0;
      s_axil_rvalid <= 1'b0;
    end
  end
  assign s_axil_awready = s_axil_awvalid && s_axil_wvalid && !s_axil_bvalid;
  assign s_axil_wready  = s_axil_awready;
  assign s_axil_arready = !s_axil_rvalid;

  assign m_axi_awid = '0;
  assign m_axi_awaddr = '0;
  assign m_axi_awlen = '0;
  assign m_axi_awsize = '0;
  assign m_axi_awburst = '0;
  assign m_axi_awuser = '0;
  assign m_axi_awvalid = 1'b0;
  assign m_axi_wdata = '0;
  assign m_axi_wstrb = '0;
  assign m_axi_wlast = 1'b0;
  assign m_axi_wvalid = 1'b0;
  assign m_axi_bready = 1'b0;
  assign m_axi_arid = '0;
  assign m_axi_araddr = '0;
  assign m_axi_arlen = '0;
  assign m_axi_arsize = '0;
  assign m_axi_arburst = '0;
  assign m_axi_aruser = '0;
  assign m_axi_arvalid = 1'b0;
  assign m_axi_rready = 1'b0;
  assign irq_valid = 1'b0;
  assign irq_function = '0;
  assign irq_vector = '0;

endmodule
