// SPDX-License-Identifier: Apache-2.0
// Beats are numbered, modulo twice as many as there is room for. The beat of any one number is followed: while it is in
// it can be read. The FIFO of packets has a proof of its own; here it has room for each that comes, and comes in time.
module packet_store_proof #(
    parameter int unsigned DATA_W = 128,
    parameter int unsigned STORE_KB = 1,
    parameter bit ANYWHERE = 1'b0,  // begins in any state of which the invariants below hold, instead of with a reset
    localparam int unsigned KEEP_W = DATA_W / 8,
    localparam int unsigned BEATS = STORE_KB * 1024 / KEEP_W,
    localparam int unsigned ADDR_W = $clog2(BEATS),
    localparam int unsigned SIZE_W = $clog2(STORE_KB * 1024),
    localparam int unsigned LANE_W = $clog2(KEEP_W)
) (
    input logic              clk,
    input logic              rst,
    input logic              s_axis_tvalid,
    input logic [       1:0] data,
    input logic [LANE_W-1:0] last_byte,       // of the last beat
    input logic              s_axis_tlast,
    input logic              offers,          // the FIFO
    input logic              m_packet_ready,
    input logic              rd_en,
    input logic [ADDR_W-1:0] rd_addr,
    input logic [       1:0] anything,        // read from any other place of the RAM
    input logic              free_valid,
    input logic [  ADDR_W:0] free_to
);

  typedef logic [ADDR_W:0] number_t;
  typedef logic [ADDR_W+1:0] sum_t;

  logic valid, sound, s_axis_tready, m_packet_valid, idle;
  logic [KEEP_W-1:0] s_axis_tkeep;
  logic [SIZE_W-1:0] m_packet_end;
  logic [DATA_W-1:0] s_axis_tdata, rd_data;

  assign s_axis_tdata = DATA_W'(data);
  for (genvar i = 0; i < KEEP_W; i++) begin : gen_keep
    assign s_axis_tkeep[i] = !s_axis_tlast || LANE_W'(i) <= last_byte;
  end

  if (ANYWHERE) begin : gen_anywhere
    logic started_q = 1'b0;
    always_ff @(posedge clk) started_q <= 1'b1;
    always_comb if (!started_q) assume (sound);
    assign valid = 1'b1;
  end else begin : gen_reset
    proof_reset u_reset (.clk, .rst, .valid);
  end
  packet_store #(.DATA_W(DATA_W), .STORE_KB(STORE_KB)) dut (.*);

  wire push = s_axis_tvalid && s_axis_tready && !rst;
  wire whole = push && s_axis_tlast;
  wire taken = m_packet_valid && m_packet_ready;

  number_t sent_q, freed_q, freed_before_q;
  number_t open_q;     // beats of the packet that is not yet whole
  number_t packets_q;  // that are whole and were not taken
  number_t number_q;   // of the beat that is followed
  logic [1:0] value_q, value_q1, value_q2;
  logic [1:0] whole_q, read_q;  // a cycle ago, and two
  logic [SIZE_W-1:0] end_q1, end_q2;
  logic fresh_q;

  wire number_t used = sent_q - freed_q;
  wire number_t left = sent_q - free_to;  // when that is freed
  wire held = number_t'(number_q - freed_q) < used;
  wire [ADDR_W-1:0] place = number_q[ADDR_W-1:0];
  wire read = rd_en && rd_addr == place && held;

  always_ff @(posedge clk) begin
    fresh_q        <= rst;
    number_q       <= number_q;
    sent_q         <= sent_q + number_t'(push);
    if (free_valid) freed_q <= free_to;
    freed_before_q <= freed_q;
    if (push) open_q <= s_axis_tlast ? '0 : open_q + 1'b1;
    packets_q      <= packets_q + number_t'(whole) - number_t'(taken);
    if (push && sent_q == number_q) value_q <= data;
    value_q1       <= value_q;
    value_q2       <= value_q1;
    whole_q        <= {whole_q[0], whole};
    end_q1         <= {open_q[ADDR_W-1:0], last_byte};
    end_q2         <= end_q1;
    read_q         <= {read_q[0], read};
    if (rst) begin
      sent_q         <= '0;
      freed_q        <= '0;
      freed_before_q <= '0;
      open_q         <= '0;
      packets_q      <= '0;
      whole_q        <= '0;
      read_q         <= '0;
    end
  end

  wire sum_t owed = sum_t'(open_q) + sum_t'(packets_q);
  wire number_t told = number_t'(whole_q[0]) + number_t'(whole_q[1]);
  wire number_t seen = sent_q - freed_before_q;  // used, as the store sees it

  // What the registers hold
  assign sound = dut.wr_q == sent_q && dut.tail_q == freed_q && dut.beat_q == ADDR_W'(open_q)
      && dut.ready_q == (seen != number_t'(BEATS) && !fresh_q)
      && seen <= number_t'(BEATS) && used <= seen && sum_t'(used) >= owed
      && dut.whole_q == whole_q[0] && dut.told_q == whole_q[1]
      && packets_q == number_t'(dut.u_packets.count_q) + told && dut.u_packets.count_q <= number_t'(BEATS)
      && (!held || dut.u_ram.word_q == value_q)
      && (!read_q[0] || dut.u_ram.read_q == value_q1)
      && (!read_q[1] || rd_data[1:0] == value_q2)
      && (!whole_q[0] || ({dut.beats_q, LANE_W'(0)} | SIZE_W'(dut.last_byte)) == end_q1)
      && (!whole_q[1] || dut.end_q == end_q2);

  always_comb begin
    // Only packets that were taken are freed: what is left has all of the open one, and a beat at least of each other.
    if (free_valid) assume (left <= used && sum_t'(left) >= owed);

    if (valid) begin
      // The followed beat is read as it came.
      if (read_q[1]) assert (rd_data[1:0] == value_q2);
      // The end of each packet comes to the FIFO two cycles after its last beat, and finds room.
      assert (dut.told_q == whole_q[1]);
      if (whole_q[1]) assert (dut.end_q == end_q2 && dut.u_packets.s_ready);
      // The input waits only for room, for a cycle longer than there is none.
      assert (used <= number_t'(BEATS));
      assert (s_axis_tready == (seen != number_t'(BEATS) && !fresh_q));
      assert (idle == (used == '0));
      assert (sound);

      cover (used == number_t'(BEATS) && packets_q == number_t'(BEATS));
      cover (used == number_t'(BEATS) && open_q == number_t'(BEATS - 1) && s_axis_tvalid);
      cover (whole_q[1] && end_q2 == '1);
      cover (read_q[1] && number_q >= number_t'(BEATS) && used == number_t'(BEATS));
      cover (free_valid && left == '0 && seen == number_t'(BEATS));
    end
  end

endmodule
