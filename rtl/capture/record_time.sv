// Splits the nanoseconds since the epoch of each packet into the seconds and nanoseconds of a pcap record's header.
// Latency: 1 cycle for packets of the same second as the one before or as the card's clock; 35 cycles more for another
// second. Throughput: 1 packet a cycle within a second.
// While no packet comes, it follows the card's clock, so that a packet stamped with it rarely has to wait.
module record_time
  import capture_pkg::*;
(
    input  logic        clk,
    input  logic        rst,
    input  logic [63:0] time_ns,

    input  logic        s_valid,
    output logic        s_ready,
    input  packet_t     s_packet,
    output logic        m_valid,
    input  logic        m_ready,
    output packet_t     m_packet,
    output logic [31:0] m_sec,
    output logic [31:0] m_nsec
);

  localparam logic [30:0] SECOND = 31'd1_000_000_000;
  localparam int unsigned QUOTIENT_W = 34;

  // The second that was last asked for
  logic [63:0] second_ns_q;  // its beginning
  logic [31:0] second_q;

  wire [63:0] asked = s_valid ? s_packet.time_ns : time_ns;
  wire [63:0] since = asked - second_ns_q;
  wire same = since < 64'(SECOND);

  // Long division, a bit of the quotient a cycle
  logic dividing_q, loaded_q;
  logic [5:0] step_q;
  logic [63:0] dividend_q;
  logic [29:0] rest_q;
  logic [QUOTIENT_W-1:0] low_q;  // dividend bits still to come; quotient bits move in from below
  wire [30:0] shifted = {rest_q, low_q[QUOTIENT_W-1]};
  wire fits = shifted >= SECOND;

  assign s_ready = same && (!m_valid || m_ready);

  always_ff @(posedge clk) begin
    if (m_ready) m_valid <= 1'b0;
    if (s_valid && s_ready) begin
      m_valid  <= 1'b1;
      m_packet <= s_packet;
      m_sec    <= second_q;
      m_nsec   <= since[31:0];
    end

    if (dividing_q) begin
      rest_q <= fits ? 30'(shifted - SECOND) : shifted[29:0];
      low_q  <= {low_q[QUOTIENT_W-2:0], fits};
      step_q <= step_q + 1'b1;
      if (step_q == 6'(QUOTIENT_W - 1)) begin
        dividing_q <= 1'b0;
        loaded_q   <= 1'b1;
      end
    end else if (loaded_q) begin
      loaded_q    <= 1'b0;
      second_q    <= low_q[31:0];
      second_ns_q <= dividend_q - 64'(rest_q);
    end else if (!same) begin
      dividing_q <= 1'b1;
      step_q     <= '0;
      dividend_q <= asked;
      rest_q     <= asked[63:QUOTIENT_W];
      low_q      <= asked[QUOTIENT_W-1:0];
    end

    if (rst) begin
      m_valid     <= 1'b0;
      dividing_q  <= 1'b0;
      loaded_q    <= 1'b0;
      second_q    <= '0;
      second_ns_q <= '0;
    end
  end

endmodule
