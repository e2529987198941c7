// SPDX-License-Identifier: Apache-2.0
// Book-keeping of a filter core's packets, which stay in order of arrival: where each lies in packet memory, which one
// is to be started next, what was found, and which rows may be written again.
//
// Packets are numbered as they arrive (ID_W bits). A packet's life: its rows are written, it is listed (its descriptor
// is written), offered to the threads as `job`, finished (its verdict comes in, in any order), offered to the card as
// `finished` (in order), popped, and, if a filter accepted it, its rows and its number are kept until `release_en`.
// A job follows 4 cycles after the last beat at the earliest; after a job or a pop the next one follows in 4 to 6
// cycles.
module bpf_queue
  import bpf_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned ROWS = 2048,
    parameter int unsigned MAX_FRAME = 65600,
    localparam int unsigned ADDR_W = $clog2(ROWS)
) (
    input  logic              clk,
    input  logic              rst,
    input  logic              odd,           // every second cycle

    // Arriving frame
    output logic              in_ready,      // there is room for a frame of any length
    input  logic              in_valid,
    input  logic              in_last,
    input  packet_t           in_packet,     // valid with in_last
    output logic              write_en,
    output logic [ADDR_W-1:0] write_row,

    // Threads
    output logic              job_valid,
    input  logic              job_ready,
    output packet_t           job_packet,
    output logic [ID_W-1:0]   job_id,
    output logic [ADDR_W-1:0] job_row,
    input  logic              verdict_valid,
    input  logic [ID_W-1:0]   verdict_id,
    input  verdict_t          verdict,

    // Card
    output logic              finished_valid,
    output finished_t         finished,
    input  logic              pop,
    input  logic              release_en,    // the oldest kept packet's rows, which end before release_row, are free
    input  logic [ADDR_W-1:0] release_row,
    input  logic [ID_W-1:0]   release_id,    // and so is its number
    output logic              idle           // no packet inside, and room for one
);

  if (DATA_W < 16 || DATA_W > 1024 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "bpf_queue: DATA_W must be a power of two from 16 to 1024, not %0d", DATA_W);
  end

  localparam int unsigned BYTES = DATA_W / 8;
  localparam int unsigned MAX_ROWS = (MAX_FRAME + BYTES - 1) / BYTES;
  localparam int unsigned PACKETS = 1 << ID_W;

  if (MAX_FRAME < 1 || MAX_FRAME >= (1 << LEN_W)) begin : gen_bad_frame
    $fatal(1, "bpf_queue: MAX_FRAME must be 1 to %0d bytes, not %0d", (1 << LEN_W) - 1, MAX_FRAME);
  end
  if (ROWS != (1 << ADDR_W)) begin : gen_bad_rows
    $fatal(1, "bpf_queue: ROWS must be a power of two, not %0d", ROWS);
  end
  if (3 * MAX_ROWS > 2 * ROWS || ROWS > (1 << ROW_W)) begin : gen_bad_size
    $fatal(1, "bpf_queue: ROWS must be 1.5 times the %0d of MAX_FRAME at least, and at most %0d, not %0d", MAX_ROWS,
           1 << ROW_W, ROWS);
  end

  function automatic logic [ADDR_W-1:0] rows_of(packet_t packet);
    return packet.bad ? '0 : ADDR_W'(({1'b0, packet.len} + (LEN_W + 1)'(BYTES - 1)) / (LEN_W + 1)'(BYTES));
  endfunction

  // Arrival
  logic [ADDR_W-1:0] frame_row_q, write_row_q;
  logic [ID_W-1:0] list_id_q;
  wire list = in_valid && in_last;
  wire empty_beat = in_last && in_packet.len == 0;

  assign write_en  = in_valid;
  assign write_row = write_row_q;

  always_ff @(posedge clk) begin
    if (in_valid) begin
      write_row_q <= write_row_q + !empty_beat;
      if (in_last) begin
        write_row_q <= in_packet.bad ? frame_row_q : write_row_q + !empty_beat;
        frame_row_q <= in_packet.bad ? frame_row_q : write_row_q + !empty_beat;
        list_id_q   <= list_id_q + 1'b1;
      end
    end
    if (rst) begin
      write_row_q <= '0;
      frame_row_q <= '0;
      list_id_q   <= '0;
    end
  end

  // Descriptors are read in turn for the threads (odd cycles) and for the card (even cycles); what is read comes two
  // cycles later, so in a cycle of the same kind.
  logic [ID_W-1:0] start_id_q, finish_id_q;
  packet_t packet_read;

  ram_sdp #(
      .WIDTH($bits(packet_t)),
      .DEPTH(PACKETS),
      .OUT_REG(1'b1)
  ) u_packets (
      .clk,
      .wr_en  (list),
      .wr_addr(list_id_q),
      .wr_data(in_packet),
      .rd_en  (1'b1),
      .rd_addr(odd ? start_id_q : finish_id_q),
      .rd_data(packet_read)
  );

  // Start. A packet's rows are added up in the cycle after it has become the job.
  logic listed_q, job_loaded_q;
  logic [ADDR_W-1:0] start_row_q;
  wire load_job = odd && listed_q && !job_valid;

  always_ff @(posedge clk) begin
    if (odd) listed_q <= start_id_q != list_id_q && !load_job;
    if (job_ready) job_valid <= 1'b0;
    if (load_job) begin
      job_valid  <= 1'b1;
      job_packet <= packet_read;
      job_id     <= start_id_q;
      job_row    <= start_row_q;
      start_id_q <= start_id_q + 1'b1;
    end
    job_loaded_q <= load_job;
    if (job_loaded_q) start_row_q <= start_row_q + rows_of(job_packet);
    if (rst) begin
      job_valid    <= 1'b0;
      job_loaded_q <= 1'b0;
      listed_q     <= 1'b0;
      start_id_q   <= '0;
      start_row_q  <= '0;
    end
  end

  // Beside a verdict stands the lap of its number, so that a verdict of this lap is told from an old one. After reset
  // all laps are wiped, which takes PACKETS cycles. They have a RAM of their own: with them, verdicts would not fit
  // 36 bits.
  logic [ID_W:0] wipe_at_q;
  logic wipe, lap_q, stale_q1, stale_q2;
  logic [ID_W-1:0] verdict_addr;
  verdict_t verdict_read;
  logic start_lap_q, lap_now, lap_now_q, lap_read;
  assign wipe = !wipe_at_q[ID_W];
  assign verdict_addr = wipe ? wipe_at_q[ID_W-1:0] : verdict_id;

  // A packet still in a thread belongs to the lap of start_id_q, or to the one before if its number is not below it.
  wire verdict_lap = start_lap_q ^ (verdict_id >= start_id_q);

  ram_sdp #(
      .WIDTH($bits(verdict_t)),
      .DEPTH(PACKETS),
      .OUT_REG(1'b1)
  ) u_verdicts (
      .clk,
      .wr_en  (verdict_valid),
      .wr_addr(verdict_id),
      .wr_data(verdict),
      .rd_en  (1'b1),
      .rd_addr(finish_id_q),
      .rd_data(verdict_read)
  );
  ram_dist #(
      .WIDTH(1),
      .DEPTH(PACKETS)
  ) u_laps (
      .clk,
      .wr_en  (wipe || verdict_valid),
      .wr_addr(verdict_addr),
      .wr_data(!wipe && verdict_lap),
      .rd_addr(finish_id_q),
      .rd_data(lap_now)
  );
  always_ff @(posedge clk) begin
    lap_now_q <= lap_now;
    lap_read  <= lap_now_q;
  end

  // Finish
  logic [ADDR_W-1:0] finish_row_q, retired_row_q, free_row_q, used_rows_q;
  logic [ID_W-1:0] retired_id_q, free_id_q, used_ids_q;
  logic [ID_W:0] kept_q;
  logic finished_loaded_q, popped_q;
  wire load_finished = !odd && !finished_valid && !stale_q1 && !stale_q2 && lap_read == lap_q;

  always_ff @(posedge clk) begin
    if (wipe) wipe_at_q <= wipe_at_q + 1'b1;
    if (load_job && (&start_id_q)) start_lap_q <= !start_lap_q;

    // What was read is of no use if it was being written, or if the number has changed since.
    stale_q1 <= verdict_valid && verdict_id == finish_id_q || load_finished || wipe;
    stale_q2 <= stale_q1;

    if (pop) finished_valid <= 1'b0;
    if (load_finished) begin
      finished_valid   <= 1'b1;
      finished.pkt     <= packet_read;
      finished.verdict <= verdict_read;
      finished.id      <= finish_id_q;
      finished.row     <= ROW_W'(finish_row_q);
      finish_id_q      <= finish_id_q + 1'b1;
      lap_q            <= lap_q ^ (&finish_id_q);
    end

    finished_loaded_q <= load_finished;
    if (finished_loaded_q) finish_row_q <= finish_row_q + rows_of(finished.pkt);

    // Rows and numbers are freed in order: up to the oldest kept packet, or all that were popped.
    popped_q <= pop;
    if (popped_q) retired_row_q <= finish_row_q;
    if (pop) retired_id_q <= finish_id_q;
    if (pop || release_en) begin
      kept_q <= kept_q + (ID_W + 1)'(pop && finished.verdict.matched != 0) - (ID_W + 1)'(release_en);
    end
    if (release_en) begin
      free_row_q <= release_row;
      free_id_q  <= release_id + 1'b1;
    end else if (kept_q == 0) begin
      free_row_q <= retired_row_q;
      free_id_q  <= retired_id_q;
    end

    used_rows_q <= write_row_q - free_row_q;
    used_ids_q  <= list_id_q - free_id_q;
    in_ready    <= !wipe && used_rows_q < ADDR_W'(ROWS - MAX_ROWS) && !(&used_ids_q[ID_W-1:1]);

    if (rst) begin
      wipe_at_q      <= '0;
      lap_q          <= 1'b1;
      start_lap_q    <= 1'b1;
      stale_q1       <= 1'b1;
      finished_valid <= 1'b0;
      popped_q       <= 1'b0;
      finished_loaded_q <= 1'b0;
      finish_id_q    <= '0;
      finish_row_q   <= '0;
      retired_row_q  <= '0;
      free_row_q     <= '0;
      retired_id_q   <= '0;
      free_id_q      <= '0;
      kept_q         <= '0;
      in_ready       <= 1'b0;
    end
  end

  assign idle = in_ready && list_id_q == free_id_q && !in_valid;

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst && list) assert (list_id_q + 1'b1 != free_id_q) else $fatal(1,
        "bpf_queue: a packet that there is no room for");
    if (!rst && in_valid) assert (32'(ADDR_W'(write_row_q - frame_row_q)) <= MAX_ROWS)
    else $fatal(1, "bpf_queue: more beats of a frame than there is room for");
    if (!rst && list && !in_packet.bad) assert (write_row_q + !empty_beat - frame_row_q == rows_of(in_packet))
    else $fatal(1, "bpf_queue: a packet has other beats than its length says");
    if (!rst && pop) assert (finished_valid) else $fatal(1, "bpf_queue: nothing to pop");
    if (!rst && release_en) assert (kept_q != 0) else $fatal(1, "bpf_queue: nothing to release");
  end
`endif

endmodule
