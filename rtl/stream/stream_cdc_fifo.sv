// SPDX-License-Identifier: Apache-2.0
// FIFO of DEPTH words (a power of two) between two clocks that need not be related, with Gray-coded pointers.
// It is held in distributed RAM: for depth put a stream_fifo or packet_fifo behind it.
// Latency: SYNC_STAGES + 1 to SYNC_STAGES + 2 cycles of m_clk. Throughput: 1 word a cycle of the slower clock from
// DEPTH = 16 with two synchroniser stages. Backpressure: s_ready is a register.
// Resets: s_rst is synchronous to s_clk, m_rst to m_clk. Both must be high together for SYNC_STAGES + 1 cycles of the
// slower clock; then each may fall when it likes. Resetting one side alone loses or repeats words.
// Constraints for a board: at most one period of the faster clock of delay for the Gray pointers and the memory's
// output.
module stream_cdc_fifo #(
    parameter int unsigned WIDTH = 32,
    parameter int unsigned DEPTH = 16,
    parameter int unsigned SYNC_STAGES = 2
) (
    input  logic             s_clk,
    input  logic             s_rst,
    input  logic             s_valid,
    output logic             s_ready,
    input  logic [WIDTH-1:0] s_data,
    input  logic             m_clk,
    input  logic             m_rst,
    output logic             m_valid,
    input  logic             m_ready,
    output logic [WIDTH-1:0] m_data,
    output logic             s_idle,   // in s_clk: m_clk has taken all words out of the memory
    output logic             m_idle    // in m_clk: none has come and none is at the output
);

  if (SYNC_STAGES < 2) begin : gen_bad_sync_stages
    $fatal(1, "stream_cdc_fifo: SYNC_STAGES must be at least 2, not %0d", SYNC_STAGES);
  end
  if (WIDTH < 1) begin : gen_bad_width
    $fatal(1, "stream_cdc_fifo: WIDTH must be at least 1, not %0d", WIDTH);
  end
  if (DEPTH < 4 || DEPTH > 1024 || 2 ** $clog2(DEPTH) != DEPTH) begin : gen_bad_depth
    $fatal(1, "stream_cdc_fifo: DEPTH must be a power of two from 4 to 1024, not %0d", DEPTH);
  end

  localparam int unsigned ADDR_W = $clog2(DEPTH);

  // One bit wider than an address, so that a full memory differs from an empty one.
  typedef logic [ADDR_W:0] pointer_t;

  // In Gray code the pointer of DEPTH words further differs in just its two upper bits.
  localparam pointer_t LAP = pointer_t'(3) << (ADDR_W - 1);

  function automatic pointer_t gray(pointer_t binary);
    return binary ^ (binary >> 1);
  endfunction

  pointer_t wr_gray_q, rd_gray_q;  // what the other side sees
  logic [WIDTH-1:0] rd_data;
  logic [ADDR_W-1:0] rd_addr;

  // Writing side, in s_clk.
  pointer_t wr_q, rd_gray_s;
  pointer_t wr_next_q;  // what wr_gray_q becomes with the next word
  logic ready_q, push;

  assign push = s_valid && ready_q;

  always_ff @(posedge s_clk) begin
    if (push) begin
      wr_q      <= wr_q + 1'b1;
      wr_gray_q <= wr_next_q;
      wr_next_q <= gray(wr_q + pointer_t'(2));
    end
    ready_q <= (push ? wr_next_q : wr_gray_q) != (rd_gray_s ^ LAP);
    if (s_rst) begin
      wr_q      <= '0;
      wr_gray_q <= '0;
      wr_next_q <= gray(pointer_t'(1));
      ready_q   <= 1'b0;
    end
  end

  cdc_sync #(
      .WIDTH(ADDR_W + 1),
      .STAGES(SYNC_STAGES)
  ) u_sync_rd (
      .clk(s_clk),
      .d(rd_gray_q),
      .q(rd_gray_s)
  );

  // A word has been written for a cycle of m_clk at least when its pointer has come through.
  ram_dist #(
      .WIDTH(WIDTH),
      .DEPTH(DEPTH)
  ) u_ram (
      .clk(s_clk),
      .wr_en(push),
      .wr_addr(wr_q[ADDR_W-1:0]),
      .wr_data(s_data),
      .rd_addr,
      .rd_data
  );

  // Reading side, in m_clk.
  pointer_t rd_q, wr_gray_m;
  logic valid_q, advance, avail;
  logic [WIDTH-1:0] data_q;

  assign rd_addr = rd_q[ADDR_W-1:0];
  assign advance = m_ready || !valid_q;
  assign avail   = rd_gray_q != wr_gray_m;

  always_ff @(posedge m_clk) begin
    if (advance) begin
      valid_q <= avail;
      data_q  <= rd_data;
    end
    if (advance && avail) begin
      rd_q      <= rd_q + 1'b1;
      rd_gray_q <= gray(rd_q + 1'b1);
    end
    if (m_rst) begin
      rd_q      <= '0;
      rd_gray_q <= '0;
      valid_q   <= 1'b0;
    end
  end

  cdc_sync #(
      .WIDTH(ADDR_W + 1),
      .STAGES(SYNC_STAGES)
  ) u_sync_wr (
      .clk(m_clk),
      .d(wr_gray_q),
      .q(wr_gray_m)
  );

  assign s_ready = ready_q;
  assign m_valid = valid_q;
  assign m_data  = data_q;
  assign s_idle  = wr_gray_q == rd_gray_s;
  assign m_idle  = !valid_q && !avail;

endmodule
