// SPDX-License-Identifier: Apache-2.0
// What functions are to receive: of a function with a port VLAN frames with that VLAN's tag (802.1Q), which they lose;
// of one with a MAC address that isn't trusted, frames to that address or to a group (broadcast, multicast). Others are
// dropped, and an event says why; of two reasons the first.
// A policy that is set holds for the frames whose first beat comes later.
// Latency: 3 cycles; of a beat that a tag is taken from, until the next one is there. Throughput: 1 beat a cycle.
// Backpressure: s_axis_tready follows m_axis_tready within the cycle; it is low while `hold` is.
module policy_receive
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
    input  policy_t               set,             // of it what receiving needs
    // verilator lint_on UNUSEDSIGNAL

    input  logic                  s_axis_tvalid,
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
    output logic                  event_kind,      // 0 not of the port VLAN, 1 to another station
    output logic                  idle
);

  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512) begin : gen_bad_data_w
    $fatal(1, "policy_receive: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end

  localparam logic [15:0] TAG = 16'h8100;

  typedef struct packed {
    logic               last;
    logic [QUEUE_W-1:0] number;
    logic [KEEP_W-1:0]  keep;
    logic [DATA_W-1:0]  data;
  } beat_t;
  typedef struct packed {
    logic        trust;
    logic [11:0] vlan;
    logic [47:0] mac;
  } rules_t;

  // a: a beat as it came, with its function's rules; b: with what is to be done with it
  logic a_valid_q, b_valid_q, a_first_q, b_first_q, b_pass_q, b_strip_q;
  beat_t a_q, b_q;
  logic [FUNCTION_W-1:0] came_function, a_function_q;
  rules_t rules;

  // A beat that loses bytes gets those of the next one, and its last ones may be all of that.
  wire out_go = !m_axis_tvalid || m_axis_tready;
  wire borrows = b_strip_q && !b_q.last;
  wire swallows = b_valid_q && b_pass_q && borrows && a_valid_q && a_q.last && !a_q.keep[4];
  wire b_goes = b_valid_q && b_pass_q && (!borrows || a_valid_q);
  wire b_leaves = b_valid_q && (!b_pass_q || (b_goes && out_go));
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
      .wr_data({set.trust, set.vlan, set.mac}),
      .rd_addr(comes ? came_function : a_function_q),
      .rd_data(rules)
  );

  wire [15:0] ethertype = {a_q.data[103:96], a_q.data[111:104]};
  wire [11:0] vlan = {a_q.data[115:112], a_q.data[127:120]};
  wire other_vlan = rules.vlan != '0 && !(ethertype == TAG && vlan == rules.vlan && a_q.keep[15]);
  wire ours = a_q.data[47:0] == rules.mac && a_q.keep[5];
  wire other_mac = rules.mac != '0 && !rules.trust && !a_q.data[0] && !ours;

  logic [DATA_W-1:0] shifted;
  always_comb begin
    shifted = {a_q.data[31:0], b_q.data[DATA_W-1:32]};
    if (b_first_q) shifted[95:0] = b_q.data[95:0];
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
        b_pass_q  <= !other_vlan && !other_mac;
        b_strip_q <= rules.vlan != '0;
      end
    end
    if (a_leaves || b_leaves) b_valid_q <= a_leaves && !swallows;
    event_valid    <= a_leaves && a_first_q && (other_vlan || other_mac);
    event_function <= a_function_q;
    event_kind     <= !other_vlan;

    if (out_go) begin
      m_axis_tvalid <= b_goes;
      m_axis_tdata  <= b_strip_q ? shifted : b_q.data;
      m_axis_tkeep  <= b_strip_q ? {borrows ? a_q.keep[3:0] : 4'h0, b_q.keep[KEEP_W-1:4]} : b_q.keep;
      m_axis_tlast  <= b_q.last || swallows;
      m_axis_queue  <= b_q.number;
    end
    if (rst) begin
      a_valid_q     <= 1'b0;
      b_valid_q     <= 1'b0;
      a_first_q     <= 1'b1;
      m_axis_tvalid <= 1'b0;
      event_valid   <= 1'b0;
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
