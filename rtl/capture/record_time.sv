// Splits the nanoseconds since the epoch of each packet into the seconds and nanoseconds of a pcap record's header.
// Latency: 1 cycle for packets of the same second as the one before or as the card's clock; 36 cycles more for another
// second. Throughput: 1 packet a cycle within a second. Backpressure: a packet waits in the output.
// While no packet comes, it follows the card's clock, so that a packet stamped with it rarely has to wait.
module record_time
  import capture_pkg::*;
(
    input  logic           clk,
    input  logic           rst,
    input  logic [63:0]    time_ns,

    input  logic           s_valid,
    output logic           s_ready,
    input  packet_t        s_packet,
    output logic           m_valid,
    input  logic           m_ready,
    output packet_t        m_packet,
    output logic [LEN_W:0] m_total,  // bytes of its record
    output logic [31:0]    m_sec,
    output logic [31:0]    m_nsec,
    output logic           idle      // no packet inside
);

  localparam logic [30:0] SECOND = 31'd1_000_000_000;
  localparam int unsigned QUOTIENT_W = 34;

  // What is asked for: a packet's time, or the card's while there is none
  logic packet_q, asked_q;
  logic [63:0] second_ns_q;  // beginning of the second that was found last
  logic [31:0] second_q;
  logic [63:0] next_ns_q;    // and its end
  logic [29:0] since_q;      // from the beginning to the time asked for
  logic same_q;              // it lies in that second
  wire [63:0] asking = s_valid ? s_packet.time_ns : time_ns;

  // Long division, a bit of the quotient a cycle
  logic dividing_q, found_q;
  logic [5:0] step_q;
  logic [63:0] dividend_q;
  logic [29:0] rest_q;
  logic [QUOTIENT_W-1:0] low_q;  // dividend bits still to come; quotient bits move in from below
  wire [30:0] shifted = {rest_q, low_q[QUOTIENT_W-1]};
  wire fits = shifted >= SECOND;

  wire missed = asked_q && !same_q;
  assign s_ready = !dividing_q && !found_q && !missed && (!packet_q || m_ready);
  assign m_valid = packet_q && same_q;
  assign m_sec   = second_q;
  assign m_nsec  = 32'(since_q);

  always_ff @(posedge clk) begin
    if (s_ready) begin
      asked_q    <= 1'b1;
      packet_q   <= s_valid;
      since_q    <= 30'(asking - second_ns_q);
      same_q     <= asking >= second_ns_q && asking < next_ns_q;
      dividend_q <= asking;
    end
    if (s_ready && s_valid) begin
      m_packet <= s_packet;
      m_total  <= (LEN_W + 1)'(s_packet.len) + (LEN_W + 1)'(HEADER_BYTES);
    end

    if (dividing_q) begin
      rest_q     <= fits ? 30'(shifted - SECOND) : shifted[29:0];
      low_q      <= {low_q[QUOTIENT_W-2:0], fits};
      step_q     <= step_q + 1'b1;
      dividing_q <= step_q != 6'(QUOTIENT_W - 1);
      found_q    <= step_q == 6'(QUOTIENT_W - 1);
    end else if (found_q) begin
      found_q     <= 1'b0;
      second_q    <= low_q[31:0];
      second_ns_q <= dividend_q - 64'(rest_q);
      next_ns_q   <= dividend_q + 64'(SECOND - 31'(rest_q));
      since_q     <= rest_q;
      same_q      <= 1'b1;
    end else if (missed) begin
      dividing_q <= 1'b1;
      step_q     <= '0;
      rest_q     <= dividend_q[63:QUOTIENT_W];
      low_q      <= dividend_q[QUOTIENT_W-1:0];
    end

    if (rst) begin
      asked_q     <= 1'b0;
      packet_q    <= 1'b0;
      dividing_q  <= 1'b0;
      found_q     <= 1'b0;
      second_q    <= '0;
      second_ns_q <= '0;
      next_ns_q   <= 64'(SECOND);
    end
  end

  assign idle = !packet_q;

endmodule
