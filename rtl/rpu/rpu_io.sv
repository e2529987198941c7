// SPDX-License-Identifier: Apache-2.0
// The I/O registers of a unit as its software sees them: descriptors in and out, slots, timer, interrupts, broadcast
// messages, debug. firmware/include/core.h has their list; addresses below 0x80 are written, those from 0x80 on are
// read, and from 0x100 on there are shorter ways to receive and send (headrace.h beside it).
// An access is taken while io_ready is high, at once but for what sends: that waits for room. Data of a read come in
// the cycle after.
// A core that asks for nothing but packets, and finds none many times, sleeps: its read is held until a packet or an
// interrupt is there, or for 2^16 ns.
// The timer counts units of 4 ns of time_ns. Errors and interrupts stay until they are acknowledged; those of a packet,
// DRAM and broadcast messages are there as long as their cause is. What errors there were, `status.seen` tells the host
// until the core is reset.
module rpu_io
  import rpu_pkg::*;
#(
    parameter int unsigned IMEM_KB = 64,
    parameter int unsigned DMEM_KB = 32,
    parameter int unsigned PMEM_KB = 1024,
    parameter int unsigned BROADCAST_KB = 8,
    parameter int unsigned SLOTS = 32,
    parameter int unsigned SEND_DEPTH = 16
) (
    input  logic         clk,
    input  logic         rst,
    input  logic [63:0]  time_ns,
    input  logic [7:0]   core_id,

    input  logic         io_valid,
    output logic         io_ready,
    input  logic         io_write,
    input  logic [8:0]   io_addr,         // of the word
    input  logic [31:0]  io_wdata,
    input  logic [3:0]   io_strb,
    output logic [31:0]  io_rdata,
    output logic         io_wait,         // not yet: the core sleeps
    input  logic         io_elsewhere,    // the core accesses something else
    input  logic         wake,
    output logic         timer_irq,
    output logic         external_irq,

    input  logic         recv_valid,
    output logic         recv_ready,
    input  desc_t        recv,
    input  logic [23:0]  recv_header,     // 0: none
    output logic         send_valid,
    input  logic         send_ready,
    output send_t        send,
    output logic         slot_write,
    output logic         slot_header,
    output logic [7:0]   slot_number,
    output logic [23:0]  slot_addr,
    input  logic         slot_begin,      // a packet comes into slot_begun
    input  logic [7:0]   slot_begun,
    input  logic         again,           // a packet is sent whose slot has none to send
    input  logic         slot_end,        // slot_ended is given back
    input  logic [7:0]   slot_ended,

    input  logic         message_valid,   // another unit's store into the broadcast region
    input  logic [23:0]  message_addr,
    input  logic         message_ready,   // there is room for a store of this unit's own
    input  logic [31:0]  dram_done,       // flags of reads of host memory that are done; flag 0 there is none of
    input  logic         dram_error,      // a request for host memory has failed

    input  logic         accel_irq,
    input  logic         invalid_desc,
    input  logic [3:0]   access_error,    // instruction, data, packet memory, registers
    input  logic         poke,
    input  logic         evict,
    input  logic [63:0]  debug_in,
    output logic [63:0]  debug_out,
    output core_status_t status,
    output logic         wrong,           // an error is flagged that has an address
    output logic         watch,           // the timer runs,
    output logic [63:0]  wake_ns          // and rings then
);

  if (SLOTS < 2 || SLOTS > 32 || 2 ** $clog2(SLOTS) != SLOTS) begin : gen_bad_slots
    $fatal(1, "rpu_io: SLOTS must be 2, 4, 8, 16 or 32, not %0d", SLOTS);
  end
  if (SEND_DEPTH < 2 || SEND_DEPTH > 128 || 2 ** $clog2(SEND_DEPTH) != SEND_DEPTH) begin : gen_bad_send_depth
    $fatal(1, "rpu_io: SEND_DEPTH must be a power of two from 2 to 128, not %0d", SEND_DEPTH);
  end

  localparam int unsigned TIME_W = 62;
  localparam int unsigned SLOT_W = $clog2(SLOTS);
  localparam logic [127:0] SENDS = 128'h3C | 128'd1 << 7'h0A | 128'd3 << 7'h42;  // registers that wait for room
  localparam logic [3:0] POLLS = 4'd15;      // in vain, before the core sleeps
  localparam logic [TIME_W-1:0] SLEEP = TIME_W'(2 ** 14);
  localparam int unsigned SEGMENT_KB = PMEM_KB >= 128 ? 128 : PMEM_KB;

  function automatic logic [31:0] mix(logic [31:0] old, logic [31:0] data, logic [3:0] strb);
    for (int i = 0; i < 4; i++) mix[8*i+:8] = strb[i] ? data[8*i+:8] : old[8*i+:8];
  endfunction

  // Accesses
  logic [6:0] number, asleep_number_q;  // of the register
  logic sends, access, write, read;
  assign number   = io_addr[8:2];
  assign sends    = io_write && SENDS[number];
  logic send_room;
  assign io_ready = !sends || send_room;
  assign access   = io_valid && io_ready;
  assign write    = access && io_write;
  assign read     = access && !io_write;

  // Received packets
  desc_t head;
  logic [23:0] head_header;
  logic head_valid, release_head;
  logic [15:0] skip_q;             // bytes that the balancer has put before a packet
  stream_queue #(
      .WIDTH($bits(desc_t) + 24),
      .DEPTH(SLOTS)
  ) u_received (
      .clk,
      .rst,
      .s_valid(recv_valid),
      .s_ready(recv_ready),
      .s_data ({recv, recv_header}),
      .m_valid(head_valid),
      .m_ready(release_head),
      .m_data ({head, head_header}),
      .idle   ()
  );
  logic [15:0] head_len;
  logic [31:0] head_data, head_low;
  assign head_len     = head.len - skip_q;
  assign head_data    = head.data + 32'(skip_q);
  assign head_low     = {head.port, head.tag, head_len};
  assign release_head = (write && number == 7'h0B && io_strb[0]) || (read && number == 7'h41);

  // Sending
  desc_t desc_q;
  logic [31:0] low_q;
  logic [63:0] dram_addr_q;
  logic [7:0] queued_q, writes_q, reads_q;  // of all, writes to and reads from host memory that are queued
  logic push, push_short;
  logic [7:0] push_kind;
  assign push_short = write && number == 7'h43;
  assign push       = push_short || (write && number == 7'h0A && io_strb[0]);
  assign push_kind  = push_short ? SEND_PACKET : io_wdata[7:0];
  wire pop = send_valid && send_ready;
  stream_queue #(
      .WIDTH($bits(send_t)),
      .DEPTH(SEND_DEPTH)
  ) u_sent (
      .clk,
      .rst,
      .s_valid(push),
      .s_ready(send_room),
      .s_data ({push_kind, dram_addr_q, push_short ? {io_wdata, low_q} : desc_q}),
      .m_valid(send_valid),
      .m_ready(send_ready),
      .m_data (send),
      .idle   ()
  );

  // Slots
  logic [31:0] slot_q, active_q;
  logic bad_number, double_entry, double_end;
  assign slot_addr    = slot_q[23:0];
  assign slot_number  = {1'b0, slot_q[30:24]};
  assign slot_header  = slot_q[31];
  assign bad_number   = slot_number == 0 || slot_number > 8'(SLOTS);
  assign double_entry = !slot_header && active_q[slot_number[4:0]-5'd1];
  wire update = write && number == 7'h0D && io_strb[0];
  assign slot_write   = update && !bad_number;
  assign double_end   = slot_end && !active_q[slot_ended[4:0]-5'd1];

  // Broadcast messages of others that pass the filter
  logic [31:0] filter_mask_q, filter_equal_q;
  logic messages_on_q, wanted, message_room, message_there;
  logic [23:0] message_head;
  logic [7:0] messages_q;
  wire next_message = write && number == 7'h15 && io_strb[0];
  assign wanted = message_valid && messages_on_q
      && ((DMEM_BASE | 32'(message_addr)) & filter_mask_q) == filter_equal_q;
  stream_queue #(
      .WIDTH(24),
      .DEPTH(16)
  ) u_messages (
      .clk,
      .rst    (rst || !messages_on_q),
      .s_valid(wanted),
      .s_ready(message_room),
      .s_data (message_addr),
      .m_valid(message_there),
      .m_ready(next_message),
      .m_data (message_head),
      .idle   ()
  );

  // Timer, flags
  logic [TIME_W-1:0] now, ring_q;
  logic [31:0] interval_q, dram_flags_q;
  logic rings;
  logic [15:0] mask_q, interrupting;
  logic [19:0] flags, sticky_q, acknowledged, seen_q;
  logic full, duplicate, bad_slot;
  logic evict_ready_q;

  assign now   = time_ns[63:2];
  assign rings = interval_q != 0 && now >= ring_q;

  assign full      = wanted && !message_room;
  assign duplicate = (slot_write && double_entry) || double_end || again;
  assign bad_slot  = update && bad_number;
  assign wrong     = duplicate || bad_slot || invalid_desc || access_error != '0;
  wire something = wrong || rings || poke || evict || full || accel_irq || dram_error;

  always_comb begin
    flags                 = sticky_q;
    flags[FLAG_PACKET]    = head_valid;
    flags[FLAG_DRAM]      = dram_flags_q != 0;
    flags[FLAG_BROADCAST] = message_there;
  end
  assign acknowledged = write && number == 7'h0F ? 20'(mix('0, io_wdata, io_strb)) : '0;
  always_comb begin
    interrupting                  = flags[15:0] & mask_q;
    interrupting[FLAG_TIMER]      = 1'b0;
    interrupting[FLAG_DRAM_ERROR] = 1'b0;
  end
  wire interrupts = (flags[FLAG_TIMER] && mask_q[FLAG_TIMER]) || interrupting != '0 || flags[19:16] != 0;
  assign watch        = interval_q != 0;
  assign wake_ns      = {ring_q, 2'b00};

  always_ff @(posedge clk) begin
    dram_flags_q <= dram_flags_q | {dram_done[31:1], 1'b0};
    if (write) begin
      case (number)
        7'h02, 7'h16: desc_q[31:0] <= mix(desc_q[31:0], io_wdata, io_strb);
        7'h03, 7'h17: desc_q[63:32] <= mix(desc_q[63:32], io_wdata, io_strb);
        7'h04: dram_addr_q[31:0] <= mix(dram_addr_q[31:0], io_wdata, io_strb);
        7'h05: dram_addr_q[63:32] <= mix(dram_addr_q[63:32], io_wdata, io_strb);
        7'h06: slot_q <= mix(slot_q, io_wdata, io_strb);
        7'h42: low_q <= mix(low_q, io_wdata, io_strb);
        7'h07: interval_q <= mix(interval_q, io_wdata, io_strb);
        7'h08: dram_flags_q <= mix(dram_flags_q | {dram_done[31:1], 1'b0}, io_wdata, io_strb);
        7'h0C: if (io_strb[0]) dram_flags_q[io_wdata[4:0]] <= 1'b0;
        7'h09: evict_ready_q <= io_wdata[0];
        7'h0E: mask_q <= 16'(mix(32'(mask_q), io_wdata, io_strb));
        7'h10: debug_out[31:0] <= mix(debug_out[31:0], io_wdata, io_strb);
        7'h11: debug_out[63:32] <= mix(debug_out[63:32], io_wdata, io_strb);
        7'h12: filter_mask_q <= mix(filter_mask_q, io_wdata, io_strb);
        7'h13: filter_equal_q <= mix(filter_equal_q, io_wdata, io_strb);
        7'h14: messages_on_q <= io_wdata[0];
        7'h18: skip_q <= 16'(mix(32'(skip_q), io_wdata, io_strb));
        default: ;
      endcase
    end
    timer_irq    <= flags[FLAG_TIMER] && mask_q[FLAG_TIMER];
    external_irq <= interrupting != '0 || flags[19:16] != 0;
    if (write && number == 7'h07) ring_q <= now + TIME_W'(mix(interval_q, io_wdata, io_strb));
    else if (rings) ring_q <= ring_q + TIME_W'(interval_q);

    if (slot_end) active_q[SLOT_W'(slot_ended-8'd1)] <= 1'b0;
    if (slot_begin) active_q[SLOT_W'(slot_begun-8'd1)] <= 1'b1;
    if (push || pop) begin
      queued_q <= queued_q + 8'(push) - 8'(pop);
      writes_q <= writes_q + 8'(push && push_kind == SEND_WRITE) - 8'(pop && send.kind == SEND_WRITE);
      reads_q  <= reads_q + 8'(push && push_kind == SEND_READ) - 8'(pop && send.kind == SEND_READ);
    end
    if (!messages_on_q) messages_q <= '0;
    else if (wanted || next_message) begin
      messages_q <= messages_q + 8'(wanted && message_room) - 8'(message_there && next_message);
    end
    sticky_q <= sticky_q & ~acknowledged;
    if (something) begin
      automatic logic [19:0] raised = '0;
      raised[FLAG_TIMER]          = rings;
      raised[FLAG_POKE]           = poke;
      raised[FLAG_EVICT]          = evict;
      raised[FLAG_BROADCAST_FULL] = full;
      raised[FLAG_ACCELERATOR]    = accel_irq;
      raised[FLAG_DUPLICATE_SLOT] = duplicate;
      raised[FLAG_INVALID_SLOT]   = bad_slot;
      raised[FLAG_INVALID_DESC]   = invalid_desc;
      raised[FLAG_DRAM_ERROR]     = dram_error;
      raised[FLAG_IMEM+:4]        = access_error;
      sticky_q <= (sticky_q & ~acknowledged) | raised;
      seen_q   <= seen_q | (raised & ERRORS);
    end
    if (rst) begin
      timer_irq     <= 1'b0;
      external_irq  <= 1'b0;
      interval_q    <= '0;
      evict_ready_q <= 1'b0;
      mask_q        <= 16'hFFF0;
      debug_out     <= '0;
      messages_on_q <= 1'b0;
      filter_mask_q <= '0;
      filter_equal_q <= '0;
      skip_q        <= '0;
      dram_flags_q  <= '0;
      active_q      <= '0;
      queued_q      <= '0;
      writes_q      <= '0;
      reads_q       <= '0;
      messages_q    <= '0;
      sticky_q      <= '0;
      seen_q        <= '0;
    end
  end

  assign status.flags       = flags;
  assign status.seen        = seen_q;
  assign status.mask        = mask_q;
  assign status.active      = active_q;
  assign status.evict_ready = evict_ready_q;

  // Sleep
  logic [3:0] polls_q;             // in vain, one after the other
  logic [TIME_W-1:0] wakes_q;
  logic in_vain, awake, overslept_q;
  logic accessed_q, in_vain_q;     // a cycle ago
  assign in_vain = read && !head_valid && (number == 7'h23 || number == 7'h40);
  assign awake   = head_valid || interrupts || wake || overslept_q;
  always_ff @(posedge clk) begin
    accessed_q <= access || io_elsewhere;
    in_vain_q  <= in_vain;
    if (accessed_q) polls_q <= !in_vain_q || polls_q == POLLS ? '0 : polls_q + 1'b1;
    if (in_vain_q) wakes_q <= now + SLEEP;
    if (!io_wait) asleep_number_q <= number;
    overslept_q <= now >= wakes_q && !in_vain && !in_vain_q;
    io_wait     <= io_wait ? !awake : in_vain && polls_q == POLLS;
    if (rst) begin
      accessed_q <= 1'b0;
      polls_q    <= '0;
      io_wait    <= 1'b0;
    end
  end

  // Reading
  logic [31:0] value;
  always_comb begin
    value = '0;
    case (io_wait ? asleep_number_q : number)
      7'h20: value = head_low;
      7'h21: value = head_data;
      7'h22: value = dram_flags_q;
      7'h23: value = {7'd0, message_ready, 7'd0, 1'b1, 7'd0, send_room, 7'd0, head_valid};
      7'h24: value = 32'(core_id);
      7'h25: value = now[31:0];
      7'h26: value = 32'(now[TIME_W-1:32]);
      7'h27: value = 32'(flags);
      7'h28: value = 32'(mask_q);
      7'h29: value = IMEM_KB * 1024;
      7'h2A: value = DMEM_KB * 1024;
      7'h2B: value = PMEM_KB * 1024;
      7'h2C: value = SEGMENT_KB * 1024;
      7'h2D: value = PMEM_KB / SEGMENT_KB;
      7'h2E: value = BROADCAST_KB * 1024;
      7'h2F: value = SLOTS;
      7'h30: value = debug_in[31:0];
      7'h31: value = debug_in[63:32];
      7'h32: value = filter_mask_q;
      7'h33: value = filter_equal_q;
      7'h34: value = DMEM_BASE | 32'(message_head);
      7'h35: value = {messages_q, reads_q, writes_q, queued_q};
      7'h36: value = active_q;
      7'h40: value = head_valid ? head_low : '0;
      7'h41: value = head_data;
      7'h44: value = head_valid && head_header != 0 ? (DMEM_BASE | 32'(head_header)) + 32'(skip_q) : '0;
      default: value = '0;
    endcase
  end
  always_ff @(posedge clk) if (read || io_wait) io_rdata <= value;

endmodule
