// SPDX-License-Identifier: Apache-2.0
// How long pcie_read's requests have waited: a walk over the tags, one a cycle. A tag that is issued meanwhile is left
// out.
// Latency: 5 cycles from a look at a tag to what is said of it.
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

  // What is known of a tag goes down these registers: the look, its stamp twice, its age, what is said of it.
  localparam int unsigned STAGES = 4;
  logic [TAG_W-1:0] tag_q[STAGES+1];
  logic [STAGES:0] known_q;
  logic [AGE_W-1:0] now_q, stamp, stamp_q, age_q;

  ram_fit #(
      .WIDTH(AGE_W),
      .DEPTH(TAGS)
  ) u_stamps (
      .clk,
      .wr_en  (issue),
      .wr_addr(tag),
      .wr_data(now_q),
      .rd_en  (1'b1),
      .rd_addr(tag_q[0]),
      .rd_data(stamp)
  );

  always_ff @(posedge clk) begin
    now_q      <= time_ns[10+:AGE_W];
    stamp_q    <= stamp;
    age_q      <= now_q - stamp_q;
    late       <= !age_q[AGE_W-1] && age_q > AGE_W'(timeout);  // unless time was set back
    later      <= !age_q[AGE_W-1] && age_q > AGE_W'({timeout, 1'b1});
    known_q[0] <= timeout != 0;
    tag_q[0]   <= tag_q[0] + 1'b1;
    for (int unsigned n = 0; n < STAGES; n++) begin
      known_q[n+1] <= known_q[n] && !(issue && tag == tag_q[n]);
      tag_q[n+1]   <= tag_q[n];
    end
    if (rst) begin
      tag_q[0] <= '0;
      known_q  <= '0;
    end
  end
  assign judged     = known_q[STAGES];
  assign judged_tag = tag_q[STAGES];

endmodule
