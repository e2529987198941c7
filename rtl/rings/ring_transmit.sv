// SPDX-License-Identifier: Apache-2.0
// From the buffers of a ring to the host port: reads the packets that descriptors name, in order. A descriptor is done
// when its packet has come in. What host memory answers with an error goes out cut; a descriptor that names no packet
// (no bytes, or more than 65,535) is skipped.
// Latency: 4 cycles and the bus's from a descriptor to the packet. Throughput: 1 beat a cycle.
// Backpressure: nothing more is read than there is room for; m_axis may stall for any time.
module ring_transmit
  import axi_pkg::*, ring_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,
    input  logic              on,
    input  ring_t             ring,
    output logic              active,
    output logic [31:0]       done,
    output ring_event_t       happened,
    output logic              busy,           // host memory is or may be accessed

    output logic              m_axis_tvalid,
    input  logic              m_axis_tready,
    output logic [DATA_W-1:0] m_axis_tdata,
    output logic [KEEP_W-1:0] m_axis_tkeep,
    output logic              m_axis_tlast,
    output logic              m_axis_cut,

    output axi_req_t [1:0]    axi_req,        // descriptors, packets
    // verilator lint_off UNUSEDSIGNAL
    input  axi_rsp_t [1:0]    axi_rsp,        // reads alone, without their IDs
    // verilator lint_on UNUSEDSIGNAL
    input  logic [DATA_W-1:0] axi_rdata,
    output logic              idle
);

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "ring_transmit: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end

  localparam int unsigned COMMANDS = 32;
  localparam int unsigned COUNT_W = $clog2(COMMANDS + 1);

  logic active_q, fetch_idle, reader_idle, descriptor_valid, descriptor_ready;
  descriptor_t descriptor;
  logic [COUNT_W-1:0] flying_q;    // packets that have not come in
  wire begin_now = on && !active_q && fetch_idle && flying_q == '0;
  assign active = active_q;
  always_ff @(posedge clk) begin
    active_q <= on && (active_q || begin_now);
    if (rst) active_q <= 1'b0;
  end
  ring_fetch #(
      .MEM_W(DATA_W)
  ) u_fetch (
      .clk,
      .rst,
      .active       (active_q),
      .ring,
      .m_axi_araddr (axi_req[0].araddr),
      .m_axi_arvalid(axi_req[0].arvalid),
      .m_axi_arready(axi_rsp[0].arready),
      .m_axi_rdata  (axi_rdata),
      .m_axi_rresp  (axi_rsp[0].rresp),
      .m_axi_rvalid (axi_rsp[0].rvalid),
      .m_axi_rready (axi_req[0].rready),
      .m_valid      (descriptor_valid),
      .m_ready      (descriptor_ready),
      .m_descriptor (descriptor),
      .idle         (fetch_idle)
  );

  logic cmd_ready, arrived, arrived_error;
  wire wrong = descriptor.failed || descriptor.bytes == 0 || descriptor.bytes[31:16] != 0;
  wire room = flying_q < COUNT_W'(COMMANDS);
  wire start = descriptor_valid && !wrong && room && cmd_ready;
  wire skip = descriptor_valid && wrong && flying_q == '0;
  assign descriptor_ready = start || skip;

  axi_reader #(
      .MEM_W(DATA_W),
      .BUFFER(4 * 4096 / KEEP_W),
      .COMMANDS(COMMANDS)
  ) u_reader (
      .clk,
      .rst,
      .cmd_valid     (descriptor_valid && !wrong && room),
      .cmd_ready,
      .cmd_addr      (descriptor.addr),
      .cmd_bytes     (descriptor.bytes[15:0]),
      .cmd_direct    (1'b0),
      .m_axi_araddr  (axi_req[1].araddr),
      .m_axi_arlen   (axi_req[1].arlen),
      .m_axi_arsize  (axi_req[1].arsize),
      .m_axi_arburst (axi_req[1].arburst),
      .m_axi_arvalid (axi_req[1].arvalid),
      .m_axi_arready (axi_rsp[1].arready),
      .m_axi_rdata   (axi_rdata),
      .m_axi_rresp   (axi_rsp[1].rresp),
      .m_axi_rlast   (axi_rsp[1].rlast),
      .m_axi_rvalid  (axi_rsp[1].rvalid),
      .m_axi_rready  (axi_req[1].rready),
      .direct_valid  (),
      .direct_data   (),
      .arrived,
      .arrived_direct(),
      .arrived_error,
      .m_axis_tvalid,
      .m_axis_tready,
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_tuser  (m_axis_cut),
      .idle          (reader_idle)
  );

  // No writes
  always_comb begin
    {axi_req[0].arid, axi_req[0].arlen, axi_req[0].aruser} = '0;
    axi_req[0].arsize  = 3'($clog2(KEEP_W));
    axi_req[0].arburst = 2'b01;
    {axi_req[1].arid, axi_req[1].aruser} = '0;
    for (int i = 0; i < 2; i++) begin
      {axi_req[i].awid, axi_req[i].awaddr, axi_req[i].awlen, axi_req[i].awsize, axi_req[i].awburst} = '0;
      {axi_req[i].awuser, axi_req[i].awvalid, axi_req[i].wlast, axi_req[i].wvalid} = '0;
      axi_req[i].bready = 1'b1;
    end
  end

  always_ff @(posedge clk) begin
    flying_q <= flying_q + COUNT_W'(start) - COUNT_W'(arrived);
    done     <= begin_now ? '0 : done + 32'(arrived) + 32'(skip);
    happened <= '{
        packet: arrived && !arrived_error,
        failed: (arrived && arrived_error) || skip,
        too_long: 1'b0,
        dropped: 1'b0
    };
    if (rst) begin
      flying_q <= '0;
      done     <= '0;
      happened <= '0;
    end
  end

  assign busy = active_q || !fetch_idle || flying_q != '0;
  assign idle = fetch_idle && reader_idle && flying_q == '0 && !descriptor_valid && happened == '0;

endmodule
