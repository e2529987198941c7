// SPDX-License-Identifier: Apache-2.0
// Reads the virtio-net header of each job, and sums its frame in ones' complement from the place on that the header
// names. Words begin at even bytes of the frame: for a sum that begins at an odd one, its bytes change places.
// Latency: 6 cycles from a beat to done. Throughput: a beat a cycle of any job. Never stalls.
module transmit_sum
  import transmit_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned JOBS = 64,
    parameter int unsigned INDEX_W = 11,
    localparam int unsigned BYTES = DATA_W / 8,
    localparam int unsigned LANE_W = $clog2(BYTES),
    localparam int unsigned JOB_W = $clog2(JOBS)
) (
    input  logic               clk,
    input  logic               rst,
    input  logic               s_valid,       // a beat
    input  logic               s_done,        // the job's end, with its last beat or without one
    input  logic [  JOB_W-1:0] s_job,
    input  logic               s_header,
    input  logic [INDEX_W-1:0] s_index,
    input  logic [   LANE_W:0] s_lanes,
    input  logic [ DATA_W-1:0] s_data,

    output logic               done,
    output logic [  JOB_W-1:0] done_job,
    input  logic               record_en,
    input  logic [  JOB_W-1:0] record_job,
    output header_t            record_header, // 1 cycle later
    output logic [       31:0] record_sum,    // of up to 32,800 words
    output logic               idle
);

  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512) begin : gen_bad_data_w
    $fatal(1, "transmit_sum: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end

  // ------------------------------------------------------------------------------------------ stage 0: header, place
  // verilator lint_off UNUSEDSIGNAL
  host_pkg::net_header_t net;
  // verilator lint_on UNUSEDSIGNAL
  assign net = s_data[DATA_W-1-:$bits(host_pkg::net_header_t)];
  wire gso_v6 = net.gso_type[6:0] == host_pkg::GSO_TCPV6;
  wire header_t header = '{segment: net.gso_type != '0, tcp: gso_v6 || net.gso_type[6:0] == host_pkg::GSO_TCPV4,
                           v6: gso_v6, segment_size: net.gso_size, needs_sum: net.flags[host_pkg::NEEDS_CSUM],
                           sum_start: net.csum_start, sum_offset: net.csum_offset};
  wire header_wr = s_valid && s_header;
  logic [15:0] start;

  ram_fit #(
      .WIDTH($bits(header_t)),
      .DEPTH(JOBS)
  ) u_headers (
      .clk,
      .wr_en  (header_wr),
      .wr_addr(s_job),
      .wr_data(header),
      .rd_en  (record_en),
      .rd_addr(record_job),
      .rd_data(record_header)
  );

  ram_dist #(
      .WIDTH(16),
      .DEPTH(JOBS)
  ) u_starts (
      .clk,
      .wr_en  (header_wr),
      .wr_addr(s_job),
      .wr_data(header.sum_start),
      .rd_addr(s_job),
      .rd_data(start)
  );

  logic valid_0, done_0, first_0;
  logic [JOB_W-1:0] job_0;
  logic [INDEX_W-1:0] index_0;
  logic [15:0] start_0;
  logic [LANE_W:0] lanes_0;
  logic [DATA_W-1:0] data_0;

  always_ff @(posedge clk) begin
    valid_0 <= s_valid && !s_header;
    done_0  <= s_done;
    job_0   <= s_job;
    first_0 <= s_index == '0;
    index_0 <= s_index;
    start_0 <= start;
    lanes_0 <= s_lanes;
    if (rst) begin
      valid_0 <= 1'b0;
      done_0  <= 1'b0;
    end
  end

  // ------------------------------------------------------------------------ stages 1 and 2: which of its bytes count
  logic valid_1, done_1, first_1, none_1, some_1, valid_2, done_2, first_2;
  logic [JOB_W-1:0] job_1, job_2;
  logic [LANE_W-1:0] from_1;
  logic [LANE_W:0] lanes_1;
  logic [DATA_W-1:0] data_1, data_2;
  logic [BYTES-1:0] counts_2;
  wire [15:0] start_beat = 16'(start_0[15:LANE_W]);

  always_ff @(posedge clk) begin
    valid_1 <= valid_0;
    done_1  <= done_0;
    first_1 <= first_0;
    job_1   <= job_0;
    none_1  <= 16'(index_0) < start_beat;
    some_1  <= 16'(index_0) == start_beat;
    from_1  <= start_0[LANE_W-1:0];
    lanes_1 <= lanes_0;
    valid_2 <= valid_1;
    done_2  <= done_1;
    first_2 <= first_1;
    job_2   <= job_1;
    if (s_valid || valid_0 || valid_1) {data_2, data_1, data_0} <= {data_1, data_0, s_data};
    if (valid_1) begin
      counts_2 <= none_1 ? '0 : ({BYTES{1'b1}} << (some_1 ? from_1 : '0)) & ~({BYTES{1'b1}} << lanes_1);
    end
    if (rst) begin
      valid_1 <= 1'b0;
      done_1  <= 1'b0;
      valid_2 <= 1'b0;
      done_2  <= 1'b0;
    end
  end

  // ------------------------------------------------------------- stages 3 and 4: the beat's words, and the job's sum
  // It is read a stage before it is added to: by then, the beat before may have changed it.
  logic valid_3, done_3, first_3, valid_4, done_4, same_4;
  logic [JOB_W-1:0] job_3, job_4;
  logic [21:0] sum_4;
  logic [31:0] earlier, earlier_4, found, written_q;

  word_sum #(
      .DATA_W(DATA_W)
  ) u_words (
      .clk,
      .valid (valid_2),
      .data  (data_2),
      .counts(counts_2),
      .sum   (sum_4)
  );

  wire [31:0] sum = (same_4 ? written_q : earlier_4) + 32'(sum_4);

  always_ff @(posedge clk) begin
    valid_3   <= valid_2;
    done_3    <= done_2;
    first_3   <= first_2;
    job_3     <= job_2;
    valid_4   <= valid_3;
    done_4    <= done_3;
    job_4     <= job_3;
    earlier_4 <= first_3 ? '0 : earlier;
    same_4    <= valid_4 && job_4 == job_3 && !first_3;
    written_q <= sum;
    if (rst) begin
      valid_3 <= 1'b0;
      done_3  <= 1'b0;
      valid_4 <= 1'b0;
      done_4  <= 1'b0;
    end
  end

  for (genvar i = 0; i < 2; i++) begin : gen_sums
    logic [31:0] word;
    ram_dist #(
        .WIDTH(32),
        .DEPTH(JOBS)
    ) u_sums (
        .clk,
        .wr_en  (valid_4),
        .wr_addr(job_4),
        .wr_data(sum),
        .rd_addr(i == 0 ? job_3 : record_job),
        .rd_data(word)
    );
  end
  assign earlier = gen_sums[0].word;
  assign found   = gen_sums[1].word;

  always_ff @(posedge clk) begin
    if (record_en) record_sum <= found;
    done     <= done_4;
    done_job <= job_4;
    if (rst) done <= 1'b0;
  end

  assign idle = !done_0 && !done_1 && !done_2 && !done_3 && !done_4 && !done;

endmodule
