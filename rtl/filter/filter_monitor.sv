// Sends the accepted packets to the monitor port, in the order in which they come, cut to the length that their filters
// asked for. Rows are fetched from the cores, one a cycle at best, into a store that the port is fed from, whole frames.
// A packet that finds no room in the store is dropped whole and counted, or waits if flow_control is on.
module filter_monitor
  import bpf_pkg::*;
  import filter_pkg::BYTES_W;
  import headrace_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned CORES = 8,
    parameter int unsigned STORE_KB = 32,
    localparam int unsigned CORE_W = CORES > 1 ? $clog2(CORES) : 1
) (
    input  logic                         clk,
    input  logic                         rst,
    input  logic                         flow_control,

    input  logic                         in_valid,
    output logic                         in_ready,      // with room for two more than are offered
    input  finished_t                    in_finished,
    input  logic [CORE_W-1:0]            in_core,
    input  logic                         in_port,
    input  logic [63:0]                  in_time_ns,

    output logic [CORES-1:0]             forward_req,
    output logic [ROW_W-1:0]             forward_row,
    input  logic [CORES-1:0]             forward_grant,
    input  logic [CORES-1:0][DATA_W-1:0] forward_data,
    output logic [CORES-1:0]             release_en,
    output logic [ROW_W-1:0]             release_row,

    output logic                         tx_tvalid,
    input  logic                         tx_tready,
    output logic [DATA_W-1:0]            tx_tdata,
    output logic [DATA_W/8-1:0]          tx_tkeep,
    output logic                         tx_tlast,
    output tx_meta_t                     tx_tuser,

    output logic                         forwarded,
    output logic [BYTES_W-1:0]           forwarded_bytes,
    output logic                         dropped,
    output logic                         idle
);

  localparam int unsigned BYTES = DATA_W / 8;
  localparam int unsigned OFFSET_W = $clog2(BYTES);
  localparam int unsigned STORE_ROWS = STORE_KB * 1024 / BYTES;
  localparam int unsigned STORE_W = $clog2(STORE_ROWS);
  localparam int unsigned RECORDS = 256;

  // ------------------------------------------------------------------------------------------------------ accepted packets
  typedef struct packed {
    logic [CORE_W-1:0] core;
    logic [ROW_W-1:0]  row;      // next to be fetched
    logic [ROW_W-1:0]  end_row;
    logic [ROW_W-1:0]  rows;     // still to be fetched, less one
    logic [LEN_W-1:0]  caplen;
    tx_meta_t          meta;
  } accepted_t;

  function automatic logic [ROW_W-1:0] rows_of(logic [LEN_W-1:0] len);
    return ROW_W'(({1'b0, len} + (LEN_W + 1)'(BYTES - 1)) >> OFFSET_W);
  endfunction

  accepted_t accepted, queued;
  always_comb begin
    accepted = '0;
    accepted.core = in_core;
    accepted.row = in_finished.row;
    accepted.end_row = in_finished.row + rows_of(in_finished.pkt.len);
    accepted.caplen = in_finished.verdict.snaplen < in_finished.pkt.len ? in_finished.verdict.snaplen : in_finished.pkt.len;
    accepted.meta.matched = in_finished.verdict.matched;
    accepted.meta.port = 8'(in_port);
    accepted.meta.wire_len = in_finished.pkt.wire_len;
    accepted.meta.timestamp_ns = in_time_ns;
  end

  logic queued_valid, queued_ready, unused_accepted_ready, unused_record_ready;
  logic [6:0] queued_count;
  stream_fifo #(
      .WIDTH($bits(accepted_t)),
      .DEPTH(64)
  ) u_accepted (
      .clk,
      .rst,
      .s_valid(in_valid),
      .s_ready(unused_accepted_ready),
      .s_data (accepted),
      .m_valid(queued_valid),
      .m_ready(queued_ready),
      .m_data (queued),
      .count  (queued_count)
  );
  always_ff @(posedge clk) in_ready <= queued_count < 60 && !rst;

  // --------------------------------------------------------------------------------------------------------- fetch or drop
  accepted_t current_q;
  logic current_valid_q, started_q;
  logic [STORE_W:0] free_q;     // rows of the store
  logic [$clog2(RECORDS+1)-1:0] record_count;
  logic [31:0] lost_q;

  wire room = {1'b0, current_q.rows} < (ROW_W + 1)'(free_q) && 32'(record_count) < RECORDS - 8;
  wire fetching = current_valid_q && (started_q || room);
  wire drop = current_valid_q && !started_q && !room && !flow_control;
  wire granted = fetching && forward_grant[current_q.core];
  wire last_row = current_q.rows == 0;
  wire done = drop || granted && last_row;
  wire freed;

  assign queued_ready = done || !current_valid_q;
  assign forward_req  = fetching ? CORES'(1) << current_q.core : '0;
  assign forward_row  = current_q.row;
  assign release_en   = done ? CORES'(1) << current_q.core : '0;
  assign release_row  = current_q.end_row;

  // Rows come 2 cycles after the grant and are chosen in the third.
  typedef struct packed {
    logic              valid;
    logic              last;
    logic [CORE_W-1:0] core;
  } fetch_t;
  fetch_t fetch_q1, fetch_q2, fetch_q3;
  logic [DATA_W-1:0] fetched_q;

  typedef struct packed {
    logic [LEN_W-1:0] caplen;
    tx_meta_t         meta;
  } record_t;
  record_t record_q1, record_q2, record_q3;

  always_ff @(posedge clk) begin
    if (queued_ready) begin
      current_valid_q <= queued_valid;
      current_q       <= queued;
      current_q.rows  <= queued.caplen == 0 ? '0 : ROW_W'((queued.caplen - 1'b1) >> OFFSET_W);
      started_q       <= 1'b0;
    end else if (granted) begin
      current_q.row  <= current_q.row + 1'b1;
      current_q.rows <= current_q.rows - 1'b1;
      started_q      <= 1'b1;
    end

    free_q <= free_q + (STORE_W + 1)'(freed) - (fetching && !started_q && granted ? (STORE_W + 1)'(current_q.rows) + 1'b1 : '0);
    lost_q <= granted && !started_q ? '0 : lost_q + 32'(drop && !(&lost_q));

    fetch_q1 <= '{granted, last_row, current_q.core};
    fetch_q2 <= fetch_q1;
    fetch_q3 <= fetch_q2;
    if (granted && !started_q) begin
      record_q1.caplen    <= current_q.caplen;
      record_q1.meta      <= current_q.meta;
      record_q1.meta.lost <= lost_q;
    end
    record_q2 <= record_q1;
    record_q3 <= record_q2;
    if (fetch_q2.valid) fetched_q <= forward_data[fetch_q2.core];

    if (rst) begin
      current_valid_q <= 1'b0;
      started_q       <= 1'b0;
      free_q          <= (STORE_W + 1)'(STORE_ROWS);
      lost_q          <= '0;
      fetch_q1        <= '0;
      fetch_q2        <= '0;
      fetch_q3        <= '0;
    end
  end

  assign dropped         = drop;
  assign forwarded       = fetch_q3.valid && fetch_q3.last;
  assign forwarded_bytes = BYTES_W'(record_q3.caplen);

  // ----------------------------------------------------------------------------------------------------- store and transmit
  record_t record;
  logic record_valid, record_ready;
  logic [STORE_W-1:0] write_row_q, read_row_q;

  stream_fifo #(
      .WIDTH($bits(record_t)),
      .DEPTH(RECORDS)
  ) u_records (
      .clk,
      .rst,
      .s_valid(forwarded),
      .s_ready(unused_record_ready),
      .s_data (record_q3),
      .m_valid(record_valid),
      .m_ready(record_ready),
      .m_data (record),
      .count  (record_count)
  );

  logic [LEN_W-1:0] sent_q;  // bytes of this frame
  wire [LEN_W-1:0] left = record.caplen - sent_q;
  wire ends = left <= LEN_W'(BYTES);
  wire advance = tx_tready || !tx_tvalid;
  assign record_ready = advance && ends;
  assign freed        = advance && record_valid;

  ram_sdp #(
      .WIDTH(DATA_W),
      .DEPTH(STORE_ROWS)
  ) u_store (
      .clk,
      .wr_en  (fetch_q3.valid),
      .wr_addr(write_row_q),
      .wr_data(fetched_q),
      .rd_en  (freed),
      .rd_addr(read_row_q),
      .rd_data(tx_tdata)
  );

  always_ff @(posedge clk) begin
    write_row_q <= write_row_q + STORE_W'(fetch_q3.valid);
    if (advance) begin
      tx_tvalid <= record_valid;
      tx_tlast  <= ends;
      tx_tkeep  <= ends ? ~({BYTES{1'b1}} << left[OFFSET_W:0]) : '1;
      tx_tuser  <= record.meta;
      for (int i = 0; i < int'(PROGRAMS); i++) tx_tuser.snaplen[i] <= record.meta.matched[i] ? 16'(record.caplen) : '0;
      if (record_valid) begin
        read_row_q <= read_row_q + 1'b1;
        sent_q     <= ends ? '0 : sent_q + LEN_W'(BYTES);
      end
    end
    if (rst) begin
      write_row_q <= '0;
      read_row_q  <= '0;
      sent_q      <= '0;
      tx_tvalid   <= 1'b0;
    end
  end

  assign idle = !in_valid && queued_count == 0 && !current_valid_q && !fetch_q1.valid && !fetch_q2.valid && !fetch_q3.valid
      && record_count == 0 && !tx_tvalid;

endmodule
