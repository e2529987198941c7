// Puts each record together: its pcap header, then as many bytes of its packet as it captures. What comes beyond is thrown
// away, as are the data of a record that is dropped.
// Latency: none. Throughput: 1 beat a cycle. On buses of up to 128 bits the header takes beats of its own; on wider ones it
// goes below the first data, in one beat that is wider than the bus.
// Backpressure: straight from the output to the data.
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
    output logic               record_ready,
    input  record_t            record,

    input  logic               data_valid,
    output logic               data_ready,
    input  logic [MEM_W-1:0]   data,
    input  logic               data_last,
    input  logic               data_error,  // with the last beat: the packet is not to be captured

    output logic               m_valid,
    input  logic               m_ready,
    output logic [OUT_W-1:0]   m_data,
    output logic [COUNT_W-1:0] m_count,     // bytes of the beat
    output logic               m_last,      // of the record
    output logic               m_good,      // with m_last
    output logic [31:0]        m_end_pos
);

  localparam int unsigned BYTES = MEM_W / 8;

  wire [HEADER_W-1:0] header = {record.wire_len, 32'(record.len), record.nsec, record.sec};

  logic [16:0] left_q, left;  // bytes of the record not yet given out
  logic begun_q;
  logic over_q;     // the record is out; the rest of its data is thrown away
  assign left = begun_q ? left_q : 17'(record.len) + 17'(HEADER_BYTES);

  wire skip = record_valid && !over_q && record.drop;
  wire give = m_valid && m_ready;
  logic wants;        // the beat needs data
  logic [16:0] room;  // bytes that go into it
  wire final_beat = left <= room;

  if (WIDE) begin : gen_wide
    assign wants  = !record.empty;
    assign m_data = begun_q ? OUT_W'(data) : {data, header};
    assign room   = begun_q ? 17'(BYTES) : 17'(BYTES + HEADER_BYTES);
  end else begin : gen_narrow
    localparam int unsigned HEADER_BEATS = HEADER_BYTES / BYTES;
    localparam int unsigned INDEX_W = $clog2(HEADER_BEATS + 1);
    logic [INDEX_W-1:0] index_q;  // beats of the header given out
    wire heading = 32'(index_q) != HEADER_BEATS;
    assign wants  = !heading;
    assign m_data = heading ? OUT_W'(header >> (MEM_W * 32'(index_q))) : OUT_W'(data);
    assign room   = 17'(BYTES);
    always_ff @(posedge clk) begin
      if (give && heading) index_q <= index_q + 1'b1;
      if (rst || record_ready) index_q <= '0;
    end
  end

  assign m_valid    = record_valid && !over_q && !record.drop && (!wants || data_valid);
  assign m_count    = COUNT_W'(final_beat ? left : room);
  assign m_last     = final_beat;
  assign m_good     = !(wants && data_last && data_error);
  assign m_end_pos  = record.end_pos;

  wire takes = wants && give;
  assign data_ready = takes || over_q || (skip && !record.empty);
  wire data_end = data_valid && data_ready && data_last;
  wire all_in = data_end || record.empty;
  assign record_ready = skip ? all_in : over_q ? data_end : give && final_beat && all_in;

  always_ff @(posedge clk) begin
    if (give) begin
      begun_q <= 1'b1;
      left_q  <= left - room;
    end
    if (give && final_beat && !all_in) over_q <= 1'b1;
    if (record_ready || rst) begin
      begun_q <= 1'b0;
      over_q  <= 1'b0;
    end
  end

endmodule
