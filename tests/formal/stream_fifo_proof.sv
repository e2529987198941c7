// SPDX-License-Identifier: Apache-2.0
module stream_fifo_proof #(
    parameter int unsigned WIDTH = 2,
    parameter int unsigned DEPTH = 4,
    parameter bit BLOCK_RAM = 1'b0,
    localparam int unsigned COUNT_W = $clog2(DEPTH + 1),
    localparam int unsigned ADDR_W = $clog2(DEPTH)
) (
    input logic             clk,
    input logic             rst,
    input logic             mark,
    input logic             s_valid,
    input logic [WIDTH-1:0] s_data,
    input logic             m_ready
);

  localparam int unsigned LATENCY = BLOCK_RAM ? 3 : 2;

  logic valid, s_ready, m_valid, followed, fresh_q, idle;
  logic [WIDTH-1:0] m_data, value;
  logic [COUNT_W-1:0] count;
  logic [$clog2(DEPTH+2)-1:0] held, place;

  proof_reset u_reset (.clk, .rst, .valid);
  stream_fifo #(.WIDTH(WIDTH), .DEPTH(DEPTH), .BLOCK_RAM(BLOCK_RAM)) dut (.*);
  proof_stable #(.WIDTH(WIDTH)) u_stable (.clk, .rst, .valid(m_valid && valid), .ready(m_ready), .data(m_data));
  proof_follow #(.WIDTH(WIDTH), .MAX(DEPTH)) u_follow (
      .clk, .rst, .valid, .mark, .push(s_valid && s_ready), .push_data(s_data), .pop(m_valid && m_ready),
          .pop_data(m_data),
      .count(held), .followed, .place, .value
  );

  // Cycles in which the FIFO had words and offered none.
  logic [2:0] hidden_q;
  always_ff @(posedge clk) begin
    fresh_q  <= rst;
    hidden_q <= rst || held == 0 || m_valid ? '0 : hidden_q + 1'b1;
  end

  // What the FIFO's registers hold: `stored` words in the memory, then those on the way out.
  int unsigned stored;
  logic on_the_way;
  logic [WIDTH-1:0] memory_word, way_word;
  logic [ADDR_W-1:0] memory_place;
  int unsigned offset;

  assign stored = 32'(dut.wr_q) - 32'(dut.rd_q) + (dut.wr_q < dut.rd_q ? DEPTH : 0);
  assign offset = 32'(dut.rd_q) + 32'(place) - 32'(dut.u_store.valid_q) - 32'(on_the_way);
  assign memory_place = ADDR_W'(offset >= DEPTH ? offset - DEPTH : offset);

  if (BLOCK_RAM) begin : gen_block
    assign on_the_way  = dut.u_store.gen_block.rd_valid_q;
    assign way_word    = dut.u_store.gen_block.u_ram.read_q;
    assign memory_word = dut.u_store.gen_block.u_ram.mem[memory_place];
    // What a block RAM returns when it reads the word being written is not defined: it never does.
    always_comb if (valid && dut.push && dut.rd_en) assert (dut.wr_q != dut.rd_q);
  end else begin : gen_dist
    assign on_the_way  = 1'b0;
    assign way_word    = '0;
    assign memory_word = dut.u_store.gen_dist.u_ram.mem[memory_place];
  end

  always_comb begin
    if (valid) begin
      assert (count == held);
      assert (idle == (held == 0));
      assert (s_ready == (count < DEPTH && !fresh_q));
      assert (hidden_q < LATENCY);
      cover (hidden_q == LATENCY - 1);

      assert (dut.wr_q < DEPTH && dut.rd_q < DEPTH && stored < DEPTH);
      assert (32'(held) == stored + 32'(on_the_way) + 32'(dut.u_store.valid_q));
      // A word in the memory moves on in each cycle in which nothing is offered.
      if (!m_valid && held != 0) assert (32'(hidden_q) < (on_the_way ? LATENCY : LATENCY - 1));

      if (followed) begin
        if (place == 0 && m_valid) assert (m_data == value);
        else if (32'(place) == 32'(m_valid) && on_the_way) assert (way_word == value);
        else assert (memory_word == value);
      end
    end
  end

endmodule
