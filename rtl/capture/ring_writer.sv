// SPDX-License-Identifier: Apache-2.0
// Writes the planned bursts with the words of the records, and makes known how far the ring is written: after a burst's
// response, up to the end of the last good record in it.
// Throughput: 1 beat a cycle, bursts back to back. A burst's data go out as soon as they are there.
module ring_writer #(
    parameter int unsigned MEM_W = 64,
    parameter int unsigned RECORDS = 64,  // that can be on their way to the ring
    localparam int unsigned BYTES = MEM_W / 8,
    localparam int unsigned LANE_W = $clog2(BYTES),
    localparam int unsigned COUNT_W = $clog2(BYTES + 1)
) (
    input  logic               clk,
    input  logic               rst,

    input  logic               rewind,        // while idle: what is written beyond the last record is void

    input  logic               burst_valid,
    output logic               burst_ready,
    input  logic [63:0]        burst_addr,
    input  logic [7:0]         burst_len,
    input  logic [LANE_W-1:0]  burst_lead,
    input  logic [COUNT_W-1:0] burst_tail,
    input  logic [12:0]        burst_bytes,   // that it adds to the ring

    input  logic [MEM_W-1:0]   word,
    input  logic [COUNT_W-1:0] word_count,
    input  logic               word_full,
    output logic               word_ready,

    input  logic               end_valid,     // a good record's last byte has gone into the words
    output logic               end_ready,
    input  logic [16:0]        end_total,     // bytes of the record

    output logic [63:0]        m_axi_awaddr,
    output logic [7:0]         m_axi_awlen,
    output logic [2:0]         m_axi_awsize,
    output logic [1:0]         m_axi_awburst,
    output logic               m_axi_awvalid,
    input  logic               m_axi_awready,
    output logic [MEM_W-1:0]   m_axi_wdata,
    output logic [BYTES-1:0]   m_axi_wstrb,
    output logic               m_axi_wlast,
    output logic               m_axi_wvalid,
    input  logic               m_axi_wready,
    input  logic [1:0]         m_axi_bresp,
    input  logic               m_axi_bvalid,
    output logic               m_axi_bready,

    output logic [31:0]        producer,
    output logic               record,        // a record is committed in this cycle
    output logic [31:0]        record_bytes,
    output logic               lost,          // a record is not, because of an error
    output logic               error,
    output logic               hungry,        // one burst at most is waiting or being written
    output logic               idle           // all bursts given are written, and all records in them made known
);

  if (MEM_W < 32 || MEM_W > 1024 || 2 ** $clog2(MEM_W) != MEM_W) begin : gen_bad_mem_w
    $fatal(1, "ring_writer: MEM_W must be a power of two from 32 to 1024, not %0d", MEM_W);
  end
  if (RECORDS < 4) begin : gen_bad_records
    $fatal(1, "ring_writer: RECORDS must be at least 4, not %0d", RECORDS);
  end

  localparam logic [1:0] SLVERR = 2'b10;  // this and DECERR are errors
  localparam int unsigned RESPONSES = 32;
  localparam int unsigned FRESH_W = 18;   // for that many bursts of 4 KB, and the longest record

  typedef struct packed {
    logic               single; // one beat
    logic               whole;  // its last word is full
    logic [7:0]         len;
    logic [LANE_W-1:0]  lead;
    logic [COUNT_W-1:0] tail;
  } burst_t;

  // ------------------------------------------------------------------------------------ each burst takes three ways
  logic data_s_ready, data_valid, data_ready, response_s_ready, response_valid;
  burst_t data;
  logic responses_idle, ends_idle;
  logic [12:0] response_bytes;
  logic aw_free;

  assign aw_free     = !m_axi_awvalid || m_axi_awready;
  assign burst_ready = aw_free && data_s_ready && response_s_ready;
  wire start = burst_valid && burst_ready;

  always_ff @(posedge clk) begin
    if (m_axi_awready) m_axi_awvalid <= 1'b0;
    if (start) begin
      m_axi_awvalid <= 1'b1;
      m_axi_awaddr  <= burst_addr;
      m_axi_awlen   <= burst_len;
    end
    if (rst) m_axi_awvalid <= 1'b0;
  end
  assign m_axi_awsize  = 3'(LANE_W);
  assign m_axi_awburst = 2'b01;

  stream_fifo #(
      .WIDTH($bits(burst_t)),
      .DEPTH(8)
  ) u_data (
      .clk,
      .rst,
      .s_valid(start),
      .s_ready(data_s_ready),
      .s_data (burst_t'{burst_len == 0, burst_tail == COUNT_W'(BYTES), burst_len, burst_lead, burst_tail}),
      .m_valid(data_valid),
      .m_ready(data_ready),
      .m_data (data),
      .count  (),
      .idle   ()
  );
  stream_fifo #(
      .WIDTH(13),
      .DEPTH(RESPONSES)
  ) u_responses (
      .clk,
      .rst,
      .s_valid(start),
      .s_ready(response_s_ready),
      .s_data (burst_bytes),
      .m_valid(response_valid),
      .m_ready(m_axi_bvalid),
      .m_data (response_bytes),
      .count  (),
      .idle   (responses_idle)
  );

  // -------------------------------------------------------------------------------------------------------- data
  logic [7:0] beat_q;
  logic first_q, last_q;  // last_q: unless it is the first
  wire last = first_q ? data.single : last_q;
  wire full = !last || data.whole;
  wire there = word_full || (!full && word_count >= data.tail);
  wire free = !m_axi_wvalid || m_axi_wready;
  wire send = data_valid && there && free;
  wire [COUNT_W-1:0] bytes = full ? COUNT_W'(BYTES) : data.tail;
  assign data_ready = send && last;
  assign word_ready = data_valid && full && free;

  always_ff @(posedge clk) begin
    if (m_axi_wready) m_axi_wvalid <= 1'b0;
    if (send) begin
      m_axi_wvalid <= 1'b1;
      m_axi_wdata  <= word;
      m_axi_wstrb  <= ({BYTES{1'b1}} << (first_q ? data.lead : '0)) & ~({BYTES{1'b1}} << bytes);
      m_axi_wlast  <= last;
      beat_q       <= last ? '0 : beat_q + 1'b1;
      first_q      <= last;
      last_q       <= beat_q + 8'd1 == data.len;
    end
    if (rst) begin
      m_axi_wvalid <= 1'b0;
      beat_q       <= '0;
      first_q      <= 1'b1;
    end
  end

  // ------------------------------------------------------------------------------------------------------ commit
  // Bytes that are written and not made known; stand still after an error. A response and a record take turns.
  logic [FRESH_W-1:0] fresh_q;
  logic waiting, ended_q, ends_ready;
  logic [16:0] waiting_total, ended_total_q;
  assign end_ready = !ended_q || ends_ready;
  always_ff @(posedge clk) begin
    if (end_ready) begin
      ended_q       <= end_valid;
      ended_total_q <= end_total;
    end
    if (rst) ended_q <= 1'b0;
  end
  stream_fifo #(
      .WIDTH(17),
      .DEPTH(RECORDS)
  ) u_ends (
      .clk,
      .rst,
      .s_valid(ended_q),
      .s_ready(ends_ready),
      .s_data (ended_total_q),
      .m_valid(waiting),
      .m_ready(record || lost),
      .m_data (waiting_total),
      .count  (),
      .idle   (ends_idle)
  );
  wire failed = m_axi_bvalid && m_axi_bresp >= SLVERR;
  wire more = m_axi_bvalid && !failed && !error;
  wire enough = fresh_q >= FRESH_W'(waiting_total);

  assign m_axi_bready = 1'b1;
  assign record       = waiting && !more && enough;
  assign record_bytes = record ? 32'(waiting_total) : '0;
  assign lost         = waiting && !enough && error;
  always_ff @(posedge clk) begin
    if (more || record) fresh_q <= fresh_q + (more ? FRESH_W'(response_bytes) : -FRESH_W'(waiting_total));
    if (rewind || lost) fresh_q <= '0;  // after one that is lost, nothing is made known
    if (failed) error <= 1'b1;
    if (record) producer <= producer + 32'(waiting_total);
    if (rst) begin
      fresh_q  <= '0;
      producer <= '0;
      error    <= 1'b0;
    end
  end

  logic [3:0] bursts_q;
  always_ff @(posedge clk) begin
    bursts_q <= bursts_q + 4'(start) - 4'(data_ready);
    if (rst) bursts_q <= '0;
  end
  assign hungry = bursts_q <= 1;
  assign idle   = !m_axi_awvalid && bursts_q == 0 && !m_axi_wvalid && responses_idle && !ended_q && ends_idle;

`ifndef SYNTHESIS
  offer_contract #(
      .WIDTH(64 + 8 + LANE_W + COUNT_W + 13)
  ) u_burst_stays (
      .clk,
      .rst,
      .valid(burst_valid),
      .ready(burst_ready),
      .data ({burst_addr, burst_len, burst_lead, burst_tail, burst_bytes})
  );
  always_ff @(posedge clk) begin
    if (!rst) assert (!m_axi_bvalid || response_valid) else $error("%m: a response that nobody waits for");
  end
`endif

endmodule
