// SPDX-License-Identifier: Apache-2.0
// The memory of actions, and beside it a bit for each word: straight fetching ends there, as it is a program's last one
// or decides what comes next. It tells how far fetching can go before the words themselves are there.
// Latency: 2 cycles for a word, none for `window`. Throughput: a read of each and a write a cycle. Never stalls.
// A write is seen by a read of its word from 3 cycles later on.
module action_memory
  import switch_pkg::*;
  import switch_step_pkg::*;
#(
    parameter int unsigned PROGRAM_WORDS = 4096
) (
    input  logic                 clk,
    input  logic                 rst,
    input  logic                 write_valid,
    input  logic [PROGRAM_W-1:0] write_address,
    input  action_t              write_word,
    input  logic                 read,
    input  logic [PROGRAM_W-1:0] address,
    output action_t              word,
    input  logic [PROGRAM_W-1:0] window_address,
    output logic [         15:0] window         // of the 8 words that it lies in and the 8 behind them
);

  if (PROGRAM_WORDS < 64 || PROGRAM_WORDS > 2 ** PROGRAM_W || 2 ** $clog2(PROGRAM_WORDS) != PROGRAM_WORDS)
  begin : gen_bad_program_words
    $fatal(1, "action_memory: PROGRAM_WORDS must be a power of two from 64 to 65536, not %0d", PROGRAM_WORDS);
  end

  localparam int unsigned ADDR_W = $clog2(PROGRAM_WORDS);
  localparam int unsigned ROWS = PROGRAM_WORDS / 16;  // of 8 bits, in each of two banks: even and odd ones

  ram_sdp #(
      .WIDTH  ($bits(action_t)),
      .DEPTH  (PROGRAM_WORDS),
      .OUT_REG(1'b1)
  ) u_words (
      .clk,
      .wr_en  (write_valid),
      .wr_addr(write_address[ADDR_W-1:0]),
      .wr_data(write_word),
      .rd_en  (read),
      .rd_addr(address[ADDR_W-1:0]),
      .rd_data(word)
  );

  // A bit is changed in a row that is read and written in one cycle; so each bank is there twice.
  logic ends_write_q, end_q;
  logic [ADDR_W-1:0] ends_address_q;
  logic [1:0][7:0] old_row, row_at;
  wire odd = window_address[3];

  always_ff @(posedge clk) begin
    ends_write_q <= write_valid && !rst;
    if (write_valid) begin
      ends_address_q <= write_address[ADDR_W-1:0];
      end_q          <= write_word.last || is_control(write_word);
    end
  end

  for (genvar bank = 0; bank < 2; bank++) begin : gen_bank
    wire write = ends_write_q && ends_address_q[3] == 1'(bank);
    wire [7:0] bits = 8'd1 << ends_address_q[2:0];
    wire [7:0] row = end_q ? old_row[bank] | bits : old_row[bank] & ~bits;
    // The row behind an odd one is the next even one.
    wire [ADDR_W-5:0] place = window_address[ADDR_W-1:4] + (ADDR_W - 4)'(bank == 0 && odd);

    ram_dist #(
        .WIDTH(8),
        .DEPTH(ROWS)
    ) u_old (
        .clk,
        .wr_en  (write),
        .wr_addr(ends_address_q[ADDR_W-1:4]),
        .wr_data(row),
        .rd_addr(ends_address_q[ADDR_W-1:4]),
        .rd_data(old_row[bank])
    );

    ram_dist #(
        .WIDTH(8),
        .DEPTH(ROWS)
    ) u_window (
        .clk,
        .wr_en  (write),
        .wr_addr(ends_address_q[ADDR_W-1:4]),
        .wr_data(row),
        .rd_addr(place),
        .rd_data(row_at[bank])
    );
  end

  assign window = odd ? {row_at[0], row_at[1]} : {row_at[1], row_at[0]};

  // Memories smaller than addresses could be
  wire unused = &{1'b0, write_address, address, window_address};

endmodule
