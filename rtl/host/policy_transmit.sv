// SPDX-License-Identifier: Apache-2.0
// What functions may send: frames from a function's own MAC address only, where it is checked; and where it has a port
// VLAN, untagged frames (of neither 802.1Q nor 802.1ad) only, which get the VLAN's tag. Others are dropped, and an
// event says why; of two reasons the first.
// A policy that is set holds for the frames whose first beat comes later.
// Latency: 3 cycles. Throughput: 1 beat a cycle, of which a tag may make one more.
// Backpressure: s_axis_tready follows m_axis_tready within the cycle; it is low while `hold` is.
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

  localparam logic [15:0] TAG = 16'h8100, OUTER_TAG = 16'h88A8;

  typedef struct packed {
    logic               last;
    logic [QUEUE_W-1:0] number;
    logic [KEEP_W-1:0]  keep;
    logic [DATA_W-1:0]  data;
  } beat_t;
  typedef struct packed {
    logic        spoofcheck;
    logic [2:0]  qos;
    logic [11:0] vlan;
    logic [47:0] mac;
  } rules_t;

  // a: a beat as it came, with its function's rules; b: with what is to be done with it
  logic a_valid_q, b_valid_q, a_first_q, b_first_q, b_pass_q, b_tag_q, extra_q;
  beat_t a_q, b_q;
  logic [FUNCTION_W-1:0] came_function, a_function_q;
  rules_t rules;
  logic [15:0] b_tci_q;
  logic [31:0] carry_q;

  wire out_go = !m_axis_tvalid || m_axis_tready;
  wire grows = b_pass_q && b_tag_q && b_q.last && b_q.keep[KEEP_W-4];  // by a beat
  wire b_leaves = b_valid_q && (!b_pass_q || (out_go && (extra_q || !grows)));
  wire a_leaves = a_valid_q && (!b_valid_q || b_leaves);
  wire comes = s_axis_tvalid && s_axis_tready;
  assign s_axis_tready = !hold && (!a_valid_q || a_leaves);

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
      .wr_data({set.spoofcheck, set.qos, set.vlan, set.mac}),
      .rd_addr(comes ? came_function : a_function_q),
      .rd_data(rules)
  );

  wire [15:0] ethertype = {a_q.data[103:96], a_q.data[111:104]};
  wire spoofed = rules.spoofcheck && a_q.data[95:48] != rules.mac;
  wire has_tag = rules.vlan != '0 && (ethertype == TAG || ethertype == OUTER_TAG);

  // With the tag, bytes from the thirteenth on come four places later.
  logic [DATA_W-1:0] shifted;
  logic [KEEP_W-1:0] shifted_keep;
  always_comb begin
    shifted      = DATA_W'({b_q.data, carry_q});
    shifted_keep = KEEP_W'({b_q.keep, 4'hF});
    if (b_first_q) begin
      shifted[95:0]   = b_q.data[95:0];
      shifted[127:96] = {b_tci_q[7:0], b_tci_q[15:8], TAG[7:0], TAG[15:8]};
    end
    if (extra_q) begin
      shifted      = DATA_W'(carry_q);
      shifted_keep = KEEP_W'(b_q.keep[KEEP_W-1-:4]);
    end
  end

  always_ff @(posedge clk) begin
    if (comes) begin
      a_q          <= '{last: s_axis_tlast, number: s_axis_queue, keep: s_axis_tkeep, data: s_axis_tdata};
      a_function_q <= came_function;
    end
    if (comes || a_leaves) a_valid_q <= comes;
    if (a_leaves) begin
      a_first_q <= a_q.last;
      b_q       <= a_q;
      b_first_q <= a_first_q;
      if (a_first_q) begin
        b_pass_q <= !spoofed && !has_tag;
        b_tag_q  <= rules.vlan != '0;
        b_tci_q  <= {rules.qos, 1'b0, rules.vlan};
      end
    end
    if (a_leaves || b_leaves) b_valid_q <= a_leaves;
    event_valid    <= a_leaves && a_first_q && (spoofed || has_tag);
    event_function <= a_function_q;
    event_kind     <= !spoofed;

    if (out_go) begin
      m_axis_tvalid <= b_valid_q && b_pass_q;
      m_axis_tdata  <= b_tag_q ? shifted : b_q.data;
      m_axis_tkeep  <= b_tag_q ? shifted_keep : b_q.keep;
      m_axis_tlast  <= b_q.last && (extra_q || !grows);
      m_axis_queue  <= b_q.number;
      if (b_valid_q && b_pass_q) begin
        carry_q <= b_q.data[DATA_W-1-:32];
        extra_q <= grows && !extra_q;
      end
    end
    if (rst) begin
      a_valid_q     <= 1'b0;
      b_valid_q     <= 1'b0;
      a_first_q     <= 1'b1;
      m_axis_tvalid <= 1'b0;
      event_valid   <= 1'b0;
      extra_q       <= 1'b0;
    end
  end

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

  assign idle = !a_valid_q && !b_valid_q && !m_axis_tvalid && !event_valid;

endmodule
