// SPDX-License-Identifier: Apache-2.0
// Keeps frames of a stream and gives each out as often as jobs say: once, several times, or not at all. Jobs come in
// the order of the frames, at the earliest a cycle after a frame's last beat; the last one of a frame frees its room.
// Latency: 3 cycles from a job to its first beat. Throughput: 1 beat a cycle in and out, for frames of one beat too.
// Backpressure: s_axis_tready is low while the store is full. A frame of more than DEPTH beats would never get out: who
// sends has none.
module nic_store #(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned DEPTH = 256,     // beats
    parameter int unsigned BESIDE_W = 1,
    localparam int unsigned KEEP_W = DATA_W / 8,
    localparam int unsigned BEATS_W = $clog2(DEPTH) + 1
) (
    input  logic                clk,
    input  logic                rst,
    input  logic                s_axis_tvalid,
    output logic                s_axis_tready,
    input  logic [DATA_W-1:0]   s_axis_tdata,
    input  logic [KEEP_W-1:0]   s_axis_tkeep,
    input  logic                s_axis_tlast,
    input  logic                job_valid,
    output logic                job_ready,
    input  logic [BEATS_W-1:0]  job_beats,    // of the frame
    input  logic                job_none,     // it is not given out
    input  logic                job_last,     // of the frame
    input  logic [BESIDE_W-1:0] job_beside,
    output logic                m_axis_tvalid,
    input  logic                m_axis_tready,
    output logic [DATA_W-1:0]   m_axis_tdata,
    output logic [KEEP_W-1:0]   m_axis_tkeep,
    output logic                m_axis_tlast,
    output logic [BESIDE_W-1:0] m_beside,     // of the job, the same on each beat
    output logic                idle
);

  if (DATA_W < 8 || DATA_W % 8 != 0) begin : gen_bad_data_w
    $fatal(1, "nic_store: DATA_W must be a multiple of 8, not %0d", DATA_W);
  end
  if (DEPTH < 4 || DEPTH > 2 ** 19 || 2 ** $clog2(DEPTH) != DEPTH) begin : gen_bad_depth
    $fatal(1, "nic_store: DEPTH must be a power of two from 4 to 524288, not %0d", DEPTH);
  end
  if (BESIDE_W < 1) begin : gen_bad_beside_w
    $fatal(1, "nic_store: BESIDE_W must be at least 1, not %0d", BESIDE_W);
  end

  localparam int unsigned ADDR_W = $clog2(DEPTH);

  typedef struct packed {
    logic              last;
    logic [KEEP_W-1:0] keep;
    logic [DATA_W-1:0] data;
  } beat_t;

  // One bit wider than an address: the oldest frame begins at start_q, and wr_q writes.
  logic [ADDR_W:0] start_q, wr_q;
  logic [BEATS_W-1:0] done_q;  // beats of the job that are read
  logic rd_en, beside_ready, beside_valid, beside_idle, store_valid, store_idle;
  beat_t beat;
  wire taken = s_axis_tvalid && s_axis_tready;
  wire begins = done_q == '0;
  wire ends = rd_en && done_q == job_beats - 1'b1;
  wire [ADDR_W-1:0] rd_addr = start_q[ADDR_W-1:0] + done_q[ADDR_W-1:0];

  assign s_axis_tready = (wr_q ^ start_q) != (ADDR_W + 1)'(DEPTH);
  assign job_ready     = job_none || ends;

  always_ff @(posedge clk) begin
    if (taken) wr_q <= wr_q + 1'b1;
    if (rd_en) done_q <= ends ? '0 : done_q + 1'b1;
    if (job_valid && job_ready && job_last) start_q <= start_q + job_beats;
    if (rst) begin
      wr_q    <= '0;
      done_q  <= '0;
      start_q <= '0;
    end
  end

  fifo_store #(
      .WIDTH($bits(beat_t)),
      .DEPTH(DEPTH),
      .BLOCK_RAM(1'b1)
  ) u_store (
      .clk,
      .rst,
      .wr_en   (taken),
      .wr_addr (wr_q[ADDR_W-1:0]),
      .wr_data ({s_axis_tlast, s_axis_tkeep, s_axis_tdata}),
      .rd_avail(job_valid && !job_none && (!begins || beside_ready)),
      .rd_addr,
      .rd_en,
      .idle    (store_idle),
      .m_valid (store_valid),
      .m_ready (m_axis_tready && beside_valid),
      .m_data  (beat)
  );

  stream_queue #(
      .WIDTH(BESIDE_W),
      .DEPTH(8)
  ) u_beside (
      .clk,
      .rst,
      .s_valid(rd_en && begins),
      .s_ready(beside_ready),
      .s_data (job_beside),
      .m_valid(beside_valid),
      .m_ready(store_valid && m_axis_tready && beat.last),
      .m_data (m_beside),
      .idle   (beside_idle)
  );

  assign m_axis_tvalid = store_valid && beside_valid;
  assign m_axis_tdata  = beat.data;
  assign m_axis_tkeep  = beat.keep;
  assign m_axis_tlast  = beat.last;
  assign idle          = wr_q == start_q && store_idle && beside_idle;

`ifndef SYNTHESIS
  stream_contract #(
      .DATA_W(DATA_W)
  ) u_contract (
      .clk,
      .rst,
      .tvalid(s_axis_tvalid),
      .tready(s_axis_tready),
      .tdata (s_axis_tdata),
      .tkeep (s_axis_tkeep),
      .tlast (s_axis_tlast)
  );
`endif

endmodule
