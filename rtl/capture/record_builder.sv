// SPDX-License-Identifier: Apache-2.0
// Puts each record together: its pcap header, then as many bytes of its packet as it captures. What comes beyond is
// thrown away, as are the data of a record that is dropped.
// Latency: none from a record to its first beat. Throughput: 1 beat a cycle. On buses of up to 128 bits the header
// takes beats of its own; on wider ones it goes below the first data, in one beat that is wider than the bus.
// Backpressure: straight from the output to the record and its data.
module record_builder
  import capture_pkg::*;
#(
    parameter int unsigned MEM_W = 64,
    localparam int unsigned HEADER_W = 8 * HEADER_BYTES,
    localparam bit          WIDE = MEM_W > HEADER_W,
    localparam int unsigned OUT_W = WIDE ? MEM_W + HEADER_W : MEM_W,
    localparam int unsigned COUNT_W = $clog2(OUT_W / 8 + 1)
) (
    input  logic               clk,
    input  logic               rst,

    input  logic               record_valid,
    output logic               record_ready,  // its header is out, or it is dropped
    input  record_t            record,

    output logic               memory,        // the data that are wanted lie in host memory
    input  logic               data_valid,
    output logic               data_ready,
    input  logic [MEM_W-1:0]   data,
    input  logic               data_last,
    input  logic               data_error,    // with the last beat: the packet is not to be captured

    output logic               m_valid,
    input  logic               m_ready,
    output logic [OUT_W-1:0]   m_data,
    output logic [COUNT_W-1:0] m_count,       // bytes of the beat
    output logic               m_last,        // of the record
    output logic               m_good,        // with m_last
    output logic [LEN_W-1:0]   m_total,       // with m_last: bytes of the record
    output logic               done,          // with a record: its packet's data have all been taken
    output logic               done_memory,   // out of host memory
    output logic               idle
);

  if (MEM_W < 32 || MEM_W > 1024 || 2 ** $clog2(MEM_W) != MEM_W) begin : gen_bad_mem_w
    $fatal(1, "record_builder: MEM_W must be a power of two from 32 to 1024, not %0d", MEM_W);
  end

  localparam int unsigned BYTES = MEM_W / 8;
  localparam int unsigned FIRST = WIDE ? BYTES : 0;  // bytes of data that go out with the header

  logic data_q;             // data of a record are given out
  logic throw_q;            // data are thrown away
  logic memory_q;           // of the record before, whose data they are
  logic final_q;            // the next beat is its last
  logic [LEN_W-1:0] left_q; // bytes of it not yet given out
  logic [LEN_W-1:0] len_q;

  wire rest = !data_q && !throw_q;
  wire head = record_valid && rest && !record.drop;
  wire wants_data = data_q || (WIDE && head && !record.empty);
  logic header_last;        // the header's last beat

  wire give = m_valid && m_ready;
  wire all_in = wants_data ? data_last : record.empty;  // with the record's last beat
  wire ends = give && m_last;
  wire dropped = rest && record_valid && record.drop;
  wire thrown = throw_q && data_valid && data_last;

  wire [HEADER_W-1:0] header = {record.wire_len, 32'(record.len), record.nsec, record.sec};
  if (WIDE) begin : gen_wide
    assign header_last = 1'b1;
    assign m_data      = data_q ? OUT_W'(data) : {data, header};
    assign memory      = rest ? record.memory : memory_q;
  end else begin : gen_narrow
    localparam int unsigned HEADER_BEATS = HEADER_BYTES / BYTES;
    localparam int unsigned INDEX_W = HEADER_BEATS > 1 ? $clog2(HEADER_BEATS) : 1;
    logic [INDEX_W-1:0] index_q;  // beats of the header given out
    assign header_last = 32'(index_q) == HEADER_BEATS - 1;
    assign m_data      = data_q ? OUT_W'(data) : OUT_W'(header >> (MEM_W * 32'(index_q)));
    assign memory      = memory_q;
    always_ff @(posedge clk) begin
      if (give && !data_q) index_q <= header_last ? '0 : index_q + 1'b1;
      if (rst) index_q <= '0;
    end
  end

  always_comb begin
    if (data_q) m_count = final_q ? COUNT_W'(left_q) : COUNT_W'(BYTES);
    else if (!WIDE) m_count = COUNT_W'(BYTES);
    else m_count = COUNT_W'(HEADER_BYTES) + (32'(record.len) < BYTES ? COUNT_W'(record.len) : COUNT_W'(BYTES));
  end
  assign m_valid      = (data_q || head) && (!wants_data || data_valid);
  assign m_last       = data_q ? final_q : header_last && 32'(record.len) <= FIRST;
  assign m_good       = !(wants_data && data_last && data_error);
  assign m_total      = (data_q ? len_q : record.len) + LEN_W'(HEADER_BYTES);
  assign data_ready   = throw_q || (wants_data && m_ready);
  assign record_ready = rest && (record.drop || (m_ready && header_last && (!WIDE || record.empty || data_valid)));
  assign done         = (ends && all_in) || thrown || (dropped && record.empty);
  assign done_memory  = rest ? record.memory : memory_q;

  always_ff @(posedge clk) begin
    if (rest) begin
      memory_q <= record.memory;
      len_q    <= record.len;
      left_q   <= record.len - LEN_W'(FIRST);
      final_q  <= 32'(record.len) <= FIRST + BYTES;
    end else if (give) begin
      left_q  <= left_q - LEN_W'(BYTES);
      final_q <= 32'(left_q) <= 2 * BYTES;
    end
    if (give && (data_q || header_last)) data_q <= !m_last;
    if (ends) throw_q <= !all_in;
    if (dropped) throw_q <= !record.empty;
    if (thrown) throw_q <= 1'b0;
    if (rst) begin
      data_q  <= 1'b0;
      throw_q <= 1'b0;
    end
  end

  assign idle = rest;

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst && record_valid) assert (!record.empty || record.len == 0) else $error("%m: a length without data");
  end
`endif

endmodule
