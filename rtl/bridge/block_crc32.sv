// SPDX-License-Identifier: Apache-2.0
// Kernel of a functional block that checks frames: their last 4 bytes must be the CRC-32 (IEEE 802.3) of those before,
// as they lie on an Ethernet. Good frames pass unchanged, others and those of less than 4 bytes with m_drop.
// Latency: 2 cycles. Throughput: 1 beat a cycle. Backpressure: s_axis_tready follows m_axis_tready within the cycle.
module block_crc32
  import bridge_pkg::*;
#(
    parameter int unsigned DATA_W = 64,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,

    input  logic              s_axis_tvalid,
    output logic              s_axis_tready,
    input  logic [DATA_W-1:0] s_axis_tdata,
    input  logic [KEEP_W-1:0] s_axis_tkeep,
    input  logic              s_axis_tlast,

    output logic              m_axis_tvalid,
    input  logic              m_axis_tready,
    output logic [DATA_W-1:0] m_axis_tdata,
    output logic [KEEP_W-1:0] m_axis_tkeep,
    output logic              m_axis_tlast,
    output logic              m_drop,        // valid with the last beat
    output logic [63:0]       wake_ns
);

  if (DATA_W < 32 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "block_crc32: DATA_W must be 32, 64, 128, 256 or 512, not %0d", DATA_W);
  end

  localparam logic [31:0] POLYNOMIAL = 32'hEDB88320;  // least significant bit first
  localparam logic [31:0] RESIDUE = 32'hDEBB20E3;     // after a good frame; no frame of less than 4 bytes leads to it

  function automatic logic [31:0] step(logic [31:0] crc);
    return (crc >> 1) ^ (crc[0] ? POLYNOMIAL : '0);
  endfunction

  // What each bit of a beat does to the CRC at the beat's end.
  typedef logic [DATA_W-1:0][31:0] matrix_t;
  function automatic matrix_t effects();
    matrix_t matrix;
    logic [31:0] crc;
    crc = 32'd1;
    for (int i = DATA_W - 1; i >= 0; i--) begin
      crc       = step(crc);
      matrix[i] = crc;
    end
    return matrix;
  endfunction
  localparam matrix_t EFFECTS = effects();

  // The CRC after a good frame whose last beat has so many bytes and is filled up with zeros: the zeros are counted
  // too, so that one beat's width of logic serves for every length.
  function automatic logic [KEEP_W:0][31:0] residues();
    logic [KEEP_W:0][31:0] table_;
    logic [31:0] crc;
    crc = RESIDUE;
    for (int i = KEEP_W; i >= 0; i--) begin
      table_[i] = crc;
      for (int bits = 0; bits < 8; bits++) crc = step(crc);
    end
    return table_;
  endfunction
  localparam logic [KEEP_W:0][31:0] RESIDUES = residues();

  typedef struct packed {
    logic              last;
    logic [KEEP_W-1:0] keep;
    logic [DATA_W-1:0] data;
  } beat_t;

  logic advance, a_valid_q, b_valid_q, drop_q;
  beat_t a_q, b_q;
  logic [31:0] fold, fold_q, crc_q, crc_d, good;

  assign advance = m_axis_tready || !b_valid_q;

  always_comb begin
    fold = '0;
    for (int unsigned i = 0; i < DATA_W; i++) if (s_axis_tdata[i] && s_axis_tkeep[i/8]) fold ^= EFFECTS[i];
    crc_d = fold_q;
    for (int unsigned i = 0; i < 32; i++) if (crc_q[i]) crc_d ^= EFFECTS[i];
    good = '0;
    for (int unsigned i = 0; i < KEEP_W; i++) begin
      if (a_q.keep[i] && (i == KEEP_W - 1 || !a_q.keep[i+1])) good |= RESIDUES[i+1];
    end
  end

  always_ff @(posedge clk) begin
    if (advance) begin
      a_valid_q <= s_axis_tvalid;
      a_q       <= '{last: s_axis_tlast, keep: s_axis_tkeep, data: s_axis_tdata};
      fold_q    <= fold;
      b_valid_q <= a_valid_q;
      b_q       <= a_q;
      drop_q    <= crc_d != good;
      if (a_valid_q) crc_q <= a_q.last ? '1 : crc_d;
    end
    if (rst) begin
      a_valid_q <= 1'b0;
      b_valid_q <= 1'b0;
      crc_q     <= '1;
    end
  end

  assign s_axis_tready = advance;
  assign m_axis_tvalid = b_valid_q;
  assign m_axis_tdata  = b_q.data;
  assign m_axis_tkeep  = b_q.keep;
  assign m_axis_tlast  = b_q.last;
  assign m_drop        = drop_q;
  assign wake_ns       = NEVER;

endmodule
