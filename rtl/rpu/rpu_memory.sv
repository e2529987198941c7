// SPDX-License-Identifier: Apache-2.0
// A wide memory of LINES lines with byte enables, shared by several writers and readers: one line is written and one
// read in each cycle, the lowest number first. One writer writes lines, all others words of 32 bits; it comes after the
// first of them.
// Read latency: 1 cycle from being accepted to rd_done, which says whose data rd_data are; one more with OUT_REG behind
// the memory, and one with IN_REG before it.
// Backpressure: ready depends on those with lower numbers alone. A read of the line that is being written returns an
// undefined value.
module rpu_memory #(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned LINES = 512,
    parameter int unsigned WRITERS = 2,  // of words
    parameter int unsigned READERS = 2,
    parameter bit OUT_REG = 1'b0,
    parameter bit IN_REG = 1'b0,
    localparam int unsigned KEEP_W = DATA_W / 8,
    localparam int unsigned ADDR_W = $clog2(LINES),
    localparam int unsigned WORDS = DATA_W / 32,
    localparam int unsigned WORD_W = $clog2(WORDS * LINES)
) (
    input  logic                           clk,
    input  logic                           rst,

    input  logic [WRITERS-1:0]             wr_valid,
    output logic [WRITERS-1:0]             wr_ready,
    input  logic [WRITERS-1:0][WORD_W-1:0] wr_addr,    // of the word
    input  logic [WRITERS-1:0][31:0]       wr_data,
    input  logic [WRITERS-1:0][3:0]        wr_strb,
    input  logic                           line_valid,
    output logic                           line_ready,
    input  logic [ADDR_W-1:0]              line_addr,
    input  logic [DATA_W-1:0]              line_data,
    input  logic [KEEP_W-1:0]              line_strb,

    input  logic [READERS-1:0]             rd_valid,
    output logic [READERS-1:0]             rd_ready,
    input  logic [READERS-1:0][ADDR_W-1:0] rd_addr,
    output logic [READERS-1:0]             rd_done,
    output logic [DATA_W-1:0]              rd_data
);

  if (DATA_W < 32 || DATA_W > 1024 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "rpu_memory: DATA_W must be a power of two from 32 to 1024, not %0d", DATA_W);
  end
  if (LINES < 2 || 2 ** $clog2(LINES) != LINES) begin : gen_bad_lines
    $fatal(1, "rpu_memory: LINES must be a power of two from 2, not %0d", LINES);
  end
  if (WRITERS < 1 || READERS < 1) begin : gen_bad_users
    $fatal(1, "rpu_memory: WRITERS and READERS must be at least 1, not %0d and %0d", WRITERS, READERS);
  end

  logic write_line, write;
  logic [WORD_W-1:0] word_addr;
  logic [31:0] word_data;
  logic [3:0] word_strb;
  logic [ADDR_W-1:0] write_addr, read_addr;
  logic [DATA_W-1:0] write_data;
  logic [KEEP_W-1:0] write_strb;
  logic [READERS-1:0] read_q;

  assign line_ready = !wr_valid[0];
  assign write_line = line_valid && line_ready;
  assign write      = line_valid || wr_valid != '0;

  always_comb begin
    word_addr = wr_addr[0];
    word_data = wr_data[0];
    word_strb = wr_strb[0];
    for (int i = WRITERS - 1; i >= 0; i--) begin
      if (wr_valid[i]) begin
        word_addr = wr_addr[i];
        word_data = wr_data[i];
        word_strb = wr_strb[i];
      end
    end
    for (int i = 0; i < WRITERS; i++) begin
      wr_ready[i] = (wr_valid & WRITERS'((1 << i) - 1)) == '0 && (i == 0 || !line_valid);
    end
    write_addr = write_line ? line_addr : ADDR_W'(word_addr / WORD_W'(WORDS));
    write_data = write_line ? line_data : {WORDS{word_data}};
    write_strb = write_line ? line_strb : KEEP_W'(word_strb) << {word_addr % WORD_W'(WORDS), 2'b00};

    read_addr = rd_addr[0];
    for (int i = READERS - 1; i >= 0; i--) if (rd_valid[i]) read_addr = rd_addr[i];
    for (int i = 0; i < READERS; i++) rd_ready[i] = (rd_valid & READERS'((1 << i) - 1)) == '0;
  end

  logic wr_en, rd_en;              // of the memory
  logic [ADDR_W-1:0] ram_wr_addr, ram_rd_addr;
  logic [DATA_W-1:0] ram_wr_data;
  logic [KEEP_W-1:0] ram_wr_strb;
  logic [READERS-1:0] reader;

  if (IN_REG) begin : gen_in
    always_ff @(posedge clk) begin
      wr_en       <= write;
      ram_wr_addr <= write_addr;
      ram_wr_data <= write_data;
      ram_wr_strb <= write_strb;
      rd_en       <= rd_valid != '0;
      ram_rd_addr <= read_addr;
      reader      <= rd_valid & (~rd_valid + 1'b1);
      if (rst) begin
        wr_en  <= 1'b0;
        rd_en  <= 1'b0;
        reader <= '0;
      end
    end
  end else begin : gen_in
    assign wr_en       = write;
    assign ram_wr_addr = write_addr;
    assign ram_wr_data = write_data;
    assign ram_wr_strb = write_strb;
    assign rd_en       = rd_valid != '0;
    assign ram_rd_addr = read_addr;
    assign reader      = rd_valid & (~rd_valid + 1'b1);
  end

  always_ff @(posedge clk) begin
    read_q <= reader;
    if (rst) read_q <= '0;
  end

  ram_sdp_strb #(
      .WIDTH(DATA_W),
      .DEPTH(LINES),
      .OUT_REG(OUT_REG)
  ) u_ram (
      .clk,
      .wr_en,
      .wr_strb(ram_wr_strb),
      .wr_addr(ram_wr_addr),
      .wr_data(ram_wr_data),
      .rd_en,
      .rd_addr(ram_rd_addr),
      .rd_data
  );

  if (OUT_REG) begin : gen_done
    always_ff @(posedge clk) begin
      rd_done <= read_q;
      if (rst) rd_done <= '0;
    end
  end else begin : gen_done
    assign rd_done = read_q;
  end

endmodule
