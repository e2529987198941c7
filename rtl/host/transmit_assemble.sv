// SPDX-License-Identifier: Apache-2.0
// Packs the bytes of jobs' reads, whose data come in any order and interleaved, into beats and those into cells. A job
// begins so far up in its first beat that its header ends there: the frame's first byte is in lane 0 of the second one.
// The header isn't stored; transmit_sum gets it, as all beats.
// A beat of data ends one beat of the job at most, and then the job may have a rest; for that, and for jobs whose last
// read didn't say that it was, a token goes down the pipeline in a cycle without data.
// Latency: 7 cycles from data to the cell. Throughput: a beat of data, or a token, a cycle.
// Backpressure: rready is high, but for a cycle when a token has waited for two; it is a register. Cells are reserved:
// alloc_valid is high when one is taken.
module transmit_assemble
  import transmit_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned JOBS = 64,
    parameter int unsigned CELLS = 256,
    parameter int unsigned INDEX_W = 11,  // of beats of a frame, and one more
    localparam int unsigned BYTES = DATA_W / 8,
    localparam int unsigned LANE_W = $clog2(BYTES),
    localparam int unsigned CELL_BEATS = CELL_BYTES / BYTES,
    localparam int unsigned BEAT_W = $clog2(CELL_BEATS),
    localparam int unsigned CELL_W = $clog2(CELLS),
    localparam int unsigned JOB_W = $clog2(JOBS)
) (
    input  logic               clk,
    input  logic               rst,
    input  logic               wipe,        // of wipe_job; nothing else goes on
    input  logic [  JOB_W-1:0] wipe_job,

    input  logic               note,        // of a read
    input  logic [  JOB_W-1:0] note_job,
    input  logic [BURST_W-1:0] note_slot,
    input  burst_t             note_burst,
    input  logic               token_valid,
    output logic               token_ready,
    input  logic [  JOB_W-1:0] token_job,
    input  logic [  JOB_W-1:0] came_of,     // reads of that job, modulo, whose data are here
    output logic [  BURST_W:0] came,
    output logic [  JOB_W-1:0] asked_of,
    input  logic [  BURST_W:0] asked,       // and that were asked for

    input  logic               rvalid,
    output logic               rready,
    input  logic [  JOB_W-1:0] rid,
    input  logic [ DATA_W-1:0] rdata,
    input  logic               rerror,
    input  logic               rlast,

    input  logic               alloc_valid, // cell_store
    output logic               alloc_ready,
    input  logic [ CELL_W-1:0] alloc_cell,
    output logic               link,
    output logic [ CELL_W-1:0] link_cell,
    output logic [ CELL_W-1:0] link_next,
    output logic               write,
    output logic [ CELL_W-1:0] write_cell,
    output logic [ BEAT_W-1:0] write_beat,

    output logic               beat_valid,  // of a job, in order: to write, and to sum
    output logic               beat_header, // the header, in the upper lanes
    output logic [INDEX_W-1:0] beat_index,  // in the frame
    output logic [   LANE_W:0] beat_lanes,
    output logic [ DATA_W-1:0] beat_data,
    output logic               done,        // beat_job has no more; beat_index beats were before this one, if it is one
    output logic               done_error,
    output logic [  JOB_W-1:0] beat_job,

    input  logic               record_en,
    input  logic [  JOB_W-1:0] record_job,
    output logic [ CELL_W-1:0] record_cell, // the first one, 1 cycle later
    output logic [INDEX_W-1:0] record_beats,
    output logic               record_error,
    output logic               idle         // nothing under way in here; jobs may be
);

  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512) begin : gen_bad_data_w
    $fatal(1, "transmit_assemble: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end

  localparam logic [LANE_W-1:0] START = LANE_W'(BYTES - host_pkg::HEADER_BYTES);

  // ---------------------------------------------------------------------------------------------- tokens, data come in
  // Each job's token waits for the data of its reads. One whose data aren't here goes to the end of the queue.
  logic push_valid, push_ready, wait_valid, rest_4;
  logic [JOB_W-1:0] push_job, wait_job, job_4;
  logic looked_q, complete_q, stall_q, waits_idle;
  logic [BURST_W:0] wait_came;
  logic valid_0, token_0, last_0, error_0;
  logic [JOB_W-1:0] job_0;
  logic [DATA_W-1:0] data_0;
  wire insert = looked_q && complete_q && (stall_q || !rvalid);
  wire back = looked_q && !complete_q && !rest_4;

  assign asked_of    = wait_job;
  assign push_valid  = rest_4 || back || token_valid;
  assign push_job    = rest_4 ? job_4 : back ? wait_job : token_job;
  assign token_ready = !rest_4 && !back && push_ready;
  assign rready      = !stall_q;

  stream_fifo #(
      .WIDTH(JOB_W),
      .DEPTH(JOBS + 2)
  ) u_tokens (
      .clk,
      .rst,
      .s_valid(push_valid),
      .s_ready(push_ready),
      .s_data (push_job),
      .m_valid(wait_valid),
      .m_ready(insert || back),
      .m_data (wait_job),
      .count  (),
      .idle   (waits_idle)
  );

  always_ff @(posedge clk) begin
    looked_q   <= wait_valid && !insert && !back;
    complete_q <= asked == wait_came;
    stall_q    <= looked_q && complete_q && !insert;
    valid_0    <= (rvalid && rready) || insert;
    token_0    <= insert;
    job_0      <= insert ? wait_job : rid;
    last_0     <= rlast;
    error_0    <= rerror;
    if (rst) begin
      looked_q <= 1'b0;
      stall_q  <= 1'b0;
      valid_0  <= 1'b0;
    end
  end

  logic valid_1, valid_2, valid_3;
  logic [DATA_W-1:0] data_1, data_2, data_3, data_4;
  always_ff @(posedge clk) begin
    if ((rvalid && rready) || valid_0 || valid_1 || valid_2 || valid_3) begin
      {data_4, data_3, data_2, data_1, data_0} <= {data_3, data_2, data_1, data_0, rdata};
    end
  end

  // --------------------------------------------------------------------------- stages 0 and 1: which read they are of
  logic [BURST_W:0] read;
  logic begun;
  logic token_1, last_1, error_1, begun_1, token_2, last_2, error_2, begun_2;
  logic [JOB_W-1:0] job_1, job_2;
  burst_t burst, burst_2;
  wire came_wr = (valid_0 && !token_0) || wipe;
  wire [JOB_W-1:0] came_at = wipe ? wipe_job : job_0;
  wire [BURST_W+1:0] came_data = wipe ? '0 : {read + (BURST_W + 1)'(last_0), !last_0};

  for (genvar i = 0; i < 3; i++) begin : gen_came
    logic [BURST_W:0] found;
    // verilator lint_off UNUSEDSIGNAL
    logic inside_burst;
    // verilator lint_on UNUSEDSIGNAL
    ram_dist #(
        .WIDTH(BURST_W + 2),
        .DEPTH(JOBS)
    ) u_came (
        .clk,
        .wr_en  (came_wr),
        .wr_addr(came_at),
        .wr_data(came_data),
        .rd_addr(i == 0 ? job_0 : i == 1 ? came_of : wait_job),
        .rd_data({found, inside_burst})
    );
  end
  assign read      = gen_came[0].found;
  assign begun     = gen_came[0].inside_burst;
  assign came      = gen_came[1].found;
  assign wait_came = gen_came[2].found;

  ram_fit #(
      .WIDTH($bits(burst_t)),
      .DEPTH(JOBS * BURSTS)
  ) u_bursts (
      .clk,
      .wr_en  (note),
      .wr_addr({note_job, note_slot}),
      .wr_data(note_burst),
      .rd_en  (1'b1),
      .rd_addr({job_0, read[BURST_W-1:0]}),
      .rd_data(burst)
  );

  always_ff @(posedge clk) begin
    valid_1 <= valid_0;
    token_1 <= token_0;
    job_1   <= job_0;
    last_1  <= last_0;
    error_1 <= error_0;
    begun_1 <= begun;
    valid_2 <= valid_1;
    token_2 <= token_1;
    job_2   <= job_1;
    last_2  <= last_1;
    error_2 <= error_1;
    begun_2 <= begun_1;
    burst_2 <= burst;
    if (rst) begin
      valid_1 <= 1'b0;
      valid_2 <= 1'b0;
    end
  end

  // --------------------------------------------------------------------------- stage 2: which of their bytes are meant
  logic error_3, final_3, same_3;
  logic [JOB_W-1:0] job_3;
  logic [LANE_W-1:0] first_3;
  logic [LANE_W:0] count_3;
  wire [LANE_W-1:0] first_lane = begun_2 ? '0 : LANE_W'(burst_2.first_lane);
  wire [LANE_W-1:0] last_lane = last_2 ? LANE_W'(burst_2.last_lane) : '1;

  always_ff @(posedge clk) begin
    valid_3 <= valid_2;
    job_3   <= job_2;
    error_3 <= error_2 && !token_2;
    final_3 <= token_2 || (last_2 && burst_2.last);
    first_3 <= first_lane;
    count_3 <= token_2 ? '0 : (LANE_W + 1)'(last_lane) - (LANE_W + 1)'(first_lane) + 1'b1;
    same_3  <= valid_3 && job_3 == job_2;
    if (rst) valid_3 <= 1'b0;
  end

  // --------------------------------------------------------------------------------- stage 3: where they go in the job
  typedef struct packed {
    logic               header;  // is not complete
    logic               error;
    logic [INDEX_W-1:0] index;
    logic [LANE_W-1:0]  fill;    // lanes of the beat in the making
  } place_t;
  localparam place_t BEGIN = '{header: 1'b1, error: 1'b0, index: '0, fill: START};

  // A place is read a stage before it is used: by then, the beat before may have changed it.
  place_t found, found_3, place_3, place_4, written, written_q;
  logic valid_4, full_4, done_4, emit_4;
  logic [LANE_W-1:0] turn_4;
  logic [LANE_W:0] lanes_4;
  assign place_3 = same_3 ? written_q : found_3;
  wire [LANE_W:0] sum_3 = {1'b0, place_3.fill} + count_3;
  wire full_3 = sum_3[LANE_W];
  wire rest_of_beat_3 = sum_3[LANE_W-1:0] != '0;
  wire done_3 = final_3 && !(full_3 && rest_of_beat_3);
  wire place_t placed_3 = '{header: place_3.header && !full_3, error: place_3.error || error_3,
                            index: full_3 && !place_3.header ? place_3.index + 1'b1 : place_3.index,
                            fill: sum_3[LANE_W-1:0]};

  assign written = done_3 ? BEGIN : placed_3;

  ram_dist #(
      .WIDTH($bits(place_t)),
      .DEPTH(JOBS)
  ) u_places (
      .clk,
      .wr_en  (valid_3 || wipe),
      .wr_addr(wipe ? wipe_job : job_3),
      .wr_data(wipe ? BEGIN : written),
      .rd_addr(job_2),
      .rd_data(found)
  );

  always_ff @(posedge clk) begin
    found_3       <= found;
    written_q     <= written;
    valid_4       <= valid_3;
    rest_4        <= valid_3 && final_3 && full_3 && rest_of_beat_3;
    job_4         <= job_3;
    place_4       <= place_3;
    place_4.error <= place_3.error || error_3;
    full_4        <= full_3;
    emit_4        <= valid_3 && (full_3 || (final_3 && rest_of_beat_3 && !place_3.header));
    done_4        <= valid_3 && done_3;
    turn_4        <= place_3.fill - first_3;
    lanes_4       <= full_3 ? (LANE_W + 1)'(BYTES) : {1'b0, sum_3[LANE_W-1:0]};
    if (rst) begin
      valid_4 <= 1'b0;
      emit_4  <= 1'b0;
      rest_4  <= 1'b0;
      done_4  <= 1'b0;
    end
  end

  // ------------------------------------------------------------------ stages 4 and 5: bytes to their lanes, and a cell
  localparam logic [LANE_W-1:0] FINE = LANE_W'(2 ** (LANE_W / 2) - 1);  // turned by in stage 4

  logic valid_5, full_5, emit_5, done_5, near_5, far_5, valid_6, full_6, emit_6, done_6, same_6;
  place_t place_5, place_6;
  logic [JOB_W-1:0] job_5, job_6;
  logic [LANE_W-1:0] turn_5;
  logic [LANE_W:0] lanes_5, lanes_6;
  logic [DATA_W-1:0] data_5, data_6, old, old_6, kept_q;
  logic [CELL_W-1:0] cell_5, cell_6, current;
  wire store_4 = emit_4 && !place_4.header;
  wire new_cell = place_4.index[BEAT_W-1:0] == '0;

  function automatic logic [DATA_W-1:0] turn(logic [DATA_W-1:0] data, logic [LANE_W-1:0] places);
    // verilator lint_off UNUSEDSIGNAL
    logic [2*DATA_W-1:0] twice;
    // verilator lint_on UNUSEDSIGNAL
    twice = {data, data} << {places, 3'b000};
    return twice[2*DATA_W-1:DATA_W];
  endfunction

  assign alloc_ready = store_4 && new_cell;
  assign link        = store_4 && new_cell && place_4.index != '0;
  assign link_cell   = current;
  assign link_next   = alloc_cell;

  ram_dist #(
      .WIDTH(CELL_W),
      .DEPTH(JOBS)
  ) u_cells (
      .clk,
      .wr_en  (alloc_ready),
      .wr_addr(job_4),
      .wr_data(alloc_cell),
      .rd_addr(job_4),
      .rd_data(current)
  );

  always_ff @(posedge clk) begin
    valid_5 <= valid_4;
    job_5   <= job_4;
    place_5 <= place_4;
    full_5  <= full_4;
    emit_5  <= emit_4;
    done_5  <= done_4;
    lanes_5 <= lanes_4;
    turn_5  <= turn_4;
    if (valid_4) data_5 <= turn(data_4, turn_4 & FINE);
    cell_5  <= new_cell ? alloc_cell : current;
    near_5  <= valid_5 && job_5 == job_4;
    far_5   <= valid_6 && job_6 == job_4;
    valid_6 <= valid_5;
    job_6   <= job_5;
    place_6 <= place_5;
    full_6  <= full_5;
    emit_6  <= emit_5;
    done_6  <= done_5;
    lanes_6 <= lanes_5;
    if (valid_5) data_6 <= turn(data_5, turn_5 & ~FINE);
    cell_6  <= cell_5;
    same_6  <= near_5;
    if (valid_5) old_6 <= far_5 ? kept_q : old;
    if (rst) begin
      valid_5 <= 1'b0;
      emit_5  <= 1'b0;
      done_5  <= 1'b0;
      valid_6 <= 1'b0;
      emit_6  <= 1'b0;
      done_6  <= 1'b0;
    end
  end

  // ----------------------------------------------------------------- stage 6: together with the bytes that are there
  // Those of the two beats before aren't read yet.
  logic [DATA_W-1:0] merged;
  wire [DATA_W-1:0] kept = full_6 ? data_6 : merged;

  always_comb begin
    merged = data_6;
    if (valid_6) begin
      automatic logic [DATA_W-1:0] beyond = {DATA_W{1'b1}} << {place_6.fill, 3'b000};
      merged = (data_6 & beyond) | ((same_6 ? kept_q : old_6) & ~beyond);
    end
  end

  ram_fit #(
      .WIDTH(DATA_W),
      .DEPTH(JOBS)
  ) u_kept (
      .clk,
      .wr_en  (valid_6),
      .wr_addr(job_6),
      .wr_data(kept),
      .rd_en  (valid_4),
      .rd_addr(job_4),
      .rd_data(old)
  );

  always_ff @(posedge clk) begin
    if (valid_6) kept_q <= kept;
    beat_valid  <= emit_6;
    beat_header <= place_6.header;
    beat_index  <= place_6.index;
    beat_lanes  <= lanes_6;
    if (emit_6) beat_data <= merged;
    beat_job    <= job_6;
    done        <= done_6;
    done_error  <= place_6.error;
    write       <= emit_6 && !place_6.header;
    write_cell  <= cell_6;
    write_beat  <= place_6.index[BEAT_W-1:0];
    if (rst) begin
      beat_valid <= 1'b0;
      done       <= 1'b0;
      write      <= 1'b0;
    end
  end

  ram_fit #(
      .WIDTH(CELL_W),
      .DEPTH(JOBS)
  ) u_first_cells (
      .clk,
      .wr_en  (alloc_ready && place_4.index == '0),
      .wr_addr(job_4),
      .wr_data(alloc_cell),
      .rd_en  (record_en),
      .rd_addr(record_job),
      .rd_data(record_cell)
  );

  ram_fit #(
      .WIDTH(INDEX_W + 1),
      .DEPTH(JOBS)
  ) u_results (
      .clk,
      .wr_en  (done),
      .wr_addr(beat_job),
      .wr_data({done_error, beat_index + INDEX_W'(write)}),
      .rd_en  (record_en),
      .rd_addr(record_job),
      .rd_data({record_error, record_beats})
  );

  assign idle = waits_idle && !valid_0 && !valid_1 && !valid_2 && !valid_3 && !valid_4 && !valid_5 && !valid_6 &&
      !beat_valid && !done;

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst) begin
      assert (!alloc_ready || alloc_valid) else $error("%m: a cell is taken that is not there");
      assert (!rest_4 || push_ready) else $error("%m: a job has two tokens");
      assert (!back || push_ready) else $error("%m: a token is lost");
    end
  end
`else
  wire unused = &{1'b0, alloc_valid};
`endif

endmodule
