// SPDX-License-Identifier: Apache-2.0
// Reads pieces of a unit's packet memory (or, with HAS_LOCAL, of its data memory) as streams whose byte 0 is the first
// byte of the piece, one after the other, with what belongs to a piece beside it.
// Latency: 5 cycles and the memory's from a job to its first beat, one more when the piece begins inside of a line and
// goes on in the next. Throughput: a line a cycle, across pieces too, but for a cycle behind one that begins inside of
// a line and has as many beats as lines.
// Backpressure: job_ready is low while the piece before is being read; reads wait while the output has no room.
// Data come in the order of the reads.
module rpu_reader #(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned USER_W = 8,
    parameter bit HAS_LOCAL = 1'b1,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,

    input  logic              job_valid,
    output logic              job_ready,
    input  logic              job_local,    // from data memory
    input  logic [23:0]       job_addr,     // of a byte in its memory
    input  logic [15:0]       job_len,      // not 0
    input  logic [USER_W-1:0] job_user,

    output logic              rd_valid,     // packet memory
    input  logic              rd_ready,
    input  logic              rd_done,
    input  logic [DATA_W-1:0] rd_data,
    output logic              local_valid,  // data memory
    input  logic              local_ready,
    input  logic              local_done,
    input  logic [DATA_W-1:0] local_data,
    output logic [23:0]       rd_addr,      // of the line's first byte, for either

    output logic              m_axis_tvalid,
    input  logic              m_axis_tready,
    output logic [DATA_W-1:0] m_axis_tdata,
    output logic [KEEP_W-1:0] m_axis_tkeep,
    output logic              m_axis_tlast,
    output logic [USER_W-1:0] m_axis_tuser,
    output logic              idle
);

  if (DATA_W < 32 || DATA_W > 1024 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "rpu_reader: DATA_W must be a power of two from 32 to 1024, not %0d", DATA_W);
  end

  if (USER_W < 1) begin : gen_bad_user_w
    $fatal(1, "rpu_reader: USER_W must be at least 1, not %0d", USER_W);
  end

  localparam int unsigned BYTE_W = $clog2(KEEP_W);
  localparam int unsigned LINE_W = 24 - BYTE_W;
  localparam int unsigned DEPTH = 16;   // beats at the output
  localparam int unsigned MARGIN = 5;   // beats that come without being counted as lines under way
  localparam int unsigned COUNT_W = $clog2(DEPTH + 1);
  localparam int unsigned LEFT_W = 17 - BYTE_W;

  typedef logic [BYTE_W-1:0] offset_t;
  typedef struct packed {
    logic              last;
    logic [USER_W-1:0] user;
    offset_t           bytes;         // if it is the last one, less 1
    logic [DATA_W-1:0] data;
  } beat_t;
  typedef struct packed {
    offset_t           offset;        // of the piece in its first line
    offset_t           bytes;         // of the last beat, less 1
    logic              first;         // line of the piece
    logic              last;
    logic              more;          // the last line, if it is not the first, has bytes of two beats
    logic              data_memory;
    logic [USER_W-1:0] user;
  } line_t;

  // The piece that is read, line by line
  logic busy_q, gap_q;
  logic [LINE_W-1:0] line_q;
  logic [LEFT_W-1:0] left_q;       // lines behind this one
  logic last_q;                    // there is none
  line_t piece_q, asked;
  logic [COUNT_W-1:0] flying, flying_q, waiting;
  logic flies_q, flying_local_q, room_q, may_issue, issue, job_done;

  wire [15:0] job_rest = job_len - 1'b1;
  wire [16:0] job_end = 17'(job_addr[BYTE_W-1:0]) + 17'(job_rest);  // from the first line's first byte on
  wire in_local = HAS_LOCAL && piece_q.data_memory;
  wire other_flies = HAS_LOCAL && flies_q && flying_local_q != in_local;

  assign asked.offset      = piece_q.offset;
  assign asked.bytes       = piece_q.bytes;
  assign asked.first       = piece_q.first;
  assign asked.last        = last_q;
  assign asked.more        = piece_q.more;
  assign asked.data_memory = in_local;
  assign asked.user        = piece_q.user;

  assign may_issue   = busy_q && room_q && !other_flies && !gap_q;
  assign rd_valid    = may_issue && !in_local;
  assign local_valid = may_issue && in_local;
  assign rd_addr     = {line_q, BYTE_W'(0)};
  assign issue       = (rd_valid && rd_ready) || (local_valid && local_ready);
  assign job_done    = issue && last_q;
  assign job_ready   = !busy_q || job_done;

  logic got, asked_ready, line_valid;
  line_t line;
  assign got    = rd_done || (HAS_LOCAL && local_done);
  assign flying = flying_q + COUNT_W'(issue) - COUNT_W'(got);

  always_ff @(posedge clk) begin
    if (issue) begin
      line_q         <= line_q + 1'b1;
      left_q         <= left_q - 1'b1;
      last_q         <= left_q == LEFT_W'(1);
      piece_q.first  <= 1'b0;
      flying_local_q <= in_local;
    end
    if (job_valid && job_ready) begin
      line_q              <= job_addr[23:BYTE_W];
      left_q              <= job_end[16:BYTE_W];
      last_q              <= job_end[16:BYTE_W] == '0;
      piece_q.offset      <= job_addr[BYTE_W-1:0];
      piece_q.bytes       <= job_rest[BYTE_W-1:0];
      piece_q.first       <= 1'b1;
      piece_q.last        <= 1'b0;
      // As many beats as lines: the last line's bytes don't all go to the last beat but one.
      piece_q.more        <= job_addr[BYTE_W-1:0] != '0 && job_end[BYTE_W-1:0] >= job_rest[BYTE_W-1:0];
      piece_q.data_memory <= job_local;
      piece_q.user        <= job_user;
    end
    busy_q   <= (job_valid && job_ready) || (busy_q && !job_done);
    gap_q    <= job_done && asked.more && !asked.first;  // for the last beat, which comes without a line
    flying_q <= flying;
    flies_q  <= flying != '0;
    room_q   <= flying_q + waiting <= COUNT_W'(DEPTH - MARGIN);
    if (rst) begin
      busy_q   <= 1'b0;
      gap_q    <= 1'b0;
      flying_q <= '0;
      flies_q  <= 1'b0;
    end
  end

  stream_queue #(
      .WIDTH($bits(line_t)),
      .DEPTH(DEPTH)
  ) u_lines (
      .clk,
      .rst,
      .s_valid(issue),
      .s_ready(asked_ready),
      .s_data (asked),
      .m_valid(line_valid),
      .m_ready(got),
      .m_data (line),
      .idle   ()
  );

  // Line by line becomes beat by beat. A line is turned such that the piece's first byte comes to byte 0; the lower
  // bytes of a beat are then those that the line before has left behind.
  logic turned_valid_q, extra_q, push, beat_ready;
  line_t turned_line_q;
  logic [DATA_W-1:0] raw, turned_q, behind_q, merged;
  beat_t beat, m_beat;

  assign raw = HAS_LOCAL && line.data_memory ? local_data : rd_data;

  wire aligned = turned_line_q.offset == '0;
  assign push       = (turned_valid_q && (aligned || !turned_line_q.first || turned_line_q.last)) || extra_q;
  always_comb begin
    merged = 'x;  // so that a simulator merges only what there is
    if (push) begin
      merged = extra_q ? behind_q : turned_q;
      if (!extra_q && !turned_line_q.first && !aligned) begin
        for (int i = 0; i < KEEP_W; i++) begin
          if (i < KEEP_W - 32'(turned_line_q.offset)) merged[8*i+:8] = behind_q[8*i+:8];
        end
      end
    end
  end
  assign beat.data  = merged;
  assign beat.bytes = turned_line_q.bytes;
  assign beat.last  = extra_q || (turned_line_q.last && (turned_line_q.first || !turned_line_q.more));
  assign beat.user  = turned_line_q.user;

  always_ff @(posedge clk) begin
    turned_valid_q <= got;
    extra_q        <= turned_valid_q && turned_line_q.last && !turned_line_q.first && turned_line_q.more;
    if (got) begin
      turned_line_q <= line;
      turned_q      <= raw >> {line.offset, 3'b000} | raw << (DATA_W - 32'({line.offset, 3'b000}));
    end
    if (turned_valid_q) behind_q <= turned_q;
    if (rst) begin
      turned_valid_q <= 1'b0;
      extra_q        <= 1'b0;
    end
  end

  logic fifo_idle;
  stream_fifo #(
      .WIDTH($bits(beat_t)),
      .DEPTH(DEPTH)
  ) u_beats (
      .clk,
      .rst,
      .s_valid(push),
      .s_ready(beat_ready),
      .s_data (beat),
      .m_valid(m_axis_tvalid),
      .m_ready(m_axis_tready),
      .m_data (m_beat),
      .count  (waiting),
      .idle   (fifo_idle)
  );
  assign m_axis_tdata = m_beat.data;
  assign m_axis_tlast = m_beat.last;
  assign m_axis_tuser = m_beat.user;
  assign m_axis_tkeep = m_beat.last ? {KEEP_W{1'b1}} >> ~m_beat.bytes : '1;

  assign idle = !job_valid && !busy_q && flying_q == '0 && !turned_valid_q && !extra_q && fifo_idle;

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst) begin
      assert (!job_valid || job_len != 0) else $error("%m: a piece of no bytes");
      assert (!push || beat_ready) else $error("%m: a beat is lost");
      assert (!issue || asked_ready) else $error("%m: a line is lost");
      assert (!got || line_valid) else $error("%m: a line that nobody asked for");
      assert (!(extra_q && turned_valid_q)) else $error("%m: two beats at once");
    end
  end
`else
  wire unused = &{1'b0, asked_ready, line_valid, beat_ready};  // flying_q and the margin see to it
`endif

endmodule
