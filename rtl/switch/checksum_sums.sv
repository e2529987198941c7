// SPDX-License-Identifier: Apache-2.0
// Sums, in ones' complement, of those words of a packet's headers that can be edited and that a checksum is of.
// l3: TOS, TTL, protocol and addresses of an IPv4 header; of one below an MPLS label the TTL. l4: ports, or type and
// code, of TCP, UDP, ICMP or ICMPv6, its addresses and protocol but over ICMP, and what neighbour discovery has. All of
// it lies at even bytes. The destination doesn't count where a routing header says that it isn't the final one (RFC
// 8200, 8.1). Of SCTP the ports themselves.
// Latency: 3 cycles. Throughput: a packet a cycle. Never stalls.
module checksum_sums
  import switch_pkg::*;
  import switch_step_pkg::*;
(
    input  logic       clk,
    input  logic       rst,
    input  logic       s_valid,
    // verilator lint_off UNUSEDSIGNAL
    input  kinds_t     kinds,
    input  match_t     fields,
    // verilator lint_on UNUSEDSIGNAL
    input  logic [7:0] ttl,
    output logic       m_valid,
    output sums_t      sums
);

  function automatic logic [18:0] sum_of(logic [7:0][15:0] words);
    sum_of = '0;
    for (int unsigned i = 0; i < 8; i++) sum_of += 19'(words[i]);
  endfunction

  function automatic logic [16:0] folded(logic [20:0] sum);
    return 17'(sum[15:0]) + 17'(sum[20:16]);
  endfunction

  logic [1:0] valid_q, sctp_q;
  logic [1:0][31:0] ports_q;
  logic [18:0] header_q, src_q, dst_q, target_q, rest_q;
  logic [16:0] l3_q, l4_q;

  always_ff @(posedge clk) begin
    automatic logic control = kinds.icmp || kinds.icmpv6;
    automatic logic [31:0] ports = {fields.l4_src, fields.l4_dst};
    automatic logic [15:0] l4 = l4_q[15:0] + 16'(l4_q[16]);
    sctp_q  <= {sctp_q[0], kinds.sctp};
    ports_q <= {ports_q[0], ports};
    if (s_valid) begin
      header_q <= sum_of({32'd0, {8'd0, fields.ip_dscp, fields.ip_ecn}, {ttl, fields.ip_proto}, fields.src[31:0],
                          fields.dst[31:0]});
      src_q    <= kinds.icmp ? '0 : sum_of(fields.src);
      dst_q    <= kinds.icmp || kinds.routed ? '0 : sum_of(fields.dst);
      target_q <= sum_of(fields.target);
      rest_q   <= sum_of({40'd0, kinds.icmp ? 8'd0 : fields.ip_proto, fields.link,
                          control ? {16'd0, fields.l4_src[7:0], fields.l4_dst[7:0]} : ports});
    end
    if (valid_q[0]) begin
      l3_q <= folded(21'(header_q));
      l4_q <= folded(21'(src_q) + 21'(dst_q) + 21'(target_q) + 21'(rest_q));
    end
    if (valid_q[1]) begin
      sums.l3 <= l3_q[15:0] + 16'(l3_q[16]);
      sums.l4 <= sctp_q[1] ? ports_q[1] : 32'(l4);
    end
    {m_valid, valid_q} <= rst ? '0 : {valid_q, s_valid};
  end

endmodule
