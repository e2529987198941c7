// SPDX-License-Identifier: Apache-2.0
// Watches the frames that pass through one port and hands those that a core was found for to that core.
// The first beat (sop) takes the core that is offered in the same cycle. A beat reaches the core 2 cycles later, with
// the frame's length beside the last one. Never stalls.
module filter_tap
  import bpf_pkg::*;
  import filter_pkg::*;
  import headrace_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned MAX_FRAME = 65600,
    parameter int unsigned CORES = 8
) (
    input  logic                clk,
    input  logic                rst,

    input  logic                beat,          // a beat passes
    input  logic [DATA_W-1:0]   data,
    input  logic [DATA_W/8-1:0] keep,
    input  logic                last,
    input  rx_meta_t            meta,
    output logic                sop,           // a beat that comes now is a frame's first
    input  logic                offered,       // a core is offered
    input  logic [CORES-1:0]    offered_core,  // one-hot
    input  logic                active_set,

    output logic [CORES-1:0]    core_valid,
    output logic [DATA_W-1:0]   core_data,
    output logic                core_last,
    output packet_t             core_packet,
    output ingress_events_t     events,        // all but `held`
    output logic                idle
);

  if (CORES < 1 || CORES > 64) begin : gen_bad_cores
    $fatal(1, "filter_tap: CORES must be 1 to 64, not %0d", CORES);
  end
  if (DATA_W < 16 || DATA_W > 1024 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "filter_tap: DATA_W must be a power of two from 16 to 1024, not %0d", DATA_W);
  end
  if (MAX_FRAME < 1 || MAX_FRAME >= (1 << LEN_W)) begin : gen_bad_max_frame
    $fatal(1, "filter_tap: MAX_FRAME must be 1 to 131071, not %0d", MAX_FRAME);
  end

  localparam int unsigned BYTES = DATA_W / 8;
  localparam int unsigned MAX_ROWS = (MAX_FRAME + BYTES - 1) / BYTES;
  localparam int unsigned BEATS_W = BYTES_W - $clog2(BYTES);
  // A frame so long that its length cannot be counted must not be taken for an empty one.
  localparam logic [BEATS_W-1:0] MAX_BEATS = BEATS_W'((1 << BEATS_W) - 2);

  // Stage 1
  logic sop_q, beat_q, last_q, set_q;
  logic [DATA_W-1:0] data_q;
  logic [BYTES-1:0] keep_q;
  rx_meta_t meta_q;
  logic [CORES-1:0] core_q;  // none: the frame is not inspected
  logic [BEATS_W-1:0] beats_q;  // of this frame before this beat

  assign sop = sop_q;

  always_ff @(posedge clk) begin
    beat_q <= beat;
    if (beat) begin
      sop_q  <= last;
      data_q <= data;
      keep_q <= keep;
      last_q <= last;
      meta_q <= meta;
      if (sop_q) begin
        core_q  <= offered ? offered_core : '0;
        set_q   <= active_set;
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

  // Stage 2
  logic [$clog2(BYTES):0] beat_bytes;
  keep_bytes #(.KEEP_W(BYTES)) u_bytes (.keep(keep_q), .bytes(beat_bytes));
  wire [BYTES_W-1:0] length = {beats_q, $clog2(BYTES)'(0)} + BYTES_W'(beat_bytes);
  // No frame ends with a beat of no bytes: it would take up a row too many
  wire empty_end = !keep_q[0] && beats_q != 0;
  wire is_bad = meta_q.error || 32'(length) > MAX_FRAME || empty_end;

  always_ff @(posedge clk) begin
    core_valid <= beat_q && (last_q || 32'(beats_q) < MAX_ROWS) ? core_q : '0;
    if (beat_q) begin
      core_data       <= data_q;
      core_last       <= last_q;
      core_packet.set <= set_q;
      core_packet.bad <= is_bad;
      core_packet.len <= length[LEN_W-1:0];
      core_packet.wire_len <= meta_q.cut ? meta_q.wire_len : WIRE_LEN_W'(length);
    end
    events             <= '0;
    events.packet      <= beat_q && last_q;
    events.uninspected <= beat_q && last_q && core_q == 0;
    events.bad         <= beat_q && last_q && core_q != 0 && is_bad;
    events.bytes       <= length;
    if (rst) core_valid <= '0;
  end

  assign idle = sop_q && !beat_q && core_valid == 0 && !events.packet;

endmodule
