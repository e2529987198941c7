// SPDX-License-Identifier: Apache-2.0
// Writes the checksum and the CRC of custom actions into packets that go out.
// Latency: 2 cycles. Throughput: 1 beat a cycle. Backpressure: s_ready follows m_axis_tready within the cycle.
module custom_patch
  import custom_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned USER_W = 1,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,
    input  logic              s_valid,
    output logic              s_ready,
    input  logic [DATA_W-1:0] s_data,
    input  logic [KEEP_W-1:0] s_keep,
    input  logic              s_last,
    input  logic [USER_W-1:0] s_user,
    input  logic              s_patched,      // these two the same on each beat of a packet
    input  patch_t            s_patch,
    output logic              m_axis_tvalid,
    input  logic              m_axis_tready,
    output logic [DATA_W-1:0] m_axis_tdata,
    output logic [KEEP_W-1:0] m_axis_tkeep,
    output logic              m_axis_tlast,
    output logic [USER_W-1:0] m_axis_tuser,
    output logic              idle
);

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "custom_patch: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (USER_W < 1) begin : gen_bad_user_w
    $fatal(1, "custom_patch: USER_W must be at least 1, not %0d", USER_W);
  end

  localparam int unsigned WORDS = KEEP_W / 2;
  localparam int unsigned BYTE_W = $clog2(KEEP_W);
  localparam int unsigned BEAT_W = PLACE_W - BYTE_W;

  typedef struct packed {
    logic              last;
    logic [USER_W-1:0] user;
    logic [KEEP_W-1:0] keep;
    logic [DATA_W-1:0] data;
  } beat_t;

  logic [BEAT_W-1:0] number_q;
  logic behind_q;                 // the beat behind the one in which the CRC begins
  logic found_valid_q, out_valid_q, begins;
  logic patched_q;                // something of the beat is replaced, perhaps
  beat_t found_q, out_q;
  logic [DATA_W-1:0] patched;
  logic [WORDS-1:0] sums, sums_q;
  logic [KEEP_W-1:0] crcs, crcs_q;
  logic [15:0] checksum_q;
  logic [31:0] crc_q;

  wire out_ready = m_axis_tready || !out_valid_q;
  assign s_ready = out_ready || !found_valid_q;
  wire taken = s_valid && s_ready;
  wire [6:0] sum_word = s_patch.payload_at[7:1] - 1'b1;
  wire [BYTE_W-1:0] crc_byte = s_patch.crc_at[BYTE_W-1:0];

  always_comb begin
    begins       = 1'b0;
    {sums, crcs} = 'x;  // nobody looks then
    if (s_patched) begin
      begins = s_patch.crc && number_q == s_patch.crc_at[PLACE_W-1:BYTE_W];
      for (int unsigned i = 0; i < WORDS; i++) begin
        sums[i] = s_patch.summed && number_q == BEAT_W'(sum_word >> (BYTE_W - 1))
                  && sum_word[BYTE_W-2:0] == (BYTE_W - 1)'(i);
      end
      for (int unsigned i = 0; i < KEEP_W; i++) begin
        crcs[i] = (begins && i >= 32'(crc_byte) && i < 32'(crc_byte) + 4)
                  || (behind_q && i + KEEP_W < 32'(crc_byte) + 4);
      end
    end
  end

  always_comb begin
    patched = 'x;  // nobody looks then
    if (found_valid_q) begin
      patched = found_q.data;
      if (patched_q) begin
        for (int unsigned i = 0; i < WORDS; i++) if (sums_q[i]) patched[16*i+:16] = checksum_q;
        for (int unsigned i = 0; i < KEEP_W; i++) if (crcs_q[i]) patched[8*i+:8] = crc_q[8*(i%4)+:8];
      end
    end
  end

  always_ff @(posedge clk) begin
    if (s_ready) found_valid_q <= s_valid;
    if (taken) begin
      found_q   <= '{last: s_last, user: s_user, keep: s_keep, data: s_data};
      patched_q <= s_patched;
      number_q  <= s_last ? '0 : number_q + 1'b1;
      behind_q  <= begins && !s_last;
    end
    if (taken && s_patched) begin
      sums_q     <= sums;
      crcs_q     <= crcs;
      checksum_q <= s_patch.checksum;
      crc_q      <= s_patch.crc_word;
    end
    if (out_ready) out_valid_q <= found_valid_q;
    if (out_ready && found_valid_q) begin
      out_q      <= found_q;
      out_q.data <= patched;
    end
    if (rst) begin
      found_valid_q <= 1'b0;
      out_valid_q   <= 1'b0;
      number_q      <= '0;
      behind_q      <= 1'b0;
    end
  end

  assign m_axis_tvalid = out_valid_q;
  assign m_axis_tdata  = out_q.data;
  assign m_axis_tkeep  = out_q.keep;
  assign m_axis_tlast  = out_q.last;
  assign m_axis_tuser  = out_q.user;
  assign idle          = !found_valid_q && !out_valid_q;

endmodule
