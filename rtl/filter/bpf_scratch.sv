// SPDX-License-Identifier: Apache-2.0
// The scratch memory of a filter core: 16 words for each thread. A word that the running program has not written is 0.
// A read in stage 7 gives its word in stage 9, and 0 where there was no read.
module bpf_scratch
  import bpf_pkg::*;
(
    input  logic                       clk,
    input  logic                       active,   // the thread executes an instruction
    input  logic                       first,    // the first one of its program
    input  logic [$clog2(THREADS)-1:0] thread,
    input  logic [3:0]                 index,
    input  logic                       write,
    input  logic [31:0]                write_data,
    input  logic                       read,
    output logic [31:0]                read_data
);

  logic [15:0] stored, written;
  assign written = first ? '0 : stored;

  ram_dist #(
      .WIDTH(16),
      .DEPTH(THREADS)
  ) u_written (
      .clk,
      .wr_en  (active),
      .wr_addr(thread),
      .wr_data(write ? written | (16'b1 << index) : written),
      .rd_addr(thread),
      .rd_data(stored)
  );

  logic [31:0] word8;
  ram_sdp #(
      .WIDTH(32),
      .DEPTH(THREADS * 16)
  ) u_words (
      .clk,
      .wr_en  (write),
      .wr_addr({thread, index}),
      .wr_data(write_data),
      .rd_en  (read),
      .rd_addr({thread, index}),
      .rd_data(word8)
  );

  logic valid8;
  always_ff @(posedge clk) begin
    valid8    <= read && written[index];
    read_data <= word8;
    if (!valid8) read_data <= '0;
  end

endmodule
