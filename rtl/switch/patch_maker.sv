// SPDX-License-Identifier: Apache-2.0
// Makes what is written into packets with custom actions: the CRC, and the checksum with all that has changed.
// Latency: 13 cycles (DATA_W 512: 14) from the data of a packet's last beat. Throughput: 1 beat a cycle, of packets of
// one beat too. Never stalls: there must be no more than PACKETS under way.
module patch_maker
  import custom_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned PACKETS = 32,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,
    input  logic              packet_valid,  // before the span of the packet's last beat
    input  patch_t            packet,
    input  logic              span_valid,    // a cycle before the beat's data
    // verilator lint_off UNUSEDSIGNAL
    input  span_t             span,
    // verilator lint_on UNUSEDSIGNAL
    input  logic [DATA_W-1:0] s_old,
    input  logic [DATA_W-1:0] s_new,
    output logic              m_valid,
    input  logic              m_ready,
    output patch_t            m_patch
);

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "patch_maker: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (PACKETS < 4 || PACKETS > 64 || 2 ** $clog2(PACKETS) != PACKETS) begin : gen_bad_packets
    $fatal(1, "patch_maker: PACKETS must be a power of two from 4 to 64, not %0d", PACKETS);
  end

  localparam int unsigned BYTES_W = $clog2(KEEP_W + 1);

  // ----------------------------------------------------------------------------------------------- CRC and differences
  logic valid1_q, valid2_q;
  typedef struct packed {
    logic               first;
    logic               last;
    logic               folds;
    logic               ends;
    logic [BYTES_W-1:0] tail;
  } place_t;

  place_t place1_q, place2_q;
  logic [KEEP_W-1:0] first_q, checked_q, written_q;  // the payload's first 4 bytes; what the CRC is of; what it becomes
  logic [DATA_W-1:0] checked, checked2_q;
  logic crc_valid, delta_valid;
  logic [31:0] crc;
  logic [15:0] delta, written;

  always_comb begin
    for (int unsigned i = 0; i < KEEP_W; i++) begin
      checked[8*i+:8] = (checked_q[i] ? s_new[8*i+:8] : '0) ^ {8{first_q[i]}};
    end
  end

  always_ff @(posedge clk) begin
    valid1_q <= span_valid;
    valid2_q <= valid1_q;
    if (span_valid) begin
      place1_q <= '{
          first: span.first,
          last: span.last,
          folds: span.crc && span.folds,
          ends: span.ends,
          tail: BYTES_W'(span.tail)
      };
      for (int unsigned i = 0; i < KEEP_W; i++) begin
        first_q[i]   <= span.begins && i >= 32'(span.start) && i < 32'(span.start) + 4;
        checked_q[i] <= i >= 32'(span.start) && i < 32'(span.tail);
        written_q[i] <= i >= 32'(span.tail) && i < 32'(span.stop);
      end
    end
    if (valid1_q) begin
      place2_q   <= place1_q;
      checked2_q <= checked;
    end
    if (rst) begin
      valid1_q <= 1'b0;
      valid2_q <= 1'b0;
    end
  end

  // Outputs that nobody needs here stay open.
  // verilator lint_off PINCONNECTEMPTY
  payload_crc #(
      .DATA_W(DATA_W)
  ) u_crc (
      .clk,
      .rst,
      .s_valid(valid2_q),
      .s_first(place2_q.first),
      .s_last (place2_q.last),
      .s_folds(place2_q.folds),
      .s_ends (place2_q.ends),
      .s_stop (place2_q.tail),
      .s_data (checked2_q),
      .m_valid(crc_valid),
      .m_crc  (crc),
      .idle   ()
  );

  checksum_delta #(
      .DATA_W(DATA_W)
  ) u_delta (
      .clk,
      .rst,
      .s_valid (valid1_q),
      .s_first (place1_q.first),
      .s_last  (place1_q.last),
      .s_old,
      .s_new,
      .s_marked(written_q),
      .m_valid (delta_valid),
      .m_delta (delta),
      .m_marked(written),
      .idle    ()
  );

  // -------------------------------------------------------------------------------------------------- both of a packet
  // The CRC comes last, and takes what waits.
  patch_t waiting;
  logic packets_room, packet_there, deltas_room, delta_there, made_room;
  logic [15:0] waiting_delta, waiting_written;

  stream_queue #(
      .WIDTH($bits(patch_t)),
      .DEPTH(PACKETS)
  ) u_packets (
      .clk,
      .rst,
      .s_valid(packet_valid),
      .s_ready(packets_room),
      .s_data (packet),
      .m_valid(packet_there),
      .m_ready(crc_valid),
      .m_data (waiting),
      .idle   ()
  );

  stream_queue #(
      .WIDTH(32),
      .DEPTH(PACKETS)
  ) u_deltas (
      .clk,
      .rst,
      .s_valid(delta_valid),
      .s_ready(deltas_room),
      .s_data ({delta, written}),
      .m_valid(delta_there),
      .m_ready(crc_valid),
      .m_data ({waiting_delta, waiting_written}),
      .idle   ()
  );

  // a: the CRC turned to its place; b: what it changes; c: the sum; d: its carries folded
  typedef struct packed {
    patch_t      patch;
    logic [16:0] sum;
    logic [15:0] written;
  } step_t;

  logic [3:0] valid_q;
  step_t a_q;
  logic [16:0] b_sum_q;
  patch_t b_patch_q, c_patch_q, d_patch_q;
  logic [17:0] change_q;
  logic [18:0] sum_q;
  logic [15:0] folded_q;
  patch_t made;

  function automatic logic [31:0] turned(logic [31:0] word, logic [1:0] bytes);
    unique case (bytes)
      2'd0: turned = word;
      2'd1: turned = {word[23:0], word[31:24]};
      2'd2: turned = {word[15:0], word[31:16]};
      2'd3: turned = {word[7:0], word[31:8]};
    endcase
  endfunction

  function automatic logic [15:0] folded(logic [18:0] number);
    logic [16:0] once;
    once = 17'(number[15:0]) + 17'(number[18:16]);
    return once[15:0] + 16'(once[16]);
  endfunction

  always_ff @(posedge clk) begin
    valid_q <= {valid_q[2:0], crc_valid};
    if (crc_valid) begin
      a_q.patch          <= waiting;
      a_q.patch.crc_word <= turned(crc, waiting.crc_at[1:0]);
      a_q.sum            <= {1'b0, ~waiting.checksum} + 17'(waiting_delta);
      a_q.written        <= waiting_written;
    end
    if (valid_q[0]) begin
      b_patch_q <= a_q.patch;
      b_sum_q   <= a_q.sum;
      change_q  <= '0;
      if (a_q.patch.crc) begin
        change_q <= 18'(a_q.patch.crc_word[15:0]) + 18'(a_q.patch.crc_word[31:16]) + {2'b0, ~a_q.written};
      end
    end
    if (valid_q[1]) begin
      c_patch_q <= b_patch_q;
      sum_q     <= 19'(b_sum_q) + 19'(change_q);
    end
    if (valid_q[2]) begin
      d_patch_q <= c_patch_q;
      folded_q  <= folded(sum_q);
    end
    if (rst) valid_q <= '0;
  end

  always_comb begin
    made          = d_patch_q;
    made.checksum = folded_q == '1 ? '1 : ~folded_q;  // 0 says that there is none
  end

  stream_fifo #(
      .WIDTH($bits(patch_t)),
      .DEPTH(PACKETS)
  ) u_made (
      .clk,
      .rst,
      .s_valid(valid_q[3]),
      .s_ready(made_room),
      .s_data (made),
      .m_valid,
      .m_ready,
      .m_data (m_patch),
      .count  (),
      .idle   ()
  );
  // verilator lint_on PINCONNECTEMPTY

`ifndef SYNTHESIS
  ready_contract #(
      .WIDTH(4)
  ) u_ready (
      .clk,
      .rst,
      .valid({packet_valid, delta_valid, valid_q[3], crc_valid}),
      .ready({packets_room, deltas_room, made_room, packet_there && delta_there})
  );
`endif

endmodule
