// SPDX-License-Identifier: Apache-2.0
// What functions may send (RECEIVE = 0) or are to receive (1). Other frames are dropped, and an event says why.
// Sent: of a function whose address is checked frames from it only (else: spoofed); of one with a port VLAN frames
// without a tag only (0x8100, 0x88A8, 0x9100; else: tagged), which get the VLAN's. Where that is of 802.1ad (0x88A8),
// they may have one of 802.1Q (0x8100). Of two reasons it is spoofed.
// Received: of a function with a port VLAN frames with that VLAN's tag (of 802.1Q or 802.1ad, as is set), which they
// lose; of one with a MAC address that isn't trusted frames to that address or to a group (broadcast, multicast). Of
// two reasons it is the VLAN.
// A policy that is set holds for the frames whose first beat comes later.
// Latency: 4 cycles; of a beat that a tag is taken from, until the next one is there. Throughput: 1 beat a cycle, of
// which a tag that is put in may make one more.
// Backpressure: s_axis_tready does not wait for m_axis_tready within the cycle; it is low while `hold` is high.
module policy_stream
  import host_pkg::*;
#(
    parameter int unsigned FUNCTIONS = 16,
    parameter int unsigned PAIRS = 1,
    parameter int unsigned DATA_W = 512,
    parameter bit RECEIVE = 1'b0,
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
    input  policy_t               set,             // of it what this side needs
    // verilator lint_on UNUSEDSIGNAL

    input  logic                  s_axis_tvalid,   // frames of 14 bytes or more, where they are sent
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
    output logic                  event_kind,      // sent: 0 spoofed, 1 tagged; received: 0 by VLAN, 1 by address
    output logic                  idle
);

  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512) begin : gen_bad_data_w
    $fatal(1, "policy_stream: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end

  typedef struct packed {
    logic               last;
    logic [QUEUE_W-1:0] number;
    logic [KEEP_W-1:0]  keep;
    logic [DATA_W-1:0]  data;
  } beat_t;
  typedef struct packed {
    logic        checks;   // the function's address
    logic        service;
    logic [2:0]  qos;
    logic [11:0] vlan;
    logic [47:0] mac;
  } rules_t;

  // a: a beat as it came, with its function's rules; b: compared with them; c: with what is to be done with it
  logic a_valid_q, b_valid_q, c_valid_q, b_first_q, c_first_q, c_pass_q, c_tag_q, c_more_q;
  logic c_goes, c_ends, swallows, out_ready, out_idle;
  beat_t a_q, b_q, c_q, out;
  logic [FUNCTION_W-1:0] came_function, a_function_q, b_function_q;
  // What goes into a tag is of use to who sends.
  // verilator lint_off UNUSEDSIGNAL
  rules_t rules;
  // verilator lint_on UNUSEDSIGNAL

  // What b knows of a frame's first beat
  logic [12:0] b_other_q;  // parts of the address that differ from the function's, and whether it isn't all there
  logic b_checks_q, b_tag_q, b_has_tag_q, b_same_vlan_q;

  wire c_free = !c_valid_q || (c_goes && out_ready && c_ends);
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
      .wr_data({RECEIVE ? !set.trust && set.mac != '0 : set.spoofcheck, set.service, set.qos, set.vlan, set.mac}),
      .rd_addr(a_free ? came_function : a_function_q),
      .rd_data(rules)
  );

  wire [47:0] address = RECEIVE ? a_q.data[47:0] : a_q.data[95:48];
  wire [15:0] ethertype = {a_q.data[103:96], a_q.data[111:104]};
  wire [11:0] vlan = {a_q.data[115:112], a_q.data[127:120]};
  wire other_address = b_checks_q && b_other_q != '0;
  wire other_tag = b_tag_q && (RECEIVE ? !(b_has_tag_q && b_same_vlan_q) : b_has_tag_q);
  wire passes = b_first_q ? !other_address && !other_tag : c_pass_q;

  always_ff @(posedge clk) begin
    if (a_free) begin
      a_valid_q <= s_axis_tvalid && !hold;
      if (s_axis_tvalid) begin
        a_q          <= '{last: s_axis_tlast, number: s_axis_queue, keep: s_axis_tkeep, data: s_axis_tdata};
        a_function_q <= came_function;
      end
    end

    if (b_free) b_valid_q <= a_valid_q;
    if (b_free && a_valid_q) begin
      b_q          <= a_q;
      b_function_q <= a_function_q;
      for (int i = 0; i < 12; i++) b_other_q[i] <= address[4*i+:4] != rules.mac[4*i+:4];
      b_other_q[12] <= RECEIVE && !a_q.keep[5];
      b_checks_q    <= rules.checks && !(RECEIVE && a_q.data[0]);
      b_tag_q       <= rules.vlan != '0;
      b_same_vlan_q <= vlan == rules.vlan;
      if (RECEIVE) b_has_tag_q <= ethertype == (rules.service ? SERVICE_TAG : CUSTOMER_TAG) && a_q.keep[15];
      else b_has_tag_q <= ethertype inside {SERVICE_TAG, OLD_TAG} || (ethertype == CUSTOMER_TAG && !rules.service);
    end

    if (c_free) c_valid_q <= b_valid_q && passes && !swallows;
    if (c_free && b_valid_q) begin
      c_q       <= b_q;
      c_first_q <= b_first_q;
      c_more_q  <= (b_first_q ? b_tag_q : c_tag_q) && (RECEIVE ? !b_q.last : b_q.last && b_q.keep[KEEP_W-4]);
      if (b_first_q) begin
        c_pass_q <= passes;
        c_tag_q  <= b_tag_q;
      end
      b_first_q <= b_q.last;
    end
    event_valid    <= c_free && b_valid_q && b_first_q && !passes;
    event_function <= b_function_q;
    event_kind     <= RECEIVE ? !other_tag : !other_address;
    if (rst) begin
      a_valid_q   <= 1'b0;
      b_valid_q   <= 1'b0;
      c_valid_q   <= 1'b0;
      b_first_q   <= 1'b1;
      event_valid <= 1'b0;
    end
  end

  logic [DATA_W-1:0] shifted;
  logic [KEEP_W-1:0] shifted_keep;
  if (RECEIVE) begin : gen_untag
    // A beat that loses bytes gets those of the next one (c_more_q), and its last ones may be all of that.
    assign swallows = c_valid_q && c_more_q && b_valid_q && b_q.last && !b_q.keep[4];
    assign c_goes   = c_valid_q && (!c_more_q || b_valid_q);
    assign c_ends   = 1'b1;
    always_comb begin
      shifted      = {b_q.data[31:0], c_q.data[DATA_W-1:32]};
      shifted_keep = {c_more_q ? b_q.keep[3:0] : 4'h0, c_q.keep[KEEP_W-1:4]};
      if (c_first_q) shifted[95:0] = c_q.data[95:0];
    end
    assign out.last = c_q.last || swallows;
  end else begin : gen_tag
    // With the tag, bytes from the thirteenth on come four places later, and the last beat may be two (c_more_q).
    logic extra_q, b_service_q, c_service_q;
    logic [31:0] carry_q;
    logic [15:0] b_tci_q, c_tci_q;
    wire [15:0] tag = c_service_q ? SERVICE_TAG : CUSTOMER_TAG;
    assign swallows = 1'b0;
    assign c_goes   = c_valid_q;
    assign c_ends   = extra_q || !c_more_q;
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
    end
    assign out.last = c_q.last && c_ends;
    always_ff @(posedge clk) begin
      if (b_free && a_valid_q) begin
        b_service_q <= rules.service;
        b_tci_q     <= {rules.qos, 1'b0, rules.vlan};
      end
      if (c_free && b_valid_q && b_first_q) begin
        c_service_q <= b_service_q;
        c_tci_q     <= b_tci_q;
      end
      if (c_valid_q && out_ready) begin
        carry_q <= c_q.data[DATA_W-1-:32];
        extra_q <= c_more_q && !extra_q;
      end
      if (rst) extra_q <= 1'b0;
    end
  end
  assign out.number = c_q.number;
  assign out.keep   = c_tag_q ? shifted_keep : c_q.keep;
  assign out.data   = c_tag_q ? shifted : c_q.data;

  stream_reg #(
      .WIDTH($bits(beat_t))
  ) u_out (
      .clk,
      .rst,
      .s_valid(c_goes),
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
