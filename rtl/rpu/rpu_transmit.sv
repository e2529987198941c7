// SPDX-License-Identifier: Apache-2.0
// What a unit sends: takes what software has asked for, in order. A packet is read out of the unit's memories, and its
// slot released once its last beat has been taken; one of no bytes is dropped, its slot released.
// Latency: 2 cycles from a request to the first read, and rpu_reader's. Throughput: as rpu_reader's, short packets back
// to back.
// A request for host memory goes to PORT_DRAM with a beat of its own before its data (dram_request_t): a write's data
// are read as a packet's, and a slot that is given back without a packet waits for them; a read may overtake packets,
// and no write.
// Backpressure: requests wait for the packet before and for room for releases; the queue of requests is rpu_io's.
// A request that names what isn't there (kind, port, slot, memory, flag) raises invalid_desc; a packet in a slot is
// dropped then, so that none is lost by it. A packet whose slot has none, or has one that is on its way out already, is
// not sent: `again`.
module rpu_transmit
  import rpu_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,

    input  logic              send_valid,
    output logic              send_ready,
    input  checked_t          send,
    input  logic [31:0]       active,        // slots with packets, from slot 1
    output logic              invalid_desc,
    output logic              again,
    output logic              slots_told,    // software has entered slots, of so many bytes
    output logic [15:0]       slots_bytes,
    output logic [31:0]       dram_empty,    // flags of reads that ask for no bytes
    output logic              slot_end,      // software gives a slot back, whether it has a packet or not
    output logic [7:0]        slot_ended,

    output logic              rd_valid,      // as rpu_reader
    input  logic              rd_ready,
    input  logic              rd_done,
    input  logic [DATA_W-1:0] rd_data,
    output logic              local_valid,
    input  logic              local_ready,
    input  logic              local_done,
    input  logic [DATA_W-1:0] local_data,
    output logic [23:0]       rd_addr,

    output logic              m_axis_tvalid,
    input  logic              m_axis_tready,
    output logic [DATA_W-1:0] m_axis_tdata,
    output logic [KEEP_W-1:0] m_axis_tkeep,
    output logic              m_axis_tlast,
    output unit_tx_t          m_axis_tuser,

    output logic              release_valid,
    input  logic              release_ready,
    output release_t          released,
    output logic              idle
);

  if (DATA_W < 128 || DATA_W > 1024 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "rpu_transmit: DATA_W must be a power of two from 128 to 1024, not %0d", DATA_W);
  end
  localparam unit_tx_t TO_DRAM = '{to_unit: 1'b0, port: PORT_DRAM};
  localparam int unsigned RELEASES = 16;
  localparam int unsigned REQUESTS = 8;
  localparam int unsigned COUNT_W = $clog2(RELEASES + 1);

  typedef struct packed {
    logic [7:0] slot;
    unit_tx_t   where;
  } user_t;

  desc_t desc;
  logic is_packet, is_slots, is_read, is_write, to_reader, in_dmem, slots_room, refused;
  logic [31:0] leaving_q;          // slots whose packets are on their way out, from slot 1
  assign desc      = send.send.desc;
  assign refused   = send.to_packet && send.has_slot
      && (!active[desc.tag[4:0]-5'd1] || leaving_q[desc.tag[4:0]-5'd1]);
  assign is_packet = send.is_packet && !refused;
  assign is_slots  = send.is_slots;
  assign is_read   = send.is_read;
  assign is_write  = send.is_write;
  assign to_reader = is_packet || is_write;
  assign in_dmem   = send.data_memory;

  // A packet and what is written go to the reader; anything else is over at once, with a release perhaps.
  logic job_ready, done_q, reader_idle, take, end_now, free_now, there;
  user_t job_user, beat_user;
  logic [7:0] done_slot_q;         // of the packet whose last beat was taken a cycle ago
  release_t freed;
  logic queue_ready, queue_idle;
  logic [COUNT_W-1:0] owed_q;      // releases that wait, and those of packets under way

  assign slots_room = owed_q < COUNT_W'(RELEASES - 1);
  assign job_user   = is_write ? '{slot: '0, where: TO_DRAM}
      : '{slot: desc.tag, where: '{to_unit: send.send.kind == SEND_UNIT, port: desc.port}};
  logic start_ready, request_ready;
  logic [COUNT_W-1:0] writes_q;    // whose data have not left
  logic empty_q;                   // a read that asks for no bytes is over
  logic [4:0] empty_tag_q;
  always_comb begin
    start_ready = slots_room;
    if (is_read || is_write) start_ready &= request_ready;
    if (!to_reader && !is_read) start_ready &= !done_q && (writes_q == '0 || !send.has_slot);
  end
  assign send_ready = start_ready && (!to_reader || job_ready);
  assign take       = send_valid && send_ready;
  assign end_now    = take && !to_reader && !is_read;
  assign dram_empty = empty_q ? 32'd1 << empty_tag_q : '0;

  // Requests for host memory. What is offered stays until it is taken: a packet is not interrupted.
  dram_request_t request, head;
  logic head_valid, head_taken, requests_idle, offered_q, offered_head_q, show_head;
  logic beat_valid, beat_ready, beat_last, write_ends;
  logic [DATA_W-1:0] beat_data;
  logic [KEEP_W-1:0] beat_keep;

  assign request = '{
          is_read: is_read,
          data_memory: in_dmem,
          addr: in_dmem ? {1'b0, desc.data[22:0]} : desc.data[23:0],
          tag: desc.tag[4:0],
          len: desc.len,
          dram_addr: send.send.dram_addr
      };
  stream_queue #(
      .WIDTH($bits(dram_request_t)),
      .DEPTH(REQUESTS)
  ) u_requests (
      .clk,
      .rst,
      .s_valid(take && (is_read || is_write)),
      .s_ready(request_ready),
      .s_data (request),
      .m_valid(head_valid),
      .m_ready(head_taken),
      .m_data (head),
      .idle   (requests_idle)
  );

  assign show_head     = offered_q ? offered_head_q
      : head_valid && (head.is_read || (beat_valid && beat_user.where.port == PORT_DRAM && !beat_user.where.to_unit));
  assign m_axis_tvalid = show_head || beat_valid;
  always_comb begin
    m_axis_tdata = 'x;  // so that a simulator looks only at beats that are there
    m_axis_tkeep = 'x;
    if (show_head) begin
      m_axis_tdata = DATA_W'(head);
      m_axis_tkeep = '1;
    end else if (beat_valid) begin
      m_axis_tdata = beat_data;
      m_axis_tkeep = beat_keep;
    end
  end
  assign m_axis_tlast  = show_head ? head.is_read : beat_last;
  assign m_axis_tuser  = show_head ? TO_DRAM : beat_user.where;
  assign beat_ready    = m_axis_tready && !show_head;
  assign head_taken    = m_axis_tready && show_head;
  assign write_ends    = beat_valid && beat_ready && beat_last && beat_user.where == TO_DRAM;

  always_ff @(posedge clk) begin
    // Behind a write's first beat its data are on offer.
    offered_q      <= (offered_q || m_axis_tvalid) && !(m_axis_tvalid && m_axis_tready && m_axis_tlast);
    offered_head_q <= show_head && !m_axis_tready;
    if (take || write_ends) writes_q <= writes_q + COUNT_W'(take && is_write) - COUNT_W'(write_ends);
    if (rst) begin
      offered_q <= 1'b0;
      writes_q  <= '0;
    end
  end

  // What is to be read next waits here, so that requests need not hear what the memories do.
  typedef struct packed {
    logic        in_dmem;
    logic [23:0] addr;
    logic [15:0] len;
    user_t       user;
  } job_t;
  job_t job;
  logic job_valid, job_taken;
  stream_reg #(
      .WIDTH($bits(job_t))
  ) u_job (
      .clk,
      .rst,
      .s_valid(send_valid && to_reader && start_ready),
      .s_ready(job_ready),
      .s_data ({in_dmem, request.addr, desc.len, job_user}),
      .m_valid(job_valid),
      .m_ready(job_taken),
      .m_data (job),
      .idle   ()
  );

  rpu_reader #(
      .DATA_W(DATA_W),
      .USER_W($bits(user_t)),
      .HAS_LOCAL(1'b1)
  ) u_reader (
      .clk,
      .rst,
      .job_valid,
      .job_ready    (job_taken),
      .job_local    (job.in_dmem),
      .job_addr     (job.addr),
      .job_len      (job.len),
      .job_user     (job.user),
      .rd_valid,
      .rd_ready,
      .rd_done,
      .rd_data,
      .local_valid,
      .local_ready,
      .local_done,
      .local_data,
      .rd_addr,
      .m_axis_tvalid(beat_valid),
      .m_axis_tready(beat_ready),
      .m_axis_tdata (beat_data),
      .m_axis_tkeep (beat_keep),
      .m_axis_tlast (beat_last),
      .m_axis_tuser (beat_user),
      .idle         (reader_idle)
  );

  assign slot_ended   = done_q ? done_slot_q : desc.tag;
  assign slot_end     = (done_q && done_slot_q != 0) || (end_now && send.to_packet && send.has_slot && !refused);
  assign there        = active[slot_ended[4:0]-5'd1];
  assign free_now     = (slot_end && there) || (end_now && is_slots);
  assign freed        = '{all: !done_q && is_slots, slot: slot_ended};
  assign invalid_desc = take && !send.valid;
  assign again        = take && refused;
  assign slots_told   = take && is_slots;
  assign slots_bytes  = desc.len;

  stream_queue #(
      .WIDTH($bits(release_t)),
      .DEPTH(RELEASES)
  ) u_releases (
      .clk,
      .rst,
      .s_valid(free_now),
      .s_ready(queue_ready),
      .s_data (freed),
      .m_valid(release_valid),
      .m_ready(release_ready),
      .m_data (released),
      .idle   (queue_idle)
  );

  wire expects = take && (is_packet ? desc.tag != 0 : free_now);  // what is written has no slot
  wire settled = (release_valid && release_ready);
  wire nothing = done_q && done_slot_q != 0 && !there;  // its slot had no packet
  always_ff @(posedge clk) begin
    empty_q     <= take && send.is_empty && send.send.kind == SEND_READ;
    empty_tag_q <= desc.tag[4:0];
    done_q      <= beat_valid && beat_ready && beat_last;
    done_slot_q <= beat_user.slot;
    if (slot_end) leaving_q[slot_ended[4:0]-5'd1] <= 1'b0;
    if (take && is_packet && desc.tag != 0) leaving_q[desc.tag[4:0]-5'd1] <= 1'b1;
    if (expects || settled || nothing) begin
      owed_q <= owed_q + COUNT_W'(expects) - COUNT_W'(settled) - COUNT_W'(nothing);
    end
    if (rst) begin
      empty_q   <= 1'b0;
      done_q    <= 1'b0;
      owed_q    <= '0;
      leaving_q <= '0;
    end
  end

  assign idle = !send_valid && reader_idle && !empty_q && !done_q && queue_idle && requests_idle;

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst) assert (!free_now || queue_ready) else $error("%m: a release is lost");
  end
  offer_contract #(
      .WIDTH($bits(release_t))
  ) u_release_stays (
      .clk,
      .rst,
      .valid(release_valid),
      .ready(release_ready),
      .data (released)
  );
`else
  wire unused = &{1'b0, queue_ready};
`endif

endmodule
