// SPDX-License-Identifier: Apache-2.0
// Writes runs of bytes into host memory: each command takes a frame from the stream, byte 0 in lane 0, and `done` tells
// once all of it has been answered. Bytes that the frame has too few, or that its tkeep leaves out, are not written.
// Bursts have at most BURST beats and never cross 4 KB; up to 32 are under way at once, all with the same ID. Addresses
// go out before the data are there.
// Latency: 3 cycles from a command to its first address, 1 from the stream to the bus.
// Throughput: 1 beat a cycle, but a burst in 3 cycles at most. Backpressure: s_axis_tready follows m_axi_wready one
// register later, and is low without a command.
module axi_writer #(
    parameter int unsigned MEM_W = 64,
    parameter int unsigned BURST = 16,
    parameter int unsigned LEN_W = 16,     // of a command's length
    localparam int unsigned BYTES = MEM_W / 8
) (
    input  logic             clk,
    input  logic             rst,

    input  logic             cmd_valid,
    output logic             cmd_ready,
    input  logic [63:0]      cmd_addr,
    input  logic [LEN_W-1:0] cmd_bytes,    // at least 1

    input  logic             s_axis_tvalid,
    output logic             s_axis_tready,
    input  logic [MEM_W-1:0] s_axis_tdata,
    input  logic [BYTES-1:0] s_axis_tkeep,
    input  logic             s_axis_tlast,

    output logic [63:0]      m_axi_awaddr,
    output logic [7:0]       m_axi_awlen,
    output logic [2:0]       m_axi_awsize,
    output logic [1:0]       m_axi_awburst,
    output logic             m_axi_awvalid,
    input  logic             m_axi_awready,
    output logic [MEM_W-1:0] m_axi_wdata,
    output logic [BYTES-1:0] m_axi_wstrb,
    output logic             m_axi_wlast,
    output logic             m_axi_wvalid,
    input  logic             m_axi_wready,
    input  logic [1:0]       m_axi_bresp,
    input  logic             m_axi_bvalid,
    output logic             m_axi_bready,

    output logic             done,         // the oldest command's last burst is answered
    output logic             done_error,   // one of its bursts was answered with an error
    output logic             idle
);

  localparam logic [1:0] SLVERR = 2'b10;   // this and DECERR are errors
  localparam int unsigned OFFSET_W = $clog2(BYTES);
  localparam int unsigned PAGE_BEATS = 4096 / BYTES;
  localparam int unsigned PAGE_W = $clog2(PAGE_BEATS);
  localparam int unsigned MOST = BURST < PAGE_BEATS ? BURST : PAGE_BEATS;
  localparam int unsigned BEATS_W = $clog2(MOST + 1);
  localparam int unsigned WORDS_W = LEN_W + 1 - OFFSET_W;
  localparam int unsigned BURSTS = 32;

  if (MEM_W < 16 || MEM_W > 1024 || 2 ** $clog2(MEM_W) != MEM_W) begin : gen_bad_mem_w
    $fatal(1, "axi_writer: MEM_W must be a power of two from 16 to 1024, not %0d", MEM_W);
  end
  if (BURST < 1 || BURST > 256) begin : gen_bad_burst
    $fatal(1, "axi_writer: BURST must be 1 to 256, not %0d", BURST);
  end
  if (LEN_W < 12 || LEN_W > 32) begin : gen_bad_len_w
    $fatal(1, "axi_writer: LEN_W must be 12 to 32, not %0d", LEN_W);
  end

  // ------------------------------------------------------------------------------------------- commands become bursts
  typedef struct packed {
    logic                final_burst;  // of its command
    logic [OFFSET_W-1:0] offset;       // of the command's first byte in its word
    logic [BEATS_W-1:0]  rest;         // beats - 1
  } burst_t;

  // limit_q follows word_q a cycle later: beats to the end of the page, at most MOST.
  logic busy_q, known_q, address_q, plan, plans_ready, answers_ready;
  logic [63-OFFSET_W:0] word_q, address_word_q;
  logic [OFFSET_W-1:0] offset_q;
  logic [WORDS_W-1:0] left_q;
  logic [BEATS_W-1:0] limit_q, address_rest_q;
  wire [PAGE_W:0] to_page = (PAGE_W + 1)'(PAGE_BEATS) - (PAGE_W + 1)'(word_q[PAGE_W-1:0]);
  wire final_burst = left_q <= WORDS_W'(limit_q);
  wire [BEATS_W-1:0] beats = final_burst ? BEATS_W'(left_q) : limit_q;
  wire [LEN_W:0] to_end = {1'b0, cmd_bytes} + (LEN_W + 1)'(cmd_addr[OFFSET_W-1:0]) + (LEN_W + 1)'(BYTES - 1);

  assign cmd_ready = !busy_q;
  assign plan      = busy_q && known_q && !address_q && plans_ready && answers_ready;

  always_ff @(posedge clk) begin
    if (m_axi_awready) address_q <= 1'b0;
    known_q <= busy_q && !plan;
    limit_q <= 32'(to_page) < MOST ? BEATS_W'(to_page) : BEATS_W'(MOST);
    if (plan) begin
      address_q      <= 1'b1;
      address_word_q <= word_q;
      address_rest_q <= beats - 1'b1;
      word_q         <= word_q + (64 - OFFSET_W)'(beats);
      left_q         <= left_q - WORDS_W'(beats);
      busy_q         <= !final_burst;
    end
    if (cmd_valid && cmd_ready) begin
      busy_q   <= 1'b1;
      word_q   <= cmd_addr[63:OFFSET_W];
      offset_q <= cmd_addr[OFFSET_W-1:0];
      left_q   <= WORDS_W'(to_end >> OFFSET_W);
    end
    if (rst) begin
      busy_q    <= 1'b0;
      known_q   <= 1'b0;
      address_q <= 1'b0;
    end
  end

  assign m_axi_awvalid = address_q;
  assign m_axi_awaddr  = {address_word_q, OFFSET_W'(0)};
  assign m_axi_awlen   = 8'(address_rest_q);
  assign m_axi_awsize  = 3'(OFFSET_W);
  assign m_axi_awburst = 2'b01;

  // ------------------------------------------------------------------------------------------------ beats become words
  // A beat, turned by the offset, fills the upper lanes of its word and the lower ones of the next.
  burst_t burst;
  logic burst_valid, burst_ready, plans_idle, w_ready, w_idle, word, last_word;
  logic over_q;                    // the frame has no more beats
  logic [BEATS_W-1:0] count_q;     // beats of the burst that are out
  logic [MEM_W-1:0] turned, behind_q, merged;
  logic [BYTES-1:0] keep_turned, keep_behind_q, strobes;

  stream_queue #(
      .WIDTH($bits(burst_t)),
      .DEPTH(BURSTS)
  ) u_plans (
      .clk,
      .rst,
      .s_valid(plan),
      .s_ready(plans_ready),
      .s_data (burst_t'{final_burst, offset_q, BEATS_W'(beats - 1'b1)}),
      .m_valid(burst_valid),
      .m_ready(burst_ready),
      .m_data (burst),
      .idle   (plans_idle)
  );

  wire [BYTES-1:0] keep = over_q ? '0 : s_axis_tkeep;
  always_comb begin
    // Nobody looks at them then.
    turned      = 'x;
    keep_turned = 'x;
    merged      = 'x;
    strobes     = 'x;
    if (burst_valid) begin
      turned      = s_axis_tdata << {burst.offset, 3'b000} | s_axis_tdata >> (MEM_W - 32'({burst.offset, 3'b000}));
      keep_turned = keep << burst.offset | keep >> (BYTES - 32'(burst.offset));
      for (int i = 0; i < BYTES; i++) begin
        merged[8*i+:8] = i < 32'(burst.offset) ? behind_q[8*i+:8] : turned[8*i+:8];
        strobes[i]     = i < 32'(burst.offset) ? keep_behind_q[i] : keep_turned[i];
      end
    end
  end

  assign last_word     = count_q == burst.rest;
  assign word          = burst_valid && (over_q || s_axis_tvalid) && w_ready;
  assign s_axis_tready = burst_valid && w_ready && !over_q;
  assign burst_ready   = word && last_word;

  always_ff @(posedge clk) begin
    if (word) begin
      behind_q      <= turned;
      keep_behind_q <= keep_turned;
      over_q        <= over_q || s_axis_tlast;
      count_q       <= last_word ? '0 : count_q + 1'b1;
      if (last_word && burst.final_burst) begin
        keep_behind_q <= '0;
        over_q        <= 1'b0;
      end
    end
    if (rst) begin
      keep_behind_q <= '0;
      over_q        <= 1'b0;
      count_q       <= '0;
    end
  end

  stream_reg #(
      .WIDTH(MEM_W + BYTES + 1)
  ) u_words (
      .clk,
      .rst,
      .s_valid(burst_valid && (over_q || s_axis_tvalid)),
      .s_ready(w_ready),
      .s_data ({last_word, strobes, merged}),
      .m_valid(m_axi_wvalid),
      .m_ready(m_axi_wready),
      .m_data ({m_axi_wlast, m_axi_wstrb, m_axi_wdata}),
      .idle   (w_idle)
  );

  // ----------------------------------------------------------------------------------------------------------- answers
  logic answer_valid, answer_final, answers_idle, error_q;
  stream_queue #(
      .WIDTH(1),
      .DEPTH(BURSTS)
  ) u_answers (
      .clk,
      .rst,
      .s_valid(plan),
      .s_ready(answers_ready),
      .s_data (final_burst),
      .m_valid(answer_valid),
      .m_ready(m_axi_bvalid),
      .m_data (answer_final),
      .idle   (answers_idle)
  );

  assign m_axi_bready = 1'b1;
  assign done         = m_axi_bvalid && answer_final;
  assign done_error   = error_q || m_axi_bresp >= SLVERR;
  always_ff @(posedge clk) begin
    if (m_axi_bvalid) error_q <= done_error && !done;
    if (rst) error_q <= 1'b0;
  end

  assign idle = !busy_q && !address_q && plans_idle && w_idle && answers_idle;

`ifndef SYNTHESIS
  logic checks;
  first_reset u_first_reset (.clk, .rst, .checks);

  always_ff @(posedge clk) begin
    if (checks) begin
      assert (!cmd_valid || cmd_bytes != 0) else $error("%m: a command of no bytes");
      assert (!m_axi_bvalid || answer_valid) else $error("%m: an answer that nobody waits for");
      assert (!(word && last_word && burst.final_burst) || over_q || s_axis_tlast)
      else $error("%m: a frame longer than its command");
    end
  end
`else
  wire unused = &{1'b0, answer_valid};
`endif

endmodule
