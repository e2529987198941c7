// SPDX-License-Identifier: Apache-2.0
// A packet's action set. It runs in the order of places, which is that of OpenFlow (1.3.5, 5.10). A word takes the
// place of the one that was there. A group comes before the output and ends the packet, which so has no output.
// Latency: 4 cycles from `run`, which stays until the last word, to the first one. Throughput: a word a cycle.
module action_set
  import switch_pkg::*;
  import switch_step_pkg::*;
(
    input  logic                 clk,
    input  logic                 rst,
    input  logic                 keep,      // action and origin
    input  logic [PLACE_W-1:0]   place,     // not NOWHERE
    input  action_t              action,
    input  logic [PROGRAM_W-1:0] origin,
    input  logic                 clear,
    output logic                 empty,     // nothing was kept since it was cleared
    input  logic                 run,
    output logic                 m_valid,
    input  logic                 m_ready,
    output action_t              m_action,  // with `last`, without `keep`
    output logic [PROGRAM_W-1:0] m_origin,
    output logic                 m_last
);

  localparam int unsigned PLACES = 2 ** PLACE_W;

  // What comes in is done a cycle later.
  logic keep_q, clear_q, run_q;
  logic [PLACE_W-1:0] place_q;
  action_t action_q;
  logic [PROGRAM_W-1:0] origin_q;

  always_ff @(posedge clk) begin
    keep_q  <= keep;
    clear_q <= clear;
    run_q   <= run && !clear;
    if (keep) begin
      place_q       <= place;
      action_q      <= action;
      action_q.last <= 1'b1;
      action_q.keep <= 1'b0;
      origin_q      <= origin;
    end
    if (keep || clear) empty <= clear;
    if (rst) begin
      keep_q  <= 1'b0;
      clear_q <= 1'b1;
      run_q   <= 1'b0;
      empty   <= 1'b1;
    end
  end

  // The places are picked one after the other; their words are read, then wait to be done.
  logic [PLACES-2:0] present_q, behind;
  logic [PLACE_W-1:0] first, pick_place_q;
  logic some_q, pick_q, pick_last_q, read_q, read_last_q, word_q;
  action_t read_action;
  logic [PROGRAM_W-1:0] read_origin;
  wire moves = !word_q || m_ready;
  wire reads = pick_q && (!read_q || moves);
  wire picks = run_q && some_q && (!pick_q || reads);

  always_comb begin
    first = '0;
    for (int unsigned i = PLACES - 1; i > 0; i--) if (present_q[i-1]) first = PLACE_W'(i - 1);
    behind = present_q & (present_q - 1'b1);
  end

  always_ff @(posedge clk) begin
    if (keep_q) begin
      present_q[place_q] <= 1'b1;
      some_q <= 1'b1;
    end
    if (picks) begin
      present_q    <= behind;
      some_q       <= behind != '0;
      pick_place_q <= first;
      pick_last_q  <= behind == '0;
    end
    if (picks || reads) pick_q <= picks;
    if (reads) read_last_q <= pick_last_q;
    if (reads || moves) read_q <= reads;
    if (moves) begin
      word_q <= read_q;
      if (read_q) begin
        m_action <= read_action;
        m_origin <= read_origin;
        m_last   <= read_last_q;
      end
    end
    if (clear_q) begin
      present_q <= '0;
      some_q    <= 1'b0;
    end
    if (clear_q || rst) begin
      pick_q <= 1'b0;
      read_q <= 1'b0;
      word_q <= 1'b0;
    end
  end

  ram_sdp #(
      .WIDTH($bits(action_t) + PROGRAM_W),
      .DEPTH(PLACES)
  ) u_words (
      .clk,
      .wr_en  (keep_q),
      .wr_addr(place_q),
      .wr_data({action_q, origin_q}),
      .rd_en  (reads),
      .rd_addr(pick_place_q),
      .rd_data({read_action, read_origin})
  );

  assign m_valid = word_q;

endmodule
