// SPDX-License-Identifier: Apache-2.0
// The bus's side of fetches: asks for descriptors and keeps them until they are read, READS fetches at once, and writes
// the device's event suppression flags. A fetch has its number as ID; their data come in any order and interleaved.
// On the way in it counts how many descriptors from a fetch's first on are available.
// Latency: 3 cycles to the bus, and 3 from the last data or answer to `done`. Throughput: an address of each kind, a
// beat and an answer a cycle. Backpressure: rready and bready are always high: what is asked for has its place.
module virtq_fetch_bus
  import axi_pkg::*, host_pkg::*, virtq_fetch_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned READS = 16,
    parameter int unsigned BURST = 16,
    localparam int unsigned BYTES = DATA_W / 8,
    localparam int unsigned LANES = BYTES / DESCRIPTOR_BYTES,
    localparam int unsigned BEATS = BURST / LANES,
    localparam int unsigned SLOT_W = $clog2(READS),
    localparam int unsigned BEAT_W = BEATS > 1 ? $clog2(BEATS) : 1
) (
    input  logic              clk,
    input  logic              rst,
    input  logic              wipe,
    input  logic [SLOT_W-1:0] wipe_slot,

    input  logic              job_valid,   // one cycle, none in the next; of READS at most
    output logic [SLOT_W-1:0] job_slot,    // the number that it gets
    input  job_t              job,

    output logic              done_valid,
    input  logic              done_ready,
    output logic [SLOT_W-1:0] done_slot,
    output logic              done_failed,
    output logic [5:0]        done_seen,   // descriptors in a row that are available, were they heads
    input  logic              free_valid,  // a fetch's data are no longer needed
    input  logic [SLOT_W-1:0] free_slot,
    input  logic              rd_en,
    input  logic [SLOT_W-1:0] rd_slot,
    input  logic [BEAT_W-1:0] rd_beat,
    output logic [DATA_W-1:0] rd_data,     // in the next cycle

    output axi_req_t          m_req,
    output logic [DATA_W-1:0] m_wdata,
    output logic [BYTES-1:0]  m_wstrb,
    // verilator lint_off UNUSEDSIGNAL
    input  axi_rsp_t          m_rsp,       // IDs are not longer than the numbers
    // verilator lint_on UNUSEDSIGNAL
    input  logic [DATA_W-1:0] m_rdata,
    output logic              rests,       // nothing is to be done until host memory answers
    output logic              idle         // no fetch under way
);

  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512) begin : gen_bad_data_w
    $fatal(1, "virtq_fetch_bus: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (READS < 2 || READS > 128 || 2 ** SLOT_W != READS) begin : gen_bad_reads
    $fatal(1, "virtq_fetch_bus: READS must be a power of two from 2 to 128, not %0d", READS);
  end
  if (BURST < 4 || BURST > 32 || 2 ** $clog2(BURST) != BURST) begin : gen_bad_burst
    $fatal(1, "virtq_fetch_bus: BURST must be a power of two from 4 to 32, not %0d", BURST);
  end

  localparam int unsigned OFFSET_W = $clog2(BYTES);
  typedef logic [SLOT_W-1:0] slot_t;

  // --------------------------------------------------------------------------------------------- fetches under way
  logic [READS-1:0] used_q, reads_q, writes_q, after_q, failed_q;  // after_q: its read waits for the write's answer
  logic [SLOT_W-1:0] spare;
  always_comb begin
    spare = '0;
    for (int i = int'(READS) - 1; i >= 0; i--) if (!used_q[i]) spare = slot_t'(i);
  end

  // The number is chosen a cycle ahead.
  always_ff @(posedge clk) job_slot <= spare;

  // ------------------------------------------------------------------------------------------------------ addresses
  logic ask_ready, ask_valid, ask_pop, read_ready;
  logic write_ready, write_valid, write_pop;
  slot_t ask_slot, write_slot;
  typedef struct packed {
    logic [59:0] addr;
    logic [7:0]  beats;
    logic [15:0] user;
  } read_t;
  typedef struct packed {
    logic        enable;
    logic [61:0] device;
    logic [15:0] user;
  } write_t;
  read_t ask_job;
  write_t write_job;
  logic answer_valid, answer_bad, answer_ready, answer_taken;
  slot_t answer_slot;
  wire job_reads = job_valid && !(job.write && job.enable);
  wire ask_after = answer_taken && after_q[answer_slot];
  logic asks_q, flags_q;  // a read, a write of flags wait from the next cycle on
  slot_t asks_slot_q, flags_slot_q;
  always_ff @(posedge clk) begin
    asks_q       <= job_reads || ask_after;
    asks_slot_q  <= job_reads ? job_slot : answer_slot;
    flags_q      <= job_valid && job.write;
    flags_slot_q <= job_slot;
    if (rst) begin
      asks_q  <= 1'b0;
      flags_q <= 1'b0;
    end
  end

  ram_dist #(
      .WIDTH($bits(read_t)),
      .DEPTH(READS)
  ) u_read_jobs (
      .clk,
      .wr_en  (job_valid),
      .wr_addr(job_slot),
      .wr_data({job.addr, job.beats, job.user}),
      .rd_addr(ask_slot),
      .rd_data(ask_job)
  );
  ram_dist #(
      .WIDTH($bits(write_t)),
      .DEPTH(READS)
  ) u_write_jobs (
      .clk,
      .wr_en  (job_valid),
      .wr_addr(job_slot),
      .wr_data({job.enable, job.device, job.user}),
      .rd_addr(write_slot),
      .rd_data(write_job)
  );
  stream_queue #(
      .WIDTH(SLOT_W),
      .DEPTH(READS)
  ) u_asks (
      .clk,
      .rst,
      .s_valid(asks_q),
      .s_ready(ask_ready),
      .s_data (asks_slot_q),
      .m_valid(ask_valid),
      .m_ready(ask_pop),
      .m_data (ask_slot),
      .idle   ()
  );
  stream_queue #(
      .WIDTH(SLOT_W),
      .DEPTH(READS)
  ) u_writes (
      .clk,
      .rst,
      .s_valid(flags_q),
      .s_ready(write_ready),
      .s_data (flags_slot_q),
      .m_valid(write_valid),
      .m_ready(write_pop),
      .m_data (write_slot),
      .idle   ()
  );

  assign ask_pop = read_ready;
  slot_t ar_slot;
  logic [63:0] ar_addr;
  stream_reg #(
      .WIDTH(SLOT_W + 64 + 8 + 16)
  ) u_read (
      .clk,
      .rst,
      .s_valid(ask_valid),
      .s_ready(read_ready),
      .s_data ({ask_slot, {ask_job.addr, 4'd0} & ~64'(BYTES - 1), ask_job.beats, ask_job.user}),
      .m_valid(m_req.arvalid),
      .m_ready(m_rsp.arready),
      .m_data ({ar_slot, ar_addr, m_req.arlen, m_req.aruser}),
      .idle   ()
  );
  assign m_req.arid    = 8'(ar_slot);
  assign m_req.araddr  = ar_addr;
  assign m_req.arsize  = 3'(OFFSET_W);
  assign m_req.arburst = 2'b01;
  assign m_req.rready  = 1'b1;

  // The flags are bytes 2 and 3 of the structure. Address and data are offered at once.
  logic aw_ready, w_ready, flag;
  slot_t aw_slot;
  logic [61:0] aw_device;
  logic [OFFSET_W-3:0] w_word;
  assign write_pop     = aw_ready && w_ready;
  stream_reg #(
      .WIDTH(SLOT_W + 62 + 16)
  ) u_address (
      .clk,
      .rst,
      .s_valid(write_valid && w_ready),
      .s_ready(aw_ready),
      .s_data ({write_slot, write_job.device, write_job.user}),
      .m_valid(m_req.awvalid),
      .m_ready(m_rsp.awready),
      .m_data ({aw_slot, aw_device, m_req.awuser}),
      .idle   ()
  );
  stream_reg #(
      .WIDTH(OFFSET_W - 1)
  ) u_flag (
      .clk,
      .rst,
      .s_valid(write_valid && aw_ready),
      .s_ready(w_ready),
      .s_data ({write_job.device[OFFSET_W-3:0], !write_job.enable}),
      .m_valid(m_req.wvalid),
      .m_ready(m_rsp.wready),
      .m_data ({w_word, flag}),
      .idle   ()
  );
  assign m_req.wlast   = 1'b1;
  assign m_req.awlen   = 8'd0;
  assign m_req.awsize  = 3'(OFFSET_W);
  assign m_req.awburst = 2'b01;
  assign m_req.awid    = 8'(aw_slot);
  assign m_req.awaddr  = {aw_device, 2'd0} & ~64'(BYTES - 1);
  assign m_req.bready  = 1'b1;
  assign m_wdata       = {BYTES / 4{15'd0, flag, 16'd0}};
  assign m_wstrb       = BYTES'(4'b1100) << {w_word, 2'd0};

  // --------------------------------------------------------------------------------------------------- data come in
  logic r_q, r_last_q, r_bad_q;
  slot_t r_slot_q;
  logic [DATA_W-1:0] r_data_q;
  always_ff @(posedge clk) begin
    r_q <= m_rsp.rvalid;
    if (m_rsp.rvalid) begin
      r_slot_q <= slot_t'(m_rsp.rid);
      r_last_q <= m_rsp.rlast;
      r_bad_q  <= m_rsp.rresp >= SLVERR;
      r_data_q <= m_rdata;
    end
    if (rst) r_q <= 1'b0;
  end

  // Of each fetch: the beat that comes next, and how many descriptors in a row are available, to where it has come.
  typedef struct packed {
    logic [BEAT_W-1:0] beat;
    logic              running;
    logic [5:0]        seen;
  } arrival_t;
  typedef struct packed {
    logic        wrap;
    logic [1:0]  first;
  } expect_t;

  arrival_t arrival, arrival_d;
  expect_t expected;
  logic [LANES-1:0] available;
  logic [2:0] row;  // available ones from the beat's first on, with those before the fetch's first
  wire begins = arrival.beat == '0;
  always_comb begin
    for (int unsigned i = 0; i < LANES; i++) begin
      available[i] = r_data_q[128*i+112+AVAIL] == expected.wrap && r_data_q[128*i+112+USED] != expected.wrap;
      if (begins && i < 32'(expected.first)) available[i] = 1'b1;
    end
    row = 3'(LANES);
    for (int i = int'(LANES) - 1; i >= 0; i--) if (!available[i]) row = 3'(i);
    arrival_d.beat    = r_last_q ? '0 : arrival.beat + 1'b1;
    arrival_d.running = (begins || arrival.running) && available == '1;
    arrival_d.seen    = arrival.seen;
    if (arrival.running) arrival_d.seen = arrival.seen + 6'(row);
    if (begins) arrival_d.seen = 6'(row) - 6'(expected.first);
  end

  ram_dist #(
      .WIDTH($bits(expect_t)),
      .DEPTH(READS)
  ) u_expected (
      .clk,
      .wr_en  (job_valid),
      .wr_addr(job_slot),
      .wr_data({job.wrap, 2'(32'(job.addr[1:0]) % LANES)}),
      .rd_addr(r_slot_q),
      .rd_data(expected)
  );
  ram_dist #(
      .WIDTH($bits(arrival_t)),
      .DEPTH(READS)
  ) u_arrivals (
      .clk,
      .wr_en  (r_q || wipe),
      .wr_addr(wipe ? wipe_slot : r_slot_q),
      .wr_data(wipe ? '0 : arrival_d),
      .rd_addr(r_slot_q),
      .rd_data(arrival)
  );
  ram_dist #(
      .WIDTH(6),
      .DEPTH(READS)
  ) u_seen (
      .clk,
      .wr_en  (r_q),
      .wr_addr(r_slot_q),
      .wr_data(arrival_d.seen),
      .rd_addr(done_slot),
      .rd_data(done_seen)
  );

  localparam int unsigned AT_W = $clog2(READS * BEATS);
  ram_fit #(
      .WIDTH(DATA_W),
      .DEPTH(READS * BEATS)
  ) u_data (
      .clk,
      .wr_en  (r_q),
      .wr_addr(AT_W'({r_slot_q, arrival.beat} >> (BEAT_W - $clog2(BEATS)))),
      .wr_data(r_data_q),
      .rd_en,
      .rd_addr(AT_W'({rd_slot, rd_beat} >> (BEAT_W - $clog2(BEATS)))),
      .rd_data
  );

  // -------------------------------------------------------------------------------------------------- answers, ends
  // An answer waits while data end a fetch, or a new fetch asks.
  stream_queue #(
      .WIDTH(SLOT_W + 1),
      .DEPTH(READS)
  ) u_answers (
      .clk,
      .rst,
      .s_valid(m_rsp.bvalid),
      .s_ready(answer_ready),
      .s_data ({m_rsp.bresp >= SLVERR, slot_t'(m_rsp.bid)}),
      .m_valid(answer_valid),
      .m_ready(answer_taken),
      .m_data ({answer_bad, answer_slot}),
      .idle   ()
  );
  wire ends = r_q && r_last_q;
  logic done_room;
  assign answer_taken = answer_valid && !ends && !job_valid;

  always_ff @(posedge clk) begin
    if (ends) reads_q[r_slot_q] <= 1'b0;
    if (r_q && r_bad_q) failed_q[r_slot_q] <= 1'b1;
    if (answer_taken) begin
      writes_q[answer_slot] <= 1'b0;
      after_q[answer_slot]  <= 1'b0;
      if (answer_bad) failed_q[answer_slot] <= 1'b1;
    end
    if (free_valid) used_q[free_slot] <= 1'b0;
    if (job_valid) begin
      used_q[job_slot]   <= 1'b1;
      reads_q[job_slot]  <= 1'b1;
      writes_q[job_slot] <= job.write;
      after_q[job_slot]  <= job.write && job.enable;
      failed_q[job_slot] <= 1'b0;
    end
    if (rst) used_q <= '0;
  end

  stream_queue #(
      .WIDTH(SLOT_W),
      .DEPTH(READS)
  ) u_done (
      .clk,
      .rst,
      .s_valid(ends ? !writes_q[r_slot_q] : answer_taken && !reads_q[answer_slot]),
      .s_ready(done_room),
      .s_data (ends ? r_slot_q : answer_slot),
      .m_valid(done_valid),
      .m_ready(done_ready),
      .m_data (done_slot),
      .idle   ()
  );
  assign done_failed = failed_q[done_slot];
  assign idle        = used_q == '0;
  assign rests       = !(asks_q || flags_q || ask_valid || write_valid || m_req.arvalid || m_req.awvalid ||
                         m_req.wvalid || r_q || answer_valid || done_valid);

`ifndef SYNTHESIS
  logic checks;
  first_reset u_first_reset (.clk, .rst, .checks);

  always_ff @(posedge clk) begin
    if (checks) begin
      assert (!job_valid || (!used_q[job_slot] && ask_ready && write_ready)) else $error("%m: more jobs than READS");
      assert (!ends || done_room) else $error("%m: more ends than fetches");
      assert (!m_rsp.bvalid || answer_ready) else $error("%m: more answers than writes");
      assert (!r_q || (used_q[r_slot_q] && reads_q[r_slot_q])) else $error("%m: data that nobody asked for");
    end
  end
`else
  wire unused = &{1'b0, ask_ready, write_ready, done_room, answer_ready};
`endif

endmodule
