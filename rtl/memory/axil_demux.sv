// Splits an AXI4-Lite bus between two register blocks: addresses below BOUNDARY go to the first, the others to the second,
// which sees them without BOUNDARY. One write and one read are under way at a time.
// Latency: 1 cycle to the block, none back.
module axil_demux #(
    parameter int unsigned ADDR_W = 16,
    parameter logic [ADDR_W-1:0] BOUNDARY = 16'h8000
) (
    input  logic                   clk,
    input  logic                   rst,

    input  logic [ADDR_W-1:0]      s_axil_awaddr,
    input  logic [2:0]             s_axil_awprot,
    input  logic                   s_axil_awvalid,
    output logic                   s_axil_awready,
    input  logic [31:0]            s_axil_wdata,
    input  logic [3:0]             s_axil_wstrb,
    input  logic                   s_axil_wvalid,
    output logic                   s_axil_wready,
    output logic [1:0]             s_axil_bresp,
    output logic                   s_axil_bvalid,
    input  logic                   s_axil_bready,
    input  logic [ADDR_W-1:0]      s_axil_araddr,
    input  logic [2:0]             s_axil_arprot,
    input  logic                   s_axil_arvalid,
    output logic                   s_axil_arready,
    output logic [31:0]            s_axil_rdata,
    output logic [1:0]             s_axil_rresp,
    output logic                   s_axil_rvalid,
    input  logic                   s_axil_rready,

    output logic [ADDR_W-1:0]      m_axil_awaddr,
    output logic [2:0]             m_axil_awprot,
    output logic [1:0]             m_axil_awvalid,
    input  logic [1:0]             m_axil_awready,
    output logic [31:0]            m_axil_wdata,
    output logic [3:0]             m_axil_wstrb,
    output logic [1:0]             m_axil_wvalid,
    input  logic [1:0]             m_axil_wready,
    input  logic [1:0][1:0]        m_axil_bresp,
    input  logic [1:0]             m_axil_bvalid,
    output logic [1:0]             m_axil_bready,
    output logic [ADDR_W-1:0]      m_axil_araddr,
    output logic [2:0]             m_axil_arprot,
    output logic [1:0]             m_axil_arvalid,
    input  logic [1:0]             m_axil_arready,
    input  logic [1:0][31:0]       m_axil_rdata,
    input  logic [1:0][1:0]        m_axil_rresp,
    input  logic [1:0]             m_axil_rvalid,
    output logic [1:0]             m_axil_rready,

    output logic                   idle
);

  // A write: its address is taken, then its data may pass, then comes the answer.
  logic write_q, write_to_q;
  logic data_q;  // the data have passed: what is offered now belongs to the next write
  wire write_done = s_axil_bvalid && s_axil_bready;
  assign s_axil_awready = !write_q;
  assign s_axil_wready  = write_q && !data_q && m_axil_wready[write_to_q];
  assign m_axil_wdata   = s_axil_wdata;
  assign m_axil_wstrb   = s_axil_wstrb;
  assign m_axil_wvalid  = {write_to_q, !write_to_q} & {2{write_q && !data_q && s_axil_wvalid}};
  assign s_axil_bvalid  = write_q && m_axil_bvalid[write_to_q];
  assign s_axil_bresp   = m_axil_bresp[write_to_q];
  assign m_axil_bready  = {write_to_q, !write_to_q} & {2{write_q && s_axil_bready}};

  logic read_q, read_to_q;
  wire read_done = s_axil_rvalid && s_axil_rready;
  assign s_axil_arready = !read_q;
  assign s_axil_rvalid  = read_q && m_axil_rvalid[read_to_q];
  assign s_axil_rdata   = m_axil_rdata[read_to_q];
  assign s_axil_rresp   = m_axil_rresp[read_to_q];
  assign m_axil_rready  = {read_to_q, !read_to_q} & {2{read_q && s_axil_rready}};

  function automatic logic [ADDR_W-1:0] local_address(logic [ADDR_W-1:0] address);
    return address < BOUNDARY ? address : address - BOUNDARY;
  endfunction

  always_ff @(posedge clk) begin
    m_axil_awvalid <= m_axil_awvalid & ~m_axil_awready;
    if (write_done) write_q <= 1'b0;
    data_q <= write_q && (data_q || (s_axil_wvalid && s_axil_wready));
    if (s_axil_awvalid && s_axil_awready) begin
      write_q        <= 1'b1;
      write_to_q     <= s_axil_awaddr >= BOUNDARY;
      m_axil_awaddr  <= local_address(s_axil_awaddr);
      m_axil_awprot  <= s_axil_awprot;
      m_axil_awvalid <= s_axil_awaddr >= BOUNDARY ? 2'b10 : 2'b01;
    end
    m_axil_arvalid <= m_axil_arvalid & ~m_axil_arready;
    if (read_done) read_q <= 1'b0;
    if (s_axil_arvalid && s_axil_arready) begin
      read_q         <= 1'b1;
      read_to_q      <= s_axil_araddr >= BOUNDARY;
      m_axil_araddr  <= local_address(s_axil_araddr);
      m_axil_arprot  <= s_axil_arprot;
      m_axil_arvalid <= s_axil_araddr >= BOUNDARY ? 2'b10 : 2'b01;
    end
    if (rst) begin
      write_q        <= 1'b0;
      read_q         <= 1'b0;
      m_axil_awvalid <= '0;
      m_axil_arvalid <= '0;
    end
  end

  assign idle = !write_q && !read_q && !s_axil_awvalid && !s_axil_wvalid && !s_axil_arvalid;

endmodule
