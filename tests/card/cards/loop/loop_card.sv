// SPDX-License-Identifier: Apache-2.0
// The harness's own test card: ports 0 and 1 wired to each other through one register, copies of port 0 at port 2.
// Latency: 1 cycle. Never waits for tx_tready. Its registers slow it down, break it in ways that the harness must
// notice, and issue bursts on the host memory port.
//
//   0x00 count      counts the clock; may be written
//   0x04 pace       rx_tready is high in one of so many cycles (0: in none)
//   0x08 trouble    1: never idle, 2: a hole in tx_tkeep, 4: tx_tvalid without patience, 8: $fatal, 16: no tx_tlast;
//                   on m_axi: 32: wlast a beat early, 64: a strobe outside the address, 128: addresses and 256: data
//                   without patience; 512: $stop, 1024: $finish, 2048: a failed assertion;
//                   upper half: packets lost that port 2 reports with every frame
//   0x10 address    of host memory, 64 bits        0x18 stride
//   0x1c shape      length, size << 8, burst << 12, filled << 15, count << 16, id_mask << 24
//   0x20 go         1: read, 2: write
//   0x24 done       bursts that ended
//   0x28 function   of bursts
//   0x2c interrupt  function, vector << 16
//   0x30 core       cycles of the core's work, awake << 16
//   0x34 doorbell   of the core: byte to write, core << 8
//   0x40 results    16: ID << 8 | response, in order of completion
//   0x80 sums       16: of the words that burst ID read
//   0x80000 far     32 bits
//   0xf00           accepted and never answered; others: refused
module loop_card
  import headrace_pkg::*;
  import loop_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned MEM_W = 64,
    localparam int unsigned PORTS = 3
) (
    input  logic                               clk,
    input  logic                               rst,
    input  logic [         63:0]               time_ns,
    input  logic [    PORTS-1:0]               rx_tvalid,
    output logic [    PORTS-1:0]               rx_tready,
    input  logic [    PORTS-1:0][  DATA_W-1:0] rx_tdata,
    input  logic [    PORTS-1:0][DATA_W/8-1:0] rx_tkeep,
    input  logic [    PORTS-1:0]               rx_tlast,
    input  rx_meta_t [PORTS-1:0]               rx_tuser,
    output logic [    PORTS-1:0]               tx_tvalid,
    input  logic [    PORTS-1:0]               tx_tready,
    output logic [    PORTS-1:0][  DATA_W-1:0] tx_tdata,
    output logic [    PORTS-1:0][DATA_W/8-1:0] tx_tkeep,
    output logic [    PORTS-1:0]               tx_tlast,
    output user_t [PORTS-1:0]                  tx_tuser,
    input  logic [         19:0]               s_axil_awaddr,
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
    input  logic [         19:0]               s_axil_araddr,
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
    output logic                               console_tx_valid,
    input  logic                               console_tx_ready,
    output logic [          7:0]               console_tx_data,
    output logic [          7:0]               console_tx_core,
    input  logic                               console_rx_valid,
    output logic                               console_rx_ready,
    input  logic [          7:0]               console_rx_data,
    input  logic [          7:0]               console_rx_core,
    output logic                               idle
);

  // Registers

  logic [31:0] count_q, pace_q, trouble_q, stride_q, shape_q, interrupt_q, far_q;
  logic [15:0] function_q, doorbell_q;
  logic [16:0] core_q;
  logic rung_q;
  logic [63:0] address_q;
  logic [1:0] go_q;
  logic [7:0] done;
  logic [15:0][15:0] results;
  logic [15:0][31:0] sums;

  assign s_axil_awready = s_axil_awvalid && s_axil_wvalid && !s_axil_bvalid;
  assign s_axil_wready  = s_axil_awready;
  assign s_axil_arready = !s_axil_rvalid;

  always_ff @(posedge clk) begin
    count_q <= count_q + 1'b1;
    go_q <= '0;
    rung_q <= 1'b0;
    if (s_axil_bready) s_axil_bvalid <= 1'b0;
    if (s_axil_rready) s_axil_rvalid <= 1'b0;
    if (s_axil_awready) begin
      s_axil_bvalid <= s_axil_awaddr != 20'hf00;
      s_axil_bresp  <= 2'b00;
      case (s_axil_awaddr)
        20'h00: count_q <= s_axil_wdata;
        20'h04: pace_q <= s_axil_wdata;
        20'h08: trouble_q <= s_axil_wdata;
        20'h10: address_q[31:0] <= s_axil_wdata;
        20'h14: address_q[63:32] <= s_axil_wdata;
        20'h18: stride_q <= s_axil_wdata;
        20'h1c: shape_q <= s_axil_wdata;
        20'h20: go_q <= s_axil_wdata[1:0];
        20'h28: function_q <= s_axil_wdata[15:0];
        20'h2c: interrupt_q <= s_axil_wdata;
        20'h30: core_q <= s_axil_wdata[16:0];
        20'h34: {rung_q, doorbell_q} <= {1'b1, s_axil_wdata[15:0]};
        20'h80000: far_q <= s_axil_wdata;
        default: s_axil_bresp <= 2'b10;
      endcase
      if (s_axil_awaddr == 20'h08) begin
        if (s_axil_wdata[3]) begin
          $display("trouble is near");
          $fatal(1, "trouble was asked for");
        end
        if (s_axil_wdata[9]) $stop;
        if (s_axil_wdata[10]) $finish;
        assert (!s_axil_wdata[11]);
      end
    end
    if (s_axil_arvalid && s_axil_arready) begin
      s_axil_rvalid <= s_axil_araddr != 20'hf00;
      s_axil_rresp  <= 2'b00;
      if (s_axil_araddr == 20'h00) s_axil_rdata <= count_q;
      else if (s_axil_araddr == 20'h80000) s_axil_rdata <= far_q;
      else if (s_axil_araddr == 20'h24) s_axil_rdata <= 32'(done);
      else if (s_axil_araddr >= 20'h40 && s_axil_araddr < 20'h80) s_axil_rdata <= 32'(results[s_axil_araddr[5:2]]);
      else if (s_axil_araddr >= 20'h80 && s_axil_araddr < 20'hc0) s_axil_rdata <= sums[s_axil_araddr[5:2]];
      else s_axil_rresp <= 2'b10;
    end
    if (rst) begin
      s_axil_bvalid <= 1'b0;
      s_axil_rvalid <= 1'b0;
      count_q <= '0;
      pace_q <= 32'd1;
      trouble_q <= '0;
      go_q <= '0;
      function_q <= '0;
      core_q <= '0;
      rung_q <= 1'b0;
      interrupt_q <= {16'd7, 16'd3};
    end
  end

  // Packets: 0 -> 1, 1 -> 0, 0 -> 2

  localparam int unsigned FROM[PORTS] = '{1, 0, 0};

  logic [31:0] turn_q;
  logic [PORTS-1:0] inside_q, valid_q;
  logic [PORTS-1:0][63:0] arrival_q;
  logic [PORTS-1:0][DATA_W/8-1:0] keep_q;

  wire ready = turn_q == 0 && pace_q != 0;
  always_ff @(posedge clk) begin
    turn_q <= turn_q + 1'b1 >= pace_q ? '0 : turn_q + 1'b1;
    if (rst) turn_q <= '0;
  end

  assign rx_tready = {PORTS{ready}};
  assign tx_tvalid = trouble_q[2] ? valid_q & {PORTS{!count_q[0]}} : valid_q;
  always_comb begin
    tx_tkeep = keep_q;
    if (trouble_q[1]) tx_tkeep[1][0] = 1'b0;
  end

  for (genvar p = 0; p < PORTS; ++p) begin : gen_port
    wire take = rx_tvalid[FROM[p]] && ready;

    user_t user;
    always_comb begin
      user = '0;
      user.meta.timestamp_ns = inside_q[p] ? arrival_q[p] : time_ns;
      user.meta.cut = rx_tuser[FROM[p]].cut;
      user.meta.wire_len = rx_tuser[FROM[p]].wire_len;
      user.meta.error = rx_tuser[FROM[p]].error;
      user.meta.port = 8'(FROM[p]);
      user.meta.lost = p == 2 ? 32'(trouble_q[31:16]) : '0;
      // All frames are chosen by the first bit, whole; by the second those that came in at an even time, and 20 bytes.
      user.chosen = {!user.meta.timestamp_ns[0], 1'b1};
      user.length = {32'd20, 32'h1_0000};
    end

    always_ff @(posedge clk) begin
      if (tx_tready[p] || !trouble_q[2]) valid_q[p] <= take;
      if (take) begin
        tx_tdata[p] <= rx_tdata[FROM[p]];
        keep_q[p]   <= rx_tkeep[FROM[p]];
        tx_tlast[p] <= rx_tlast[FROM[p]] && !trouble_q[4];
        tx_tuser[p] <= user;
        inside_q[p] <= !rx_tlast[FROM[p]];
        if (!inside_q[p]) arrival_q[p] <= time_ns;
      end
      if (rst) begin
        valid_q[p]  <= 1'b0;
        inside_q[p] <= 1'b0;
      end
    end
  end

  // Host memory

  logic dma_idle;
  loop_dma #(
      .MEM_W(MEM_W)
  ) u_dma (
      .clk,
      .rst,
      .address(address_q),
      .stride(stride_q),
      .length(shape_q[7:0]),
      .size(shape_q[10:8]),
      .burst(shape_q[13:12]),
      .filled(shape_q[15]),
      .count(shape_q[23:16]),
      .id_mask(shape_q[31:24]),
      .pcie_function(function_q),
      .early_last(trouble_q[5]),
      .wide_strobe(trouble_q[6]),
      .offer_address(!trouble_q[7] || count_q[0]),
      .offer_data(!trouble_q[8] || count_q[0]),
      .go_read(go_q[0]),
      .go_write(go_q[1]),
      .done,
      .results,
      .sums,
      .m_axi_awid,
      .m_axi_awaddr,
      .m_axi_awlen,
      .m_axi_awsize,
      .m_axi_awburst,
      .m_axi_awuser,
      .m_axi_awvalid,
      .m_axi_awready,
      .m_axi_wdata,
      .m_axi_wstrb,
      .m_axi_wlast,
      .m_axi_wvalid,
      .m_axi_wready,
      .m_axi_bid,
      .m_axi_bresp,
      .m_axi_bvalid,
      .m_axi_bready,
      .m_axi_arid,
      .m_axi_araddr,
      .m_axi_arlen,
      .m_axi_arsize,
      .m_axi_arburst,
      .m_axi_aruser,
      .m_axi_arvalid,
      .m_axi_arready,
      .m_axi_rid,
      .m_axi_rdata,
      .m_axi_rresp,
      .m_axi_rlast,
      .m_axi_rvalid,
      .m_axi_rready,
      .irq_valid,
      .irq_ready,
      .idle(dma_idle)
  );
  assign irq_function = interrupt_q[15:0];
  assign irq_vector = interrupt_q[31:16];

  // The core

  logic core_idle;
  loop_core u_core (
      .clk,
      .rst,
      .awake(core_q[16]),
      .work(core_q[15:0]),
      .packet(rx_tvalid[0] && rx_tready[0] && rx_tlast[0]),
      .doorbell(rung_q),
      .value(doorbell_q[7:0]),
      .core(doorbell_q[15:8]),
      .console_tx_valid,
      .console_tx_ready,
      .console_tx_data,
      .console_tx_core,
      .console_rx_valid,
      .console_rx_ready,
      .console_rx_data,
      .console_rx_core,
      .idle(core_idle)
  );

  assign idle = !(|valid_q) && !(|inside_q) && dma_idle && core_idle && go_q == 0 && !rung_q && !trouble_q[0];

endmodule
