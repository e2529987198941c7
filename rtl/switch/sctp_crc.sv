// SPDX-License-Identifier: Apache-2.0
// What a change of its ports makes of the CRC32c of an SCTP packet (RFC 9260, appendix A): the CRC is linear, so the
// bits that change of it are the CRC of the ports' bits that change with zeros behind them.
// Latency: 8 cycles, one for each two bits of the number of bytes. Throughput: a packet a cycle. Never stalls.
module sctp_crc (
    input  logic        clk,
    input  logic        rst,
    input  logic        s_valid,
    input  logic [31:0] s_change,  // as on the wire, the first byte in the highest bits
    input  logic [15:0] s_bytes,   // of the packet, from the ports on
    output logic        m_valid,
    output logic [31:0] m_change   // as on the wire
);

  localparam int unsigned STEPS = 8;
  localparam logic [31:0] POLYNOMIAL = 32'h82F63B78;  // least significant bit first

  // Which bits of a CRC each bit of it is the parity of when 2**power zero bytes have come behind.
  typedef logic [31:0][31:0] taps_t;
  function automatic taps_t zero_taps(int unsigned power);
    taps_t taps, twice;
    logic [31:0] crc;
    for (int unsigned from = 0; from < 32; from++) begin
      crc = 32'd1 << from;
      for (int unsigned steps = 0; steps < 8; steps++) crc = (crc >> 1) ^ (crc[0] ? POLYNOMIAL : '0);
      for (int unsigned bits = 0; bits < 32; bits++) taps[bits][from] = crc[bits];
    end
    for (int unsigned times = 0; times < power; times++) begin
      twice = '0;
      for (int unsigned bits = 0; bits < 32; bits++) begin
        for (int unsigned from = 0; from < 32; from++) if (taps[bits][from]) twice[bits] ^= taps[from];
      end
      taps = twice;
    end
    return taps;
  endfunction

  function automatic logic [31:0] passed(logic [31:0] crc, taps_t taps);
    for (int unsigned bits = 0; bits < 32; bits++) passed[bits] = ^(crc & taps[bits]);
  endfunction

  function automatic logic [31:0] swapped(logic [31:0] word);
    return {word[7:0], word[15:8], word[23:16], word[31:24]};
  endfunction

  logic [STEPS:0] valid;
  logic [STEPS:0][31:0] crc;
  logic [STEPS:0][15:0] bytes;  // a step needs the rest of them
  assign valid[0] = s_valid;
  assign crc[0]   = swapped(s_change);
  assign bytes[0] = s_bytes;

  for (genvar i = 0; i < STEPS; i++) begin : gen_step
    localparam taps_t ONCE = zero_taps(2 * i);
    localparam taps_t TWICE = zero_taps(2 * i + 1);

    always_ff @(posedge clk) begin
      valid[i+1] <= valid[i] && !rst;
      if (valid[i]) begin
        automatic logic [31:0] next = crc[i];
        if (bytes[i][0]) next = passed(next, ONCE);
        if (bytes[i][1]) next = passed(next, TWICE);
        crc[i+1]   <= next;
        bytes[i+1] <= bytes[i] >> 2;
      end
    end
  end

  assign m_valid  = valid[STEPS];
  assign m_change = swapped(crc[STEPS]);

  wire unused = &{1'b0, bytes[STEPS]};

endmodule
