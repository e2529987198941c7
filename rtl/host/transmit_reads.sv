// SPDX-License-Identifier: Apache-2.0
// Asks host memory for a job's reads, in the order in which they come, and notes which bytes of their data are meant.
// Latency: 2 cycles. Throughput: a read a cycle.
// Backpressure: s_ready is a register.
module transmit_reads
  import transmit_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned JOBS = 64,
    localparam int unsigned JOB_W = $clog2(JOBS)
) (
    input  logic               clk,
    input  logic               rst,
    input  logic               s_valid,
    output logic               s_ready,
    input  logic [JOB_W-1:0]   s_job,
    input  piece_t             s_piece,

    output logic               note,          // of a read that is about to be asked for
    output logic [JOB_W-1:0]   note_job,
    output logic [BURST_W-1:0] note_slot,
    output burst_t             note_burst,

    output logic               token_valid,   // the job's reads are all asked for, its last one as one of many
    input  logic               token_ready,
    output logic [JOB_W-1:0]   token_job,
    output logic               arvalid,
    input  logic               arready,
    output logic [JOB_W-1:0]   arid,
    output logic [63:0]        araddr,
    output logic [7:0]         arlen,
    output logic [15:0]        aruser,
    output logic               idle
);

  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512) begin : gen_bad_data_w
    $fatal(1, "transmit_reads: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end

  localparam int unsigned LANE_W = $clog2(DATA_W / 8);

  logic [JOB_W-1:0] job;
  // verilator lint_off UNUSEDSIGNAL
  piece_t piece;
  // verilator lint_on UNUSEDSIGNAL
  logic valid, queue_idle, arvalid_q;
  wire [8:0] end_place = 9'(10'(piece.addr[8:0]) + piece.bytes - 1'b1);
  wire free = arready || !arvalid_q;
  wire ready = piece.token ? token_ready : free;

  stream_queue #(
      .WIDTH(JOB_W + $bits(piece_t)),
      .DEPTH(8)
  ) u_pieces (
      .clk,
      .rst,
      .s_valid,
      .s_ready,
      .s_data ({s_job, s_piece}),
      .m_valid(valid),
      .m_ready(ready),
      .m_data ({job, piece}),
      .idle   (queue_idle)
  );

  assign note        = valid && !piece.token && free;
  assign note_job    = job;
  assign note_slot   = piece.slot;
  assign note_burst  = '{
          last: piece.last,
          first_lane: 6'(piece.addr[LANE_W-1:0]),
          last_lane: 6'(end_place[LANE_W-1:0])
      };
  assign token_valid = valid && piece.token;
  assign token_job   = job;
  assign arvalid     = arvalid_q;
  assign idle        = queue_idle && !arvalid_q;

  always_ff @(posedge clk) begin
    if (free) begin
      arvalid_q <= valid && !piece.token;
      arid      <= job;
      araddr    <= {piece.addr[63:LANE_W], LANE_W'(0)};
      arlen     <= 8'(end_place[8:LANE_W] - piece.addr[8:LANE_W]);
      aruser    <= piece.user;
    end
    if (rst) arvalid_q <= 1'b0;
  end

endmodule
