// SPDX-License-Identifier: Apache-2.0
// Slot for a functional block: packets come from the network on chip into a store, pass a kernel one after the other
// and go back into the network, where the IDP table sends them by their destination. Their new source is their old
// destination; level and critical stay; address, egress and destination are the table entry's. Order is kept.
// While settings.hold is high no packet leaves the store. Packets that find no room in it, or come while
// settings.enable is low at their first beat, are dropped and count as overflow: received = overflow + malformed +
// refused + unknown + sent + those inside.
// Latency: store and forward in front of the kernel and behind it. Throughput: 1 beat a cycle, header included, and 2
// cycles a packet; the kernel's own cycles count only beyond these.
// Backpressure: s_axis_tready is always high.
//
// A kernel (KIND; block_*.sv) takes payloads as frames and gives each one back, changed or not (1 to MAX_PACKET bytes),
// in order; m_drop with the last beat drops it: that counts as refused. It may hold 8 frames at most. Its wake_ns is
// NEVER but while all that it holds waits for a time to come. To add one: a branch in gen_kernel, and its number for
// KIND.
module functional_block
  import bridge_pkg::*;
#(
    parameter int unsigned DATA_W = 64,
    parameter int unsigned KIND = 0,      // 0: block_generic, 1: block_crc32
    parameter int unsigned STORE_KB = 16,
    parameter int unsigned MAX_PACKET = 1514,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,
    input  logic [63:0]       time_ns,
    input  noc_address_t      here,
    input  table_write_t      table_write,
    input  slot_settings_t    settings,

    input  logic              s_axis_tvalid,
    output logic              s_axis_tready,
    input  logic [DATA_W-1:0] s_axis_tdata,
    input  logic [KEEP_W-1:0] s_axis_tkeep,
    input  logic              s_axis_tlast,

    output logic              m_axis_tvalid,
    input  logic              m_axis_tready,
    output logic [DATA_W-1:0] m_axis_tdata,
    output logic [KEEP_W-1:0] m_axis_tkeep,
    output logic              m_axis_tlast,

    output slot_events_t      events,
    output logic              idle,           // nothing is inside
    output logic              waiting,        // all that is inside waits for wake_ns, or for settings.hold to fall
    output logic [63:0]       wake_ns
);

  localparam int unsigned PAYLOAD_BEATS = (MAX_PACKET + KEEP_W - 1) / KEEP_W;
  localparam int unsigned OUT_BEATS = 2 ** $clog2(2 * PAYLOAD_BEATS + 4);

  if (KIND > 1) begin : gen_bad_kind
    $fatal(1, "functional_block: KIND must be 0 (generic) or 1 (CRC-32), not %0d", KIND);
  end

  // What a packet keeps of its header
  typedef struct packed {
    logic [1:0]  level;
    logic        critical;
    logic [31:0] destination;
  } own_t;

  logic in_valid, in_ready, in_last, in_idle;
  logic [DATA_W-1:0] in_data;
  logic [KEEP_W-1:0] in_keep;
  block_store #(
      .DATA_W(DATA_W),
      .STORE_KB(STORE_KB),
      .MAX_PACKET(MAX_PACKET)
  ) u_store (
      .clk,
      .rst,
      .enable       (settings.enable),
      .s_axis_tvalid,
      .s_axis_tready,
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .m_axis_tvalid(in_valid),
      .m_axis_tready(in_ready),
      .m_axis_tdata (in_data),
      .m_axis_tkeep (in_keep),
      .m_axis_tlast (in_last),
      .received     (events.received),
      .overflow     (events.overflow),
      .malformed    (events.malformed),
      .idle         (in_idle)
  );

  // The gate, and the payload out of the packet
  logic closed, unpack_idle, unpack_ready;
  logic payload_valid, payload_ready, payload_last;
  logic [DATA_W-1:0] payload_data;
  logic [KEEP_W-1:0] payload_keep;
  noc_header_t payload_header;
  assign closed   = settings.hold && unpack_idle;
  assign in_ready = unpack_ready && !closed;

  // Outputs that nobody needs here stay open.
  // verilator lint_off PINCONNECTEMPTY
  noc_unpack #(
      .DATA_W(DATA_W),
      .MAX_PACKET(MAX_PACKET)
  ) u_unpack (
      .clk,
      .rst,
      .s_axis_tvalid(in_valid && !closed),
      .s_axis_tready(unpack_ready),
      .s_axis_tdata (in_data),
      .s_axis_tkeep (in_keep),
      .s_axis_tlast (in_last),
      .m_axis_tvalid(payload_valid),
      .m_axis_tready(payload_ready),
      .m_axis_tdata (payload_data),
      .m_axis_tkeep (payload_keep),
      .m_axis_tlast (payload_last),
      .m_too_long   (),               // the store has seen to both
      .m_header     (payload_header),
      .malformed    (),
      .idle         (unpack_idle)
  );
  // verilator lint_on PINCONNECTEMPTY

  // A short queue, so that a packet's header can go by while the kernel is still at the packet before. What the kernel
  // doesn't see of a packet waits in another one beside it.
  logic first_q, queue_ready, own_ready, own_idle;
  logic kernel_s_valid, kernel_s_ready, kernel_s_last, kernel_valid, kernel_ready, kernel_last, kernel_drop;
  logic [DATA_W-1:0] kernel_s_data, kernel_data;
  logic [KEEP_W-1:0] kernel_s_keep, kernel_keep;
  own_t kernel_own;
  assign payload_ready = queue_ready && (own_ready || !first_q);

  always_ff @(posedge clk) begin
    if (payload_valid && payload_ready) first_q <= payload_last;
    if (rst) first_q <= 1'b1;
  end

  stream_queue #(
      .WIDTH(1 + KEEP_W + DATA_W),
      .DEPTH(4)
  ) u_payload (
      .clk,
      .rst,
      .s_valid(payload_valid && payload_ready),
      .s_ready(queue_ready),
      .s_data ({payload_last, payload_keep, payload_data}),
      .m_valid(kernel_s_valid),
      .m_ready(kernel_s_ready),
      .m_data ({kernel_s_last, kernel_s_keep, kernel_s_data}),
      .idle   ()
  );

  stream_queue #(
      .WIDTH($bits(own_t)),
      .DEPTH(8)
  ) u_own (
      .clk,
      .rst,
      .s_valid(payload_valid && payload_ready && first_q),
      .s_ready(own_ready),
      .s_data ({payload_header.level, payload_header.critical, payload_header.destination}),
      .m_valid(),  // told by idle
      .m_ready(kernel_valid && kernel_ready && kernel_last),
      .m_data (kernel_own),
      .idle   (own_idle)
  );

  if (KIND == 0) begin : gen_kernel
    block_generic #(
        .DATA_W(DATA_W)
    ) u_kernel (
        .clk,
        .rst,
        .time_ns,
        .packet_ns(settings.packet_ns),
        .byte_ns_256(settings.byte_ns_256),
        .s_axis_tvalid(kernel_s_valid),
        .s_axis_tready(kernel_s_ready),
        .s_axis_tdata(kernel_s_data),
        .s_axis_tkeep(kernel_s_keep),
        .s_axis_tlast(kernel_s_last),
        .m_axis_tvalid(kernel_valid),
        .m_axis_tready(kernel_ready),
        .m_axis_tdata(kernel_data),
        .m_axis_tkeep(kernel_keep),
        .m_axis_tlast(kernel_last),
        .m_drop(kernel_drop),
        .wake_ns
    );
  end else begin : gen_kernel
    block_crc32 #(
        .DATA_W(DATA_W)
    ) u_kernel (
        .clk,
        .rst,
        .s_axis_tvalid(kernel_s_valid),
        .s_axis_tready(kernel_s_ready),
        .s_axis_tdata(kernel_s_data),
        .s_axis_tkeep(kernel_s_keep),
        .s_axis_tlast(kernel_s_last),
        .m_axis_tvalid(kernel_valid),
        .m_axis_tready(kernel_ready),
        .m_axis_tdata(kernel_data),
        .m_axis_tkeep(kernel_keep),
        .m_axis_tlast(kernel_last),
        .m_drop(kernel_drop),
        .wake_ns
    );
  end

  // Whole packets again
  logic out_valid, out_ready, out_last, out_dropped;
  logic [DATA_W-1:0] out_data;
  logic [KEEP_W-1:0] out_keep;
  own_t out_own;

  // Outputs that nobody needs here stay open.
  // verilator lint_off PINCONNECTEMPTY
  packet_fifo #(
      .DATA_W(DATA_W),
      .USER_W($bits(own_t)),
      .DEPTH(OUT_BEATS),
      .DROP_WHEN_FULL(1'b0)
  ) u_out (
      .clk,
      .rst,
      .s_axis_tvalid(kernel_valid),
      .s_axis_tready(kernel_ready),
      .s_axis_tdata (kernel_data),
      .s_axis_tkeep (kernel_keep),
      .s_axis_tlast (kernel_last),
      .s_axis_tuser (kernel_own),
      .s_drop       (kernel_drop),
      .m_axis_tvalid(out_valid),
      .m_axis_tready(out_ready),
      .m_axis_tdata (out_data),
      .m_axis_tkeep (out_keep),
      .m_axis_tlast (out_last),
      .m_axis_tuser (out_own),
      .used         (),
      .dropped      (out_dropped),
      .idle         ()
  );
  // verilator lint_on PINCONNECTEMPTY

  noc_header_t entry, header;
  always_comb begin
    header          = entry;
    header.level    = out_own.level;
    header.critical = out_own.critical;
    header.source   = out_own.destination;
  end

  noc_route #(
      .DATA_W(DATA_W)
  ) u_route (
      .clk,
      .rst,
      .table_write,
      .here,
      .s_axis_tvalid(out_valid),
      .s_axis_tready(out_ready),
      .s_axis_tdata (out_data),
      .s_axis_tkeep (out_keep),
      .s_axis_tlast (out_last),
      .s_key        (out_own.destination),
      .entry,
      .header,
      .m_axis_tvalid,
      .m_axis_tready,
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .unknown      (events.unknown),
      .sent         (events.sent)
  );

  assign events.refused = out_dropped;

  // Packets behind the kernel, those that are just being refused among them
  localparam int unsigned BEHIND_W = $clog2(OUT_BEATS) + 1;
  logic [BEHIND_W-1:0] behind_q;
  logic in_kernel, still;
  assign in_kernel = !unpack_idle || !own_idle;
  always_ff @(posedge clk) begin
    behind_q <= behind_q + BEHIND_W'(kernel_valid && kernel_ready && kernel_last)
        - BEHIND_W'(out_dropped) - BEHIND_W'(events.unknown || events.sent);
    if (rst) behind_q <= '0;
  end

  assign still   = !s_axis_tvalid && behind_q == '0 && (wake_ns != NEVER || (!in_kernel && (in_idle || closed)));
  assign idle    = still && !in_kernel && in_idle;
  assign waiting = still && !idle;

`ifndef SYNTHESIS
  stream_contract #(
      .DATA_W(DATA_W)
  ) u_contract (
      .clk,
      .rst,
      .tvalid(m_axis_tvalid),
      .tready(m_axis_tready),
      .tdata (m_axis_tdata),
      .tkeep (m_axis_tkeep),
      .tlast (m_axis_tlast)
  );
`endif

endmodule
