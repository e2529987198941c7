// SPDX-License-Identifier: Apache-2.0
// Joins what the parser found in a packet with what is known once the packet is in whole: its length, and what comes
// with it from the host or from an action that sent it to the parser again.
// That starts the packet's lookup in the tables; what its actions need beside the lookup waits here until they run.
// Packets stay in order.
// Throughput: a packet a cycle. Latency: that of byte_counter and stream_queue.
// Backpressure: the parser waits for the first table and for room here; beats are only watched.
//
//  beats -> u_bytes -> u_whole --+-> the first table
//  the parser's heads -----------+-> u_heads -> the actions
module switch_join
  import switch_pkg::*;
  import table_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter bit NARROW = 1'b0,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic                 clk,
    input  logic                 rst,

    input  logic                 beat_valid,     // goes to the parser now
    input  logic [KEEP_W-1:0]    beat_keep,
    input  logic                 beat_last,
    input  source_t              beat_source,

    input  logic                 head_valid,     // from the parser
    output logic                 head_ready,
    input  match_t               head_match,
    input  layers_t              head_layers,

    output logic                 lookup_valid,
    input  logic                 lookup_ready,
    output lookup_t              lookup,

    output logic                 first_valid,    // of the packet whose actions run next
    input  logic                 first_ready,
    output match_t               first_fields,   // as they came; metadata is the lookup's
    output layers_t              first_layers,
    output logic [BYTES_W-1:0]   first_bytes,
    output logic [PROGRAM_W-1:0] first_program,  // before those of tables

    output logic                 idle
);

  localparam int unsigned PARSED = NARROW ? 16 : 32;  // packets in the parser
  localparam int unsigned HEADS = 512;                // packets between the parser and their programs

  // What the parser does not say of a packet, once it is in whole: as many as it holds at most
  typedef struct packed {
    logic [BYTES_W-1:0]   bytes;
    logic [TABLE_W-1:0]   next;
    logic [PROGRAM_W-1:0] first;
    logic [63:0]          metadata;
    logic [63:0]          tunnel_id;
  } whole_t;

  logic ended, whole_room, whole_valid, whole_ready, whole_idle;
  logic [BYTES_W-1:0] ended_bytes;
  // verilator lint_off UNUSEDSIGNAL
  source_t ended_source_q;  // its port is with the fields
  // verilator lint_on UNUSEDSIGNAL
  whole_t whole;
  always_ff @(posedge clk) if (beat_valid) ended_source_q <= beat_source;

  byte_counter #(
      .DATA_W(DATA_W)
  ) u_bytes (
      .clk,
      .rst,
      .s_valid(beat_valid),
      .s_keep (beat_keep),
      .s_last (beat_last),
      .m_ended(ended),
      .m_bytes(ended_bytes)
  );

  stream_queue #(
      .WIDTH($bits(whole_t)),
      .DEPTH(PARSED)
  ) u_whole (
      .clk,
      .rst,
      .s_valid(ended),
      .s_ready(whole_room),
      .s_data ({ended_bytes, ended_source_q.next, ended_source_q.program_at, ended_source_q.metadata,
                ended_source_q.tunnel_id}),
      .m_valid(whole_valid),
      .m_ready(whole_ready),
      .m_data (whole),
      .idle   (whole_idle)
  );

  localparam int unsigned FIELDS_W = NARROW ? 64 + $bits(narrow_match_t) : $bits(match_t);
  typedef struct packed {
    logic [FIELDS_W-1:0]  fields;  // a match_t, of a narrow one what it has and tunnel_id
    layers_t              layers;
    logic [BYTES_W-1:0]   bytes;
    logic [PROGRAM_W-1:0] first;
  } head_t;

  logic heads_room, heads_idle;
  head_t first;

  assign head_ready   = whole_valid && heads_room && lookup_ready;
  assign whole_ready  = head_valid && heads_room && lookup_ready;
  assign lookup_valid = head_valid && whole_valid && heads_room;
  match_t joined_fields;
  always_comb begin
    {joined_fields, lookup} = 'x;  // nobody looks then
    if (lookup_valid) begin
      joined_fields           = head_match;
      joined_fields.tunnel_id = whole.tunnel_id;
      lookup = '{
          fields: joined_fields,
          tags: head_layers.tags,
          inner: head_layers.inner,
          bytes: whole.bytes,
          next: whole.next
      };
      lookup.fields.metadata = whole.metadata;
    end
  end

  logic [FIELDS_W-1:0] heads_fields;
  if (NARROW) begin : gen_narrow_heads
    assign heads_fields = {whole.tunnel_id, narrow_match(head_match)};
    always_comb begin
      first_fields           = from_narrow_match(first.fields[$bits(narrow_match_t)-1:0]);
      first_fields.tunnel_id = first.fields[FIELDS_W-1-:64];
    end
  end else begin : gen_heads
    assign heads_fields = joined_fields;
    assign first_fields = first.fields;
  end

  stream_fifo #(
      .WIDTH($bits(head_t)),
      .DEPTH(HEADS)
  ) u_heads (
      .clk,
      .rst,
      .s_valid(lookup_valid && lookup_ready),
      .s_ready(heads_room),
      .s_data ({heads_fields, head_layers, whole.bytes, whole.first}),
      .m_valid(first_valid),
      .m_ready(first_ready),
      .m_data (first),
      .count  (),
      .idle   (heads_idle)
  );

  assign first_layers  = first.layers;
  assign first_bytes   = first.bytes;
  assign first_program = first.first;
  assign idle          = whole_idle && !ended && heads_idle;

`ifndef SYNTHESIS
  ready_contract u_ready (
      .clk,
      .rst,
      .valid(ended),
      .ready(whole_room)
  );
`endif

endmodule
