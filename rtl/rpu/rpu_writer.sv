// SPDX-License-Identifier: Apache-2.0
// Packet DMA into a unit: writes packets from byte `addr` of their slots on into packet memory, the bytes up to the
// first boundary of 128 bytes into the slot's header, too, and makes a descriptor of each when all of it is in.
// The header of a slot lies in data memory: its bytes keep the lowest 7 bits of their addresses.
// What comes from PORT_DRAM begins with a beat that says where it belongs (dram_answer_t), in either memory; it makes
// no descriptor, but tells a flag once all of it is in.
// Latency: 3 cycles from the last beat to the descriptor, one more when the last beat lies in two lines. Throughput: a
// beat a cycle, and a further cycle for such a packet.
// Backpressure: s_axis_tready is low while a memory has no cycle for a line, or there is no room for a descriptor.
// Bytes beyond packet memory are not written: `beyond`. Of a packet that is longer than its slot nothing is written
// from the beat on that shows it, and it makes no descriptor: `too_long` tells its slot.
module rpu_writer
  import rpu_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned PMEM_KB = 1024,
    parameter int unsigned SLOTS = 32,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,

    input  logic              slot_write,    // software enters a slot
    input  logic              slot_header,   // its header
    input  logic [7:0]        slot_number,   // from 1, to SLOTS
    input  logic [23:0]       slot_addr,
    input  logic              slots_told,    // software says how long slots are
    input  logic [15:0]       slots_bytes,   // 0: as long as any packet
    output logic [15:0]       slot_bytes,    // the longest packet that a slot takes

    input  logic              s_axis_tvalid,
    output logic              s_axis_tready,
    input  logic [DATA_W-1:0] s_axis_tdata,
    input  logic [KEEP_W-1:0] s_axis_tkeep,
    input  logic              s_axis_tlast,
    input  unit_rx_t          s_axis_tuser,

    output logic              wr_valid,      // packet memory
    input  logic              wr_ready,
    output logic [23:0]       wr_addr,       // of the line's first byte
    output logic              header_valid,  // data memory
    input  logic              header_ready,
    output logic [23:0]       header_addr,
    output logic [DATA_W-1:0] wr_data,       // for both
    output logic [KEEP_W-1:0] wr_strb,

    output logic [31:0]       dram_done,     // flags of reads of host memory whose data are in

    output logic              desc_valid,
    input  logic              desc_ready,
    output desc_t             desc,
    output logic [23:0]       desc_header,   // where its header begins in data memory; 0: it has none
    output logic              beyond,
    output logic              too_long,
    output logic [7:0]        long_slot,
    output logic              idle
);

  if (DATA_W < 32 || DATA_W > 1024 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "rpu_writer: DATA_W must be a power of two from 32 to 1024, not %0d", DATA_W);
  end
  if (PMEM_KB < 1 || PMEM_KB > 16384 || 2 ** $clog2(PMEM_KB) != PMEM_KB) begin : gen_bad_pmem_kb
    $fatal(1, "rpu_writer: PMEM_KB must be a power of two from 1 to 16384, not %0d", PMEM_KB);
  end
  if (SLOTS < 2 || SLOTS > 128 || 2 ** $clog2(SLOTS) != SLOTS) begin : gen_bad_slots
    $fatal(1, "rpu_writer: SLOTS must be a power of two from 2 to 128, not %0d", SLOTS);
  end

  localparam int unsigned BYTE_W = $clog2(KEEP_W);
  localparam int unsigned LINE_W = 24 - BYTE_W;
  localparam int unsigned SLOT_W = $clog2(SLOTS);
  localparam int unsigned HEADER_BITS = 7;
  localparam int unsigned BLOCK_LINES = 2 ** (HEADER_BITS - BYTE_W);  // of those that a header slot repeats
  localparam int unsigned PMEM_LINES = PMEM_KB * 1024 / KEEP_W;

  typedef logic [BYTE_W-1:0] offset_t;
  typedef logic [BYTE_W:0] count_t;

  function automatic logic [KEEP_W-1:0] below(count_t place);
    return ~({KEEP_W{1'b1}} << place);
  endfunction

  // Where slots lie
  logic [23:0] addr;
  logic [16:0] header_block;
  logic [SLOTS-1:0] has_header_q;
  wire [SLOT_W-1:0] entered = SLOT_W'(slot_number - 8'd1);
  wire [SLOT_W-1:0] used = SLOT_W'(s_axis_tuser.slot - 8'd1);

  ram_dist #(
      .WIDTH(24),
      .DEPTH(SLOTS)
  ) u_slots (
      .clk,
      .wr_en  (slot_write && !slot_header),
      .wr_addr(entered),
      .wr_data(slot_addr),
      .rd_addr(used),
      .rd_data(addr)
  );
  ram_dist #(
      .WIDTH(17),
      .DEPTH(SLOTS)
  ) u_headers (
      .clk,
      .wr_en  (slot_write && slot_header),
      .wr_addr(entered),
      .wr_data(slot_addr[23:HEADER_BITS]),
      .rd_addr(used),
      .rd_data(header_block)
  );
  always_ff @(posedge clk) begin
    if (slot_write && slot_header) has_header_q[entered] <= 1'b1;
    if (slots_told) slot_bytes <= slots_bytes != '0 ? slots_bytes : '1;
    if (rst) begin
      has_header_q <= '0;
      slot_bytes   <= '1;
    end
  end

  // What comes from host memory
  dram_answer_t answer_q;
  logic start_q, second_q;         // the next beat is the first of a packet, or the second of one from host memory
  wire from_dram = s_axis_tuser.port == PORT_DRAM;
  wire is_answer = from_dram && start_q;
  wire dram_answer_t answer = dram_answer_t'(s_axis_tdata[$bits(dram_answer_t)-1:0]);
  wire [23:0] start_addr = from_dram ? answer_q.addr : addr;

  // A beat, turned such that its bytes are where they belong in a line
  logic valid_q, first_q, last_q, has_header_beat_q, dram_q, to_dmem_q;
  logic spills_q;                  // it ends in the line behind
  logic [4:0] tag_q;
  logic [DATA_W-1:0] turned_q, behind_q;
  count_t bytes_q, end_q;          // end_q: where the beat ends, from the beginning of its first line on
  unit_rx_t user_q;
  logic [15:0] left_q;             // bytes of the slot behind the beat
  logic long_q;                    // the packet ends behind its slot
  logic [BYTE_W+2:0] turn;
  logic [23:0] addr_q;
  logic [16:0] header_block_q;
  logic advance;

  assign turn          = {start_addr[BYTE_W-1:0], 3'b000};
  assign s_axis_tready = !valid_q || advance;
  wire taken = s_axis_tvalid && s_axis_tready;
  count_t beat_bytes;
  wire [15:0] left = start_q ? slot_bytes : left_q;
  wire count_t beat_end = count_t'(start_addr[BYTE_W-1:0]) + beat_bytes;
  keep_bytes #(.KEEP_W(KEEP_W)) u_bytes (.keep(s_axis_tkeep), .bytes(beat_bytes));

  always_ff @(posedge clk) begin
    if (taken) begin
      turned_q          <= s_axis_tdata << turn | s_axis_tdata >> (DATA_W - 32'(turn));
      bytes_q           <= beat_bytes;
      end_q             <= beat_end;
      spills_q          <= beat_end > count_t'(KEEP_W);
      addr_q            <= start_addr;
      header_block_q    <= header_block;
      has_header_beat_q <= has_header_q[used] && !from_dram;
      user_q            <= s_axis_tuser;
      dram_q            <= from_dram;
      to_dmem_q         <= from_dram && answer_q.data_memory;
      tag_q             <= answer_q.tag;
      first_q           <= start_q || second_q;
      last_q            <= s_axis_tlast;
      left_q            <= left - 16'(beat_bytes);
      long_q            <= !from_dram && ((long_q && !start_q) || 16'(beat_bytes) > left);
      start_q           <= s_axis_tlast;
      second_q          <= is_answer && !s_axis_tlast;
      if (is_answer) answer_q <= answer;
    end
    valid_q <= (taken && !is_answer) || (valid_q && !advance);
    if (rst) begin
      valid_q  <= 1'b0;
      start_q  <= 1'b1;
      second_q <= 1'b0;
    end
  end

  // The lines: what the beat before has left of its bytes, and the beat's own up to the line's end. tail_q: the rest of
  // the last beat, in a line of its own.
  logic tail_q, final_line, desc_room, in_memory, in_header, fire;
  logic [LINE_W-1:0] line_q, next_line;
  logic in_pmem_q, in_block_q;     // the line is in packet memory, and in the packet's first block of 128 bytes
  logic [15:0] len_q, len;
  offset_t offset;

  assign offset     = addr_q[BYTE_W-1:0];
  assign final_line = last_q && (tail_q || !spills_q);
  assign next_line  = line_q + 1'b1;
  assign len        = first_q ? 16'(bytes_q) : len_q + 16'(bytes_q);
  assign desc_room  = !desc_valid || desc_ready || dram_q || long_q;
  assign in_memory  = in_pmem_q && !to_dmem_q && !long_q;
  assign in_header  = to_dmem_q || (has_header_beat_q && in_block_q && !long_q);

  always_comb begin
    wr_data = 'x;  // so that a simulator merges only what there is
    wr_strb = below(tail_q ? count_t'(end_q[BYTE_W-1:0]) : end_q);
    if (!tail_q && first_q) wr_strb &= ~below(count_t'(offset));
    if (valid_q) begin
      wr_data = turned_q;
      if (!tail_q && !first_q) begin
        for (int i = 0; i < KEEP_W; i++) if (i < 32'(offset)) wr_data[8*i+:8] = behind_q[8*i+:8];
      end
    end
  end

  assign wr_addr      = {line_q, BYTE_W'(0)};
  assign header_addr  = to_dmem_q ? wr_addr : {header_block_q, HEADER_BITS'({line_q, BYTE_W'(0)})};
  assign wr_valid     = valid_q && in_memory && (!in_header || header_ready) && (!final_line || desc_room);
  assign header_valid = valid_q && in_header && (!in_memory || wr_ready) && (!final_line || desc_room);
  assign fire         = valid_q && (!in_memory || wr_ready) && (!in_header || header_ready)
      && (!final_line || desc_room);
  assign advance      = fire && (final_line || !last_q);
  assign beyond       = fire && !in_pmem_q && !to_dmem_q && !long_q;
  // A part that has failed has no data, and comes behind those of parts before it.
  logic read_q, taken_q, alone_q;
  logic [4:0] read_tag_q;
  wire failed = taken_q && alone_q;
  assign dram_done    = (read_q ? 32'd1 << read_tag_q : '0) | (failed ? 32'd1 << answer_q.tag : '0);

  always_ff @(posedge clk) begin
    if (fire) begin
      line_q     <= next_line;
      in_pmem_q  <= 32'(next_line) < PMEM_LINES;
      in_block_q <= in_block_q && line_q % LINE_W'(BLOCK_LINES) != LINE_W'(BLOCK_LINES - 1);
      behind_q   <= turned_q;
      tail_q     <= !advance;
    end
    if (taken && (start_q || second_q)) begin
      line_q     <= start_addr[23:BYTE_W];
      in_pmem_q  <= 25'(start_addr) < 25'(PMEM_KB * 1024);
      in_block_q <= 1'b1;
    end
    if (advance) len_q <= len;
    too_long  <= fire && final_line && long_q;
    long_slot <= user_q.slot;
    if (fire && final_line && !dram_q && !long_q) begin
      desc        <= '{data: PMEM_BASE | 32'(addr_q), port: user_q.port, tag: user_q.slot, len: len};
      desc_header <= has_header_beat_q ? {header_block_q, addr_q[HEADER_BITS-1:0]} : '0;
    end
    read_q     <= fire && final_line && dram_q;
    read_tag_q <= tag_q;
    taken_q    <= taken;
    if (taken) alone_q <= is_answer && s_axis_tlast;
    desc_valid <= (fire && final_line && !dram_q && !long_q) || (desc_valid && !desc_ready);
    if (rst) begin
      tail_q     <= 1'b0;
      read_q     <= 1'b0;
      taken_q    <= 1'b0;
      too_long   <= 1'b0;
      desc_valid <= 1'b0;
    end
  end

  assign idle = !s_axis_tvalid && !valid_q && !desc_valid && !read_q && !failed && !too_long;

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst) begin
      assert (!s_axis_tvalid || from_dram || (s_axis_tuser.slot != 0 && s_axis_tuser.slot <= 8'(SLOTS)))
      else $error("%m: a packet for slot %0d", s_axis_tuser.slot);
      assert (!slot_write || (slot_number != 0 && slot_number <= 8'(SLOTS))) else $error("%m: slot %0d", slot_number);
    end
  end
`endif

endmodule
