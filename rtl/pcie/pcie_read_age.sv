// SPDX-License-Identifier: Apache-2.0
// How long pcie_read's requests have waited: a walk over the tags, one a cycle. A tag that is issued meanwhile is left
// out.
// Latency: 3 cycles from a look at a tag to what is said of it.
module pcie_read_age #(
    parameter int unsigned TAGS = 64,
    localparam int unsigned TAG_W = $clog2(TAGS)
) (
    input  logic             clk,
    input  logic             rst,
    // Of the time only what counts.
    // verilator lint_off UNUSEDSIGNAL
    input  logic [63:0]      time_ns,
    // verilator lint_on UNUSEDSIGNAL
    input  logic [22:0]      timeout,     // in 1024 ns; 0: never

    input  logic             issue,       // a request is sent
    input  logic [TAG_W-1:0] tag,
    output logic             judged,
    output logic [TAG_W-1:0] judged_tag,
    output logic             late,        // it was issued longer ago than `timeout`
    output logic             later        // than twice that
);

  localparam int unsigned AGE_W = 26;

  if (TAGS < 4 || TAGS > 256 || 2 ** TAG_W != TAGS) begin : gen_bad_tags
    $fatal(1, "pcie_read_age: TAGS must be a power of two from 4 to 256, not %0d", TAGS);
  end

  logic [TAG_W-1:0] walk_q, aged_tag_q;
  logic aged_q;
  logic [AGE_W-1:0] now_q, stamp;
  wire [AGE_W-1:0] age = now_q - stamp;

  ram_fit #(
      .WIDTH(AGE_W),
      .DEPTH(TAGS)
  ) u_stamps (
      .clk,
      .wr_en  (issue),
      .wr_addr(tag),
      .wr_data(now_q),
      .rd_en  (1'b1),
      .rd_addr(walk_q),
      .rd_data(stamp)
  );

  always_ff @(posedge clk) begin
    now_q        <= time_ns[10+:AGE_W];
    walk_q       <= walk_q + 1'b1;
    aged_tag_q   <= walk_q;
    judged_tag   <= aged_tag_q;
    aged_q       <= timeout != 0 && !(issue && tag == walk_q);
    judged       <= aged_q && !(issue && tag == aged_tag_q);
    late         <= !age[AGE_W-1] && age > AGE_W'(timeout);  // unless time was set back
    later        <= !age[AGE_W-1] && age > AGE_W'({timeout, 1'b1});
    if (rst) begin
      walk_q   <= '0;
      aged_q   <= 1'b0;
      judged   <= 1'b0;
    end
  end

endmodule
