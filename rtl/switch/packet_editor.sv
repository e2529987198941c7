// SPDX-License-Identifier: Apache-2.0
// Stores packets and makes the copies of them that are to be sent. Copies come in the order of packets; the last one of
// each frees it. A copy to nowhere is not made.
// A copy is the front (addresses, tags, type, labels), then the packet's bytes from edit.cut on, in which header fields
// are overwritten and checksums get what is to be added (RFC 1624; a UDP checksum of 0 stays 0). What comes behind the
// front moves by whole words: layers.l3, layers.l4 and edit.cut are 2 beyond a multiple of 4. The type is the packet's
// own, so that of a frame of 802.3 its length, if edit.eth_type is fields.eth_type and no label comes or goes. A packet
// of fewer than edit.cut bytes goes as it is. The CRC of SCTP follows its ports, but not in a fragment.
// A packet must fit into the store: its copies begin when it is whole.
// Latency: 14 cycles from a copy whose packet is there to its first beat. Throughput: a beat a cycle, without gaps
// between packets; where a copy ends a beat earlier than its packet does, or later, the longer one counts.
// Backpressure: s_axis_tready is a register, low while the store is full; so is s_copy_ready, low while 16 copies wait.
//
//  s_axis -> packet_store ---------- beats --------> turned, 2 cycles -> two beats to one -> edit_overlay -> u_beats
//                | where packets end                                                            ^
//                v                                                                              |
//  s_copy -+-> u_orders -> copy_steps: which beat is read, and where its words go               |
//          +-> u_jobs --> job_q -+-> edit_patches: front, words of L3 and L4 -------------------+
//          |                     +-> u_sent -> m_copy                                           |
//          +-> sctp_crc -> u_crcs --------------------------------------------------------------+
module packet_editor
  import switch_pkg::*;
  import editor_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned STORE_KB = 64,
    parameter bit NARROW = 1'b0,  // the parser is a narrow one: what it does not find counts as 0
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,
    input  logic              s_axis_tvalid,
    output logic              s_axis_tready,
    input  logic [DATA_W-1:0] s_axis_tdata,
    input  logic [KEEP_W-1:0] s_axis_tkeep,
    input  logic              s_axis_tlast,
    input  logic              s_copy_valid,
    output logic              s_copy_ready,
    input  copy_t             s_copy,
    output logic              m_axis_tvalid,
    input  logic              m_axis_tready,
    output logic [DATA_W-1:0] m_axis_tdata,
    output logic [KEEP_W-1:0] m_axis_tkeep,
    output logic              m_axis_tlast,
    output sent_t             m_copy,         // the same on each beat of a copy
    output logic              idle
);

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "packet_editor: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end

  localparam int unsigned LANES = DATA_W / 32;
  localparam int unsigned LANE_W = $clog2(LANES);
  localparam int unsigned SIZE_W = $clog2(STORE_KB * 1024);
  localparam int unsigned ADDR_W = SIZE_W - $clog2(KEEP_W);
  localparam int unsigned COPIES = 16;  // more than go between their beginning and the stage that reads them
  localparam int unsigned ROOM = 16;    // beats: more than the stages from the store to the output
  localparam int unsigned COUNT_W = $clog2(ROOM + 1);

  typedef logic [LANES-1:0][31:0] words_t;

  // ------------------------------------------------------------------------------------------------------------ copies
  // Which beats a copy is made of is found out ahead of them; what is edited is read when they come.
  order_t order_s, order;
  copy_t job, waiting_job;
  logic orders_ready, order_valid, order_ready, jobs_ready, jobs_idle, job_there, job_taken;
  assign order_s = '{
          tags: s_copy.edit.tags,
          labels: s_copy.edit.labels,
          cut: s_copy.edit.cut,
          sends: s_copy.host || s_copy.resubmit || s_copy.ports != '0,
          frees: s_copy.last
      };
  assign s_copy_ready = orders_ready && jobs_ready;

  stream_queue #(
      .WIDTH($bits(order_t)),
      .DEPTH(COPIES)
  ) u_orders (
      .clk,
      .rst,
      .s_valid(s_copy_valid && jobs_ready),
      .s_ready(orders_ready),
      .s_data (order_s),
      .m_valid(order_valid),
      .m_ready(order_ready),
      .m_data (order),
      .idle   ()
  );

  stream_queue #(
      .WIDTH($bits(copy_t)),
      .DEPTH(COPIES)
  ) u_jobs (
      .clk,
      .rst,
      .s_valid(s_copy_valid && orders_ready),
      .s_ready(jobs_ready),
      .s_data (s_copy),
      .m_valid(job_there),  // a copy comes here before its order is read
      .m_ready(job_taken),
      .m_data (waiting_job),
      .idle   (jobs_idle)
  );

  always_comb begin
    job = waiting_job;
    if (NARROW) job.edit = narrowed_edit(waiting_job.edit);
  end

  // ------------------------------------------------------------------------------------------------------------- store
  logic packet_valid, packet_ready, store_idle, step_valid, free_valid, room_q, pop;
  logic [SIZE_W-1:0] packet_end;
  logic [ADDR_W-1:0] step_addr;
  logic [ADDR_W:0] free_to;
  logic [DATA_W-1:0] stored;
  step_t step;
  logic [COUNT_W-1:0] count_q;

  packet_store #(
      .DATA_W  (DATA_W),
      .STORE_KB(STORE_KB)
  ) u_store (
      .clk,
      .rst,
      .s_axis_tvalid,
      .s_axis_tready,
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .m_packet_valid(packet_valid),
      .m_packet_ready(packet_ready),
      .m_packet_end  (packet_end),
      .rd_en         (step_valid),
      .rd_addr       (step_addr),
      .rd_data       (stored),
      .free_valid,
      .free_to,
      .idle          (store_idle)
  );

  copy_steps #(
      .DATA_W  (DATA_W),
      .STORE_KB(STORE_KB)
  ) u_steps (
      .clk,
      .rst,
      .order_valid,
      .order_ready,
      .order,
      .packet_valid,
      .packet_ready,
      .packet_end,
      .room(room_q),
      .step_valid,
      .step,
      .step_addr,
      .free_valid,
      .free_to
  );

  // Beats that are to be sent, until they are taken: no more than there is room for before the output.
  wire push = step_valid && step.sends;

  always_ff @(posedge clk) begin
    if (push && !pop) count_q <= count_q + 1'b1;
    if (pop && !push) count_q <= count_q - 1'b1;
    room_q <= pop || count_q != (push ? COUNT_W'(ROOM - 1) : COUNT_W'(ROOM));
    if (rst) begin
      count_q <= '0;
      room_q  <= 1'b0;
    end
  end

  // ------------------------------------------------------------------------------------- beats turned to where they go
  // From here on nothing stalls. Stages 1 and 2 are the store's; 5 is left when what follows is there, if it counts.
  step_t [6:1] step_q;
  logic [6:1] valid_q;
  words_t turned_q, next_q, now_q, before_q, merged_q;
  wire go = valid_q[5] && (!step_q[5].waits || valid_q[4]);

  function automatic words_t turned(words_t words, logic [LANE_W-1:0] lanes);
    for (int unsigned i = 0; i < LANES; i++) turned[i] = words[LANE_W'(i)-lanes];
  endfunction

  always_ff @(posedge clk) begin
    valid_q <= {go && step_q[5].sends, valid_q[4] || (valid_q[5] && !go), valid_q[3:1], step_valid};
    if (go) begin
      for (int unsigned i = 0; i < LANES; i++) begin
        if (LANE_W'(i) < step_q[5].shift[LANE_W-1:0]) merged_q[i] <= step_q[5].ahead ? now_q[i] : before_q[i];
        else merged_q[i] <= step_q[5].ahead ? next_q[i] : now_q[i];
      end
      before_q  <= now_q;
      step_q[6] <= step_q[5];
    end
    if (valid_q[4]) now_q <= next_q;
    if (valid_q[3]) next_q <= turned(turned_q, step_q[3].shift[LANE_W-1:0] & LANE_W'('b0011));
    if (valid_q[2]) turned_q <= turned(stored, step_q[2].shift[LANE_W-1:0] & LANE_W'('b1100));
    for (int unsigned i = 5; i > 1; i--) if (valid_q[i-1]) step_q[i] <= step_q[i-1];
    if (step_valid) step_q[1] <= step;
    if (rst) valid_q <= '0;
  end

  // -------------------------------------------------------------------------------------------- what is laid over them
  // The copy is read with its first beat, and stays until the next one's.
  // verilator lint_off UNUSEDSIGNAL
  copy_t job_q;  // `last` and the like have been looked at
  // verilator lint_on UNUSEDSIGNAL
  localparam int unsigned WORDS = NARROW ? PATCH_WORDS_NARROW : PATCH_WORDS;
  patch_t front;
  patch_word_t [WORDS-1:0] l3, l4;
  word_t l3_at, l4_at;
  sum_t l3_sum, l4_sum, crc_sum;
  wire first_read = valid_q[2] && step_q[2].first;
  assign job_taken = first_read;

  always_ff @(posedge clk) if (first_read && step_q[2].sends) job_q <= job;

  // What changes of a CRC is computed while its copy is on its way to the patches, and comes in time.
  logic crc_valid, crcs_room, crc_there;
  logic [31:0] crc_change, crc_first, crc_q;
  sctp_crc u_crc (
      .clk,
      .rst,
      .s_valid (s_copy_valid && s_copy_ready && order_s.sends),
      .s_change(s_copy.edit.l4_delta),
      .s_bytes (s_copy.edit.layers.l4_bytes),
      .m_valid (crc_valid),
      .m_change(crc_change)
  );

  wire patched = go && step_q[5].first && step_q[5].sends;
  stream_queue #(
      .WIDTH(32),
      .DEPTH(2 * COPIES)  // of those that wait and those on their way
  ) u_crcs (
      .clk,
      .rst,
      .s_valid(crc_valid),
      .s_ready(crcs_room),
      .s_data (crc_change),
      .m_valid(crc_there),
      .m_ready(patched),
      .m_data (crc_first),
      .idle   ()
  );
  always_ff @(posedge clk) if (patched) crc_q <= crc_first;

  edit_patches #(
      .NARROW(NARROW)
  ) u_patches (
      .clk,
      .load ({
        patched,
        valid_q[4] && step_q[4].first && step_q[4].sends,
        valid_q[3] && step_q[3].first && step_q[3].sends
      }),
      .edit (job_q.edit),
      .shift(step_q[3].shift),
      .none (step_q[3].none),
      .front,
      .l3,
      .l3_at,
      .l4,
      .l4_at,
      .l3_sum,
      .l4_sum,
      .crc_sum
  );

  logic edited_valid, edited_last;
  logic [DATA_W-1:0] edited;
  logic [KEEP_W-1:0] edited_keep;

  edit_overlay #(
      .DATA_W(DATA_W),
      .NARROW(NARROW)
  ) u_overlay (
      .clk,
      .rst,
      .s_valid(valid_q[6]),
      .s_step (step_q[6]),
      .s_data (merged_q),
      .front,
      .l3,
      .l3_at,
      .l4,
      .l4_at,
      .l3_sum,
      .l4_sum,
      .crc_sum,
      .crc    (crc_q),
      .m_valid(edited_valid),
      .m_data (edited),
      .m_keep (edited_keep),
      .m_last (edited_last)
  );

  // ------------------------------------------------------------------------------------------------------------ output
  sent_t sent_s;
  logic sent_room, sent_there, beats_room;
  wire sent_push = valid_q[3] && step_q[3].first && step_q[3].sends;
  assign sent_s = '{
          ports: job_q.ports,
          host: job_q.host,
          resubmit: job_q.resubmit,
          bytes: job_q.bytes + BYTES_W'($signed({step_q[3].shift, 2'b00})),
          max_bytes: job_q.max_bytes,
          reason: job_q.reason,
          origin: job_q.origin,
          metadata: job_q.metadata,
          next: job_q.next,
          program_at: job_q.program_at,
          custom: job_q.custom,
          in_port: job_q.edit.fields.in_port,
          tunnel_id: job_q.edit.fields.tunnel_id,
          payload_at: job_q.edit.fields.l4 && job_q.edit.l4_proto == IP_UDP && !step_q[3].none
              ? {job_q.edit.layers.l4[7:2] + step_q[3].shift + word_t'(2), 2'b10} : '0
      };

  stream_queue #(
      .WIDTH($bits(sent_t)),
      .DEPTH(ROOM)
  ) u_sent (
      .clk,
      .rst,
      .s_valid(sent_push),
      .s_ready(sent_room),  // room is counted with the copy's beats
      .s_data (sent_s),
      .m_valid(sent_there),  // comes before its first beat
      .m_ready(pop && m_axis_tlast),
      .m_data (m_copy),
      .idle   ()
  );

  stream_queue #(
      .WIDTH(1 + KEEP_W + DATA_W),
      .DEPTH(ROOM)
  ) u_beats (
      .clk,
      .rst,
      .s_valid(edited_valid),
      .s_ready(beats_room),  // room is counted above
      .s_data ({edited_last, edited_keep, edited}),
      .m_valid(m_axis_tvalid),
      .m_ready(m_axis_tready),
      .m_data ({m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .idle   ()
  );

  assign pop  = m_axis_tvalid && m_axis_tready;
  assign idle = store_idle && jobs_idle && count_q == '0;

`ifndef SYNTHESIS
  ready_contract #(
      .WIDTH(6)
  ) u_ready (
      .clk,
      .rst,
      .valid({crc_valid, sent_push, edited_valid, job_taken, patched, pop && m_axis_tlast}),
      .ready({crcs_room, sent_room, beats_room, job_there, crc_there, sent_there})
  );
  offer_contract #(
      .WIDTH($bits(copy_t))
  ) u_contract (
      .clk,
      .rst,
      .valid(s_copy_valid),
      .ready(s_copy_ready),
      .data (s_copy)
  );
`endif

endmodule
