// SPDX-License-Identifier: Apache-2.0
// Between pcie_core and the Avalon-ST hard IP for PCI Express of Stratix 10, H-tile and L-tile, at 256 bits (Intel
// UG-20032): one stream of TLPs each way, headers in front. Ports are named as the IP's. Functions below PHYSICAL are
// physical ones, function PHYSICAL + N is VF N of physical function 0, whose routing ID is its by FIRST_VF + N higher.
// The IP shows how many credits are left; the limit is that and what was sent 32 cycles ago, so that what the IP has
// not counted yet is not used twice. No credits 256 cycles after the link came up mean that there is no limit (2.6.1).
// Messages are dropped.
// Latency: 4 cycles in, 2 out. Throughput: 1 beat a cycle; the header takes lanes of the data.
// Backpressure: rx_st_ready falls while 40 beats wait, as the IP may send 18 more; tx_st_valid follows 3 cycles after
// tx_st_ready.
module pcie_stratix10
  import pcie_pkg::*;
#(
    parameter int unsigned PHYSICAL = 1,
    parameter int unsigned FIRST_VF = 1,
    localparam int unsigned DATA_W = 256,
    localparam int unsigned LANES = DATA_W / 32
) (
    input  logic                clk,
    input  logic                rst,

    input  logic [DATA_W-1:0]   rx_st_data,
    // Headers say how long TLPs are.
    // verilator lint_off UNUSEDSIGNAL
    input  logic [2:0]          rx_st_empty,
    input  logic                rx_st_sop,
    // verilator lint_on UNUSEDSIGNAL
    input  logic                rx_st_eop,
    input  logic                rx_st_valid,
    output logic                rx_st_ready,
    input  logic [2:0]          rx_st_bar_range,
    input  logic                rx_st_vf_active,
    input  logic [1:0]          rx_st_func_num,
    input  logic [10:0]         rx_st_vf_num,

    output logic [DATA_W-1:0]   tx_st_data,
    output logic                tx_st_sop,
    output logic                tx_st_eop,
    output logic                tx_st_valid,
    output logic                tx_st_err,
    output logic                tx_st_vf_active,
    input  logic                tx_st_ready,

    input  logic                link_up,
    input  logic [7:0]          tx_ph_cdts,
    input  logic [11:0]         tx_pd_cdts,
    input  logic [7:0]          tx_nph_cdts,
    input  logic [1:0]          tl_cfg_func,
    input  logic [4:0]          tl_cfg_add,
    // Some registers, of which some bits matter.
    // verilator lint_off UNUSEDSIGNAL
    input  logic [31:0]         tl_cfg_ctl,
    // verilator lint_on UNUSEDSIGNAL

    output credit_limit_t       limit,
    output logic [2:0]          max_read_size,
    output logic [2:0]          max_payload,
    output logic [3:0]          msix_enabled,  // of physical functions
    output logic [3:0]          msix_masked,
    input  logic                req_valid,
    output logic                req_ready,
    input  request_t            req_header,
    input  logic [DATA_W-1:0]   req_data,
    input  logic                req_last,
    output logic                cpl_valid,
    output completion_t         cpl_header,
    output logic [DATA_W-1:0]   cpl_data,
    output logic                cpl_last,
    output logic                access_valid,
    input  logic                access_ready,
    output access_t             access_header,
    output logic [DATA_W-1:0]   access_data,
    output logic                access_last,
    input  logic                answer_valid,
    output logic                answer_ready,
    input  answer_t             answer_header,
    input  logic [DATA_W-1:0]   answer_data,
    output logic                idle
);

  if (PHYSICAL < 1 || PHYSICAL > 4) begin : gen_bad_physical
    $fatal(1, "pcie_stratix10: PHYSICAL must be 1 to 4, not %0d", PHYSICAL);
  end
  if (FIRST_VF < 1 || FIRST_VF > 255) begin : gen_bad_first_vf
    $fatal(1, "pcie_stratix10: FIRST_VF must be 1 to 255, not %0d", FIRST_VF);
  end

  // Format and type
  localparam logic [4:0] MEMORY = 5'b00000;
  localparam logic [4:0] COMPLETION = 5'b01010;
  localparam logic [1:0] MESSAGE = 2'b10;        // upper bits of the type

  // ------------------------------------------------------------------------------------------------------ link's state
  logic [7:0] bus_q;
  always_ff @(posedge clk) begin
    if (tl_cfg_add == 5'd0 && tl_cfg_func == 0) begin
      bus_q         <= tl_cfg_ctl[23:16];
      max_read_size <= tl_cfg_ctl[5:3];
      max_payload   <= tl_cfg_ctl[2:0];
    end
    if (tl_cfg_add == 5'd6) begin
      msix_enabled[tl_cfg_func] <= tl_cfg_ctl[5];
      msix_masked[tl_cfg_func]  <= tl_cfg_ctl[6];
    end
    if (rst) begin
      bus_q         <= '0;
      max_read_size <= '0;
      max_payload   <= '0;
      msix_enabled  <= '0;
      msix_masked   <= '0;
    end
  end

  function automatic logic [15:0] routing_id(logic [7:0] bus, logic [15:0] func);
    return {bus, 32'(func) < PHYSICAL ? func[7:0] : 8'(func - 16'(PHYSICAL) + 16'(FIRST_VF))};
  endfunction

  // --------------------------------------------------------------------------------------------------------- into card
  // Beside a TLP: its BAR, and its function.
  typedef struct packed {
    logic [2:0]  bar;
    logic [15:0] func;
  } beside_t;
  localparam int unsigned STORE = 64;
  localparam int unsigned COUNT_W = $clog2(STORE + 1);
  beside_t rx_beside, in_beside, m_beside;
  logic [DATA_W-1:0] in_data, m_data;
  logic in_last, in_valid, in_ready, unused_room, fifo_idle, in_idle, m_valid, m_ready, m_last;
  logic [COUNT_W-1:0] count;
  logic [127:0] m_header;
  assign rx_beside = '{
          bar: rx_st_bar_range,
          func: rx_st_vf_active ? 16'(rx_st_vf_num) + 16'(PHYSICAL) : 16'(rx_st_func_num)
      };
  always_ff @(posedge clk) rx_st_ready <= !rst && count < COUNT_W'(40);

  stream_fifo #(
      .WIDTH($bits(beside_t) + DATA_W + 1),
      .DEPTH(STORE)
  ) u_store (
      .clk,
      .rst,
      .s_valid(rx_st_valid),
      .s_ready(unused_room),
      .s_data ({rx_beside, rx_st_eop, rx_st_data}),
      .m_valid(in_valid),
      .m_ready(in_ready),
      .m_data ({in_beside, in_last, in_data}),
      .count,
      .idle   (fifo_idle)
  );
  pcie_frame_in #(
      .DATA_W(DATA_W),
      .BESIDE_W($bits(beside_t))
  ) u_in (
      .clk,
      .rst,
      .s_valid (in_valid),
      .s_ready (in_ready),
      .s_data  (in_data),
      .s_last  (in_last),
      .s_long  (in_data[29]),
      .s_dwords(in_data[30] ? {in_data[9:0] == 0, in_data[9:0]} : '0),
      .s_beside(in_beside),
      .m_valid,
      .m_ready,
      .m_header,
      .m_beside,
      .m_data,
      .m_last,
      .idle    (in_idle)
  );

  // verilator lint_off UNUSEDSIGNAL
  wire [31:0] h0 = m_header[31:0], h1 = m_header[63:32], h2 = m_header[95:64], h3 = m_header[127:96];
  // verilator lint_on UNUSEDSIGNAL
  wire completion = h0[28:24] == COMPLETION;
  wire message = h0[28:27] == MESSAGE;
  wire [10:0] length = {h0[9:0] == 0, h0[9:0]};
  assign cpl_valid    = m_valid && completion;
  assign access_valid = m_valid && !completion && !message;
  assign m_ready      = completion || message || access_ready;
  assign cpl_data     = m_data;
  assign cpl_last     = m_last;
  assign cpl_header   = '{
          tag: h2[15:8],
          status: h1[15:13],
          poisoned: h0[14],
          bytes: {h1[11:0] == 0, h1[11:0]},
          lower_addr: h2[6:0],
          dwords: h0[30] ? length : '0
      };
  assign access_data   = m_data;
  assign access_last   = m_last;
  assign access_header = '{
          kind: h0[28:24] != MEMORY ? ACCESS_OTHER : h0[30] ? ACCESS_WRITE : ACCESS_READ,
          id: '{
            func: m_beside.func,
            requester: h1[31:16],
            tag: 10'(h1[15:8]),
            traffic_class: h0[22:20],
            attributes: {h0[18], h0[13:12]}
          },
          bar: m_beside.bar,
          addr: h0[29] ? {h2, h3[31:2], 2'b00} : {32'd0, h2[31:2], 2'b00},
          dwords: length,
          first_be: h1[3:0],
          last_be: h1[7:4],
          poisoned: h0[14]
      };

  // ------------------------------------------------------------------------------------------------------- out of card
  // Requests and answers in turn, whole TLPs.
  logic within_q, turn_q, out_valid, out_ready, out_long, out_last, out_idle;
  logic [127:0] out_header;
  logic [10:0] out_dwords;
  logic [15:0] out_func;
  wire request = req_valid && (within_q || turn_q || !answer_valid);
  wire far = req_header.addr[63:32] != 0;
  wire [15:0] requester = routing_id(bus_q, req_header.func);
  assign out_valid    = request || (answer_valid && !within_q);
  assign req_ready    = out_ready && request;
  assign answer_ready = out_ready && !request && !within_q;
  assign out_last     = !request || req_last;
  assign out_func     = request ? req_header.func : answer_header.id.func;
  always_comb begin
    if (request) begin
      out_long   = far;
      out_dwords = req_header.write ? req_header.dwords : '0;
      out_header = {
        req_header.addr[31:0], far ? req_header.addr[63:32] : req_header.addr[31:0],
        requester, req_header.tag, req_header.last_be, req_header.first_be,
        1'b0, req_header.write, far, MEMORY, 14'd0, req_header.dwords[9:0]
      };
    end else begin
      out_long   = 1'b0;
      out_dwords = answer_header.dwords;
      out_header = {
        32'd0,
        answer_header.id.requester, answer_header.id.tag[7:0], 1'b0, answer_header.lower_addr,
        routing_id(bus_q, answer_header.id.func), answer_header.status, 1'b0, answer_header.bytes[11:0],
        1'b0, answer_header.dwords != 0, 1'b0, COMPLETION, 1'b0, answer_header.id.traffic_class, 1'b0,
        answer_header.id.attributes[2], 4'd0, answer_header.id.attributes[1:0], 2'd0, answer_header.dwords[9:0]
      };
    end
  end
  always_ff @(posedge clk) begin
    if (req_ready) within_q <= !req_last;
    if (req_ready && req_last) turn_q <= 1'b0;
    if (answer_valid && answer_ready) turn_q <= 1'b1;
    if (rst) begin
      within_q <= 1'b0;
      turn_q   <= 1'b0;
    end
  end

  // A beat goes out 3 cycles after one in which the IP was ready.
  logic go_q, ready_q, tx_valid, tx_first, tx_last, tx_vf;
  logic [LANES-1:0] unused_keep;
  logic [DATA_W-1:0] tx_data;
  pcie_frame_out #(
      .DATA_W(DATA_W)
  ) u_out (
      .clk,
      .rst,
      .s_valid (out_valid),
      .s_ready (out_ready),
      .s_header(out_header),
      .s_long  (out_long),
      .s_dwords(out_dwords),
      .s_beside(32'(out_func) >= PHYSICAL),
      .s_data  (request ? req_data : answer_data),
      .s_last  (out_last),
      .m_valid (tx_valid),
      .m_ready (go_q),
      .m_data  (tx_data),
      .m_keep  (unused_keep),
      .m_first (tx_first),
      .m_last  (tx_last),
      .m_beside(tx_vf),
      .idle    (out_idle)
  );
  always_ff @(posedge clk) begin
    ready_q         <= tx_st_ready;
    go_q            <= ready_q;
    tx_st_valid     <= tx_valid && go_q;
    tx_st_sop       <= tx_first;
    tx_st_eop       <= tx_last;
    tx_st_data      <= tx_data;
    tx_st_vf_active <= tx_vf;
    if (rst) begin
      ready_q     <= 1'b0;
      go_q        <= 1'b0;
      tx_st_valid <= 1'b0;
    end
  end
  assign tx_st_err = 1'b0;

  // ----------------------------------------------------------------------------------------------------------- credits
  typedef struct packed {
    logic [7:0]  ph;
    logic [11:0] pd;
    logic [7:0]  nph;
  } used_t;
  used_t used_q, earlier;
  logic [4:0] place_q;
  logic [8:0] since_q;                 // cycles since the link came up
  logic ph_infinite_q, pd_infinite_q, nph_infinite_q;
  wire sends = req_ready && req_last;
  ram_dist #(
      .WIDTH($bits(used_t)),
      .DEPTH(32)
  ) u_before (
      .clk,
      .wr_en  (1'b1),
      .wr_addr(place_q),
      .wr_data(used_q),
      .rd_addr(place_q),
      .rd_data(earlier)
  );
  always_ff @(posedge clk) begin
    place_q <= place_q + 1'b1;
    if (sends && req_header.write) begin
      used_q.ph <= used_q.ph + 1'b1;
      used_q.pd <= used_q.pd + 12'((req_header.dwords + 11'd3) >> 2);
    end
    if (sends && !req_header.write) used_q.nph <= used_q.nph + 1'b1;
    if (link_up && !since_q[8]) since_q <= since_q + 1'b1;
    if (since_q == 9'd255) begin
      ph_infinite_q  <= tx_ph_cdts == 0;
      pd_infinite_q  <= tx_pd_cdts == 0;
      nph_infinite_q <= tx_nph_cdts == 0;
    end
    // Until the store of what was sent is filled, that is nothing.
    limit.ph  <= tx_ph_cdts + (since_q[8] ? earlier.ph : '0);
    limit.pd  <= tx_pd_cdts + (since_q[8] ? earlier.pd : '0);
    limit.nph <= tx_nph_cdts + (since_q[8] ? earlier.nph : '0);
    limit.ph_infinite  <= ph_infinite_q;
    limit.pd_infinite  <= pd_infinite_q;
    limit.nph_infinite <= nph_infinite_q;
    if (rst) begin
      place_q        <= '0;
      used_q         <= '0;
      since_q        <= '0;
      ph_infinite_q  <= 1'b0;
      pd_infinite_q  <= 1'b0;
      nph_infinite_q <= 1'b0;
      limit          <= '0;
    end
  end

  assign idle = fifo_idle && in_idle && out_idle && !tx_st_valid;

`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst && rx_st_valid) assert (unused_room) else $error("%m: a beat that was not allowed");
`endif

  wire unused = &{1'b0, unused_room, unused_keep};

endmodule
