// SPDX-License-Identifier: Apache-2.0
// The capture engine: writes packets as pcap records into a ring in host memory. The packets lie in host memory and are
// named by descriptors, or come as frames on the stream (whole, their length known).
// With FILTERED the packets of host memory leave whole, as frames, for filters see all of a packet; they come back on
// the stream with the length that they are cut to.
//
// Backpressure: the stream waits while the ring can't be written, and with wait_for_room while it is full; otherwise
// packets that find no room are dropped whole and counted.
// Conservation: packets + frames = records + read_errors + ring_full + too_long + after_error + in flight.
//
//  descriptor_fetch <-> axi_reader <-> host memory
//          | packets        | data ----------------------------------------------------+   (FILTERED: leave as frames)
//          v                v                                                          |
//       u_ahead          u_status: whole, without error                                |
//          |                |                                                          v
//  s_axis -+-> record_time -+-> ring_planner -> u_records ---------------------> record_builder
//          +-> u_frame_data ----------------------------------------------------------^ |
//                                          host memory <- ring_writer <- byte_packer <---+
module capture_engine
  import capture_pkg::*;
#(
    parameter int unsigned MEM_W = 512,
    parameter int unsigned BURST = 16,
    parameter int unsigned SLOTS = 32,        // descriptors fetched ahead
    parameter int unsigned READ_BUFFER = 128, // beats read ahead
    parameter int unsigned RECORDS = 64,      // on their way to the ring
    parameter bit          FILTERED = 1'b0,
    localparam int unsigned BYTES = MEM_W / 8
) (
    input  logic                 clk,
    input  logic                 rst,             // a restart too
    input  logic [63:0]          time_ns,

    input  logic                 enable,
    input  logic                 wait_for_room,
    input  logic [LEN_W-1:0]     snaplen,         // at most MAX_CAPTURED
    input  logic [63:0]          ring_base,
    input  logic [4:0]           ring_log2,
    input  logic [31:0]          consumer,
    output logic [31:0]          producer,
    input  logic [63:0]          descriptor_base,
    input  logic [4:0]           descriptor_log2,
    input  logic [31:0]          descriptor_head,
    output logic [31:0]          descriptor_tail,
    output logic [31:0]          packets_read,
    output logic                 write_error,
    output logic                 descriptor_error,
    output events_t              events,

    input  logic                 s_axis_tvalid,
    output logic                 s_axis_tready,
    input  logic [MEM_W-1:0]     s_axis_tdata,
    input  logic                 s_axis_tlast,
    input  packet_t              s_axis_tuser,    // with the first beat

    output logic                 m_axis_tvalid,   // with FILTERED
    input  logic                 m_axis_tready,
    output logic [MEM_W-1:0]     m_axis_tdata,
    output logic [BYTES-1:0]     m_axis_tkeep,
    output logic                 m_axis_tlast,
    output packet_t              m_axis_tuser,
    output logic                 m_axis_error,    // with the last beat

    output logic [63:0]          m_axi_awaddr,
    output logic [7:0]           m_axi_awlen,
    output logic [2:0]           m_axi_awsize,
    output logic [1:0]           m_axi_awburst,
    output logic                 m_axi_awvalid,
    input  logic                 m_axi_awready,
    output logic [MEM_W-1:0]     m_axi_wdata,
    output logic [BYTES-1:0]     m_axi_wstrb,
    output logic                 m_axi_wlast,
    output logic                 m_axi_wvalid,
    input  logic                 m_axi_wready,
    input  logic [1:0]           m_axi_bresp,
    input  logic                 m_axi_bvalid,
    output logic                 m_axi_bready,
    output logic [63:0]          m_axi_araddr,
    output logic [7:0]           m_axi_arlen,
    output logic [2:0]           m_axi_arsize,
    output logic [1:0]           m_axi_arburst,
    output logic                 m_axi_arvalid,
    input  logic                 m_axi_arready,
    input  logic [MEM_W-1:0]     m_axi_rdata,
    input  logic [1:0]           m_axi_rresp,
    input  logic                 m_axi_rlast,
    input  logic                 m_axi_rvalid,
    output logic                 m_axi_rready,

    output logic                 idle,
    output logic                 settled          // nothing changes until something comes, or a second ends
);

  if (READ_BUFFER < BURST && READ_BUFFER < 4096 / BYTES) begin : gen_bad_read_buffer
    $fatal(1, "capture_engine: READ_BUFFER must be room for a burst, not %0d", READ_BUFFER);
  end
  if (MEM_W < 32 || MEM_W > 1024 || 2 ** $clog2(MEM_W) != MEM_W) begin : gen_bad_mem_w
    $fatal(1, "capture_engine: MEM_W must be a power of two from 32 to 1024, not %0d", MEM_W);
  end

  localparam int unsigned LANE_W = $clog2(BYTES);
  localparam int unsigned COUNT_W = $clog2(BYTES + 1);
  localparam int unsigned AHEAD = 32;  // packets that are being read

  // ------------------------------------------------------------------------------------- packets out of host memory
  logic slots_read, slots_ready, slots_idle, reader_idle, cmd_ready;
  logic [63:0] slots_addr, fetched_addr;
  logic [15:0] slots_bytes;
  logic fetched_valid, fetched_ready;
  packet_t fetched;
  logic direct_valid, arrived, arrived_direct, arrived_error;
  logic [MEM_W-1:0] direct_data;

  descriptor_fetch #(
      .MEM_W(MEM_W),
      .SLOTS(SLOTS)
  ) u_descriptors (
      .clk,
      .rst,
      .enable,
      .time_ns,
      .snaplen      (FILTERED ? MAX_CAPTURED : snaplen),
      .ring_base    (descriptor_base),
      .ring_log2    (descriptor_log2),
      .head         (descriptor_head),
      .tail         (descriptor_tail),
      .error        (descriptor_error),
      .read_valid   (slots_read),
      .read_ready   (slots_ready),
      .read_addr    (slots_addr),
      .read_bytes   (slots_bytes),
      .word_valid   (direct_valid),
      .word         (direct_data),
      .arrived      (arrived && arrived_direct),
      .arrived_error,
      .packet_valid (fetched_valid),
      .packet_ready (fetched_ready),
      .packet       (fetched),
      .packet_addr  (fetched_addr),
      .idle         (slots_idle)
  );

  // Descriptors go first: they are few, and everything else waits for them.
  logic queue_ready;
  assign slots_ready   = cmd_ready;
  assign fetched_ready = queue_ready && (fetched.empty || (cmd_ready && !slots_read));

  logic read_valid, read_ready, read_last, read_error;
  logic [MEM_W-1:0] read_data;
  logic [BYTES-1:0] read_keep;
  axi_reader #(
      .MEM_W(MEM_W),
      .BURST(BURST),
      .BUFFER(READ_BUFFER),
      .LEN_W(LEN_W),
      .COMMANDS(AHEAD)
  ) u_reader (
      .clk,
      .rst,
      .cmd_valid    (slots_read || (fetched_valid && queue_ready && !fetched.empty)),
      .cmd_ready,
      .cmd_addr     (slots_read ? slots_addr : fetched_addr),
      .cmd_bytes    (slots_read ? LEN_W'(slots_bytes) : fetched.len),
      .cmd_direct   (slots_read),
      .m_axi_araddr,
      .m_axi_arlen,
      .m_axi_arsize,
      .m_axi_arburst,
      .m_axi_arvalid,
      .m_axi_arready,
      .m_axi_rdata,
      .m_axi_rresp,
      .m_axi_rlast,
      .m_axi_rvalid,
      .m_axi_rready,
      .direct_valid,
      .direct_data,
      .arrived,
      .arrived_direct,
      .arrived_error,
      .m_axis_tvalid(read_valid),
      .m_axis_tready(read_ready),
      .m_axis_tdata (read_data),
      .m_axis_tkeep (read_keep),
      .m_axis_tlast (read_last),
      .m_axis_tuser (read_error),
      .idle         (reader_idle)
  );

  logic ahead_valid, ahead_ready, ahead_idle;
  packet_t ahead;
  wire fetched_taken = fetched_valid && fetched_ready;
  stream_fifo #(
      .WIDTH($bits(packet_t)),
      .DEPTH(AHEAD)
  ) u_ahead (
      .clk,
      .rst,
      .s_valid(fetched_taken),
      .s_ready(queue_ready),
      .s_data (fetched),
      .m_valid(ahead_valid),
      .m_ready(ahead_ready),
      .m_data (ahead),
      .count  (),
      .idle   (ahead_idle)
  );

  wire packet_arrived = arrived && !arrived_direct;

  // ---------------------------------------------------------------- where records and their data come from, in order
  // The first beat of a frame is taken together with its stamp; the data wait for the record to be placed.
  logic sop_q, frame_s_ready, frame_valid, frame_ready, frame_last, frames_idle;
  logic [MEM_W-1:0] frame_data;
  wire frame_waits = s_axis_tvalid && sop_q && frame_s_ready;
  stream_fifo #(
      .WIDTH(MEM_W + 1),
      .DEPTH(32)
  ) u_frame_data (
      .clk,
      .rst,
      .s_valid(s_axis_tvalid && s_axis_tready),
      .s_ready(frame_s_ready),
      .s_data ({s_axis_tlast, s_axis_tdata}),
      .m_valid(frame_valid),
      .m_ready(frame_ready),
      .m_data ({frame_last, frame_data}),
      .count  (),
      .idle   (frames_idle)
  );

  logic stamp_valid, stamp_ready, memory_goes, memory_first;  // memory_first: even if a frame waits
  packet_t stamp;
  assign stamp_valid   = memory_goes || frame_waits;
  assign stamp         = memory_goes ? ahead : s_axis_tuser;
  assign s_axis_tready = frame_s_ready && (!sop_q || (stamp_ready && !memory_first));
  always_ff @(posedge clk) begin
    if (s_axis_tvalid && s_axis_tready) sop_q <= s_axis_tlast;
    if (rst) sop_q <= 1'b1;
  end

  logic memory_ready;  // the builder takes data of host memory
  if (FILTERED) begin : gen_filtered
    // A packet without data leaves as a frame of one empty beat.
    assign m_axis_tvalid = ahead_valid && (ahead.empty || read_valid);
    assign m_axis_tdata  = ahead.empty ? '0 : read_data;  // what is offered stays: those data belong to another packet
    assign m_axis_tkeep  = ahead.empty ? '0 : read_keep;
    assign m_axis_tlast  = ahead.empty || read_last;
    assign m_axis_tuser  = ahead;
    assign m_axis_error  = !ahead.empty && read_error;
    assign ahead_ready   = m_axis_tvalid && m_axis_tready && m_axis_tlast;
    assign read_ready    = ahead_valid && !ahead.empty && m_axis_tready;
    assign memory_first  = 1'b0;
    assign memory_goes   = 1'b0;
  end else begin : gen_both
    // Frames and packets of host memory take turns.
    logic turn_q;
    assign memory_first = ahead_valid && turn_q;
    assign memory_goes  = ahead_valid && (turn_q || !frame_waits);
    assign ahead_ready  = memory_goes && stamp_ready;
    assign read_ready   = memory_ready;
    assign {m_axis_tvalid, m_axis_tdata, m_axis_tkeep, m_axis_tlast, m_axis_tuser, m_axis_error} = '0;
    always_ff @(posedge clk) begin
      if (stamp_valid && stamp_ready) turn_q <= !memory_goes;
      if (rst) turn_q <= 1'b0;
    end
  end

  logic timed_valid, timed_ready, time_idle, time_settled;
  packet_t timed;
  logic [LEN_W-1:0] timed_total;
  logic [31:0] sec, nsec;
  record_time u_time (
      .clk,
      .rst,
      .time_ns,
      .s_valid (stamp_valid),
      .s_ready (stamp_ready),
      .s_packet(stamp),
      .m_valid (timed_valid),
      .m_ready (timed_ready),
      .m_packet(timed),
      .m_total (timed_total),
      .m_sec   (sec),
      .m_nsec  (nsec),
      .idle    (time_idle),
      .settled (time_settled)
  );

  // ------------------------------------------------------------------ which packets have all their data, and good ones
  logic status_valid, status_bad, unused_status_ready;
  logic [1:0] owed_q;  // packets that went on before their data were whole
  wire late = owed_q != 0 && status_valid;
  wire reads = timed.memory && !timed.empty;
  wire whole = !reads || (owed_q == 0 && status_valid);
  wire hands_over = timed_valid && timed_ready && reads;
  logic taken_whole;
  stream_fifo #(
      .WIDTH(1),
      .DEPTH(2 * AHEAD)
  ) u_status (
      .clk,
      .rst,
      .s_valid(packet_arrived && !FILTERED),
      .s_ready(unused_status_ready),
      .s_data (arrived_error),
      .m_valid(status_valid),
      .m_ready(late || (hands_over && taken_whole)),
      .m_data (status_bad),
      .count  (),
      .idle   ()
  );
  always_ff @(posedge clk) begin
    owed_q <= owed_q + 2'(hands_over && !taken_whole) - 2'(late);
    if (rst) owed_q <= '0;
  end

  // ------------------------------------------------------------------------------------------------------ the ring
  logic placed_valid, placed_ready, record_valid, record_ready;
  record_t placed, record;
  logic records_idle;
  logic burst_valid, burst_ready, hungry, drained, rewind, planner_idle, builder_idle, packer_idle, writer_idle;
  logic record_done, record_done_memory, from_memory;
  logic [63:0] burst_addr;
  logic [7:0] burst_len;
  logic [LANE_W-1:0] burst_lead;
  logic [COUNT_W-1:0] burst_tail;
  logic [12:0] burst_bytes;
  logic [LANE_W-1:0] rewind_lane;
  logic read_error_seen, dropped_after_error, lost_after_error;
  assign drained = writer_idle && packer_idle && builder_idle && records_idle;

  ring_planner #(
      .MEM_W(MEM_W),
      .BURST(BURST)
  ) u_planner (
      .clk,
      .rst,
      .ring_base,
      .ring_log2,
      .consumer,
      .wait_for_room,
      .drop_all    (write_error),
      .packet_valid(timed_valid),
      .packet_ready(timed_ready),
      .packet      (timed),
      .packet_total(timed_total),
      .packet_sec  (sec),
      .packet_nsec (nsec),
      .packet_whole(whole),
      .packet_bad  (reads && status_bad),
      .taken_whole,
      .late,
      .late_bad    (status_bad),
      .record_valid(placed_valid),
      .record_ready(placed_ready),
      .record      (placed),
      .hungry,
      .burst_valid,
      .burst_ready,
      .burst_addr,
      .burst_len,
      .burst_lead,
      .burst_tail,
      .burst_bytes,
      .drained,
      .rewind,
      .rewind_lane,
      .read_error  (read_error_seen),
      .ring_full   (events.ring_full),
      .too_long    (events.too_long),
      .after_error (dropped_after_error),
      .idle        (planner_idle)
  );

  stream_fifo #(
      .WIDTH($bits(record_t)),
      .DEPTH(8)
  ) u_records (
      .clk,
      .rst,
      .s_valid(placed_valid),
      .s_ready(placed_ready),
      .s_data (placed),
      .m_valid(record_valid),
      .m_ready(record_ready),
      .m_data (record),
      .count  (),
      .idle   (records_idle)
  );

  logic data_ready, built_valid, built_ready, built_last, built_good, packer_ready, end_ready, word_ready, word_full;
  localparam int unsigned BUILT_W = MEM_W > 8 * HEADER_BYTES ? MEM_W + 8 * HEADER_BYTES : MEM_W;
  logic [BUILT_W-1:0] built_data;
  logic [$clog2(BUILT_W/8+1)-1:0] built_count;
  logic [MEM_W-1:0] word;
  logic [COUNT_W-1:0] word_count;
  logic [LEN_W-1:0] built_total;
  assign memory_ready = data_ready && from_memory;
  assign frame_ready  = data_ready && !from_memory;

  record_builder #(
      .MEM_W(MEM_W)
  ) u_builder (
      .clk,
      .rst,
      .record_valid,
      .record_ready,
      .record,
      .memory      (from_memory),
      .data_valid  (from_memory ? read_valid : frame_valid),
      .data_ready,
      .data        (from_memory ? read_data : frame_data),
      .data_last   (from_memory ? read_last : frame_last),
      .data_error  (from_memory && read_error),
      .m_valid     (built_valid),
      .m_ready     (built_ready),
      .m_data      (built_data),
      .m_count     (built_count),
      .m_last      (built_last),
      .m_good      (built_good),
      .m_total     (built_total),
      .done        (record_done),
      .done_memory (record_done_memory),
      .idle        (builder_idle)
  );
  assign built_ready = packer_ready && end_ready;

  byte_packer #(
      .MEM_W(MEM_W),
      .IN_W(BUILT_W)
  ) u_packer (
      .clk,
      .rst,
      .rewind,
      .rewind_lane,
      .s_valid    (built_valid && end_ready),
      .s_ready    (packer_ready),
      .s_data     (built_data),
      .s_count    (built_count),
      .word,
      .word_count,
      .word_full,
      .word_ready,
      .idle       (packer_idle)
  );

  ring_writer #(
      .MEM_W(MEM_W),
      .RECORDS(RECORDS)
  ) u_writer (
      .clk,
      .rst,
      .rewind,
      .burst_valid,
      .burst_ready,
      .burst_addr,
      .burst_len,
      .burst_lead,
      .burst_tail,
      .burst_bytes,
      .word,
      .word_count,
      .word_full,
      .word_ready,
      .end_valid   (built_valid && built_ready && built_last && built_good),
      .end_ready,
      .end_total   (built_total),
      .m_axi_awaddr,
      .m_axi_awlen,
      .m_axi_awsize,
      .m_axi_awburst,
      .m_axi_awvalid,
      .m_axi_awready,
      .m_axi_wdata,
      .m_axi_wstrb,
      .m_axi_wlast,
      .m_axi_wvalid,
      .m_axi_wready,
      .m_axi_bresp,
      .m_axi_bvalid,
      .m_axi_bready,
      .producer,
      .record      (events.record),
      .record_bytes(events.record_bytes),
      .lost        (lost_after_error),
      .error       (write_error),
      .hungry,
      .idle        (writer_idle)
  );

  logic packet_done_q;
  always_ff @(posedge clk) begin
    packet_done_q <= FILTERED ? ahead_ready : record_done && record_done_memory;
    packets_read  <= packets_read + 32'(packet_done_q);
    if (rst) begin
      packet_done_q <= 1'b0;
      packets_read  <= '0;
    end
  end

  assign events.packet      = fetched_taken;
  assign events.read_error  = FILTERED ? packet_arrived && arrived_error : read_error_seen;
  assign events.after_error = 2'(dropped_after_error) + 2'(lost_after_error);

  wire memory_idle = slots_idle && reader_idle && ahead_idle && !m_axis_tvalid;
  wire stream_idle = !s_axis_tvalid && sop_q && frames_idle;
  wire record_idle = time_idle && planner_idle && records_idle && builder_idle && packer_idle && writer_idle;
  assign idle    = memory_idle && stream_idle && record_idle && !packet_done_q;
  assign settled = idle && time_settled;

`ifndef SYNTHESIS
  offer_contract #(
      .WIDTH(1 + MEM_W)
  ) u_stays (
      .clk,
      .rst,
      .valid(s_axis_tvalid),
      .ready(s_axis_tready),
      .data ({s_axis_tlast, s_axis_tdata})
  );
  always_ff @(posedge clk) begin
    if (!rst && enable) begin
      assert (snaplen <= MAX_CAPTURED)
      else $error("%m: snaplen is more than MAX_CAPTURED");
    end
    if (!rst && s_axis_tvalid && sop_q) begin
      assert (s_axis_tuser.len <= MAX_CAPTURED)
      else $error("%m: a frame of which more than MAX_CAPTURED is to be kept");
    end
  end
  offer_contract #(
      .WIDTH(8 + 64)
  ) u_write_stays (
      .clk,
      .rst,
      .valid(m_axi_awvalid),
      .ready(m_axi_awready),
      .data ({m_axi_awlen, m_axi_awaddr})
  );
  offer_contract #(
      .WIDTH(1 + BYTES + MEM_W)
  ) u_written_stay (
      .clk,
      .rst,
      .valid(m_axi_wvalid),
      .ready(m_axi_wready),
      .data ({m_axi_wlast, m_axi_wstrb, m_axi_wdata})
  );
  offer_contract #(
      .WIDTH(8 + 64)
  ) u_read_stays (
      .clk,
      .rst,
      .valid(m_axi_arvalid),
      .ready(m_axi_arready),
      .data ({m_axi_arlen, m_axi_araddr})
  );
  if (FILTERED) begin : gen_frames_contract
    stream_contract #(
        .DATA_W(MEM_W)
    ) u_frames (
        .clk,
        .rst,
        .tvalid(m_axis_tvalid),
        .tready(m_axis_tready),
        .tdata (m_axis_tdata),
        .tkeep (m_axis_tkeep),
        .tlast (m_axis_tlast)
    );
  end
  always_ff @(posedge clk) begin
    if (!rst) assert (!packet_arrived || FILTERED || unused_status_ready) else $error("%m: a packet's status is lost");
  end
`endif

endmodule
