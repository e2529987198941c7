// SPDX-License-Identifier: Apache-2.0
// Custom actions on packets that are sent, by the bits of s_custom. Both are done on the UDP payload, and the UDP
// checksum, unless it is 0, is changed by what changed:
// bit 0: a FIR filter, see fir_filter, of samples of 32 bits, most significant byte first. What is less than a sample
//   at the end stays as it is.
// bit 1: CRC-32 (IEEE 802.3) of the payload but its last 4 bytes, written over these, least significant byte first: of
//   the filtered payload if both are done. A payload of less than 4 bytes stays as it is.
// The payload ends where the UDP header says. Of a packet that ends before, such as a fragment, samples that are whole
// are filtered, and there is no CRC.
// Latency: 17 cycles (STORE_KB of 64 beats: 16) for packets without custom actions if none with some is before them;
// others go 27 cycles (DATA_W 512: 28) after their last beat. Throughput: 1 beat a cycle.
// Backpressure: s_axis_tready is made of registers, low while STORE_KB are full or, before a packet, while 32 packets
// with custom actions are inside. Such a packet of more than STORE_KB is dropped, and `dropped` is high for a cycle.
module custom_actions
  import custom_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned USER_W = 1,
    parameter int unsigned STORE_KB = 16,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,
    input  logic [3:0][31:0]  coefficients,   // of the filter, [0] that of the newest sample
    input  logic              carry,          // its samples go on from packet to packet

    input  logic              s_axis_tvalid,
    output logic              s_axis_tready,
    input  logic [DATA_W-1:0] s_axis_tdata,
    input  logic [KEEP_W-1:0] s_axis_tkeep,
    input  logic              s_axis_tlast,
    input  logic [USER_W-1:0] s_axis_tuser,   // these three the same on each beat of a packet
    input  logic [1:0]        s_custom,
    input  logic [7:0]        s_payload_at,   // byte at which the UDP payload begins, 4 * n + 2; otherwise none does

    output logic              m_axis_tvalid,
    input  logic              m_axis_tready,
    output logic [DATA_W-1:0] m_axis_tdata,
    output logic [KEEP_W-1:0] m_axis_tkeep,
    output logic              m_axis_tlast,
    output logic [USER_W-1:0] m_axis_tuser,
    output logic              dropped,
    output logic              idle
);

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "custom_actions: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (USER_W < 1) begin : gen_bad_user_w
    $fatal(1, "custom_actions: USER_W must be at least 1, not %0d", USER_W);
  end
  if (STORE_KB < 4 || STORE_KB > 128 || 2 ** $clog2(STORE_KB) != STORE_KB) begin : gen_bad_store_kb
    $fatal(1, "custom_actions: STORE_KB must be a power of two from 4 to 128, not %0d", STORE_KB);
  end

  localparam int unsigned LANES = DATA_W / 32;
  localparam int unsigned LANE_W = $clog2(LANES);
  localparam int unsigned DEPTH = STORE_KB * 1024 / KEEP_W;
  localparam int unsigned COUNT_W = $clog2(DEPTH + 1);
  localparam int unsigned PACKETS = 32;
  localparam int unsigned PACKETS_W = $clog2(PACKETS + 1);

  // --------------------------------------------------------------------------------------------------- what is inside
  logic room_q, packets_room_q, inside_q;
  logic [COUNT_W-1:0] count_q;               // beats up to the store's output
  logic [PACKETS_W-1:0] packets_q, whole_q;  // packets with custom actions; those of them whose last beat is in
  logic store_pop, patch_pop;
  wire taken = s_axis_tvalid && s_axis_tready;
  wire custom = s_custom != '0 && s_payload_at[1:0] == 2'd2;
  wire begins = taken && custom && !inside_q;
  wire ends = taken && custom && s_axis_tlast;

  assign s_axis_tready = room_q && (packets_room_q || inside_q);

  always_ff @(posedge clk) begin
    if (taken) inside_q <= !s_axis_tlast;
    if (taken && !store_pop) count_q <= count_q + 1'b1;
    if (store_pop && !taken) count_q <= count_q - 1'b1;
    room_q <= store_pop || count_q != (taken ? COUNT_W'(DEPTH - 1) : COUNT_W'(DEPTH));
    if (begins && !patch_pop) packets_q <= packets_q + 1'b1;
    if (patch_pop && !begins) packets_q <= packets_q - 1'b1;
    packets_room_q <= patch_pop || packets_q != (begins ? PACKETS_W'(PACKETS - 1) : PACKETS_W'(PACKETS));
    if (ends && !patch_pop) whole_q <= whole_q + 1'b1;
    if (patch_pop && !ends) whole_q <= whole_q - 1'b1;
    if (rst) begin
      inside_q       <= 1'b0;
      count_q        <= '0;
      room_q         <= 1'b0;
      packets_q      <= '0;
      packets_room_q <= 1'b0;
      whole_q        <= '0;
    end
  end

  // -------------------------------------------------------------------------------- steps 0 to 3: where the payload is
  typedef struct packed {
    logic              custom;
    logic              last;
    logic [KEEP_W-1:0] keep;
    logic [15:0]       head;    // the first two bytes of the beat as it came
    logic [DATA_W-1:0] data;    // two bytes on
  } beat_t;

  // A beat is at step i when beat_step[i] is high. A span is there for beats of packets with custom actions only.
  localparam int unsigned STEPS = 11;
  logic beat0_valid, span3_valid, patch3_valid;
  logic [STEPS:1] beat_step;
  logic [STEPS:4] span_step;
  span_t span3;
  span_t [STEPS:4] spans;
  beat_t beat0, found0;
  patch_t patch3;

  // Outputs that nobody needs here stay open.
  // verilator lint_off PINCONNECTEMPTY
  payload_finder #(
      .DATA_W(DATA_W)
  ) u_finder (
      .clk,
      .rst,
      .s_valid     (taken),
      .s_data      (s_axis_tdata),
      .s_keep      (s_axis_tkeep),
      .s_last      (s_axis_tlast),
      .s_fir       (custom && s_custom[0]),
      .s_crc       (custom && s_custom[1]),
      .s_payload_at,
      .beat_valid  (beat0_valid),
      .beat_data   (found0.data),
      .beat_head   (found0.head),
      .beat_keep   (found0.keep),
      .beat_last   (found0.last),
      .beat_custom (found0.custom),
      .span_valid  (span3_valid),
      .span        (span3),
      .patch_valid (patch3_valid),
      .patch       (patch3),
      .idle        ()
  );
  // verilator lint_on PINCONNECTEMPTY

  always_comb begin
    beat0 = 'x;  // nobody looks then
    if (beat0_valid) beat0 = found0;
  end

  always_ff @(posedge clk) begin
    beat_step <= {beat_step[STEPS-1:1], beat0_valid};
    span_step <= {span_step[STEPS-1:4], span3_valid};
    for (int unsigned i = STEPS; i > 4; i--) if (span_step[i-1]) spans[i] <= spans[i-1];
    if (span3_valid) spans[4] <= span3;
    if (rst) begin
      beat_step <= '0;
      span_step <= '0;
    end
  end

  // Beats wait for their spans, and then for the filter.
  localparam int unsigned WAITING = 16;
  localparam int unsigned WAITING_W = $clog2(WAITING);
  logic [WAITING_W-1:0] sample_wr_q, sample_rd_q, beat_wr_q, beat_rd_q;
  logic [DATA_W-1:0] data3;
  beat_t beat9;

  ram_dist #(
      .WIDTH(DATA_W),
      .DEPTH(WAITING)
  ) u_samples (
      .clk,
      .wr_en  (beat0_valid && beat0.custom),
      .wr_addr(sample_wr_q),
      .wr_data(beat0.data),
      .rd_addr(sample_rd_q),
      .rd_data(data3)
  );

  ram_dist #(
      .WIDTH($bits(beat_t)),
      .DEPTH(WAITING)
  ) u_beats (
      .clk,
      .wr_en  (beat0_valid),
      .wr_addr(beat_wr_q),
      .wr_data(beat0),
      .rd_addr(beat_rd_q),
      .rd_data(beat9)
  );

  always_ff @(posedge clk) begin
    if (beat0_valid && beat0.custom) sample_wr_q <= sample_wr_q + 1'b1;
    if (span3_valid) sample_rd_q <= sample_rd_q + 1'b1;
    if (beat0_valid) beat_wr_q <= beat_wr_q + 1'b1;
    if (beat_step[9]) beat_rd_q <= beat_rd_q + 1'b1;
    if (rst) begin
      sample_wr_q <= '0;
      sample_rd_q <= '0;
      beat_wr_q   <= '0;
      beat_rd_q   <= '0;
    end
  end

  // ----------------------------------------------------------------------------------------- steps 4 to 10: the filter
  typedef logic [OFFSET_W-1:0] offset_t;

  function automatic logic [LANES-1:0] lanes_of(offset_t start, offset_t stop, offset_t bytes);
    for (int unsigned i = 0; i < LANES; i++) begin
      lanes_of[i] = 4 * i >= 32'(start) && 4 * i + 4 <= 32'(stop) && 4 * i + 4 <= 32'(bytes);
    end
  endfunction

  function automatic logic [31:0] reversed(logic [31:0] lane);
    return {lane[7:0], lane[15:8], lane[23:16], lane[31:24]};
  endfunction

  function automatic logic [LANES-1:0][31:0] swapped(logic [LANES-1:0][31:0] lanes);
    for (int unsigned i = 0; i < LANES; i++) swapped[i] = reversed(lanes[i]);
  endfunction

  logic [DATA_W-1:0] data4_q;
  logic [LANES-1:0] samples4_q, samples10_q;
  logic [LANES-1:0][31:0] filtered10;
  beat_t beat10_q;
  wire filters4 = span_step[4] && spans[4].fir;

  // Outputs that nobody needs here stay open.
  // verilator lint_off PINCONNECTEMPTY
  fir_filter #(
      .LANES(LANES)
  ) u_fir (
      .clk,
      .rst,
      .coefficients,
      .carry,
      .s_valid  (filters4),
      .s_begins (spans[4].begins),
      .s_start  (spans[4].start[LANE_W+1:2]),
      .s_lanes  (samples4_q),
      .s_samples(data4_q),
      .m_samples(filtered10),
      .idle     ()
  );
  // verilator lint_on PINCONNECTEMPTY

  always_ff @(posedge clk) begin
    if (span3_valid) begin
      data4_q    <= swapped(data3);
      samples4_q <= lanes_of(span3.start, span3.stop, span3.bytes);
    end
    if (beat_step[9]) begin
      beat10_q    <= beat9;
      samples10_q <= '0;
      if (span_step[9] && spans[9].fir) samples10_q <= lanes_of(spans[9].start, spans[9].stop, spans[9].bytes);
    end
  end

  // --------------------------------------------------------------------------------------- step 11: the packet as sent
  beat_t beat11_q;
  logic [DATA_W-1:0] old11_q;
  logic [15:0] top_q;                        // last two bytes of the beat before
  wire [15:0] head11 = beat11_q.custom && !spans[11].first ? top_q : beat11_q.head;

  always_ff @(posedge clk) begin
    if (beat_step[10]) begin
      beat11_q <= beat10_q;
      for (int unsigned i = 0; i < LANES; i++) begin
        if (samples10_q[i]) beat11_q.data[32*i+:32] <= reversed(filtered10[i]);
      end
    end
    if (span_step[10]) old11_q <= beat10_q.data;
    if (beat_step[11]) top_q <= beat11_q.data[DATA_W-1-:16];
  end

  logic patch_valid;
  patch_t patch;

  patch_maker #(
      .DATA_W (DATA_W),
      .PACKETS(PACKETS)
  ) u_maker (
      .clk,
      .rst,
      .packet_valid(patch3_valid),
      .packet      (patch3),
      .span_valid  (span_step[10]),
      .span        (spans[10]),
      .s_old       (old11_q),
      .s_new       (beat11_q.data),
      .m_valid     (patch_valid),
      .m_ready     (patch_pop),
      .m_patch     (patch)
  );

  // ------------------------------------------------------------------------------------------------------- the way out
  typedef struct packed {
    logic              custom;
    logic              last;
    logic [KEEP_W-1:0] keep;
    logic [DATA_W-1:0] data;
  } stored_t;

  stored_t stored;
  logic store_room, users_room, user_there, stored_valid, stored_ready, out_ready, out_idle;
  logic dropping_q, dropped_q;
  wire whole = !stored.custom || patch_valid;

  // There is always room: count_q sees to it. Outputs that nobody needs here stay open.
  // verilator lint_off PINCONNECTEMPTY
  stream_fifo #(
      .WIDTH($bits(stored_t)),
      .DEPTH(DEPTH)
  ) u_store (
      .clk,
      .rst,
      .s_valid(beat_step[11]),
      .s_ready(store_room),
      .s_data ({
        beat11_q.custom, beat11_q.last, beat11_q.keep, beat11_q.data[DATA_W-17:0], head11
      }),
      .m_valid(stored_valid),
      .m_ready(stored_ready),
      .m_data (stored),
      .count  (),
      .idle   ()
  );

  // What goes with a packet waits beside its beats, once.
  logic [USER_W-1:0] stored_user;
  stream_fifo #(
      .WIDTH(USER_W),
      .DEPTH(DEPTH)
  ) u_users (
      .clk,
      .rst,
      .s_valid(taken && !inside_q),
      .s_ready(users_room),
      .s_data (s_axis_tuser),
      .m_valid(user_there),  // long before the packet's first beat
      .m_ready(store_pop && stored.last),
      .m_data (stored_user),
      .count  (),
      .idle   ()
  );
  // verilator lint_on PINCONNECTEMPTY

  // A packet whose end finds no room, as its own beginning fills the store, is thrown away.
  wire stuck = stored_valid && !whole && whole_q == '0 && count_q == COUNT_W'(DEPTH);

  assign stored_ready = dropping_q ? !stored.last || patch_valid : whole && out_ready;
  assign store_pop    = stored_valid && stored_ready;
  assign patch_pop    = store_pop && stored.custom && stored.last;

  always_ff @(posedge clk) begin
    dropping_q <= (dropping_q || stuck) && !patch_pop;
    dropped_q  <= dropping_q && patch_pop;
    if (rst) begin
      dropping_q <= 1'b0;
      dropped_q  <= 1'b0;
    end
  end

  custom_patch #(
      .DATA_W(DATA_W),
      .USER_W(USER_W)
  ) u_patch (
      .clk,
      .rst,
      .s_valid  (stored_valid && whole && !dropping_q),
      .s_ready  (out_ready),
      .s_data   (stored.data),
      .s_keep   (stored.keep),
      .s_last   (stored.last),
      .s_user   (stored_user),
      .s_patched(stored.custom),
      .s_patch  (patch),
      .m_axis_tvalid,
      .m_axis_tready,
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_tuser,
      .idle     (out_idle)
  );

  assign dropped = dropped_q;
  assign idle    = count_q == '0 && packets_q == '0 && out_idle && !dropped_q;

`ifndef SYNTHESIS
  ready_contract #(
      .WIDTH(3)
  ) u_ready (
      .clk,
      .rst,
      .valid({beat_step[11], taken && !inside_q, store_pop && stored.last}),
      .ready({store_room, users_room, user_there})
  );
  stream_contract #(
      .DATA_W(DATA_W)
  ) u_contract (
      .clk,
      .rst,
      .tvalid(s_axis_tvalid),
      .tready(s_axis_tready),
      .tdata (s_axis_tdata),
      .tkeep (s_axis_tkeep),
      .tlast (s_axis_tlast)
  );
`endif

endmodule
