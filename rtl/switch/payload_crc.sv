// SPDX-License-Identifier: Apache-2.0
// CRC-32 (IEEE 802.3) of a piece of each packet. It begins at a lane of 4 bytes; what doesn't belong to it is 0, but
// for the first 4 bytes of the piece, which are inverted, be they all of it or not: so the zeros before it count
// nothing.
// Latency: 3 cycles from a packet's last beat, and one for each two bits of the number of bytes of a beat. Throughput:
// 1 beat a cycle, of packets of one beat too. Never stalls.
module payload_crc #(
    parameter int unsigned DATA_W = 512,
    localparam int unsigned BYTES_W = $clog2(DATA_W / 8 + 1)
) (
    input  logic                    clk,
    input  logic                    rst,
    input  logic                    s_valid,
    input  logic                    s_first,  // beat of a packet
    input  logic                    s_last,
    input  logic                    s_folds,  // has to do with the piece
    input  logic                    s_ends,   // the last one that has
    input  logic [BYTES_W-1:0]      s_stop,   // then: bytes up to the piece's end
    input  logic [DATA_W-1:0]       s_data,
    output logic                    m_valid,
    output logic [31:0]             m_crc,
    output logic                    idle
);

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "payload_crc: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end

  localparam int unsigned KEEP_W = DATA_W / 8;
  localparam int unsigned PART_W = 64;               // bits of a beat that are folded in one cycle
  localparam int unsigned PARTS = DATA_W / PART_W;
  localparam logic [31:0] POLYNOMIAL = 32'hEDB88320;  // least significant bit first

  function automatic logic [31:0] step(logic [31:0] crc);
    return (crc >> 1) ^ (crc[0] ? POLYNOMIAL : '0);
  endfunction
  function automatic logic [31:0] step_back(logic [31:0] crc);
    return crc[31] ? ((crc ^ POLYNOMIAL) << 1) | 32'd1 : crc << 1;
  endfunction

  // Which bits of a beat each bit of the CRC at its end is the parity of. The first 32 stand for the CRC before it too.
  typedef logic [31:0][DATA_W-1:0] taps_t;
  function automatic taps_t beat_taps();
    taps_t taps;
    logic [31:0] crc;
    crc = 32'd1;
    for (int i = DATA_W - 1; i >= 0; i--) begin
      crc = step(crc);
      for (int unsigned bits = 0; bits < 32; bits++) taps[bits][i] = crc[bits];
    end
    return taps;
  endfunction
  localparam taps_t TAPS = beat_taps();

  // The zeros behind the piece are taken out again at the end, by powers of two: which bits of the CRC each one
  // 2**power zero bytes earlier is the parity of.
  typedef logic [31:0][31:0] square_t;
  function automatic square_t back_taps(int unsigned power);
    square_t taps;
    logic [31:0] crc;
    for (int unsigned from = 0; from < 32; from++) begin
      crc = 32'd1 << from;
      for (int unsigned steps = 0; steps < 8 * 2 ** power; steps++) crc = step_back(crc);
      for (int unsigned bits = 0; bits < 32; bits++) taps[bits][from] = crc[bits];
    end
    return taps;
  endfunction

  typedef struct packed {
    logic               valid;
    logic               first;
    logic               last;
    logic               folds;
    logic               ends;
    logic [BYTES_W-1:0] spare;  // bytes behind the piece
  } side_t;

  // a: folded in parts; b: folded; c: with the beats before
  side_t a_q, b_q;
  logic c_done_q;
  logic [PARTS-1:0][31:0] parts, parts_q;
  logic [31:0] fold, fold_q, crc_q, crc_d;
  logic [BYTES_W-1:0] spare_q;

  for (genvar p = 0; p < PARTS; p++) begin : gen_parts
    for (genvar i = 0; i < 32; i++) begin : gen_bits
      assign parts[p][i] = ^(s_data[PART_W*p+:PART_W] & TAPS[i][PART_W*p+:PART_W]);
    end
  end
  for (genvar i = 0; i < 32; i++) begin : gen_crc
    assign crc_d[i] = fold_q[i] ^ (!b_q.first && ^(crc_q & TAPS[i][31:0]));
  end
  always_comb begin
    fold = '0;
    for (int unsigned i = 0; i < PARTS; i++) fold ^= parts_q[i];
  end

  always_ff @(posedge clk) begin
    a_q <= '{
        valid: s_valid,
        first: s_first,
        last: s_last,
        folds: s_folds,
        ends: s_ends,
        spare: BYTES_W'(KEEP_W) - s_stop
    };
    b_q <= a_q;
    if (s_valid && s_folds) parts_q <= parts;
    if (a_q.valid && a_q.folds) fold_q <= fold;
    if (b_q.valid && b_q.folds) crc_q <= crc_d;
    else if (b_q.valid && b_q.first) crc_q <= '0;
    if (b_q.valid && b_q.ends) spare_q <= b_q.spare;
    c_done_q <= b_q.valid && b_q.last;
    if (rst) begin
      a_q.valid <= 1'b0;
      b_q.valid <= 1'b0;
      c_done_q  <= 1'b0;
    end
  end

  // Two powers of two a cycle
  localparam int unsigned STAGES = (BYTES_W + 1) / 2;
  logic [STAGES:0] done;
  logic [STAGES:0][31:0] back;
  logic [STAGES-1:0][BYTES_W-1:0] spare;
  assign done[0]  = c_done_q;
  assign back[0]  = crc_q;
  assign spare[0] = spare_q;

  for (genvar s = 0; s < STAGES; s++) begin : gen_stages
    localparam square_t FIRST = back_taps(2 * s);
    localparam square_t SECOND = back_taps(2 * s + 1);

    always_ff @(posedge clk) begin
      if (done[s]) begin
        automatic logic [31:0] once = back[s];
        automatic logic [31:0] twice;
        if (spare[s][2*s]) for (int unsigned i = 0; i < 32; i++) once[i] = ^(back[s] & FIRST[i]);
        twice = once;
        if (2 * s + 1 < BYTES_W && spare[s][(2*s+1)%BYTES_W]) begin
          for (int unsigned i = 0; i < 32; i++) twice[i] = ^(once & SECOND[i]);
        end
        back[s+1] <= twice;
      end
      done[s+1] <= done[s];
      if (rst) done[s+1] <= 1'b0;
    end
    if (s < STAGES - 1) begin : gen_spare
      always_ff @(posedge clk) if (done[s]) spare[s+1] <= spare[s];
    end
  end

  assign m_valid = done[STAGES];
  assign m_crc   = ~back[STAGES];
  assign idle    = !a_q.valid && !b_q.valid && done == '0;

endmodule
