// SPDX-License-Identifier: Apache-2.0
// Gives each copy to where it goes: ports, the host, the parser again. A copy for the host has HOST_HEAD bytes before
// it, in words of 32 bits, the lowest byte first: word 0 in_port in bits 7:0, the reason in 15:8, the program that sent
// it in 31:16; word 1 the bytes of the packet; words 2 and 3 metadata, 4 and 5 the tunnel's number. Of the packet
// follow max_bytes at most.
// Latency: 2 cycles. Throughput: a beat a cycle, and one for each beat of a head. Backpressure: none from the outputs.
module egress_split
  import switch_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic                 clk,
    input  logic                 rst,
    input  logic                 s_axis_tvalid,
    output logic                 s_axis_tready,
    input  logic [DATA_W-1:0]    s_axis_tdata,
    input  logic [KEEP_W-1:0]    s_axis_tkeep,
    input  logic                 s_axis_tlast,
    input  sent_t                s_sent,        // the same on each beat of a packet
    output logic [PORTS_MAX-1:0] port_valid,
    output logic                 host_valid,
    output logic                 again_valid,
    output logic [DATA_W-1:0]    m_data,        // to ports, and to the parser
    output logic [KEEP_W-1:0]    m_keep,
    output logic                 m_last,
    output source_t              again_source,
    output logic [DATA_W-1:0]    host_data,
    output logic [KEEP_W-1:0]    host_keep,
    output logic                 host_last,
    output logic                 idle
);

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "egress_split: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end

  localparam int unsigned BEATS = (HOST_HEAD + KEEP_W - 1) / KEEP_W;
  localparam int unsigned BEAT_W = $clog2(BEATS + 1);
  localparam int unsigned TUNNEL_BEAT = 16 / KEEP_W;  // of the head
  localparam int unsigned TUNNEL_BIT = 128 % DATA_W;

  typedef struct packed {
    sent_t             sent;
    logic              last;
    logic [KEEP_W-1:0] keep;
    logic [DATA_W-1:0] data;
  } beat_t;

  logic valid, ready, reg_idle;
  beat_t beat;
  stream_reg #(
      .WIDTH($bits(beat_t))
  ) u_reg (
      .clk,
      .rst,
      .s_valid(s_axis_tvalid),
      .s_ready(s_axis_tready),
      .s_data ({s_sent, s_axis_tlast, s_axis_tkeep, s_axis_tdata}),
      .m_valid(valid),
      .m_ready(ready),
      .m_data (beat),
      .idle   (reg_idle)
  );

  logic [BEAT_W-1:0] head_q;  // beats of the head that have gone
  logic inside_q;
  logic [15:0] left_q;        // bytes that the host still gets
  wire heading = beat.sent.host && !inside_q && head_q != BEAT_W'(BEATS);
  wire [15:0] left = inside_q ? left_q : beat.sent.max_bytes;
  wire enough = left <= 16'(KEEP_W);

  assign ready = !heading;

  function automatic logic [KEEP_W-1:0] first_bytes(logic [15:0] count);
    for (int unsigned i = 0; i < KEEP_W; i++) first_bytes[i] = 16'(i) < count;
  endfunction

  always_ff @(posedge clk) begin
    port_valid  <= '0;
    host_valid  <= 1'b0;
    again_valid <= 1'b0;
    if (valid) begin
      host_valid <= beat.sent.host && (heading || left != '0);
      host_data  <= beat.data;
      host_keep  <= beat.keep;
      if (enough) host_keep <= beat.keep & first_bytes(left);
      host_last  <= beat.last || enough;
      if (heading) begin
        head_q    <= head_q + 1'b1;
        host_keep <= '1;
        host_last <= beat.sent.max_bytes == '0 && head_q == BEAT_W'(BEATS - 1);
        host_data <= '0;
        if (head_q == '0) begin
          host_data[31:0]   <= {beat.sent.origin, beat.sent.reason, beat.sent.in_port};
          host_data[63:32]  <= 32'(beat.sent.bytes);
          host_data[127:64] <= beat.sent.metadata;
        end
        if (head_q == BEAT_W'(TUNNEL_BEAT)) host_data[TUNNEL_BIT+:64] <= beat.sent.tunnel_id;
      end else begin
        port_valid  <= beat.sent.ports;
        again_valid <= beat.sent.resubmit;
        m_data      <= beat.data;
        m_keep      <= beat.keep;
        m_last      <= beat.last;
        inside_q    <= !beat.last;
        left_q      <= enough ? '0 : left - 16'(KEEP_W);
        if (beat.last) head_q <= '0;
        if (!inside_q) begin
          again_source <= '{
              in_port: beat.sent.in_port,
              next: beat.sent.next,
              program_at: beat.sent.program_at,
              metadata: beat.sent.metadata,
              tunnel_id: beat.sent.tunnel_id
          };
        end
      end
    end
    if (rst) begin
      head_q      <= '0;
      inside_q    <= 1'b0;
      port_valid  <= '0;
      host_valid  <= 1'b0;
      again_valid <= 1'b0;
    end
  end

  assign idle = reg_idle && !inside_q && port_valid == '0 && !host_valid && !again_valid;

endmodule
