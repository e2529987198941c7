// SPDX-License-Identifier: Apache-2.0
// Accelerator: finds up to 4,096 patterns of 1 to 64 bytes in pieces of packet memory, for intrusion detection.
// Exactly: each occurrence of each pattern is reported once, none is left out, and nothing else is reported.
//   0x00  write: 1 starts a job, 2 takes the oldest entry, 0x80 clears the errors
//         read: 1 if an entry waits [7:0], jobs that may be started [15:8], errors [23:16], 1 if tables are loaded [24]
//   0x04  LEN of the next job, 0 to 65535   0x08  ADDR in packet memory     0x2C  LEN, and starts the job
//   0x18  SLOT: a byte that is written for the next jobs; read: that of the oldest entry
//   0x1C  the oldest entry's pattern: its place in the loaded ones, from 1; 0: the job's end   (0 while none waits)
//   0x20  and its position: bytes of the job up to and with the pattern's last one; at the end, those of the job
//   0x24  a read waits for an entry and takes it: pattern [15:0], position [31:16]
//   0x30  interrupt while: bit 0 an entry waits, bit 1 errors    0xFFC "MTCH", 0xFF8 version
// Entries come in order of jobs, positions, lengths up to 4, and patterns. When MATCHES of them wait, matching stops
// until one is taken: none is lost. Errors: bit 0, a job was started while 8 ends of jobs were still to be taken: it is
// left out; bit 1, an entry was taken and there was none to come.
// Loading (headrace.cards.rpu.tables.matcher_words), while no job runs, in any order between the two writes of 0x20000:
//   0x00000, 0x00800, 0x01000  three tables of 512 words: matcher_filter
//   0x02000 + 4 b  bucket b of 2,048 (matcher_pkg): first row [11:0], number of rows [28:16]
//   0x10000 + 16 r  row r of patterns: bytes 0 to 3, 4 to 7, and +8 control (matcher_pkg). A pattern's rows begin with
//                   its end; patterns without regard to case are in lower case.
//   0x20000  1: the tables are whole; 0: they are not, and nothing is found
// Latency: 19 to 22 cycles from a job's last beat to its end's entry. Throughput: 16 bytes a cycle; each place where a
// pattern of a bucket may end costs as many cycles as the bucket has rows: about two, many where many patterns have
// the same last 4 bytes. Backpressure: s_axis_tready.
module accel_matcher
  import rpu_pkg::*, matcher_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned ROWS = 4096,    // of 8 bytes of patterns
    parameter int unsigned MATCHES = 64,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,

    input  logic              reg_valid,
    input  logic              reg_write,
    input  logic [15:0]       reg_addr,
    input  logic [31:0]       reg_wdata,
    input  logic [3:0]        reg_wstrb,
    output logic              reg_ready,
    output logic [31:0]       reg_rdata,

    input  logic              load_valid,
    input  logic [23:0]       load_addr,
    input  logic [31:0]       load_data,

    output logic              job_valid,
    input  logic              job_ready,
    output accel_job_t        job,

    input  logic              s_axis_tvalid,
    output logic              s_axis_tready,
    input  logic [DATA_W-1:0] s_axis_tdata,
    input  logic [KEEP_W-1:0] s_axis_tkeep,
    input  logic              s_axis_tlast,

    output logic              interrupt,
    output logic              idle
);

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "accel_matcher: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (ROWS < 64 || ROWS > 4096 || 2 ** $clog2(ROWS) != ROWS) begin : gen_bad_rows
    $fatal(1, "accel_matcher: ROWS must be a power of two from 64 to 4096, not %0d", ROWS);
  end
  if (MATCHES < 16 || MATCHES > 4096) begin : gen_bad_matches
    $fatal(1, "accel_matcher: MATCHES must be 16 to 4096, not %0d", MATCHES);
  end

  localparam int unsigned JOBS = 8;
  localparam int unsigned LATE = 6;  // entries that may still come when there is no room
  localparam int unsigned BYTES_W = $clog2(KEEP_W + 1);
  localparam int unsigned ROW_W = $clog2(ROWS);
  localparam int unsigned COUNT_W = $clog2(ROWS + 1);
  localparam int unsigned WAITING_W = $clog2(MATCHES + 1);
  localparam int unsigned BUCKET_W = 1 + 2 + ROW_W + COUNT_W + RING_W + 4 + 16 + 8;

  logic start_valid, start_ready, take, take_valid, match_valid, oldest_valid, jobs_idle, filter_idle;
  logic candidates_idle, lookup_idle, buckets_idle, compare_idle;
  logic beat_valid, beat_ready, beat_first, beat_last, row_valid, rows_valid, rows_ready;
  logic candidates_valid, candidates_ready, lookup_valid, lookup_ready, bucket_valid, bucket_ready;
  logic [DATA_W-1:0] beat_data;
  logic [BYTES_W-1:0] beat_bytes;
  logic [7:0] beat_tag, slot_q;
  logic [RING_W-1:0] row_ring;
  logic [8*LANES-1:0] row_data;
  logic [BUCKET_W-1:0] lookup_item, bucket_item;
  logic [WAITING_W-1:0] waiting;
  logic [3:0] untaken_q;  // jobs whose end is not yet taken
  logic room_q, enable_q;
  accel_job_t start_job;
  candidates_t rows, candidates;
  match_t match, oldest;
  load_t load_q;

  always_ff @(posedge clk) begin
    load_q.valid <= load_valid && load_addr[1:0] == '0;
    load_q.index <= load_addr[23:2];
    load_q.data  <= load_data;
    if (load_q.valid && load_q.index == 22'h8000) enable_q <= load_q.data[0];
    if (rst) begin
      load_q.valid <= 1'b0;
      enable_q     <= 1'b0;
    end
  end

  // Registers
  localparam logic [13:0] CTRL = 14'h000, LEN = 14'h001, ADDR = 14'h002, SLOT = 14'h006, RULE = 14'h007;
  localparam logic [13:0] POSITION = 14'h008, NEXT = 14'h009, LEN_START = 14'h00B, INTERRUPT = 14'h00C;
  localparam logic [13:0] VERSION = 14'h3FE, IDENT = 14'h3FF;

  logic [15:0] len_q;
  logic [23:0] addr_q;
  logic [1:0] interrupt_q, errors_q, errors_d;
  logic full, wants, ctrl, next, start, ended;
  wire [13:0] word = reg_addr[15:2];
  wire write = reg_valid && reg_write;
  wire nothing = !oldest_valid && untaken_q == '0;

  function automatic logic [31:0] merge(logic [31:0] old);
    for (int unsigned i = 0; i < 4; i++) merge[8*i+:8] = reg_wstrb[i] ? reg_wdata[8*i+:8] : old[8*i+:8];
  endfunction
  wire [31:0] new_len = merge(32'(len_q));

  assign ctrl        = write && word == CTRL && reg_wstrb[0];
  assign wants       = (ctrl && reg_wdata[0]) || (write && word == LEN_START && reg_wstrb[1]);
  assign full        = untaken_q == 4'(JOBS);
  assign start_valid = wants && !full;
  assign start_job   = '{addr: addr_q, len: word == CTRL ? len_q : new_len[15:0]};
  assign start       = start_valid && start_ready;
  assign next        = reg_valid && !reg_write && word == NEXT;
  assign reg_ready   = start_valid ? start_ready : !next || oldest_valid || nothing;
  assign take        = (ctrl && reg_wdata[1] && reg_ready) || next;
  assign take_valid  = take && oldest_valid;
  assign ended       = take_valid && oldest.id == '0;

  always_comb begin
    errors_d = errors_q;
    if (ctrl && reg_wdata[7]) errors_d = '0;
    if (wants && full) errors_d[0] = 1'b1;
    if (next ? nothing : take && !oldest_valid) errors_d[1] = 1'b1;
    unique case (word)
      CTRL:      reg_rdata = {7'd0, enable_q, 6'd0, errors_q, 8'(JOBS) - 8'(untaken_q), 7'd0, oldest_valid};
      LEN:       reg_rdata = 32'(len_q);
      ADDR:      reg_rdata = 32'(addr_q);
      SLOT:      reg_rdata = oldest_valid ? 32'(oldest.tag) : '0;
      RULE:      reg_rdata = oldest_valid ? 32'(oldest.id) : '0;
      POSITION:  reg_rdata = oldest_valid ? 32'(oldest.position) : '0;
      NEXT:      reg_rdata = oldest_valid ? {oldest.position, oldest.id} : '0;
      INTERRUPT: reg_rdata = 32'(interrupt_q);
      VERSION:   reg_rdata = 32'd1;
      // As bytes in memory the identification reads from left to right.
      IDENT:     reg_rdata = "HCTM";
      default:   reg_rdata = '0;
    endcase
  end

  always_ff @(posedge clk) begin
    if (write && (word == LEN || word == LEN_START)) len_q <= new_len[15:0];
    if (write && word == ADDR) addr_q <= 24'(merge(32'(addr_q)));
    if (write && word == SLOT && reg_wstrb[0]) slot_q <= reg_wdata[7:0];
    if (write && word == INTERRUPT && reg_wstrb[0]) interrupt_q <= reg_wdata[1:0];
    errors_q  <= errors_d;
    untaken_q <= untaken_q + 4'(start) - 4'(ended);
    room_q    <= waiting <= WAITING_W'(MATCHES - LATE - 1);
    if (rst) begin
      len_q       <= '0;
      addr_q      <= '0;
      slot_q      <= '0;
      interrupt_q <= '0;
      errors_q    <= '0;
      untaken_q   <= '0;
      room_q      <= 1'b0;
    end
  end

  accel_jobs #(
      .DATA_W(DATA_W),
      .TAG_W (8),
      .JOBS  (JOBS)
  ) u_jobs (
      .clk,
      .rst,
      .start_valid,
      .start_ready,
      .start_job,
      .start_tag(slot_q),
      .job_valid,
      .job_ready,
      .job,
      .s_axis_tvalid,
      .s_axis_tready,
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .m_valid  (beat_valid),
      .m_ready  (beat_ready),
      .m_data   (beat_data),
      .m_bytes  (beat_bytes),
      .m_first  (beat_first),
      .m_last   (beat_last),
      .m_tag    (beat_tag),
      .idle     (jobs_idle)
  );

  matcher_filter #(
      .DATA_W(DATA_W)
  ) u_filter (
      .clk,
      .rst,
      .enable  (enable_q),
      .load    (load_q),
      .s_valid (beat_valid),
      .s_ready (beat_ready),
      .s_data  (beat_data),
      .s_bytes (beat_bytes),
      .s_first (beat_first),
      .s_last  (beat_last),
      .s_tag   (beat_tag),
      .row_valid,
      .row_ring,
      .row_data,
      .m_valid (rows_valid),
      .m_ready (rows_ready),
      .m       (rows),
      .idle    (filter_idle)
  );

  // Bytes are kept for RING rows: 5 of them for the longest pattern, AHEAD between the oldest bucket that waits and the
  // rows that are looked up, 16 for what waits here, 20 to spare.
  localparam logic [RING_W-1:0] AHEAD = RING_W'(RING - 5 - 16 - 20);
  wire [RING_W-1:0] oldest_row = bucket_item[31+:RING_W];
  wire near = !bucket_valid || candidates.ring - oldest_row < AHEAD;

  stream_fifo #(
      .WIDTH    ($bits(candidates_t)),
      .DEPTH    (16),
      .BLOCK_RAM(1'b0)
  ) u_candidates (
      .clk,
      .rst,
      .s_valid(rows_valid),
      .s_ready(rows_ready),
      .s_data (rows),
      .m_valid(candidates_valid),
      .m_ready(candidates_ready && near),
      .m_data (candidates),
      .count  (),
      .idle   (candidates_idle)
  );

  matcher_lookup #(
      .ROWS(ROWS)
  ) u_lookup (
      .clk,
      .rst,
      .load      (load_q),
      .row_valid,
      .row_ring,
      .row_data,
      .s_valid   (candidates_valid && near),
      .s_ready   (candidates_ready),
      .s         (candidates),
      .m_valid   (lookup_valid),
      .m_ready   (lookup_ready),
      .m_end     (lookup_item[0]),
      .m_kind    (lookup_item[2:1]),
      .m_tag     (lookup_item[10:3]),
      .m_position(lookup_item[26:11]),
      .m_last    (lookup_item[27+:RING_W+4]),
      .m_row     (lookup_item[BUCKET_W-COUNT_W-ROW_W+:ROW_W]),
      .m_count   (lookup_item[BUCKET_W-COUNT_W+:COUNT_W]),
      .idle      (lookup_idle)
  );

  stream_queue #(
      .WIDTH(BUCKET_W),
      .DEPTH(8)
  ) u_buckets (
      .clk,
      .rst,
      .s_valid(lookup_valid),
      .s_ready(lookup_ready),
      .s_data (lookup_item),
      .m_valid(bucket_valid),
      .m_ready(bucket_ready),
      .m_data (bucket_item),
      .idle   (buckets_idle)
  );

  matcher_compare #(
      .ROWS(ROWS)
  ) u_compare (
      .clk,
      .rst,
      .load      (load_q),
      .row_valid,
      .row_ring,
      .row_data,
      .s_valid   (bucket_valid),
      .s_ready   (bucket_ready),
      .s_end     (bucket_item[0]),
      .s_kind    (bucket_item[2:1]),
      .s_tag     (bucket_item[10:3]),
      .s_position(bucket_item[26:11]),
      .s_last    (bucket_item[27+:RING_W+4]),
      .s_row     (bucket_item[BUCKET_W-COUNT_W-ROW_W+:ROW_W]),
      .s_count   (bucket_item[BUCKET_W-COUNT_W+:COUNT_W]),
      .room      (room_q),
      .match_valid,
      .match,
      .idle      (compare_idle)
  );

  stream_fifo #(
      .WIDTH($bits(match_t)),
      .DEPTH(MATCHES)
  ) u_matches (
      .clk,
      .rst,
      .s_valid(match_valid),
      .s_ready(),  // compare leaves room
      .s_data (match),
      .m_valid(oldest_valid),
      .m_ready(take),
      .m_data (oldest),
      .count  (waiting),
      .idle   ()
  );

`ifndef SYNTHESIS
  offer_contract #(
      .WIDTH(17)
  ) u_contract (
      .clk,
      .rst,
      .valid(reg_valid),
      .ready(reg_ready),
      .data ({reg_write, reg_addr})
  );

  always_ff @(posedge clk) begin
    assert (rst || !match_valid || waiting != WAITING_W'(MATCHES)) else $error("a match is lost");
  end
`endif

  assign interrupt = (interrupt_q[0] && oldest_valid) || (interrupt_q[1] && errors_q != '0);
  // Entries may wait.
  assign idle = jobs_idle && filter_idle && candidates_idle && lookup_idle && buckets_idle && compare_idle;

endmodule
