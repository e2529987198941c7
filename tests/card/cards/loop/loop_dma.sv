// SPDX-License-Identifier: Apache-2.0
// Issues bursts on the host memory port as the test's registers say, and notes in which order and how they end.
// A burst writes words of its ID (upper half) and beat number (lower half), or `filled` with the beat's number in each
// byte, or reads and adds up the lower halves.
module loop_dma #(
    parameter int unsigned MEM_W = 64
) (
    input  logic               clk,
    input  logic               rst,

    input  logic [63:0]        address,   // of burst 0; the others follow `stride` bytes apart
    input  logic [31:0]        stride,
    input  logic [7:0]         length,
    input  logic [2:0]         size,
    input  logic [1:0]         burst,
    input  logic               filled,
    input  logic [7:0]         count,
    input  logic [7:0]         id_mask,   // burst n has ID n & id_mask
    input  logic [15:0]        pcie_function,
    input  logic               early_last,   // what breaks the protocol
    input  logic               wide_strobe,
    input  logic               offer_address,
    input  logic               offer_data,
    input  logic               go_read,
    input  logic               go_write,
    output logic [7:0]         done,
    output logic [15:0][15:0]  results,   // in order of completion: ID, response
    output logic [15:0][31:0]  sums,      // of burst ID's data

    output logic [7:0]         m_axi_awid,
    output logic [63:0]        m_axi_awaddr,
    output logic [7:0]         m_axi_awlen,
    output logic [2:0]         m_axi_awsize,
    output logic [1:0]         m_axi_awburst,
    output logic [15:0]        m_axi_awuser,
    output logic               m_axi_awvalid,
    input  logic               m_axi_awready,
    output logic [MEM_W-1:0]   m_axi_wdata,
    output logic [MEM_W/8-1:0] m_axi_wstrb,
    output logic               m_axi_wlast,
    output logic               m_axi_wvalid,
    input  logic               m_axi_wready,
    input  logic [7:0]         m_axi_bid,
    input  logic [1:0]         m_axi_bresp,
    input  logic               m_axi_bvalid,
    output logic               m_axi_bready,
    output logic [7:0]         m_axi_arid,
    output logic [63:0]        m_axi_araddr,
    output logic [7:0]         m_axi_arlen,
    output logic [2:0]         m_axi_arsize,
    output logic [1:0]         m_axi_arburst,
    output logic [15:0]        m_axi_aruser,
    output logic               m_axi_arvalid,
    input  logic               m_axi_arready,
    input  logic [7:0]         m_axi_rid,
    input  logic [MEM_W-1:0]   m_axi_rdata,
    input  logic [1:0]         m_axi_rresp,
    input  logic               m_axi_rlast,
    input  logic               m_axi_rvalid,
    output logic               m_axi_rready,

    output logic               irq_valid,
    input  logic               irq_ready,
    output logic               idle
);

  logic [7:0] asked_q, reads_q, writes_q, data_q, beat_q;
  logic reading_q, writing_q;

  wire finish_read = m_axi_rvalid && m_axi_rlast;
  wire finish_write = m_axi_bvalid;

  always_ff @(posedge clk) begin
    if (go_read || go_write) begin
      reading_q <= go_read;
      writing_q <= go_write;
      {asked_q, data_q, beat_q, done} <= '0;
      results <= '0;
      sums <= '0;
    end
    if ((m_axi_arvalid && m_axi_arready) || (m_axi_awvalid && m_axi_awready)) asked_q <= asked_q + 1'b1;
    if (m_axi_wvalid && m_axi_wready) begin
      beat_q <= m_axi_wlast ? '0 : beat_q + 1'b1;
      if (m_axi_wlast) data_q <= data_q + 1'b1;
    end
    if (m_axi_rvalid) sums[m_axi_rid[3:0]] <= sums[m_axi_rid[3:0]] + m_axi_rdata[31:0];
    if (finish_read || finish_write) begin
      results[done[3:0]] <= finish_read ? {m_axi_rid, 6'd0, m_axi_rresp} : {m_axi_bid, 6'd0, m_axi_bresp};
      done <= done + 1'b1;
      if (done + 1'b1 == count) begin
        irq_valid <= 1'b1;
        {reading_q, writing_q} <= '0;
      end
    end
    if (irq_valid && irq_ready) irq_valid <= 1'b0;
    if (rst) begin
      {reading_q, writing_q, irq_valid} <= '0;
      done <= '0;
    end
  end

  wire [63:0] next = address + 64'(stride) * 64'(asked_q);

  assign m_axi_arvalid = reading_q && asked_q != count && offer_address;
  assign m_axi_arid = asked_q & id_mask;
  assign m_axi_araddr = next;
  assign m_axi_arlen = length;
  assign m_axi_arsize = size;
  assign m_axi_arburst = burst;
  assign m_axi_aruser = pcie_function;
  assign m_axi_rready = 1'b1;

  assign m_axi_awvalid = writing_q && asked_q != count && offer_address;
  assign m_axi_awid = asked_q & id_mask;
  assign m_axi_awaddr = next;
  assign m_axi_awlen = length;
  assign m_axi_awsize = size;
  assign m_axi_awburst = burst;
  assign m_axi_awuser = pcie_function;
  assign m_axi_wvalid = writing_q && data_q != count && offer_data;
  assign m_axi_wdata = filled ? {(MEM_W / 8) {beat_q}} : {(MEM_W / 64) {24'd0, data_q & id_mask, 24'd0, beat_q}};
  assign m_axi_wlast = beat_q == length - early_last;
  assign m_axi_bready = 1'b1;

  // The lanes of a narrow or unaligned beat.
  wire [63:0] first_address = address + 64'(stride) * 64'(data_q);
  wire [63:0] beat_address =
      beat_q == 0 || burst == 2'b00 ? first_address : ((first_address >> size) + 64'(beat_q)) << size;
  wire [31:0] low = 32'(beat_address) % (MEM_W / 8);
  wire [31:0] high = ((low >> size) + 1) << size;
  always_comb begin
    for (int unsigned lane = 0; lane < MEM_W / 8; ++lane) begin
      m_axi_wstrb[lane] = lane >= low && lane < high + 32'(wide_strobe);
    end
  end

  assign idle = !reading_q && !writing_q && !irq_valid;

endmodule
