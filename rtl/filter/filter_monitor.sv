// SPDX-License-Identifier: Apache-2.0
// Sends the accepted packets to the monitor port, in the order in which they come, cut to the length that their filters
// asked for. Rows are fetched from the cores, one a cycle at best, into a store that the port is fed from, whole
// frames; beside them, one a cycle too, what each program that matched returned.
// A packet that finds no room in the store is dropped whole and counted, or waits if flow_control is on.
module filter_monitor
  import bpf_pkg::*;
  import filter_pkg::BYTES_W;
  import filter_pkg::filter_user_t;
  import headrace_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned CORES = 8,
    parameter int unsigned STORE_KB = 128,
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
    output logic [ID_W-1:0]              value_id,
    output logic [SLOT_W-1:0]            value_slot,
    input  logic [CORES-1:0][31:0]       value_data,    // 2 cycles later
    output logic [CORES-1:0]             release_en,
    output logic [ROW_W-1:0]             release_row,
    output logic [ID_W-1:0]              release_id,

    output logic                         tx_tvalid,
    input  logic                         tx_tready,
    output logic [DATA_W-1:0]            tx_tdata,
    output logic [DATA_W/8-1:0]          tx_tkeep,
    output logic                         tx_tlast,
    output filter_user_t                 tx_tuser,
    output logic [LEN_W-1:0]             tx_len,        // bytes of the frame, on every beat

    output logic                         forwarded,
    output logic [BYTES_W-1:0]           forwarded_bytes,
    output logic                         dropped,
    output logic                         idle
);

  if (CORES < 1 || CORES > 64) begin : gen_bad_cores
    $fatal(1, "filter_monitor: CORES must be 1 to 64, not %0d", CORES);
  end
  if (DATA_W < 16 || DATA_W > 1024 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "filter_monitor: DATA_W must be a power of two from 16 to 1024, not %0d", DATA_W);
  end
  if (STORE_KB < 1 || STORE_KB > 1024 || 2 ** $clog2(STORE_KB) != STORE_KB || STORE_KB * 1024 < 8 * DATA_W)
  begin : gen_bad_store_kb
    $fatal(1, "filter_monitor: STORE_KB must be a power of two from 1 to 1024, with room for 64 rows, not %0d",
           STORE_KB);
  end

  localparam int unsigned BYTES = DATA_W / 8;
  localparam int unsigned OFFSET_W = $clog2(BYTES);
  localparam int unsigned STORE_ROWS = STORE_KB * 1024 / BYTES;
  localparam int unsigned STORE_W = $clog2(STORE_ROWS);
  localparam int unsigned RECORDS = 256;

  // -------------------------------------------------------------------------------------------------- accepted packets
  typedef struct packed {
    logic [CORE_W-1:0]   core;
    logic [ID_W-1:0]     id;
    logic [PROGRAMS-1:0] values;   // still to be fetched
    logic [ROW_W-1:0]    row;      // next to be fetched
    logic [ROW_W-1:0]    end_row;
    logic [ROW_W-1:0]    rows;     // still to be fetched, less one
    logic [LEN_W-1:0]    caplen;
    logic [PROGRAMS-1:0] matched;
    tx_meta_t            meta;
  } accepted_t;

  function automatic logic [ROW_W-1:0] rows_of(logic [LEN_W-1:0] len);
    return ROW_W'(({1'b0, len} + (LEN_W + 1)'(BYTES - 1)) >> OFFSET_W);
  endfunction

  function automatic logic [SLOT_W-1:0] lowest(logic [PROGRAMS-1:0] mask);
    lowest = '0;
    for (int i = PROGRAMS - 1; i >= 0; i--) if (mask[i]) lowest = SLOT_W'(i);
  endfunction

  function automatic logic several(logic [PROGRAMS-1:0] mask);
    return (mask & (mask - 1'b1)) != 0;
  endfunction

  accepted_t accepted, queued;
  always_comb begin
    accepted = '0;
    accepted.core = in_core;
    accepted.id = in_finished.id;
    accepted.values = in_finished.verdict.matched;
    accepted.row = in_finished.row;
    accepted.end_row = in_finished.row + rows_of(in_finished.pkt.len);
    accepted.caplen = in_finished.verdict.snaplen < in_finished.pkt.len ? in_finished.verdict.snaplen
        : in_finished.pkt.len;
    accepted.matched = in_finished.verdict.matched;
    accepted.meta.port = 8'(in_port);
    accepted.meta.cut = 1'b1;
    accepted.meta.wire_len = in_finished.pkt.wire_len;
    accepted.meta.timestamp_ns = in_time_ns;
  end

  logic queued_valid, queued_ready, accepted_room, accepted_idle, record_room, records_idle;
  logic [6:0] queued_count;
  stream_fifo #(
      .WIDTH($bits(accepted_t)),
      .DEPTH(64)
  ) u_accepted (
      .clk,
      .rst,
      .s_valid(in_valid),
      .s_ready(accepted_room),
      .s_data (accepted),
      .m_valid(queued_valid),
      .m_ready(queued_ready),
      .m_data (queued),
      .count  (queued_count),
      .idle   (accepted_idle)
  );
  always_ff @(posedge clk) in_ready <= queued_count < 60 && !rst;

  // ----------------------------------------------------------------------------------------------------- fetch or drop
  accepted_t current_q;
  logic current_valid_q, started_q;
  logic [STORE_W:0] free_q;     // rows of the store
  logic [$clog2(RECORDS+1)-1:0] record_count;
  logic [31:0] lost_q;

  wire room = {1'b0, current_q.rows} < (ROW_W + 1)'(free_q) && 32'(record_count) < RECORDS - 8;
  wire fetching = current_valid_q && (started_q || room);
  wire drop = current_valid_q && !started_q && !room && !flow_control;
  wire last_row = current_q.rows == 0;
  wire [PROGRAMS-1:0] values_left = current_q.values & (current_q.values - 1'b1);
  logic more_values_q;  // than one are still to be fetched: the last row comes with the last of them
  wire asking = fetching && !(last_row && more_values_q);
  wire granted = asking && forward_grant[current_q.core];
  wire done = drop || granted && last_row;
  wire freed;

  assign queued_ready = done || !current_valid_q;
  assign forward_req  = asking ? CORES'(1) << current_q.core : '0;
  assign forward_row  = current_q.row;
  assign release_en   = done ? CORES'(1) << current_q.core : '0;
  assign release_row  = current_q.end_row;
  assign release_id   = current_q.id;
  assign value_id     = current_q.id;
  assign value_slot   = lowest(current_q.values);

  // Rows and values come 2 cycles after they were asked for and are chosen in the third.
  typedef struct packed {
    logic              valid;
    logic              last;
    logic              value;
    logic [SLOT_W-1:0] slot;
    logic [CORE_W-1:0] core;
  } fetch_t;
  fetch_t fetch_q1, fetch_q2, fetch_q3;
  logic [DATA_W-1:0] fetched_q;
  logic [PROGRAMS-1:0][31:0] lengths_q;  // noise for programs that did not match

  typedef struct packed {
    logic [LEN_W-1:0]    caplen;
    logic [PROGRAMS-1:0] matched;
    tx_meta_t            meta;
  } header_t;
  header_t header_q1, header_q2, header_q3;

  always_ff @(posedge clk) begin
    if (queued_ready) begin
      current_valid_q <= queued_valid;
      current_q       <= queued;
      current_q.rows  <= queued.caplen == 0 ? '0 : ROW_W'((queued.caplen - 1'b1) >> OFFSET_W);
      started_q       <= 1'b0;
      more_values_q   <= several(queued.values);
    end else begin
      current_q.values <= values_left;
      more_values_q    <= several(values_left);
      if (granted) begin
        current_q.row  <= current_q.row + 1'b1;
        current_q.rows <= current_q.rows - 1'b1;
        started_q      <= 1'b1;
      end
    end

    free_q <= free_q + (STORE_W + 1)'(freed) - (granted && !started_q ? (STORE_W + 1)'(current_q.rows) + 1'b1 : '0);
    lost_q <= granted && !started_q ? '0 : lost_q + 32'(drop && !(&lost_q));

    fetch_q1 <= '{granted, last_row, current_q.values != 0, value_slot, current_q.core};
    fetch_q2 <= fetch_q1;
    fetch_q3 <= fetch_q2;
    if (granted && !started_q) begin
      header_q1.caplen    <= current_q.caplen;
      header_q1.matched   <= current_q.matched;
      header_q1.meta      <= current_q.meta;
      header_q1.meta.lost <= lost_q;
    end
    header_q2 <= header_q1;
    header_q3 <= header_q2;
    if (fetch_q2.valid) fetched_q <= forward_data[fetch_q2.core];
    if (fetch_q2.value) lengths_q[fetch_q2.slot] <= value_data[fetch_q2.core];

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
  assign forwarded_bytes = BYTES_W'(header_q3.caplen);

  // ------------------------------------------------------------------------------------------------ store and transmit
  typedef struct packed {
    logic [PROGRAMS-1:0][31:0] lengths;
    header_t                   header;
  } record_t;
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
      .s_ready(record_room),
      .s_data (record_t'{lengths_q, header_q3}),
      .m_valid(record_valid),
      .m_ready(record_ready),
      .m_data (record),
      .count  (record_count),
      .idle   (records_idle)
  );

  logic [LEN_W-1:0] sent_q;  // bytes of this frame
  wire [LEN_W-1:0] left = record.header.caplen - sent_q;
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
      tx_tuser.meta    <= record.header.meta;
      tx_tuser.matched <= record.header.matched;
      for (int i = 0; i < int'(PROGRAMS); i++) begin
        tx_tuser.lengths[i] <= record.header.matched[i] ? record.lengths[i] : '0;
      end
      tx_len    <= record.header.caplen;
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

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst && in_valid) assert (accepted_room) else $fatal(1, "filter_monitor: a packet that it was not ready for");
    if (!rst && forwarded) assert (record_room) else $fatal(1, "filter_monitor: more records than its store holds");
  end
  stream_contract #(
      .DATA_W(DATA_W)
  ) u_contract (
      .clk,
      .rst,
      .tvalid(tx_tvalid),
      .tready(tx_tready),
      .tdata (tx_tdata),
      .tkeep (tx_tkeep),
      .tlast (tx_tlast)
  );
`endif

  wire fetch_idle = !current_valid_q && !fetch_q1.valid && !fetch_q2.valid && !fetch_q3.valid;
  assign idle = !in_valid && accepted_idle && fetch_idle && records_idle && !tx_tvalid;

endmodule
