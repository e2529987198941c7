// SPDX-License-Identifier: Apache-2.0
// Block RAM of WORDS words of 32 bits, in LANES = DATA_W / 32 banks, so that LANES words can be written and LANES
// others read in each cycle, both from any word on; addresses wrap around at WORDS.
// Lane i is word address + i. Words whose wr_en bit is low stay as they are. Where the low bits of an address are
// constant, so is the rotation of its lanes, and it costs nothing.
// Read latency: READ_LATENCY cycles, 1 or 2 (2: the rotated words go through a register). While rd_en is low nothing
// moves on the read side: cycles with rd_en low don't count, and rd_data stays.
// Write latency: a word may be read from the second cycle after its own on; a read of it that begins before returns
// anything.
// Throughput: LANES words a cycle in and out. Backpressure: none.
module word_buffer #(
    parameter int unsigned DATA_W = 64,
    parameter int unsigned WORDS = 16384,
    parameter int unsigned READ_LATENCY = 2,
    localparam int unsigned LANES = DATA_W / 32,
    localparam int unsigned ADDR_W = $clog2(WORDS)
) (
    input  logic              clk,
    input  logic [LANES-1:0]  wr_en,
    input  logic [ADDR_W-1:0] wr_addr,
    input  logic [DATA_W-1:0] wr_data,
    input  logic              rd_en,
    input  logic [ADDR_W-1:0] rd_addr,
    output logic [DATA_W-1:0] rd_data
);

  if (DATA_W < 32 || DATA_W > 1024 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "word_buffer: DATA_W must be a power of two from 32 to 1024, not %0d", DATA_W);
  end
  if (WORDS < 2 * LANES || 2 ** $clog2(WORDS) != WORDS) begin : gen_bad_words
    $fatal(1, "word_buffer: WORDS must be a power of two, at least two rows of DATA_W bits, not %0d", WORDS);
  end
  if (READ_LATENCY < 1 || READ_LATENCY > 2) begin : gen_bad_read_latency
    $fatal(1, "word_buffer: READ_LATENCY must be 1 or 2, not %0d", READ_LATENCY);
  end

  logic [DATA_W-1:0] words;  // read, in the order of their addresses

  if (LANES == 1) begin : gen_word
    ram_sdp #(
        .WIDTH(32),
        .DEPTH(WORDS)
    ) u_ram (
        .clk,
        .wr_en  (wr_en[0]),
        .wr_addr,
        .wr_data,
        .rd_en,
        .rd_addr,
        .rd_data(words)
    );
  end else begin : gen_banks
    localparam int unsigned LANE_W = $clog2(LANES);
    localparam int unsigned ROW_W = ADDR_W - LANE_W;

    logic [LANE_W-1:0] wr_lane, rd_lane, rd_lane_q;
    logic [ROW_W-1:0] wr_row, rd_row;
    logic [DATA_W-1:0] read;  // in the order of the banks
    assign {wr_row, wr_lane} = wr_addr;
    assign {rd_row, rd_lane} = rd_addr;

    // Bank b holds the words whose address ends in b: those of the lanes below the first one lie in the next row.
    for (genvar b = 0; b < LANES; b++) begin : gen_bank
      localparam logic [LANE_W:0] BANK = (LANE_W + 1)'(b);
      logic [LANE_W-1:0] from, unused_from;
      logic wr_next, rd_next;  // in the next row
      logic write_q;
      logic [ROW_W-1:0] row_q;
      logic [31:0] word_q;

      assign {wr_next, from}        = BANK - {1'b0, wr_lane};
      assign {rd_next, unused_from} = BANK - {1'b0, rd_lane};
      always_ff @(posedge clk) begin
        write_q <= wr_en[from];
        row_q   <= wr_row + ROW_W'(wr_next);
        word_q  <= wr_data[32*from+:32];
      end

      ram_sdp #(
          .WIDTH(32),
          .DEPTH(WORDS / LANES)
      ) u_ram (
          .clk,
          .wr_en  (write_q),
          .wr_addr(row_q),
          .wr_data(word_q),
          .rd_en,
          .rd_addr(rd_row + ROW_W'(rd_next)),
          .rd_data(read[32*b+:32])
      );
    end

    always_ff @(posedge clk) if (rd_en) rd_lane_q <= rd_lane;
    for (genvar i = 0; i < LANES; i++) begin : gen_lane
      wire [LANE_W-1:0] bank = rd_lane_q + LANE_W'(i);
      assign words[32*i+:32] = read[32*bank+:32];
    end
  end

  if (READ_LATENCY == 2) begin : gen_register
    always_ff @(posedge clk) if (rd_en) rd_data <= words;
  end else begin : gen_direct
    assign rd_data = words;
  end

endmodule
