// SPDX-License-Identifier: Apache-2.0
// Takes the frames of an Ethernet port, stamps them, drops those that are bad or longer than MAX_CAPTURED, and
// keeps the others until they are wanted: whole, so that their length is known with their first beat.
// Never stalls the port: a frame that finds no room is dropped whole and counted. With flow_control it holds a frame
// off before its first beat while the store is half full (of bytes or of frames), so that none of up to half its size
// and 64 bytes is lost.
module port_store
  import capture_pkg::*;
  import headrace_pkg::rx_meta_t;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned STORE_KB = 64,
    localparam int unsigned BYTES = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,
    input  logic [63:0]       time_ns,
    input  logic              enable,
    input  logic              flow_control,
    input  logic [LEN_W-1:0]  snaplen,

    input  logic              rx_tvalid,
    output logic              rx_tready,
    input  logic [DATA_W-1:0] rx_tdata,
    input  logic [BYTES-1:0]  rx_tkeep,
    input  logic              rx_tlast,
    input  rx_meta_t          rx_tuser,

    output logic              m_axis_tvalid,
    input  logic              m_axis_tready,
    output logic [DATA_W-1:0] m_axis_tdata,
    output logic [BYTES-1:0]  m_axis_tkeep,
    output logic              m_axis_tlast,
    output packet_t           m_axis_tuser,  // the same on every beat

    output port_events_t      events,
    output logic              holds,         // a frame
    output logic              idle
);

  if (DATA_W < 16 || DATA_W > 1024 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "port_store: DATA_W must be a power of two from 16 to 1024, not %0d", DATA_W);
  end
  if (STORE_KB < 1 || STORE_KB > 1024 || 2 ** $clog2(STORE_KB) != STORE_KB || STORE_KB * 1024 < 8 * DATA_W)
  begin : gen_bad_store_kb
    $fatal(1, "port_store: STORE_KB must be a power of two from 1 to 1024 and hold 64 beats, not %0d", STORE_KB);
  end

  localparam int unsigned ROWS = STORE_KB * 1024 / BYTES;
  localparam int unsigned OFFSET_W = $clog2(BYTES);
  localparam int unsigned BEATS_W = 20 - OFFSET_W;
  localparam int unsigned FRAMES = ROWS < 512 ? ROWS : 512;
  localparam logic [BEATS_W-1:0] MAX_BEATS = '1;
  localparam int unsigned HOLD_ROWS = ROWS / 2 - (BYTES < 64 ? 64 / BYTES : 1);

  // Stage 1: length and time of the frame
  logic sop_q, held, beat;
  logic [$clog2(ROWS):0] used;
  logic [$clog2(FRAMES+1)-1:0] meta_count;
  assign held      = flow_control && sop_q && (32'(used) >= HOLD_ROWS || 32'(meta_count) >= FRAMES / 2);
  assign rx_tready = !held;
  assign beat      = rx_tvalid && !held;

  logic beat_q, last_q, off_q;
  logic [DATA_W-1:0] data_q;
  logic [BYTES-1:0] keep_q;
  rx_meta_t meta_q;
  logic [63:0] time_q;
  logic [BEATS_W-1:0] beats_q;  // of the frame before this beat
  always_ff @(posedge clk) begin
    beat_q <= beat;
    if (beat) begin
      sop_q  <= rx_tlast;
      data_q <= rx_tdata;
      keep_q <= rx_tkeep;
      last_q <= rx_tlast;
      meta_q <= rx_tuser;
      if (sop_q) begin
        time_q  <= time_ns;
        off_q   <= !enable;
        beats_q <= '0;
      end else if (beats_q != MAX_BEATS) begin
        beats_q <= beats_q + 1'b1;
      end
    end
    if (rst) begin
      sop_q  <= 1'b1;
      beat_q <= 1'b0;
    end
  end

  // Stage 2: into the store or not
  logic [OFFSET_W:0] beat_bytes;
  keep_bytes #(.KEEP_W(BYTES)) u_bytes (.keep(keep_q), .bytes(beat_bytes));
  wire [19:0] length = {beats_q, OFFSET_W'(0)} + 20'(beat_bytes);
  wire oversize = length > 20'(MAX_CAPTURED);
  logic meta_ready, dropped, store_idle, unused_ready;
  wire ending = beat_q && last_q;
  wire off = off_q || !enable;
  wire refuse = off || meta_q.error || oversize || !meta_ready;

  logic beat_valid, beat_ready, beat_last;
  logic unused_user;
  packet_fifo #(
      .DATA_W(DATA_W),
      .DEPTH(ROWS)
  ) u_store (
      .clk,
      .rst,
      .s_axis_tvalid(beat_q),
      .s_axis_tready(unused_ready),
      .s_axis_tdata (data_q),
      .s_axis_tkeep (keep_q),
      .s_axis_tlast (last_q),
      .s_axis_tuser (1'b0),
      .s_drop       (refuse),
      .m_axis_tvalid(beat_valid),
      .m_axis_tready(beat_ready),
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast (beat_last),
      .m_axis_tuser (unused_user),
      .dropped,
      .used,
      .idle         (store_idle)
  );

  // What is known of a frame follows once it is sure that the store has it.
  packet_t packet_q;
  logic ended_q;
  logic meta_valid, meta_s_ready, meta_idle;
  stream_fifo #(
      .WIDTH($bits(packet_t)),
      .DEPTH(FRAMES)
  ) u_meta (
      .clk,
      .rst,
      .s_valid(ended_q && !dropped),
      .s_ready(meta_s_ready),
      .s_data (packet_q),
      .m_valid(meta_valid),
      .m_ready(m_axis_tvalid && m_axis_tready && m_axis_tlast),
      .m_data (m_axis_tuser),
      .count  (meta_count),
      .idle   (meta_idle)
  );

  always_ff @(posedge clk) begin
    ended_q <= ending;
    packet_q <= '{
        memory: 1'b0,
        empty: 1'b0,
        time_ns: time_q,
        wire_len: meta_q.cut ? meta_q.wire_len : 32'(length),
        len: length[LEN_W-1:0] < snaplen ? length[LEN_W-1:0] : snaplen
    };
    meta_ready <= 32'(meta_count) < FRAMES - 4;

    events          <= '0;
    events.frame    <= ending;
    events.bytes    <= ending ? length : '0;
    events.disabled <= ending && off;
    events.bad      <= ending && !off && meta_q.error;
    events.oversize <= ending && !off && !meta_q.error && oversize;
    events.held     <= held && rx_tvalid;
    if (rst) begin
      events     <= '0;
      ended_q    <= 1'b0;
      meta_ready <= 1'b0;
    end
    // Dropped for another reason than those: no room
    events.overflow <= ended_q && dropped && !events.disabled && !events.bad && !events.oversize && !rst;
  end

  assign m_axis_tvalid = beat_valid && meta_valid;
  assign beat_ready    = m_axis_tready && meta_valid;
  assign m_axis_tlast  = beat_last;

  assign holds = !meta_idle || (ended_q && !dropped);
  assign idle  = sop_q && !rx_tvalid && !beat_q && !ended_q && store_idle && meta_idle && events == '0;

`ifndef SYNTHESIS
  stream_contract #(
      .DATA_W(DATA_W),
      .STAYS (1'b0)
  ) u_contract (
      .clk,
      .rst,
      .tvalid(rx_tvalid),
      .tready(rx_tready),
      .tdata (rx_tdata),
      .tkeep (rx_tkeep),
      .tlast (rx_tlast)
  );
  always_ff @(posedge clk) begin
    if (!rst) assert (!beat_q || unused_ready) else $error("%m: a beat that the store doesn't take");
    if (!rst) assert (!ended_q || dropped || meta_s_ready) else $error("%m: what is known of a frame is lost");
  end
`endif

endmodule
