// SPDX-License-Identifier: Apache-2.0
// Says which copies of a frame are sent. From an Ethernet port: to the function that the table of stations knows, or,
// of a frame for a group, to each function of that port and VLAN; of one for a station that nobody knows, to those that
// are promiscuous. From a function: to the function that is known at the same port, else to the port; for a group to
// both. Never to the function that it comes from. Each function's indirection table picks the queue pair.
// Latency: 1 cycle. Throughput: 1 frame a cycle; one for several, FUNCTIONS + 1 cycles or a cycle a copy.
// Backpressure: s_ready follows m_ready within the cycle, and is high with a frame's last copy only.
module nic_copies
  import nic_pkg::*;
#(
    parameter int unsigned FUNCTIONS = 16,
    parameter int unsigned PAIRS = 1,
    parameter int unsigned BEATS_W = 9
) (
    input  logic               clk,
    input  logic               rst,
    input  vf_write_t          vf_write,
    input  pair_write_t        pair_write,
    input  logic               s_valid,
    output logic               s_ready,
    input  found_t             s_found,
    input  logic [BEATS_W-1:0] s_beats,
    output logic               m_valid,
    input  logic               m_ready,
    output copy_t              m_copy,
    output logic [BEATS_W-1:0] m_beats,
    output logic               extra,    // a frame got another copy than its first
    output logic               dropped,  // a frame got none
    output logic               idle
);

  if (FUNCTIONS < 1 || FUNCTIONS > MAX_FUNCTIONS) begin : gen_bad_functions
    $fatal(1, "nic_copies: FUNCTIONS must be 1 to %0d, not %0d", MAX_FUNCTIONS, FUNCTIONS);
  end
  if (PAIRS < 1 || PAIRS > MAX_PAIRS) begin : gen_bad_pairs
    $fatal(1, "nic_copies: PAIRS must be 1 to %0d, not %0d", MAX_PAIRS, PAIRS);
  end
  if (BEATS_W < 1) begin : gen_bad_beats_w
    $fatal(1, "nic_copies: BEATS_W must be at least 1, not %0d", BEATS_W);
  end

  localparam int unsigned ADDR_W = FUNCTIONS > 1 ? $clog2(FUNCTIONS) : 1;

  // The function that is looked at: the known one, or one after the other of those that there are.
  logic [VF_W:0] at_q;
  logic copied_q;  // the frame has got a copy
  vf_t vf;
  wire several = s_found.group || (!s_found.known && !s_found.origin.from_vf);
  wire [VF_W-1:0] number = several ? at_q[VF_W-1:0] : s_found.vf;
  wire over = !several || 32'(at_q) == FUNCTIONS;

  ram_dist #(
      .WIDTH($bits(vf_t)),
      .DEPTH(FUNCTIONS)
  ) u_functions (
      .clk,
      .wr_en  (vf_write.valid),
      .wr_addr(vf_write.number[ADDR_W-1:0]),
      .wr_data(vf_write.vf),
      .rd_addr(number[ADDR_W-1:0]),
      .rd_data(vf)
  );

  wire own = s_found.origin.from_vf && number == s_found.origin.vf;
  wire fits = 32'(number) < FUNCTIONS && vf.enabled && vf.uplink == s_found.origin.port && !own;
  wire wants = vf.promiscuous || (s_found.group && vf.vlan == s_found.vlan);
  copy_t copy;
  logic offers, moves;

  always_comb begin
    copy      = '0;
    copy.last = over;
    copy.port = s_found.origin.port;
    copy.vf   = number;
    if (s_found.origin.drop) begin
      copy.last = 1'b1;
      copy.none = 1'b1;
    end else if (over && (several || !s_found.known)) begin
      copy.to_port = 1'b1;
      copy.none    = !s_found.origin.from_vf;
    end else begin
      copy.none = !fits || (several && !wants);
    end
    offers = s_valid && (copy.last || !copy.none);
  end
  assign s_ready = offers && moves && copy.last;
  assign extra   = offers && moves && !copy.none && copied_q;
  assign dropped = s_ready && copy.none && !copied_q;

  always_ff @(posedge clk) begin
    if (s_valid && (moves || !offers)) begin
      at_q     <= copy.last ? '0 : at_q + 1'b1;
      copied_q <= !copy.last && (copied_q || !copy.none);
    end
    if (rst) begin
      at_q     <= '0;
      copied_q <= 1'b0;
    end
  end

  // The queue pair
  logic valid_q;
  copy_t copy_q;
  logic [BEATS_W-1:0] beats_q;
  logic [PAIR_W-1:0] pair;
  assign moves = !valid_q || m_ready;

  always_ff @(posedge clk) begin
    if (moves) begin
      valid_q <= offers;
      copy_q  <= copy;
      beats_q <= s_beats;
    end
    if (rst) valid_q <= 1'b0;
  end

  if (PAIRS == 1) begin : gen_one_pair
    // verilator lint_off UNUSEDSIGNAL
    wire unused = &{1'b0, pair_write, s_found.hash};
    // verilator lint_on UNUSEDSIGNAL
    assign pair = '0;
  end else begin : gen_pairs
    ram_sdp #(
        .WIDTH(PAIR_W),
        .DEPTH(FUNCTIONS << HASH_W)
    ) u_pairs (
        .clk,
        .wr_en  (pair_write.valid),
        .wr_addr(($clog2(FUNCTIONS) + HASH_W)'({pair_write.number, pair_write.hash})),
        .wr_data(pair_write.pair),
        .rd_en  (moves),
        .rd_addr(($clog2(FUNCTIONS) + HASH_W)'({number, s_found.hash})),
        .rd_data(pair)
    );
  end

  assign m_valid = valid_q;
  assign m_beats = beats_q;
  always_comb begin
    m_copy      = copy_q;
    m_copy.pair = pair;
  end
  assign idle = !s_valid && !valid_q;

endmodule
