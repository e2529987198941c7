// SPDX-License-Identifier: Apache-2.0
// What functions may send: frames from a function's own MAC address only, where it is checked; and where it has a port
// VLAN, frames without a tag only (0x8100, 0x88A8, 0x9100), which get the VLAN's. Where that is of 802.1ad (0x88A8),
// they may have one of 802.1Q (0x8100). Others are dropped, and an event says why; of two reasons the first.
// A policy that is set holds for the frames whose first beat comes later.
// Latency: 4 cycles. Throughput: 1 beat a cycle, of which a tag may make one more.
// Backpressure: s_axis_tready does not wait for m_axis_tready within the cycle; it is low while `hold` is high.
module policy_transmit
  import host_pkg::*;
#(
    parameter int unsigned FUNCTIONS = 16,
    parameter int unsigned PAIRS = 1,
    parameter int unsigned DATA_W = 512,
    localparam int unsigned KEEP_W = DATA_W / 8,
    localparam int unsigned QUEUES = FUNCTIONS * PAIRS,
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1,
    localparam int unsigned FUNCTION_W = FUNCTIONS > 1 ? $clog2(FUNCTIONS) : 1
) (
    input  logic                  clk,
    input  logic                  rst,
    input  logic                  hold,            // takes no beat
    input  logic                  set_valid,
    input  logic [FUNCTION_W-1:0] set_function,
    // verilator lint_off UNUSEDSIGNAL
    input  policy_t               set,             // of it what sending needs
    // verilator lint_on UNUSEDSIGNAL

    input  logic                  s_axis_tvalid,   // frames of 14 bytes or more
    output logic                  s_axis_tready,
    input  logic [DATA_W-1:0]     s_axis_tdata,
    input  logic [KEEP_W-1:0]     s_axis_tkeep,
    input  logic                  s_axis_tlast,
    input  logic [QUEUE_W-1:0]    s_axis_queue,
    output logic                  m_axis_tvalid,
    input  logic                  m_axis_tready,
    output logic [DATA_W-1:0]     m_axis_tdata,
    output logic [KEEP_W-1:0]     m_axis_tkeep,
    output logic                  m_axis_tlast,
    output logic [QUEUE_W-1:0]    m_axis_queue,

    output logic                  event_valid,     // one cycle: a frame was dropped
    output logic [FUNCTION_W-1:0] event_function,
    output logic                  event_kind,      // 0 spoofed, 1 tagged
    output logic                  idle
);

  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512) begin : gen_bad_data_w
    $fatal(1, "policy_transmit: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end

  typedef struct packed {
    logic               last;
    logic [QUEUE_W-1:0] number;
    logic [KEEP_W-1:0]  keep;
    logic [DATA_W-1:0]  data;
  } beat_t;
  typedef struct packed {
    logic        service;
    logic        spoofcheck;
    logic [2:0]  qos;
    logic [11:0] vlan;
    logic [47:0] mac;
  } rules_t;

  // a: a beat as it came, with its function's rules; b: compared with them; c: with what is to be done with it
  logic a_valid_q, b_valid_q, c_valid_q, b_first_q, c_first_q, c_pass_q, c_tag_q, c_grows_q, extra_q;
  logic b_service_q, c_service_q;
  logic out_ready, out_idle;
  beat_t a_q, b_q, c_q, out;
  logic [FUNCTION_W-1:0] came_function, a_function_q, b_function_q;
  rules_t rules;
  logic [31:0] carry_q;
  logic [15:0] b_tci_q, c_tci_q;

  // What b knows of a frame's first beat
  logic [11:0] b_other_q;  // parts of the source address that differ from the function's
  logic b_check_q, b_has_tag_q, b_adds_q;

  wire c_free = !c_valid_q || (out_ready && (extra_q || !c_grows_q));
  wire b_free = !b_valid_q || c_free;
  wire a_free = !a_valid_q || b_free;
  assign s_axis_tready = !hold && a_free;

  queue_owner #(
      .QUEUES(QUEUES),
      .PAIRS (PAIRS)
  ) u_owner (
      .number(s_axis_queue),
      .owner (came_function)
  );

  ram_through #(
      .WIDTH($bits(rules_t)),
      .DEPTH(FUNCTIONS)
  ) u_rules (
      .clk,
      .wr_en  (set_valid),
      .wr_addr(set_function),
      .wr_data({set.service, set.spoofcheck, set.qos, set.vlan, set.mac}),
      .rd_addr(a_free ? came_function : a_function_q),
      .rd_data(rules)
  );

  wire [15:0] ethertype = {a_q.data[103:96], a_q.data[111:104]};
  wire spoofed = b_check_q && b_other_q != '0;
  wire has_tag = b_adds_q && b_has_tag_q;
  wire passes = b_first_q ? !spoofed && !has_tag : c_pass_q;

  wire [15:0] tag = c_service_q ? SERVICE_TAG : CUSTOMER_TAG;

  // With the tag, bytes from the thirteenth on come four places later.
  logic [DATA_W-1:0] shifted;
  logic [KEEP_W-1:0] shifted_keep;
  always_comb begin
    shifted      = DATA_W'({c_q.data, carry_q});
    shifted_keep = KEEP_W'({c_q.keep, 4'hF});
    if (c_first_q) begin
      shifted[95:0]   = c_q.data[95:0];
      shifted[127:96] = {c_tci_q[7:0], c_tci_q[15:8], tag[7:0], tag[15:8]};
    end
    if (extra_q) begin
      shifted      = DATA_W'(carry_q);
      shifted_keep = KEEP_W'(c_q.keep[KEEP_W-1-:4]);
    end
    out.last   = c_q.last && (extra_q || !c_grows_q);
    out.number = c_q.number;
    out.keep   = c_tag_q ? shifted_keep : c_q.keep;
    out.data   = c_tag_q ? shifted : c_q.data;
  end

  always_ff @(posedge clk) begin
    if (a_free) begin
      a_valid_q    <= s_axis_tvalid && !hold;
      a_q          <= '{last: s_axis_tlast, number: s_axis_queue, keep: s_axis_tkeep, data: s_axis_tdata};
      a_function_q <= came_function;
    end

    if (b_free) begin
      b_valid_q    <= a_valid_q;
      b_q          <= a_q;
      b_function_q <= a_function_q;
      for (int i = 0; i < 12; i++) b_other_q[i] <= a_q.data[48+4*i+:4] != rules.mac[4*i+:4];
      b_check_q   <= rules.spoofcheck;
      b_has_tag_q <= ethertype == SERVICE_TAG || ethertype == OLD_TAG || (ethertype == CUSTOMER_TAG && !rules.service);
      b_service_q <= rules.service;
      b_adds_q    <= rules.vlan != '0;
      b_tci_q     <= {rules.qos, 1'b0, rules.vlan};
    end

    if (c_free) begin
      c_valid_q <= b_valid_q && passes;
      c_q       <= b_q;
      c_first_q <= b_first_q;
      c_grows_q <= (b_first_q ? b_adds_q : c_tag_q) && b_q.last && b_q.keep[KEEP_W-4];  // by a beat
      if (b_first_q) begin
        c_pass_q    <= passes;
        c_tag_q     <= b_adds_q;
        c_service_q <= b_service_q;
        c_tci_q     <= b_tci_q;
      end
      if (b_valid_q) b_first_q <= b_q.last;
    end
    event_valid    <= c_free && b_valid_q && b_first_q && !passes;
    event_function <= b_function_q;
    event_kind     <= !spoofed;

    if (c_valid_q && out_ready) begin
      carry_q <= c_q.data[DATA_W-1-:32];
      extra_q <= c_grows_q && !extra_q;
    end
    if (rst) begin
      a_valid_q   <= 1'b0;
      b_valid_q   <= 1'b0;
      c_valid_q   <= 1'b0;
      b_first_q   <= 1'b1;
      event_valid <= 1'b0;
      extra_q     <= 1'b0;
    end
  end

  stream_reg #(
      .WIDTH($bits(beat_t))
  ) u_out (
      .clk,
      .rst,
      .s_valid(c_valid_q),
      .s_ready(out_ready),
      .s_data (out),
      .m_valid(m_axis_tvalid),
      .m_ready(m_axis_tready),
      .m_data ({m_axis_tlast, m_axis_queue, m_axis_tkeep, m_axis_tdata}),
      .idle   (out_idle)
  );

  stream_contract #(
      .DATA_W(DATA_W)
  ) u_contract (
      .clk,
      .rst,
      .tvalid(m_axis_tvalid),
      .tready(m_axis_tready),
      .tdata (m_axis_tdata),
      .tkeep (m_axis_tkeep),
      .tlast (m_axis_tlast)
  );

  assign idle = !a_valid_q && !b_valid_q && !c_valid_q && out_idle && !event_valid;

endmodule
