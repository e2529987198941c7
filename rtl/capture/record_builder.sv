// Puts each record together: its pcap header, then as many bytes of its packet as it captures. What comes beyond is thrown
// away, as are the data of a record that is dropped.
// Latency: 1 cycle from a record to its first beat. Throughput: 1 beat a cycle. On buses of up to 128 bits the header takes
// beats of its own; on wider ones it goes below the first data, in one beat that is wider than the bus.
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

    output logic               memory,      // the data that are wanted lie in host memory
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
    output logic [31:0]        m_end_pos,
    output logic               done,        // with a record: its packet's data have all been taken
    output logic               idle
);

  localparam int unsigned BYTES = MEM_W / 8;

  record_t record_q;
  logic active_q;       // the record is being given out
  logic throw_q;        // its data, or what is left of them, are thrown away
  logic void_q;         // there is nothing to do for it
  logic begun_q;        // a beat of it is out
  logic free_q;         // the next beat needs no data
  logic final_q;        // and is the record's last
  logic [16:0] left_q;  // bytes of the record not yet given out
  logic [16:0] room;    // of them, those that the next beat takes at most

  assign record_ready = !(active_q || throw_q || void_q) || done;
  assign memory       = record_q.memory;
  wire [HEADER_W-1:0] header = {record_q.wire_len, 32'(record_q.len), record_q.nsec, record_q.sec};

  wire give = m_valid && m_ready;
  wire all_in = free_q ? record_q.empty : data_last;  // with the beat that is given
  assign done = active_q ? give && final_q && all_in : throw_q ? data_valid && data_last : void_q;

  if (WIDE) begin : gen_wide
    assign m_data = begun_q ? OUT_W'(data) : {data, header};
    assign room   = begun_q ? 17'(BYTES) : 17'(BYTES + HEADER_BYTES);
    always_ff @(posedge clk) if (record_ready) free_q <= record.empty;
  end else begin : gen_narrow
    localparam int unsigned HEADER_BEATS = HEADER_BYTES / BYTES;
    localparam int unsigned INDEX_W = HEADER_BEATS > 1 ? $clog2(HEADER_BEATS) : 1;
    logic [INDEX_W-1:0] index_q;  // beats of the header given out
    assign m_data = free_q ? OUT_W'(header >> (MEM_W * 32'(index_q))) : OUT_W'(data);
    assign room   = 17'(BYTES);
    always_ff @(posedge clk) begin
      if (give && free_q) begin
        index_q <= index_q + 1'b1;
        free_q  <= 32'(index_q) != HEADER_BEATS - 1;
      end
      if (record_ready) begin
        index_q <= '0;
        free_q  <= 1'b1;
      end
    end
  end

  assign m_valid    = active_q && (free_q || data_valid);
  assign m_count    = COUNT_W'(final_q ? left_q : room);
  assign m_last     = final_q;
  assign m_good     = free_q || !(data_last && data_error);
  assign m_end_pos  = record_q.end_pos;
  assign data_ready = throw_q || (active_q && !free_q && m_ready);

  always_ff @(posedge clk) begin
    if (give) begin
      begun_q  <= 1'b1;
      left_q   <= left_q - room;
      final_q  <= left_q <= room + 17'(BYTES);
      active_q <= !final_q;
      throw_q  <= final_q;
    end
    if (record_ready) begin
      record_q <= record;
      active_q <= record_valid && !record.drop;
      throw_q  <= record_valid && record.drop && !record.empty;
      void_q   <= record_valid && record.drop && record.empty;
      left_q   <= 17'(record.len) + 17'(HEADER_BYTES);
      final_q  <= 32'(record.len) + HEADER_BYTES <= OUT_W / 8;
      begun_q  <= 1'b0;
    end
    if (rst) begin
      active_q <= 1'b0;
      throw_q  <= 1'b0;
      void_q   <= 1'b0;
    end
  end

  assign idle = !active_q && !throw_q && !void_q;

endmodule
