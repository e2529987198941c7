// SPDX-License-Identifier: Apache-2.0
// Splits an AXI4-Lite bus between register blocks, each from its base address on; a block sees addresses without its
// base. Writes to one block follow each other without waiting for answers, MOST under way at a time, for hosts that
// write many words. A write to another block waits until all are answered. One read is under way at a time.
// Latency: 1 cycle to the block, none back. Throughput: 1 write a cycle with MOST of 4.
module axil_split
  import axi_pkg::*;
#(
    parameter int unsigned BLOCKS = 2,
    parameter logic [BLOCKS-1:0][31:0] BASES = {32'h8000, 32'h0},  // rising, the first one 0
    parameter int unsigned MOST = 1
) (
    input  logic                   clk,
    input  logic                   rst,
    input  axil_req_t              s_req,
    output axil_rsp_t              s_rsp,
    output axil_req_t [BLOCKS-1:0] m_req,
    input  axil_rsp_t [BLOCKS-1:0] m_rsp,
    output logic                   idle
);

  if (BLOCKS < 1) begin : gen_bad_blocks
    $fatal(1, "axil_split: BLOCKS must be at least 1, not %0d", BLOCKS);
  end
  if (MOST < 1) begin : gen_bad_most
    $fatal(1, "axil_split: MOST must be at least 1, not %0d", MOST);
  end

  typedef logic [BLOCKS-1:0] blocks_t;
  typedef logic [$clog2(MOST+1)-1:0] count_t;

  if (BASES[0] != 0) begin : gen_bad_first_base
    $fatal(1, "axil_split: BASES must begin with 0, not %0d", BASES[0]);
  end
  for (genvar i = 1; i < BLOCKS; i++) begin : gen_base
    if (BASES[i] <= BASES[i-1]) begin : gen_bad_bases
      $fatal(1, "axil_split: BASES must rise, not %0d", BASES[i]);
    end
  end

  // The block of an address, one-hot, and the address in it
  function automatic blocks_t block_of(logic [31:0] address);
    for (int i = 0; i < int'(BLOCKS); i++) begin
      block_of[i] = address >= BASES[i] && (i == int'(BLOCKS) - 1 || address < BASES[(i+1)%BLOCKS]);
    end
  endfunction

  function automatic logic [31:0] local_address(logic [31:0] address);
    local_address = '0;
    for (int i = 0; i < int'(BLOCKS); i++) if (address >= BASES[i]) local_address = address - BASES[i];
  endfunction

  // A write: its address is taken, then its data may pass, then comes the answer.
  count_t under_way_q, owed_q;  // writes without an answer yet; of these, those whose data haven't passed
  logic read_q;
  blocks_t write_to_q, read_to_q, awvalid_q, arvalid_q;
  logic [31:0] awaddr_q, araddr_q;
  logic [2:0] awprot_q, arprot_q;
  axil_rsp_t write_rsp, read_rsp;  // of the blocks that are spoken to

  wire blocks_t write_to = block_of(s_req.awaddr);
  wire same = under_way_q == '0 || (write_to == write_to_q && 32'(under_way_q) < MOST);

  always_comb begin
    {write_rsp, read_rsp} = 'x;  // nobody looks then
    if (under_way_q != '0) begin
      write_rsp = '0;
      for (int i = 0; i < int'(BLOCKS); i++) if (write_to_q[i]) write_rsp |= m_rsp[i];
    end
    if (read_q) begin
      read_rsp = '0;
      for (int i = 0; i < int'(BLOCKS); i++) if (read_to_q[i]) read_rsp |= m_rsp[i];
    end
  end

  always_comb begin
    for (int i = 0; i < int'(BLOCKS); i++) begin
      m_req[i] = '{
          awaddr: awaddr_q,
          awprot: awprot_q,
          awvalid: awvalid_q[i],
          wdata: s_req.wdata,
          wstrb: s_req.wstrb,
          wvalid: write_to_q[i] && owed_q != '0 && s_req.wvalid,
          bready: write_to_q[i] && under_way_q != '0 && s_req.bready,
          araddr: araddr_q,
          arprot: arprot_q,
          arvalid: arvalid_q[i],
          rready: read_to_q[i] && read_q && s_req.rready
      };
    end
  end

  assign s_rsp = '{
          awready: same && (awvalid_q == '0 || write_rsp.awready),
          wready: owed_q != '0 && write_rsp.wready,
          bresp: write_rsp.bresp,
          bvalid: under_way_q != '0 && write_rsp.bvalid,
          arready: !read_q,
          rdata: read_rsp.rdata,
          rresp: read_rsp.rresp,
          rvalid: read_q && read_rsp.rvalid
      };

  wire begins = s_req.awvalid && s_rsp.awready;
  wire passes = s_req.wvalid && s_rsp.wready;
  wire ends = s_rsp.bvalid && s_req.bready;

  always_ff @(posedge clk) begin
    for (int i = 0; i < int'(BLOCKS); i++) begin
      if (m_rsp[i].awready) awvalid_q[i] <= 1'b0;
      if (m_rsp[i].arready) arvalid_q[i] <= 1'b0;
    end
    under_way_q <= under_way_q + count_t'(begins) - count_t'(ends);
    owed_q      <= owed_q + count_t'(begins) - count_t'(passes);
    if (begins) begin
      write_to_q <= write_to;
      awvalid_q  <= write_to;
      awaddr_q   <= local_address(s_req.awaddr);
      awprot_q   <= s_req.awprot;
    end
    if (s_rsp.rvalid && s_req.rready) read_q <= 1'b0;
    if (s_req.arvalid && s_rsp.arready) begin
      read_q    <= 1'b1;
      read_to_q <= block_of(s_req.araddr);
      arvalid_q <= block_of(s_req.araddr);
      araddr_q  <= local_address(s_req.araddr);
      arprot_q  <= s_req.arprot;
    end
    if (rst) begin
      under_way_q <= '0;
      owed_q      <= '0;
      read_q      <= 1'b0;
      awvalid_q   <= '0;
      arvalid_q   <= '0;
    end
  end

  assign idle = under_way_q == '0 && !read_q && !s_req.awvalid && !s_req.wvalid && !s_req.arvalid;

`ifndef SYNTHESIS
  axil_contract u_contract (
      .clk,
      .rst,
      .req(s_req),
      .rsp(s_rsp)
  );
`endif

endmodule
