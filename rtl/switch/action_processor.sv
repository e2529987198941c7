// SPDX-License-Identifier: Apache-2.0
// Does to packets what the programs of actions say that come with them, and tells what copies of each are to be sent:
// see switch_pkg for the words of programs, action_sequence for their order and action_execute for what they do.
// A packet's programs are s_first, then those of s_programs that are not 0. Words that are kept for the action set run
// behind them.
// Latency: 15 cycles to a packet's first copy. Throughput: a word a cycle, so a packet a cycle if each has one word or
// none. More cycles take a word that makes two copies (1); a jump, the way back from a group, going on behind the first
// 9 words of a program (3 each); the way into an action set (4); ACT_SELECT, ACT_GROUP and ACT_UNLESS_LIVE (5 each);
// ACT_METER (1 and what the answer takes).
// Backpressure: s_ready is made of registers. A packet may see enabled, live and quiet at any time while it is inside.
// Programs and groups may be written at any time; a packet that comes 4 cycles later sees it.
//
//  s -+-> u_packets ------------------------------+------------------------+ the packet, its sums and its hash
//     +-> checksum_sums, exact_hash -> u_summed --+                        v
//     +-> action_fetch -- words --> action_sequence -- steps --> action_execute -+-> u_copies ------------------+-> m
//               ^                        |                                       +-> checksum_sums -> u_deltas -+
//               +----- where to go on ---+
module action_processor
  import switch_pkg::*;
  import switch_step_pkg::*;
#(
    parameter int unsigned TABLES = 8,
    parameter int unsigned PROGRAM_WORDS = 4096,
    parameter int unsigned GROUPS = 256,
    parameter bit NARROW = 1'b0  // the parser is a narrow one: what it does not find counts as 0
) (
    input  logic                             clk,
    input  logic                             rst,
    input  logic                             s_valid,
    output logic                             s_ready,
    input  match_t                           s_fields,       // as the parser found them
    input  layers_t                          s_layers,
    input  logic [BYTES_W-1:0]               s_bytes,
    input  logic [63:0]                      s_metadata,     // as the tables left it
    input  logic [PROGRAM_W-1:0]             s_first,
    input  logic [TABLES-1:0][PROGRAM_W-1:0] s_programs,
    output logic                             m_valid,
    input  logic                             m_ready,
    output copy_t                            m_copy,
    input  logic                             write_valid,
    input  logic [PROGRAM_W-1:0]             write_address,
    input  action_t                          write_word,
    input  logic                             group_write,
    input  logic [15:0]                      group_number,
    input  logic [PROGRAM_W-1:0]             group_program,  // 0: there is no such group
    input  logic [PORTS_MAX-1:0]             enabled,        // ports that may send
    input  logic [PORTS_MAX-1:0]             live,
    input  logic [PORTS_MAX-1:0]             quiet,          // the host gets nothing that came by this port
    output logic                             meter_valid,
    input  logic                             meter_ready,
    output logic [15:0]                      meter_number,
    output logic [BYTES_W-1:0]               meter_bytes,
    input  logic                             meter_answer,
    input  logic                             meter_drop,
    input  logic [2:0]                       meter_raise,
    output logic                             count_valid,
    output logic [15:0]                      count_number,
    output logic [BYTES_W-1:0]               count_bytes,
    output logic                             idle
);

  if (TABLES < 1 || TABLES > TABLES_MAX) begin : gen_bad_tables
    $fatal(1, "action_processor: TABLES must be 1 to %0d, not %0d", TABLES_MAX, TABLES);
  end

  localparam int unsigned PACKETS = 16;  // more than are under way to the first step
  localparam int unsigned COPIES = 16;
  localparam int unsigned COUNT_W = $clog2(COPIES + 1);

  // ------------------------------------------------------------------------------------------------------- the packets
  logic packets_ready, lists_ready, packet_there, packets_idle, fetch_idle;
  wire taken = s_valid && s_ready;
  arrival_t arrival, waiting, packet;

  assign s_ready = packets_ready && lists_ready;
  always_comb begin
    arrival = 'x;  // nobody looks then
    if (taken) begin
      arrival = '{
          kinds: kinds_of(s_fields, s_layers),
          quiet: |(port_bit(s_fields.in_port) & quiet),
          fields: s_fields,
          layers: s_layers,
          bytes: s_bytes,
          metadata: s_metadata
      };
      if (NARROW) arrival = narrowed_arrival(arrival);
    end
  end

  logic packet_taken;
  stream_queue #(
      .WIDTH($bits(arrival_t)),
      .DEPTH(PACKETS)
  ) u_packets (
      .clk,
      .rst,
      .s_valid(taken),
      .s_ready(packets_ready),
      .s_data (arrival),
      .m_valid(packet_there),
      .m_ready(packet_taken),
      .m_data (waiting),
      .idle   (packets_idle)
  );
  assign packet = NARROW ? narrowed_arrival(waiting) : waiting;

  // What is computed of each: its sums, and the hash of its flow.
  logic [31:0] fold_q;
  logic folded_q;
  logic [0:0][15:0] hash;
  logic summed, sums_room, sums_there;
  sums_t sums, packet_sums;
  logic [15:0] packet_hash;

  function automatic logic [31:0] rotated(logic [31:0] word, int unsigned by);
    return 32'({word, word} >> (32 - by));
  endfunction

  always_ff @(posedge clk) begin
    folded_q <= taken;
    if (taken) begin
      automatic logic [13:0][31:0] words = {
        arrival.fields.src,
        arrival.fields.dst,
        arrival.fields.l4_src, arrival.fields.l4_dst,
        arrival.fields.eth_src, arrival.fields.eth_dst,
        arrival.fields.eth_type, arrival.fields.ip_proto, 8'd0,
        20'd0, arrival.fields.vlan_vid
      };
      automatic logic [31:0] fold = '0;
      for (int unsigned i = 0; i < 14; i++) fold ^= rotated(words[i], 7 * i % 32);
      fold_q <= fold;
    end
  end

  exact_hash #(
      .KEY_W (32),
      .TABLES(1),
      .ADDR_W(16)
  ) u_hash (
      .clk,
      .valid(folded_q),
      .key  (fold_q),
      .addr (hash)
  );

  checksum_sums u_sums (
      .clk,
      .rst,
      .s_valid(taken),
      .kinds  (arrival.kinds),
      .fields (arrival.fields),
      .ttl    (s_layers.ttl),
      .m_valid(summed),
      .sums
  );

  stream_queue #(
      .WIDTH($bits(sums_t) + 16),
      .DEPTH(PACKETS)
  ) u_summed (
      .clk,
      .rst,
      .s_valid(summed),
      .s_ready(sums_room),  // as many as packets
      .s_data ({sums, hash[0]}),
      .m_valid(sums_there),
      .m_ready(packet_taken),
      .m_data ({packet_sums, packet_hash}),
      .idle   ()
  );

  // ------------------------------------------------------------------------------------------------------ their steps
  logic word_valid, word_ready, walk, halt, walk_valid, walk_ready, step_valid, step_ready;
  logic [PROGRAM_W-1:0] walk_address;
  word_t word, walk_word;
  step_t step;

  action_fetch #(
      .PROGRAMS     (TABLES + 1),
      .PROGRAM_WORDS(PROGRAM_WORDS)
  ) u_fetch (
      .clk,
      .rst,
      .write_valid,
      .write_address,
      .write_word,
      .s_valid   (taken),
      .s_ready   (lists_ready),
      .s_programs({s_programs, s_first}),
      .m_valid   (word_valid),
      .m_ready   (word_ready),
      .m_word    (word),
      .walk,
      .walk_address,
      .halt,
      .walk_valid,
      .walk_ready,
      .walk_word,
      .idle      (fetch_idle)
  );

  action_sequence #(
      .GROUPS(GROUPS),
      .NARROW(NARROW)
  ) u_sequence (
      .clk,
      .rst,
      .group_write,
      .group_number,
      .group_program,
      .live,
      .packet_valid(packet_there && sums_there),
      .packet_hash,
      .packet_taken,
      .s_valid     (word_valid),
      .s_ready     (word_ready),
      .s_word      (word),
      .walk,
      .walk_address,
      .halt,
      .walk_valid,
      .walk_ready,
      .walk_word,
      .m_valid     (step_valid),
      .m_ready     (step_ready),
      .m_step      (step)
  );

  logic made, room_q, execute_idle;
  copy_t copy;
  kinds_t kinds;
  sums_t old_sums;

  action_execute #(
      .NARROW(NARROW)
  ) u_execute (
      .clk,
      .rst,
      .enabled,
      .s_valid (step_valid),
      .s_ready (step_ready),
      .s_step  (step),
      .s_packet(packet),
      .s_sums  (packet_sums),
      .m_valid (made),
      .m_room  (room_q),
      .m_copy  (copy),
      .m_kinds (kinds),
      .m_sums  (old_sums),
      .meter_valid,
      .meter_ready,
      .meter_number,
      .meter_bytes,
      .meter_answer,
      .meter_drop,
      .meter_raise,
      .count_valid,
      .count_number,
      .count_bytes,
      .idle    (execute_idle)
  );

  // ---------------------------------------------------------------------------------------------------- and the copies
  // A copy waits while its deltas are computed.
  logic copies_room, copy_there, leaves;
  copy_t copy_head;
  stream_queue #(
      .WIDTH($bits(copy_t)),
      .DEPTH(COPIES)
  ) u_copies (
      .clk,
      .rst,
      .s_valid(made),
      .s_ready(copies_room),  // room is counted below
      .s_data (copy),
      .m_valid(copy_there),
      .m_ready(leaves),
      .m_data (copy_head),
      .idle   ()
  );

  logic new_valid, delta_valid_q, deltas_room, goes_q, there, goes;
  sums_t new_sums, delta_q, delta_head;
  checksum_sums u_new_sums (
      .clk,
      .rst,
      .s_valid(made),
      .kinds,
      .fields (copy.edit.fields),
      .ttl    (copy.edit.ttl),
      .m_valid(new_valid),
      .sums   (new_sums)
  );

  typedef struct packed {
    logic  goes;  // somewhere, or is the packet's last copy
    logic  l3;    // something of it is edited
    logic  l4;
    logic  sctp;
    sums_t old;
  } change_t;
  change_t [2:0] change_q;
  logic [1:0] changes_q;  // there is one

  function automatic logic [15:0] difference(logic [15:0] sum, logic [15:0] old);
    automatic logic [15:0] inverse = ~old;
    automatic logic [16:0] total = 17'(sum) + 17'(inverse);
    return total[15:0] + 16'(total[16]);
  endfunction

  always_ff @(posedge clk) begin
    // verilator lint_off UNUSEDSIGNAL
    automatic edited_t edited = copy.edit.edited;  // no checksum is of the flow label
    // verilator lint_on UNUSEDSIGNAL
    automatic logic pseudo = kinds.tcp || kinds.udp || kinds.icmpv6;
    if (changes_q[1]) change_q[2] <= change_q[1];
    if (changes_q[0]) change_q[1] <= change_q[0];
    if (made) begin
      change_q[0] <= '{
          goes: copy.last || copy.host || copy.resubmit || copy.ports != '0,
          l3: (kinds.ipv4 && (edited.tos || edited.proto || edited.src || edited.dst))
              || ((kinds.ipv4 || kinds.below_ipv4) && edited.ttl),
          l4: ((pseudo || kinds.icmp) && (edited.l4_src || edited.l4_dst || edited.target || edited.link))
              || (pseudo && (edited.src || edited.dst || edited.proto)),
          sctp: kinds.sctp,
          old: old_sums
      };
    end
    changes_q     <= {changes_q[0], made};
    delta_valid_q <= new_valid && !rst;
    if (new_valid) begin
      goes_q     <= change_q[2].goes;
      delta_q.l3 <= change_q[2].l3 ? difference(new_sums.l3, change_q[2].old.l3) : '0;
      delta_q.l4 <= change_q[2].l4 ? 32'(difference(new_sums.l4[15:0], change_q[2].old.l4[15:0])) : '0;
      if (change_q[2].sctp) delta_q.l4 <= new_sums.l4 ^ change_q[2].old.l4;
    end
  end

  stream_queue #(
      .WIDTH(1 + $bits(sums_t)),
      .DEPTH(COPIES)
  ) u_deltas (
      .clk,
      .rst,
      .s_valid(delta_valid_q),
      .s_ready(deltas_room),  // as many as copies
      .s_data ({goes_q, delta_q}),
      .m_valid(there),
      .m_ready(m_ready || !goes),
      .m_data ({goes, delta_head}),
      .idle   ()
  );

  assign m_valid = there && goes;
  assign leaves  = there && (m_ready || !goes);

  always_comb begin
    m_copy = 'x;  // nobody looks then
    if (m_valid) begin
      m_copy = copy_head;
      if (NARROW) m_copy.edit = narrowed_edit(copy_head.edit);
      m_copy.edit.l3_delta = delta_head.l3;
      m_copy.edit.l4_delta = delta_head.l4;
    end
  end

  logic [COUNT_W-1:0] count_q;
  always_ff @(posedge clk) begin
    count_q <= count_q + COUNT_W'(made) - COUNT_W'(leaves);
    room_q  <= count_q <= COUNT_W'(COPIES - 5);
    if (rst) begin
      count_q <= '0;
      room_q  <= 1'b0;
    end
  end

  // A copy is counted before its packet is gone from all of these.
  assign idle = packets_idle && fetch_idle && execute_idle && count_q == '0;

`ifndef SYNTHESIS
  ready_contract #(
      .WIDTH(4)
  ) u_ready (
      .clk,
      .rst,
      .valid({summed, made, delta_valid_q, leaves}),
      .ready({sums_room, copies_room, deltas_room, copy_there})
  );
  offer_contract #(
      .WIDTH($bits(match_t) + $bits(layers_t) + BYTES_W + 64 + (TABLES + 1) * PROGRAM_W)
  ) u_contract (
      .clk,
      .rst,
      .valid(s_valid),
      .ready(s_ready),
      .data ({s_fields, s_layers, s_bytes, s_metadata, s_programs, s_first})
  );
`endif

endmodule
