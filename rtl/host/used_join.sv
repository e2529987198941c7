// SPDX-License-Identifier: Apache-2.0
// Joins used elements that follow each other in a ring and in a beat of the bus into one write: one waits for the next
// until the beat is full, or another one comes, or LINGER cycles have gone by and no write is before it. What lies
// between the elements is not written: the driver may have the first one's place again before the last one is there.
// An element that comes alone is joined to no other. Tells, by the number of a write's first element, how many follow.
// Addresses do not wait for the data of writes before them, nor data for addresses.
// Latency: 2 cycles, and LINGER more where the beat isn't full. Throughput: an element a cycle. Backpressure: none;
// `count` writes wait with their address or their data, of WRITES and one more.
module used_join #(
    parameter int unsigned ID_W = 4,
    parameter int unsigned FUNCTION_W = 4,
    parameter int unsigned ELEMENTS = 256,
    parameter int unsigned LANES = 4,      // elements of a beat
    parameter int unsigned WRITES = 8,
    parameter int unsigned LINGER = 8,
    localparam int unsigned ELEMENT_W = $clog2(ELEMENTS),
    localparam int unsigned LANE_W = LANES > 1 ? $clog2(LANES) : 1
) (
    input  logic                        clk,
    input  logic                        rst,

    input  logic                        s_valid,
    input  logic [ID_W-1:0]             s_id,        // the same for all of a function's under way
    input  logic [FUNCTION_W-1:0]       s_function,
    input  logic [ELEMENT_W-1:0]        s_element,
    input  logic                        s_alone,
    input  logic [63:4]                 s_addr,      // of its descriptor
    input  logic [63:0]                 s_data,
    output logic                        holds,       // one for which others may follow
    output logic [$clog2(WRITES+1)-1:0] count,

    output logic                        aw_valid,
    input  logic                        aw_ready,
    output logic [ID_W-1:0]             aw_id,
    output logic [FUNCTION_W-1:0]       aw_function,
    output logic [63:4]                 aw_addr,     // of the first one's descriptor
    output logic                        w_valid,
    input  logic                        w_ready,
    output logic [LANE_W-1:0]           w_first,     // lanes
    output logic [LANE_W-1:0]           w_last,
    output logic [LANES-1:0][63:0]      w_data,      // by lane

    input  logic [ELEMENT_W-1:0]        first,
    output logic [LANE_W-1:0]           following    // elements of its write behind it
);

  if (LINGER < 1 || LINGER > 255) begin : gen_bad_linger
    $fatal(1, "used_join: LINGER must be 1 to 255, not %0d", LINGER);
  end
  if (LANES < 1 || LANES > 16 || 2 ** $clog2(LANES) != LANES) begin : gen_bad_lanes
    $fatal(1, "used_join: LANES must be a power of two up to 16, not %0d", LANES);
  end

  typedef struct packed {
    logic [ID_W-1:0]        id;
    logic [FUNCTION_W-1:0]  owner;
    logic [63:4]            addr;
    logic [LANE_W-1:0]      last;
    logic [LANES-1:0][63:0] data;
  } write_t;

  // verilator lint_off UNUSEDSIGNAL
  function automatic logic [LANE_W-1:0] lane_of(logic [63:4] addr);
    return LANE_W'(32'(addr) % LANES);
  endfunction
  // verilator lint_on UNUSEDSIGNAL

  write_t held_q;
  localparam int unsigned AGE_W = $clog2(LINGER + 1);
  logic valid_q, alone_q, aw_room, w_room;
  logic [$clog2(WRITES+1)-1:0] aw_count, w_count;
  logic [AGE_W-1:0] age_q;
  logic [ELEMENT_W-1:0] element_q;
  logic [63:4] next_q;
  wire joins = valid_q && !alone_q && !s_alone && s_function == held_q.owner && s_addr == next_q &&
      lane_of(s_addr) != '0;
  wire full = LANES == 1 || alone_q || 32'(held_q.last) == LANES - 1 || age_q == AGE_W'(LINGER);
  wire goes = valid_q && ((count == '0 && full) || (s_valid && !joins));

  always_ff @(posedge clk) begin
    if (goes) valid_q <= 1'b0;
    age_q <= s_valid ? '0 : age_q + AGE_W'(age_q != AGE_W'(LINGER));
    if (s_valid) begin
      valid_q                       <= 1'b1;
      held_q.last                   <= lane_of(s_addr);
      held_q.data[lane_of(s_addr)]  <= s_data;
      next_q                        <= s_addr + 1'b1;
      if (!joins || goes) begin
        held_q.id    <= s_id;
        held_q.owner <= s_function;
        held_q.addr  <= s_addr;
        alone_q      <= s_alone;
        element_q    <= s_element;
      end
    end
    if (rst) valid_q <= 1'b0;
  end

  assign holds = valid_q;
  assign count = aw_count > w_count ? aw_count : w_count;
  stream_fifo #(
      .WIDTH(ID_W + FUNCTION_W + 60),
      .DEPTH(WRITES)
  ) u_addresses (
      .clk,
      .rst,
      .s_valid(goes),
      .s_ready(aw_room),
      .s_data ({held_q.id, held_q.owner, held_q.addr}),
      .m_valid(aw_valid),
      .m_ready(aw_ready),
      .m_data ({aw_id, aw_function, aw_addr}),
      .count  (aw_count),
      .idle   ()
  );
  stream_fifo #(
      .WIDTH(2 * LANE_W + LANES * 64),
      .DEPTH(WRITES)
  ) u_data (
      .clk,
      .rst,
      .s_valid(goes),
      .s_ready(w_room),
      .s_data ({lane_of(held_q.addr), held_q.last, held_q.data}),
      .m_valid(w_valid),
      .m_ready(w_ready),
      .m_data ({w_first, w_last, w_data}),
      .count  (w_count),
      .idle   ()
  );

  if (LANES > 1) begin : gen_following
    ram_dist #(
        .WIDTH(LANE_W),
        .DEPTH(ELEMENTS)
    ) u_following (
        .clk,
        .wr_en  (goes),
        .wr_addr(element_q),
        .wr_data(held_q.last - lane_of(held_q.addr)),
        .rd_addr(first),
        .rd_data(following)
    );
  end else begin : gen_alone
    assign following = '0;
    wire unused_first = &{1'b0, first, element_q};
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst) assert (!goes || (aw_room && w_room)) else $error("%m: no room for a write");
`else
  wire unused = &{1'b0, aw_room, w_room};
`endif

endmodule
