// SPDX-License-Identifier: Apache-2.0
// record_builder and byte_packer as the engine connects them: from records and their data to words of the ring.
module record_path
  import capture_pkg::*;
#(
    parameter int unsigned MEM_W = 64,
    localparam int unsigned BYTES = MEM_W / 8,
    localparam int unsigned COUNT_W = $clog2(BYTES + 1),
    localparam int unsigned LANE_W = $clog2(BYTES)
) (
    input  logic               clk,
    input  logic               rst,
    input  logic               rewind,
    input  logic [LANE_W-1:0]  rewind_lane,
    input  logic               record_valid,
    output logic               record_ready,
    input  record_t            record,
    output logic               memory,
    input  logic               data_valid,
    output logic               data_ready,
    input  logic [MEM_W-1:0]   data,
    input  logic               data_last,
    input  logic               data_error,
    output logic               word_valid,    // full
    input  logic               word_ready,
    output logic [MEM_W-1:0]   word,
    output logic [COUNT_W-1:0] word_count,
    output logic               end_valid,     // a record's last byte is out
    output logic               end_good,
    output logic [LEN_W-1:0]   end_total,
    output logic               done,
    output logic               done_memory,
    output logic               idle
);

  localparam int unsigned BUILT_W = MEM_W > 8 * HEADER_BYTES ? MEM_W + 8 * HEADER_BYTES : MEM_W;
  logic built_valid, built_ready, built_last, builder_idle, packer_idle;
  logic [BUILT_W-1:0] built_data;
  logic [$clog2(BUILT_W/8+1)-1:0] built_count;

  record_builder #(.MEM_W(MEM_W)) u_builder (
      .m_valid(built_valid), .m_ready(built_ready), .m_data(built_data), .m_count(built_count), .m_last(built_last),
      .m_good(end_good), .m_total(end_total), .idle(builder_idle), .*
  );
  byte_packer #(.MEM_W(MEM_W), .IN_W(BUILT_W)) u_packer (
      .s_valid(built_valid), .s_ready(built_ready), .s_data(built_data), .s_count(built_count),
      .word_full(word_valid), .word_ready(word_valid && word_ready), .idle(packer_idle), .*
  );
  assign end_valid = built_valid && built_ready && built_last;
  assign idle      = builder_idle && packer_idle;

endmodule
