// SPDX-License-Identifier: Apache-2.0
// Between pcie_core and the integrated block for PCI Express of UltraScale+ (AMD PG213): its requester and completer
// interfaces, in DWORD-aligned mode, without straddling, with tags of the client's, and without parity. Ports are named
// as the block's. Function 0 is the block's physical function 0, function N its function FIRST_VF + N - 1.
// The block holds up posted requests without credits itself; non-posted ones wait for the credit limit that it shows
// with cfg_fc_sel = 5. A limit of 0 256 cycles after the link came up means that there is none (2.6.1 of the
// specification).
// A completion that the block reports with an error counts as poisoned.
// Latency: 1 cycle each way. Throughput: 1 beat a cycle; the descriptor takes lanes of the data.
module pcie_ultrascale
  import pcie_pkg::*;
#(
    parameter int unsigned DATA_W = 256,
    parameter int unsigned FIRST_VF = 4,
    localparam int unsigned LANES = DATA_W / 32,
    localparam int unsigned RQ_USER_W = DATA_W == 512 ? 137 : 62,
    localparam int unsigned RC_USER_W = DATA_W == 512 ? 161 : 75,
    localparam int unsigned CQ_USER_W = DATA_W == 512 ? 183 : 88,
    localparam int unsigned CC_USER_W = DATA_W == 512 ? 81 : 33
) (
    input  logic                 clk,
    input  logic                 rst,

    output logic [DATA_W-1:0]    m_axis_rq_tdata,
    output logic [LANES-1:0]     m_axis_rq_tkeep,
    output logic [RQ_USER_W-1:0] m_axis_rq_tuser,
    output logic                 m_axis_rq_tlast,
    output logic                 m_axis_rq_tvalid,
    input  logic                 m_axis_rq_tready,

    input  logic [DATA_W-1:0]    s_axis_rc_tdata,
    // The descriptors say how long TLPs are, and of tuser only the byte enables of a request count.
    // verilator lint_off UNUSEDSIGNAL
    input  logic [LANES-1:0]     s_axis_rc_tkeep,
    input  logic [RC_USER_W-1:0] s_axis_rc_tuser,
    input  logic [LANES-1:0]     s_axis_cq_tkeep,
    input  logic [CQ_USER_W-1:0] s_axis_cq_tuser,
    // verilator lint_on UNUSEDSIGNAL
    input  logic                 s_axis_rc_tlast,
    input  logic                 s_axis_rc_tvalid,
    output logic                 s_axis_rc_tready,

    input  logic [DATA_W-1:0]    s_axis_cq_tdata,
    input  logic                 s_axis_cq_tlast,
    input  logic                 s_axis_cq_tvalid,
    output logic                 s_axis_cq_tready,

    output logic [DATA_W-1:0]    m_axis_cc_tdata,
    output logic [LANES-1:0]     m_axis_cc_tkeep,
    output logic [CC_USER_W-1:0] m_axis_cc_tuser,
    output logic                 m_axis_cc_tlast,
    output logic                 m_axis_cc_tvalid,
    input  logic                 m_axis_cc_tready,

    input  logic                 user_lnk_up,
    input  logic [1:0]           cfg_max_payload,
    input  logic [2:0]           cfg_max_read_req,
    input  logic [7:0]           cfg_fc_nph,
    output logic [2:0]           cfg_fc_sel,

    output credit_limit_t        limit,
    output logic [2:0]           max_read_size,
    output logic [2:0]           max_payload,
    input  logic                 req_valid,
    output logic                 req_ready,
    input  request_t             req_header,
    input  logic [DATA_W-1:0]    req_data,
    input  logic                 req_last,
    output logic                 cpl_valid,
    output completion_t          cpl_header,
    output logic [DATA_W-1:0]    cpl_data,
    output logic                 cpl_last,
    output logic                 access_valid,
    input  logic                 access_ready,
    output access_t              access_header,
    output logic [DATA_W-1:0]    access_data,
    output logic                 access_last,
    input  logic                 answer_valid,
    output logic                 answer_ready,
    input  answer_t              answer_header,
    input  logic [DATA_W-1:0]    answer_data,
    output logic                 idle
);

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "pcie_ultrascale: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (FIRST_VF < 1 || FIRST_VF > 255) begin : gen_bad_first_vf
    $fatal(1, "pcie_ultrascale: FIRST_VF must be 1 to 255, not %0d", FIRST_VF);
  end

  // Request types of the descriptors
  localparam logic [3:0] MEMORY_READ = 4'h0;
  localparam logic [3:0] MEMORY_WRITE = 4'h1;

  function automatic logic [7:0] block_func(logic [15:0] func);
    return func == 0 ? 8'd0 : 8'(func + 16'(FIRST_VF - 1));
  endfunction

  // ------------------------------------------------------------------------------------------------------ link's state
  logic [8:0] since_q;                 // cycles since the link came up
  logic infinite_q;
  assign cfg_fc_sel    = 3'b101;
  assign max_payload   = {1'b0, cfg_max_payload};
  assign max_read_size = cfg_max_read_req;
  always_comb begin
    limit              = '0;
    limit.ph_infinite  = 1'b1;
    limit.pd_infinite  = 1'b1;
    limit.nph_infinite = infinite_q;
    limit.nph          = cfg_fc_nph;
  end
  always_ff @(posedge clk) begin
    if (user_lnk_up && !since_q[8]) since_q <= since_q + 1'b1;
    if (since_q == 9'd255) infinite_q <= cfg_fc_nph == 0;
    if (rst) begin
      since_q    <= '0;
      infinite_q <= 1'b0;
    end
  end

  // ----------------------------------------------------------------------------------------------- requester requests
  logic [127:0] rq_descriptor;
  logic [7:0] rq_be;
  logic unused_rq_first, unused_cc_first, unused_cc_beside, rq_idle, rc_idle, cq_idle, cc_idle;
  assign rq_descriptor = {
    8'd0, 16'd0, req_header.tag, 8'd0, block_func(req_header.func), 1'b0,
    req_header.write ? MEMORY_WRITE : MEMORY_READ, req_header.dwords, req_header.addr[63:2], 2'b00
  };
  pcie_frame_out #(
      .DATA_W(DATA_W),
      .BESIDE_W(8)
  ) u_rq (
      .clk,
      .rst,
      .s_valid (req_valid),
      .s_ready (req_ready),
      .s_header(rq_descriptor),
      .s_long  (1'b1),
      .s_dwords(req_header.write ? req_header.dwords : '0),
      .s_beside({req_header.last_be, req_header.first_be}),
      .s_data  (req_data),
      .s_last  (req_last),
      .m_valid (m_axis_rq_tvalid),
      .m_ready (m_axis_rq_tready),
      .m_data  (m_axis_rq_tdata),
      .m_keep  (m_axis_rq_tkeep),
      .m_first (unused_rq_first),
      .m_last  (m_axis_rq_tlast),
      .m_beside(rq_be),
      .idle    (rq_idle)
  );
  always_comb begin
    m_axis_rq_tuser = '0;
    if (DATA_W == 512) begin
      m_axis_rq_tuser[3:0]  = rq_be[3:0];
      m_axis_rq_tuser[11:8] = rq_be[7:4];
    end else begin
      m_axis_rq_tuser[7:0] = rq_be;
    end
  end

  // -------------------------------------------------------------------------------------------- requester completions
  // verilator lint_off UNUSEDSIGNAL
  logic [127:0] rc;                    // the descriptor, and the first DW of data
  // verilator lint_on UNUSEDSIGNAL
  logic unused_rc_beside;
  pcie_frame_in #(
      .DATA_W(DATA_W)
  ) u_rc (
      .clk,
      .rst,
      .s_valid (s_axis_rc_tvalid),
      .s_ready (s_axis_rc_tready),
      .s_data  (s_axis_rc_tdata),
      .s_last  (s_axis_rc_tlast),
      .s_long  (1'b0),
      .s_dwords(s_axis_rc_tdata[42:32]),
      .s_beside(1'b0),
      .m_valid (cpl_valid),
      .m_ready (1'b1),
      .m_header(rc),
      .m_beside(unused_rc_beside),
      .m_data  (cpl_data),
      .m_last  (cpl_last),
      .idle    (rc_idle)
  );
  assign cpl_header = '{
          tag: rc[71:64],
          status: rc[45:43],
          poisoned: rc[46] || rc[15:12] != 0,
          bytes: rc[28:16],
          lower_addr: rc[6:0],
          dwords: rc[42:32]
      };

  // ----------------------------------------------------------------------------------------------- completer requests
  // verilator lint_off UNUSEDSIGNAL
  logic [127:0] cq;
  // verilator lint_on UNUSEDSIGNAL
  logic [7:0] cq_be;
  wire [7:0] cq_user_be = DATA_W == 512 ? {s_axis_cq_tuser[11:8], s_axis_cq_tuser[3:0]} : s_axis_cq_tuser[7:0];
  wire cq_data = s_axis_cq_tdata[78:75] != MEMORY_READ && s_axis_cq_tdata[78:75] != 4'h2;  // locked reads, I/O reads
  pcie_frame_in #(
      .DATA_W(DATA_W),
      .BESIDE_W(8)
  ) u_cq (
      .clk,
      .rst,
      .s_valid (s_axis_cq_tvalid),
      .s_ready (s_axis_cq_tready),
      .s_data  (s_axis_cq_tdata),
      .s_last  (s_axis_cq_tlast),
      .s_long  (1'b1),
      .s_dwords(cq_data && !s_axis_cq_tdata[78] ? s_axis_cq_tdata[74:64] : '0),
      .s_beside(cq_user_be),
      .m_valid (access_valid),
      .m_ready (access_ready),
      .m_header(cq),
      .m_beside(cq_be),
      .m_data  (access_data),
      .m_last  (access_last),
      .idle    (cq_idle)
  );
  wire [7:0] cq_func = cq[111:104];
  assign access_header = '{
          kind: cq[78:75] == MEMORY_READ ? ACCESS_READ : cq[78:75] == MEMORY_WRITE ? ACCESS_WRITE : ACCESS_OTHER,
          id: '{
            func: cq_func == 0 ? 16'd0 : 16'(cq_func) - 16'(FIRST_VF - 1),
            requester: cq[95:80],
            tag: 10'(cq[103:96]),
            traffic_class: cq[123:121],
            attributes: cq[126:124]
          },
          bar: cq[114:112],
          addr: {cq[63:2], 2'b00},
          dwords: cq[74:64],
          first_be: cq_be[3:0],
          last_be: cq_be[7:4],
          poisoned: 1'b0
      };

  // -------------------------------------------------------------------------------------------- completer completions
  logic [127:0] cc_descriptor;
  assign cc_descriptor = {
    32'd0, 1'b0, answer_header.id.attributes, answer_header.id.traffic_class, 1'b0, 8'd0,
    block_func(answer_header.id.func), answer_header.id.tag[7:0], answer_header.id.requester, 2'b00,
    answer_header.status, answer_header.dwords, 3'd0, answer_header.bytes, 9'd0, answer_header.lower_addr
  };
  pcie_frame_out #(
      .DATA_W(DATA_W)
  ) u_cc (
      .clk,
      .rst,
      .s_valid (answer_valid),
      .s_ready (answer_ready),
      .s_header(cc_descriptor),
      .s_long  (1'b0),
      .s_dwords(answer_header.dwords),
      .s_beside(1'b0),
      .s_data  (answer_data),
      .s_last  (1'b1),
      .m_valid (m_axis_cc_tvalid),
      .m_ready (m_axis_cc_tready),
      .m_data  (m_axis_cc_tdata),
      .m_keep  (m_axis_cc_tkeep),
      .m_first (unused_cc_first),
      .m_last  (m_axis_cc_tlast),
      .m_beside(unused_cc_beside),
      .idle    (cc_idle)
  );
  assign m_axis_cc_tuser = '0;

  assign idle = rq_idle && rc_idle && cq_idle && cc_idle;

  wire unused = &{1'b0, unused_rq_first, unused_cc_first, unused_cc_beside, unused_rc_beside};

endmodule
