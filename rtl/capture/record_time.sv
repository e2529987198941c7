// SPDX-License-Identifier: Apache-2.0
// Splits the nanoseconds since the epoch of each packet into the seconds and nanoseconds of a pcap record's header.
// Latency: 2 cycles for packets of the same second as the one before or as the card's clock; 37 cycles more for another
// second. Throughput: a packet every second cycle, as the planner takes them. Backpressure: s_ready is a register;
// packets wait in both stages.
// While no packet comes, it follows the card's clock, so that a packet stamped with it rarely has to wait.
module record_time
  import capture_pkg::*;
(
    input  logic             clk,
    input  logic             rst,
    input  logic [63:0]      time_ns,

    input  logic             s_valid,
    output logic             s_ready,
    input  packet_t          s_packet,
    output logic             m_valid,
    input  logic             m_ready,
    output packet_t          m_packet,
    output logic [LEN_W-1:0] m_total,  // bytes of its record
    output logic [31:0]      m_sec,
    output logic [31:0]      m_nsec,
    output logic             idle,     // no packet inside
    output logic             settled   // nor anything to find until time_ns leaves the second that was found last
);

  localparam logic [30:0] SECOND = 31'd1_000_000_000;
  localparam int unsigned QUOTIENT_W = 34;

  // Stage 1: a packet with its time, or only the card's time while there is none. Stage 2: whether it lies in the
  // second that was found last.
  logic packet_q, checked_packet_q, checked_q;
  packet_t asking_q;
  logic [63:0] second_ns_q;  // beginning of that second
  logic [63:0] next_ns_q;    // and its end
  logic [29:0] since_q;      // from the beginning to the time asked for
  logic same_q;
  wire advance = !checked_q || (same_q && (m_ready || !checked_packet_q));

  // Long division, a bit of the quotient a cycle
  logic dividing_q, found_q, ending_q;
  logic [5:0] step_q;
  logic [29:0] rest_q;
  logic [QUOTIENT_W-1:0] low_q;  // dividend bits still to come; quotient bits move in from below, and stay
  wire [30:0] shifted = {rest_q, low_q[QUOTIENT_W-1]};
  wire fits = shifted >= SECOND;

  assign s_ready = !packet_q;
  assign m_valid = checked_packet_q && same_q;
  assign m_sec   = low_q[31:0];
  assign m_nsec  = 32'(since_q);

  // The borrow of one subtraction tells what lies before the second.
  wire [64:0] since = {1'b0, asking_q.time_ns} - {1'b0, second_ns_q};

  always_ff @(posedge clk) begin
    packet_q <= s_ready ? s_valid : !advance;
    if (s_ready) begin
      asking_q         <= s_packet;
      asking_q.time_ns <= s_valid ? s_packet.time_ns : time_ns;
    end
    if (advance) begin
      checked_q        <= 1'b1;
      checked_packet_q <= packet_q;
      m_packet         <= asking_q;
      m_total          <= asking_q.len + LEN_W'(HEADER_BYTES);
      since_q          <= since[29:0];
      same_q           <= !since[64] && asking_q.time_ns < next_ns_q;
    end

    found_q  <= dividing_q && step_q == 6'(QUOTIENT_W - 1);
    ending_q <= found_q;
    if (dividing_q) begin
      rest_q     <= fits ? 30'(shifted - SECOND) : shifted[29:0];
      low_q      <= {low_q[QUOTIENT_W-2:0], fits};
      step_q     <= step_q + 1'b1;
      dividing_q <= step_q != 6'(QUOTIENT_W - 1);
    end else if (found_q) begin
      second_ns_q <= m_packet.time_ns - 64'(rest_q);
      since_q     <= rest_q;
    end else if (ending_q) begin
      next_ns_q <= second_ns_q + 64'(SECOND);
      same_q    <= 1'b1;
    end else if (checked_q && !same_q) begin
      dividing_q <= 1'b1;
      step_q     <= '0;
      rest_q     <= m_packet.time_ns[63:QUOTIENT_W];
      low_q      <= m_packet.time_ns[QUOTIENT_W-1:0];
    end

    if (rst) begin
      packet_q         <= 1'b0;
      checked_q        <= 1'b0;
      checked_packet_q <= 1'b0;
      dividing_q       <= 1'b0;
      found_q          <= 1'b0;
      ending_q         <= 1'b0;
      low_q            <= '0;
      second_ns_q      <= '0;
      next_ns_q        <= 64'(SECOND);
    end
  end

  assign idle    = !packet_q && !checked_packet_q;
  assign settled = idle && checked_q && same_q && time_ns >= second_ns_q && time_ns < next_ns_q;

endmodule
