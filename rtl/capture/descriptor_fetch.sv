// SPDX-License-Identifier: Apache-2.0
// Fetches descriptors from their ring in host memory, ahead of need, and gives out the packets that they name.
// A slot has 16 bytes: a packet, or the time of the next packet (see the register map).
// Without enable it fetches none and gives out none: those that it holds wait.
// Latency: a packet comes out 2 cycles after its slot has come in. Throughput: 1 slot a cycle.
module descriptor_fetch
  import capture_pkg::*;
#(
    parameter int unsigned MEM_W = 64,
    parameter int unsigned SLOTS = 8   // that are held, a power of two
) (
    input  logic             clk,
    input  logic             rst,
    input  logic             enable,
    input  logic [63:0]      time_ns,
    input  logic [LEN_W-1:0] snaplen,

    input  logic [63:0]      ring_base,
    input  logic [4:0]       ring_log2,
    input  logic [31:0]      head,
    output logic [31:0]      tail,          // slots given out
    output logic             error,

    // Reads of the ring, one at a time
    output logic             read_valid,
    input  logic             read_ready,
    output logic [63:0]      read_addr,
    output logic [15:0]      read_bytes,
    input  logic             word_valid,
    input  logic [MEM_W-1:0] word,
    input  logic             arrived,
    input  logic             arrived_error,  // this word or one before it in the run could not be read

    output logic             packet_valid,
    input  logic             packet_ready,
    output packet_t          packet,
    output logic [63:0]      packet_addr,

    output logic             idle
);

  if (MEM_W < 32 || MEM_W > 1024 || 2 ** $clog2(MEM_W) != MEM_W) begin : gen_bad_mem_w
    $fatal(1, "descriptor_fetch: MEM_W must be a power of two from 32 to 1024, not %0d", MEM_W);
  end

  localparam int unsigned SLOT_W = 128;
  localparam int unsigned KIND_BIT = 95;  // high: a time
  localparam int unsigned ROW_W = MEM_W > SLOT_W ? MEM_W : SLOT_W;
  localparam int unsigned ROW_SLOTS = ROW_W / SLOT_W;
  localparam int unsigned ROW_WORDS = ROW_W / MEM_W;
  localparam int unsigned INDEX_W = $clog2(SLOTS);
  localparam int unsigned LANE_W = $clog2(ROW_SLOTS);
  localparam int unsigned ROWS = SLOTS / ROW_SLOTS;
  // A row comes in whole: its last slots may not be filled yet, and must not take the place of some that are held.
  localparam int unsigned FETCH_AT = SLOTS / 2 - (ROW_SLOTS > 1 ? ROW_SLOTS : 0);
  localparam int unsigned WORDS_W = ROW_WORDS > 1 ? $clog2(ROW_WORDS) : 1;

  if (SLOTS < 4 || 2 ** $clog2(SLOTS) != SLOTS || SLOTS < 2 * ROW_SLOTS) begin : gen_bad_slots
    $fatal(1, "descriptor_fetch: SLOTS must be a power of two, at least 4 and two words of MEM_W, not %0d", SLOTS);
  end

  // Slots are counted from the restart on: those given out, those that have come in, and those asked for.
  logic [31:0] out_q;
  logic [INDEX_W:0] in_q;
  logic [16:0] asked_q;
  logic [INDEX_W-1:0] count_q;  // slots that are being fetched; 0: none
  logic fetched_q;              // a fetch was begun: asked_q follows
  logic [INDEX_W:0] held_q;     // asked for and not given out, a cycle ago
  logic [16:0] waiting_q;       // not asked for, a cycle ago
  wire some = in_q != out_q[INDEX_W:0];

  // Up to a multiple of half the store, and so never over the end of the ring
  wire [31:0] ring_slots = 32'd1 << ring_log2;
  wire [15:0] ring_mask = 16'(ring_slots - 1);
  wire [INDEX_W-2:0] chunk_mask = 32'(ring_mask) < SLOTS / 2 ? (INDEX_W - 1)'(ring_mask) : '1;
  wire [INDEX_W-1:0] most = INDEX_W'(chunk_mask) + 1'b1 - INDEX_W'(asked_q[INDEX_W-2:0] & chunk_mask);
  wire [INDEX_W-1:0] count = waiting_q < 17'(most) ? INDEX_W'(waiting_q) : most;
  wire fetch = enable && !error && count_q == 0 && waiting_q != 0 && held_q <= (INDEX_W + 1)'(FETCH_AT);
  logic [15:0] read_slot_q;
  assign read_addr  = ring_base | 64'({read_slot_q, 4'd0});
  assign read_bytes = 16'({count_q, 4'd0});
  assign tail       = out_q;

  // Slots lie in the store as in the ring, so that a word which is fetched twice comes to the same place. Until all its
  // slots are given out (tail) the host must not change it. What a failed read brings is no slots: the place may hold
  // some that came before.
  logic [ROW_W-1:0] assembled;
  logic row_full;
  logic [INDEX_W-1:0] row_slot_q;  // first slot of the row that comes in, modulo SLOTS
  if (ROW_WORDS > 1) begin : gen_assemble
    logic [ROW_W-MEM_W-1:0] before_q;
    logic [WORDS_W-1:0] words_q;
    assign assembled = {word, before_q};
    assign row_full  = word_valid && words_q == WORDS_W'(ROW_WORDS - 1);
    always_ff @(posedge clk) begin
      if (word_valid) begin
        before_q <= assembled[ROW_W-1:MEM_W];
        words_q  <= words_q + 1'b1;
      end
      if (rst) words_q <= '0;
    end
  end else begin : gen_whole
    assign assembled = word;
    assign row_full  = word_valid;
  end

  logic [ROW_SLOTS-1:0][SLOT_W-1:0] row;
  ram_dist #(
      .WIDTH(ROW_W),
      .DEPTH(ROWS)
  ) u_store (
      .clk,
      .wr_en  (row_full && !arrived_error),
      .wr_addr(row_slot_q[INDEX_W-1:LANE_W]),
      .wr_data(assembled),
      .rd_addr(out_q[INDEX_W-1:LANE_W]),
      .rd_data(row)
  );

  wire [SLOT_W-1:0] next_slot = row[out_q%ROW_SLOTS];
  logic time_valid;             // the slot given out is a time; else it may be a packet
  logic [SLOT_W-1:0] slot;
  wire used = time_valid || (packet_valid && packet_ready);
  wire out = enable && some && (used || !packet_valid);
  wire [LEN_W-1:0] next_len = next_slot[64+:LEN_W];
  logic [LEN_W-1:0] len_q;  // cut to the snaplen
  logic empty_q;
  logic timed_q;
  logic [63:0] time_q;

  assign packet_addr     = slot[63:0];
  assign packet.memory   = 1'b1;
  assign packet.len      = len_q;
  assign packet.wire_len = slot[127:96];
  assign packet.time_ns  = timed_q ? time_q : time_ns;
  assign packet.empty    = empty_q;

  always_ff @(posedge clk) begin
    held_q    <= (INDEX_W + 1)'(asked_q) - out_q[INDEX_W:0];
    waiting_q <= head[16:0] - asked_q;
    if (read_ready) read_valid <= 1'b0;
    if (count_q == 0) read_slot_q <= asked_q[15:0] & ring_mask;
    if (fetch) begin
      read_valid <= 1'b1;
      count_q    <= count;
    end
    fetched_q <= fetch;
    if (fetched_q) begin
      asked_q    <= asked_q + 17'(count_q);
      row_slot_q <= INDEX_W'(asked_q) & ~INDEX_W'(ROW_SLOTS - 1);
    end
    if (row_full) row_slot_q <= row_slot_q + INDEX_W'(ROW_SLOTS);
    if (arrived) begin
      count_q <= '0;
      if (arrived_error) error <= 1'b1;
      else in_q <= in_q + (INDEX_W + 1)'(count_q);
    end
    if (used) begin
      packet_valid <= 1'b0;
      time_valid   <= 1'b0;
      timed_q      <= time_valid;
    end
    if (time_valid) time_q <= slot[63:0];
    if (out) begin
      packet_valid <= !next_slot[KIND_BIT];
      time_valid   <= next_slot[KIND_BIT];
      slot         <= next_slot;
      len_q        <= next_len < snaplen ? next_len : snaplen;
      empty_q      <= next_len == 0 || snaplen == 0;
      out_q        <= out_q + 1'b1;
    end
    if (rst) begin
      read_valid   <= 1'b0;
      fetched_q    <= 1'b0;
      asked_q      <= '0;
      waiting_q    <= '0;
      out_q        <= '0;
      in_q         <= '0;
      count_q      <= '0;
      error        <= 1'b0;
      packet_valid <= 1'b0;
      time_valid   <= 1'b0;
      timed_q      <= 1'b0;
    end
  end

  wire none_to_fetch = (waiting_q == 0 && head[16:0] == asked_q) || error;
  assign idle = count_q == 0 && !packet_valid && !time_valid && (!enable || (!some && none_to_fetch));

endmodule
