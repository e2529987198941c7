// Puts each record together: its pcap header, then as many bytes of its packet as it captures. What comes beyond is thrown
// away, as are the data of a record that is dropped.
// Latency: none. Throughput: 1 beat a cycle; on buses of 256 bits and more the header shares its beat with data.
// Backpressure: straight from the output to the data.
module record_builder
  import capture_pkg::*;
#(
    parameter int unsigned MEM_W = 64,
    localparam int unsigned BYTES = MEM_W / 8,
    localparam int unsigned COUNT_W = $clog2(BYTES + 1)
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
    output logic [MEM_W-1:0]   m_data,
    output logic [COUNT_W-1:0] m_count,     // bytes, all but in a record's last beat
    output logic               m_last,      // of the record
    output logic               m_good,      // with m_last
    output logic [31:0]        m_end_pos
);

  localparam int unsigned HEADER_W = 8 * HEADER_BYTES;
  localparam bit WIDE = MEM_W > HEADER_W;

  wire [HEADER_W-1:0] header = {record.wire_len, 32'(record.len), record.nsec, record.sec};

  logic [16:0] left_q, left;  // bytes of the record not yet given out
  logic begun_q;
  logic over_q;     // the record is out; the rest of its data is thrown away
  logic data_end_q; // all its data have come; what is left is in the carry
  logic error_q;
  assign left = begun_q ? left_q : 17'(record.len) + 17'(HEADER_BYTES);

  wire skip = record_valid && !over_q && record.drop;
  wire give = m_valid && m_ready;
  wire final_beat = left <= 17'(BYTES);
  logic wants;      // the beat needs data

  if (WIDE) begin : gen_wide
    // The header takes the lowest lanes; data follow 16 lanes higher than they come, the rest in the next beat.
    logic [HEADER_W-1:0] carry_q;
    assign wants  = !data_end_q && !(record.empty && !begun_q);
    assign m_data = {data[MEM_W-HEADER_W-1:0], begun_q ? carry_q : header};
    always_ff @(posedge clk) if (give) carry_q <= data[MEM_W-1-:HEADER_W];
  end else begin : gen_narrow
    localparam int unsigned HEADER_BEATS = HEADER_BYTES / BYTES;
    localparam int unsigned INDEX_W = $clog2(HEADER_BEATS + 1);
    logic [INDEX_W-1:0] index_q;  // beats of the header given out
    wire heading = 32'(index_q) != HEADER_BEATS;
    assign wants  = !heading;
    assign m_data = heading ? MEM_W'(header >> (MEM_W * 32'(index_q))) : data;
    always_ff @(posedge clk) begin
      if (give && heading) index_q <= index_q + 1'b1;
      if (rst || record_ready) index_q <= '0;
    end
  end

  assign m_valid    = record_valid && !over_q && !record.drop && (!wants || data_valid);
  assign m_count    = final_beat ? COUNT_W'(left) : COUNT_W'(BYTES);
  assign m_last     = final_beat;
  assign m_good     = !(error_q || (wants && data_last && data_error));
  assign m_end_pos  = record.end_pos;

  wire takes = wants && give;
  assign data_ready = takes || over_q || (skip && !record.empty);
  wire data_end = data_valid && data_ready && data_last;
  wire all_in = data_end || data_end_q || record.empty;
  assign record_ready = skip ? all_in : over_q ? data_end : give && final_beat && all_in;

  always_ff @(posedge clk) begin
    if (give) begin
      begun_q <= 1'b1;
      left_q  <= left - 17'(BYTES);
    end
    if (give && final_beat && !all_in) over_q <= 1'b1;
    if (takes && data_last) begin
      data_end_q <= 1'b1;
      error_q    <= data_error;
    end
    if (record_ready || rst) begin
      begun_q    <= 1'b0;
      over_q     <= 1'b0;
      data_end_q <= 1'b0;
      error_q    <= 1'b0;
    end
  end

endmodule
