// SPDX-License-Identifier: Apache-2.0
// What a change of its ports makes of the CRC32c of an SCTP packet (RFC 9260, appendix A): the CRC is linear, so the
// bits that change of it are the CRC of the ports' bits that change with zeros behind them. n bytes of zeros multiply
// it, a polynomial over GF(2), by x**(8 * n): by a power for each byte of n, which a table of 256 has.
// Latency: 6 cycles. Throughput: a packet a cycle. Never stalls.
module sctp_crc (
    input  logic        clk,
    input  logic        rst,
    input  logic        s_valid,
    input  logic [31:0] s_change,  // as on the wire, the first byte in the highest bits
    input  logic [15:0] s_bytes,   // of the packet, from the ports on
    output logic        m_valid,
    output logic [31:0] m_change   // as on the wire
);

  // A word has its coefficient of x**0 in bit 31, that of x**31 in bit 0.
  typedef logic [31:0] word_t;
  localparam word_t POLYNOMIAL = 32'h82F63B78;
  localparam word_t ONE = 32'h80000000;

  function automatic word_t times_x(word_t word);
    return (word >> 1) ^ (word[0] ? POLYNOMIAL : '0);
  endfunction

  function automatic word_t times(word_t a, word_t b);
    times = '0;
    for (int i = 31; i >= 0; i--) begin
      if (b[i]) times ^= a;
      a = times_x(a);
    end
  endfunction

  typedef word_t [255:0] powers_t;
  function automatic powers_t powers(word_t base);
    powers[0] = ONE;
    for (int unsigned i = 1; i < 256; i++) powers[i] = times(powers[i-1], base);
  endfunction

  localparam powers_t LOW = powers(ONE >> 8);
  localparam powers_t HIGH = powers(times(LOW[255], ONE >> 8));

  // A product before it is reduced: its bit i is the coefficient of x**(62 - i).
  typedef logic [62:0] product_t;
  function automatic product_t product(word_t a, word_t b);
    product = '0;
    for (int unsigned i = 0; i < 32; i++) if (a[i]) product ^= product_t'(b) << i;
  endfunction

  typedef product_t [31:0] taps_t;  // of each bit of a reduced one
  function automatic taps_t taps_of();
    automatic word_t power = ONE;
    for (int i = 62; i >= 0; i--) begin
      for (int unsigned bits = 0; bits < 32; bits++) taps_of[bits][i] = power[bits];
      power = times_x(power);
    end
  endfunction
  localparam taps_t TAPS = taps_of();

  function automatic word_t reduced(product_t from);
    for (int unsigned bits = 0; bits < 32; bits++) reduced[bits] = ^(from & TAPS[bits]);
  endfunction

  function automatic word_t swapped(word_t word);
    return {word[7:0], word[15:8], word[23:16], word[31:24]};
  endfunction

  localparam int unsigned LATENCY = 6;
  logic [LATENCY-1:0] valid_q;
  logic [LATENCY-2:0] some_q;  // bits of the ports change: most packets have none, and take no part in this
  logic [1:0][31:0] change_q, low_q, high_q;
  logic [1:0][7:0] bytes_q;  // the upper half, until half of it is done
  product_t once_q, twice_q;
  word_t half_q, result_q;

  always_ff @(posedge clk) begin
    low_q    <= {low_q[0], LOW[s_bytes[7:0]]};
    bytes_q  <= {bytes_q[0], s_bytes[15:8]};
    high_q   <= {high_q[0], HIGH[bytes_q[1]]};
    change_q <= {change_q[0], swapped(s_change)};
    some_q   <= {some_q[LATENCY-3:0], s_change != '0};
    if (some_q[1]) once_q <= product(change_q[1], low_q[1]);
    if (some_q[2]) half_q <= reduced(once_q);
    if (some_q[3]) twice_q <= product(half_q, high_q[1]);
    if (some_q[4]) result_q <= reduced(twice_q);
    else result_q <= '0;
    valid_q <= rst ? '0 : {valid_q[LATENCY-2:0], s_valid};
  end

  assign m_valid  = valid_q[LATENCY-1];
  assign m_change = swapped(result_q);

endmodule
