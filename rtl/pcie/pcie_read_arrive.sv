// SPDX-License-Identifier: Apache-2.0
// Completions of pcie_read's requests: each is looked at beside what its request still waits for, and its data go to
// where they belong in pcie_read_store. They come in pieces of any whole DWs, those of different tags in any order.
// One that fits no request is dropped (`unexpected`).
// Latency: 3 cycles. Throughput: a beat a cycle. Backpressure: never.
module pcie_read_arrive
  import pcie_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned TAGS = 64,
    parameter int unsigned READ_BYTES = 512,
    localparam int unsigned LANES = DATA_W / 32,
    localparam int unsigned LANE_W = $clog2(LANES),
    localparam int unsigned PLACE_W = $clog2(READ_BYTES / 4),  // of a DW among a request's
    localparam int unsigned TAG_W = $clog2(TAGS)
) (
    input  logic               clk,
    input  logic               rst,

    input  logic               issue,          // a request is sent, of so many DWs from lane `first` on
    input  logic [TAG_W-1:0]   tag,
    input  logic [LANE_W-1:0]  first,
    input  logic [PLACE_W:0]   dwords,
    input  logic [TAGS-1:0]    waits,          // tags that wait for data
    input  logic               expire,         // expire_tag doesn't wait any longer; not while `arrives`
    input  logic [TAG_W-1:0]   expire_tag,

    input  logic               cpl_valid,
    input  completion_t        cpl_header,
    input  logic [DATA_W-1:0]  cpl_data,
    input  logic               cpl_last,

    output logic               put_valid,      // to the store
    output logic [TAG_W-1:0]   put_tag,
    output logic [PLACE_W-1:0] put_place,      // of the first DW
    output logic [10:0]        put_count,      // DWs from there on
    output logic [DATA_W-1:0]  put_data,
    output logic               arrives,        // put_tag has all of its data, or an error
    output logic               erroneous,      // it has an error
    output logic               unexpected      // a completion was dropped
);

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "pcie_read_arrive: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (TAGS < 4 || TAGS > 256 || 2 ** TAG_W != TAGS) begin : gen_bad_tags
    $fatal(1, "pcie_read_arrive: TAGS must be a power of two from 4 to 256, not %0d", TAGS);
  end
  if (READ_BYTES < 128 || READ_BYTES > PAGE || 2 ** $clog2(READ_BYTES) != READ_BYTES) begin : gen_bad_read_bytes
    $fatal(1, "pcie_read_arrive: READ_BYTES must be a power of two from 128 to 4096, not %0d", READ_BYTES);
  end

  typedef logic [TAG_W-1:0] tag_t;
  typedef struct packed {
    logic [LANE_W-1:0] first;
    logic [PLACE_W:0]  dwords;
  } span_t;
  typedef struct packed {
    logic [PLACE_W-1:0] place;  // of the next DW, counted from lane 0 of the first beat
    logic [PLACE_W:0]   remain; // DWs that are missing
  } come_t;

  // Stage 1 holds a beat and reads what is known of its request; stage 2 finds the beat's place in the store; then it
  // is written, and a request whose last beat that is is done.
  typedef struct packed {
    tag_t               tag;
    logic [PLACE_W-1:0] place;  // of the first DW
    logic [10:0]        count;  // DWs from here on
    logic               accept;
    logic               ends;   // the request ends with this TLP
    logic               error;
  } piece_t;

  // Of the lower address only the lane counts: the number of bytes tells the rest.
  // verilator lint_off UNUSEDSIGNAL
  completion_t in_header_q, at_header_q;
  // verilator lint_on UNUSEDSIGNAL
  logic in_q, in_last_q, at_q, at_last_q, within_q, put_q, put_last_q, put_waits_q;
  logic [DATA_W-1:0] in_data_q, at_data_q, put_data_q;

  // How far a request's data have come. What stage 2 finds is written a cycle later, and goes beside the RAM to the
  // beats behind it.
  logic [TAGS-1:0] begun_q;       // some of their data have come
  come_t come, at_come_q, came_q;
  logic at_known_q, same_q, came_valid_q;
  span_t span;
  tag_t came_tag_q;
  piece_t begins, piece, piece_q, put_piece_q;
  wire tag_t in_tag = tag_t'(in_header_q.tag);
  wire tag_t at_tag = tag_t'(at_header_q.tag);
  wire just_came = came_valid_q && came_tag_q == in_tag;
  wire come_t whole_span = '{place: PLACE_W'(span.first), remain: span.dwords};
  wire come_t at = came_valid_q && same_q ? came_q : at_come_q;
  wire good = at_header_q.status == SUCCESSFUL;
  wire whole = 32'(at_header_q.dwords) == 32'(at.remain);
  wire fits = at_header_q.bytes == 13'({at.remain, 2'b00})
      && at.place[LANE_W-1:0] == at_header_q.lower_addr[2+:LANE_W]
      && at_header_q.dwords != 0 && 32'(at_header_q.dwords) <= 32'(at.remain);
  wire opens = at_q && !within_q;

  assign begins = '{
          tag: at_tag,
          place: at.place,
          count: at_header_q.dwords,
          accept: at_known_q && (!good || fits),
          ends: !good || whole,
          error: !good || at_header_q.poisoned
      };
  always_comb begin
    piece       = within_q ? piece_q : begins;
    piece.place = within_q ? piece_q.place + PLACE_W'(LANES) : begins.place;
    piece.count = within_q ? piece_q.count - 11'(LANES) : begins.count;
  end

  ram_dist #(
      .WIDTH($bits(span_t)),
      .DEPTH(TAGS)
  ) u_spans (
      .clk,
      .wr_en  (issue),
      .wr_addr(tag),
      .wr_data({first, dwords}),
      .rd_addr(in_tag),
      .rd_data(span)
  );
  ram_dist #(
      .WIDTH($bits(come_t)),
      .DEPTH(TAGS)
  ) u_come (
      .clk,
      .wr_en  (came_valid_q),
      .wr_addr(came_tag_q),
      .wr_data(came_q),
      .rd_addr(in_tag),
      .rd_data(come)
  );

  wire put_end = put_q && put_last_q && put_piece_q.accept && put_waits_q;
  assign arrives    = put_end && put_piece_q.ends;
  assign erroneous  = put_end && put_piece_q.error;

  always_ff @(posedge clk) begin
    in_q         <= cpl_valid;
    in_last_q    <= cpl_last;
    in_header_q  <= cpl_header;
    in_data_q    <= cpl_data;

    at_q         <= in_q;
    at_last_q    <= in_last_q;
    at_header_q  <= in_header_q;
    at_data_q    <= in_data_q;
    at_known_q   <= 32'(in_header_q.tag) < TAGS && waits[in_tag];
    at_come_q    <= just_came ? came_q : begun_q[in_tag] ? come : whole_span;
    same_q       <= in_tag == at_tag;

    came_valid_q <= opens && begins.accept && good;
    came_tag_q   <= at_tag;
    came_q       <= '{
        place: at.place + PLACE_W'(at_header_q.dwords),
        remain: at.remain - (PLACE_W + 1)'(at_header_q.dwords)
    };
    if (at_q) begin
      within_q <= !at_last_q;
      piece_q  <= piece;
    end
    put_q       <= at_q;
    put_last_q  <= at_last_q;
    put_data_q  <= at_data_q;
    put_piece_q <= piece;
    put_waits_q <= waits[piece.tag] && !(arrives && put_piece_q.tag == piece.tag)
        && !(expire && expire_tag == piece.tag);
    unexpected  <= put_q && put_last_q && !(put_piece_q.accept && put_waits_q);
    if (came_valid_q) begun_q[came_tag_q] <= 1'b1;
    if (issue) begun_q[tag] <= 1'b0;
    if (rst) begin
      in_q         <= 1'b0;
      at_q         <= 1'b0;
      came_valid_q <= 1'b0;
      within_q     <= 1'b0;
      put_q        <= 1'b0;
      unexpected   <= 1'b0;
    end
  end

  assign put_valid = put_q && put_piece_q.accept && put_waits_q;
  assign put_tag   = put_piece_q.tag;
  assign put_place = put_piece_q.place;
  assign put_count = put_piece_q.count;
  assign put_data  = put_data_q;

endmodule
