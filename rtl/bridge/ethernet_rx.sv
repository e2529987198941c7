// SPDX-License-Identifier: Apache-2.0
// Way of an Ethernet port's frames into the network on chip: good ones wait in a store until they are whole; then the
// key in each of them, 4 bytes from key_offset on, is looked up in the IDP table, and the whole frame goes out as a
// packet. Counted and dropped whole: frames that come while `enable` is low at their first beat; bad ones (FCS, no byte
// at all); those of more than MAX_PACKET bytes; those that find no room; those that the table doesn't know.
//     frame = disabled + bad + too_long + overflow + unknown + delivered + those inside
// Latency: store and forward. Throughput: 1 beat a cycle in; out, the header's beats and 2 cycles a frame beside.
// Backpressure: rx_tready is always high. With flow_control it is low before a frame while the store is half full (of
// bytes or of frames); `held` says that a frame waits for it.
module ethernet_rx
  import bridge_pkg::*;
  import headrace_pkg::rx_meta_t;
#(
    parameter int unsigned DATA_W = 64,
    parameter int unsigned STORE_KB = 64,
    parameter int unsigned MAX_PACKET = 1514,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,
    input  noc_address_t      here,
    input  table_write_t      table_write,
    input  logic              enable,
    input  logic              flow_control,
    input  logic [6:0]        key_offset,

    input  logic              rx_tvalid,
    output logic              rx_tready,
    input  logic [DATA_W-1:0] rx_tdata,
    input  logic [KEEP_W-1:0] rx_tkeep,
    input  logic              rx_tlast,
    input  rx_meta_t          rx_tuser,

    output logic              m_axis_tvalid,
    input  logic              m_axis_tready,
    output logic [DATA_W-1:0] m_axis_tdata,
    output logic [KEEP_W-1:0] m_axis_tkeep,
    output logic              m_axis_tlast,

    output logic              frame,
    output logic [15:0]       frame_bytes,   // with frame; 65535 for more
    output logic              bad,
    output logic              disabled,
    output logic              too_long,
    output logic              overflow,
    output logic              unknown,
    output logic              held,
    output logic              idle
);

  localparam int unsigned ROWS = STORE_KB * 1024 / KEEP_W;
  localparam int unsigned FRAMES = STORE_KB * 16;  // of the shortest size
  localparam int unsigned LANE_W = $clog2(KEEP_W);
  localparam int unsigned BEATS_W = 17 - LANE_W;
  localparam logic [BEATS_W-1:0] MAX_BEATS = '1;

  if (DATA_W < 32 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "ethernet_rx: DATA_W must be 32, 64, 128, 256 or 512, not %0d", DATA_W);
  end
  if (STORE_KB < 1 || STORE_KB > 1024 || 2 ** $clog2(STORE_KB) != STORE_KB) begin : gen_bad_store
    $fatal(1, "ethernet_rx: STORE_KB must be a power of two from 1 to 1024, not %0d", STORE_KB);
  end
  if (MAX_PACKET < 1 || MAX_PACKET > 65535 || 2 * MAX_PACKET + 16 * KEEP_W > STORE_KB * 1024) begin : gen_bad_max_packet
    $fatal(1, "ethernet_rx: MAX_PACKET must be 1 to 65535, and STORE_KB hold two such frames and 16 beats, not %0d",
           MAX_PACKET);
  end

  // Stage 1: length and key of the frame
  logic first_q, wait_q, beat;
  assign rx_tready = !(wait_q && first_q);
  assign beat      = rx_tvalid && rx_tready;
  assign held      = rx_tvalid && !rx_tready;

  logic beat_q, last_q, off_q, error_q;
  logic [DATA_W-1:0] data_q;
  logic [KEEP_W-1:0] keep_q;
  logic [BEATS_W-1:0] beats_q;  // of the frame before this one
  logic [6:0] offset_q, offset;
  logic [3:0][7:0] key_q;       // first byte in [3]
  logic [BEATS_W-1:0] beats;
  assign beats  = first_q ? '0 : beats_q + BEATS_W'(beats_q != MAX_BEATS);
  assign offset = first_q ? key_offset : offset_q;

  always_ff @(posedge clk) begin
    beat_q <= beat;
    if (beat) begin
      first_q  <= rx_tlast;
      data_q   <= rx_tdata;
      keep_q   <= rx_tkeep;
      last_q   <= rx_tlast;
      error_q  <= rx_tuser.error;
      beats_q  <= beats;
      offset_q <= offset;
      if (first_q) begin
        off_q <= !enable;
        key_q <= '0;
      end
      for (int unsigned i = 0; i < 4; i++) begin
        automatic logic [7:0] place = 8'(offset) + 8'(i);
        if (32'(beats) == 32'(place >> LANE_W) && rx_tkeep[place[LANE_W-1:0]]) begin
          key_q[3-i] <= rx_tdata[8*place[LANE_W-1:0]+:8];
        end
      end
    end
    if (rst) begin
      first_q <= 1'b1;
      beat_q  <= 1'b0;
    end
  end

  // Stage 2: into the store or not
  logic [17:0] length;
  logic ending, wrong, long, keys_room_q, dropped;
  logic stored_valid, stored_ready, stored_last, store_idle, keys_idle;
  logic [DATA_W-1:0] stored_data;
  logic [KEEP_W-1:0] stored_keep;
  logic [$clog2(ROWS):0] used;
  logic [LANE_W:0] beat_bytes;
  keep_bytes #(.KEEP_W(KEEP_W)) u_bytes (.keep(keep_q), .bytes(beat_bytes));
  assign ending = beat_q && last_q;
  assign length = 18'({beats_q, LANE_W'(0)}) + 18'(beat_bytes);
  assign wrong  = error_q || length == '0;
  assign long   = 32'(length) > MAX_PACKET;

  // Outputs that nobody needs here stay open.
  // verilator lint_off PINCONNECTEMPTY
  packet_fifo #(
      .DATA_W(DATA_W),
      .DEPTH(ROWS)
  ) u_store (
      .clk,
      .rst,
      .s_axis_tvalid(beat_q),
      .s_axis_tready(),
      .s_axis_tdata (data_q),
      .s_axis_tkeep (keep_q),
      .s_axis_tlast (last_q),
      .s_axis_tuser (1'b0),
      .s_drop       (off_q || wrong || long || !keys_room_q),
      .m_axis_tvalid(stored_valid),
      .m_axis_tready(stored_ready),
      .m_axis_tdata (stored_data),
      .m_axis_tkeep (stored_keep),
      .m_axis_tlast (stored_last),
      .m_axis_tuser (),
      .used,
      .dropped,
      .idle         (store_idle)
  );
  // verilator lint_on PINCONNECTEMPTY

  // The key follows once it is sure that the store has the frame.
  logic ended_q, key_valid, key_ready, route_valid, route_ready, key_room;
  logic [31:0] ended_key_q, key;
  logic [$clog2(FRAMES+1)-1:0] keys;
  stream_fifo #(
      .WIDTH(32),
      .DEPTH(FRAMES)
  ) u_keys (
      .clk,
      .rst,
      .s_valid(ended_q && !dropped),
      .s_ready(key_room),
      .s_data (ended_key_q),
      .m_valid(key_valid),
      .m_ready(key_ready),
      .m_data (key),
      .count  (keys),
      .idle   (keys_idle)
  );

  always_ff @(posedge clk) begin
    ended_q     <= ending;
    ended_key_q <= key_q;
    keys_room_q <= 32'(keys) < FRAMES - 3;
    wait_q      <= flow_control && (32'(used) >= ROWS / 2 || 32'(keys) >= FRAMES / 2);

    frame_bytes <= !ending ? '0 : length > 18'd65535 ? '1 : length[15:0];
    disabled    <= ending && off_q;
    bad         <= ending && !off_q && wrong;
    too_long    <= ending && !off_q && !wrong && long;
    if (rst) begin
      ended_q     <= 1'b0;
      keys_room_q <= 1'b0;
      wait_q      <= 1'b0;
      disabled    <= 1'b0;
      bad         <= 1'b0;
      too_long    <= 1'b0;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst) begin
      assert (!ended_q || dropped || key_room) else $error("the key of a frame is lost");
    end
  end
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
`endif
  wire unused = &{1'b0, key_room};  // keys_room_q sees to it

  assign frame    = ended_q;
  assign overflow = dropped && !disabled && !bad && !too_long;

  // Out of the store, as a packet
  noc_header_t header;
  logic unused_sent;
  assign route_valid  = stored_valid && key_valid;
  assign stored_ready = route_ready && key_valid;
  assign key_ready    = stored_valid && stored_ready && stored_last;

  noc_route #(
      .DATA_W(DATA_W)
  ) u_route (
      .clk,
      .rst,
      .table_write,
      .here,
      .s_axis_tvalid(route_valid),
      .s_axis_tready(route_ready),
      .s_axis_tdata (stored_data),
      .s_axis_tkeep (stored_keep),
      .s_axis_tlast (stored_last),
      .s_key        (key),
      .entry        (header),
      .header,
      .m_axis_tvalid,
      .m_axis_tready,
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .unknown,
      .sent         (unused_sent)
  );

  assign idle = first_q && !rx_tvalid && !beat_q && !ended_q && store_idle && keys_idle;

endmodule
