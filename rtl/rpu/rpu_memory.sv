// SPDX-License-Identifier: Apache-2.0
// A wide memory of LINES lines with byte enables, shared by several writers and readers: one line is written and one
// read in each cycle, the lowest number first.
// Read latency: 1 cycle from being accepted to rd_done, which says whose data rd_data are; one more with OUT_REG behind
// the memory, and one with IN_REG before it.
// Backpressure: ready depends on those with lower numbers alone. A read of the line that is being written returns an
// undefined value.
module rpu_memory #(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned LINES = 512,
    parameter int unsigned WRITERS = 2,
    parameter int unsigned READERS = 2,
    parameter bit OUT_REG = 1'b0,
    parameter bit IN_REG = 1'b0,
    localparam int unsigned KEEP_W = DATA_W / 8,
    localparam int unsigned ADDR_W = $clog2(LINES)
) (
    input  logic                           clk,
    input  logic                           rst,

    input  logic [WRITERS-1:0]             wr_valid,
    output logic [WRITERS-1:0]             wr_ready,
    input  logic [WRITERS-1:0][ADDR_W-1:0] wr_addr,
    input  logic [WRITERS-1:0][DATA_W-1:0] wr_data,
    input  logic [WRITERS-1:0][KEEP_W-1:0] wr_strb,

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

  logic [ADDR_W-1:0] write_addr, read_addr;
  logic [DATA_W-1:0] write_data;
  logic [KEEP_W-1:0] write_strb;
  logic [READERS-1:0] read_q;

  always_comb begin
    write_addr = wr_addr[0];
    write_data = wr_data[0];
    write_strb = wr_strb[0];
    for (int i = WRITERS - 1; i >= 0; i--) begin
      if (wr_valid[i]) begin
        write_addr = wr_addr[i];
        write_data = wr_data[i];
        write_strb = wr_strb[i];
      end
    end
    for (int i = 0; i < WRITERS; i++) wr_ready[i] = (wr_valid & WRITERS'((1 << i) - 1)) == '0;

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
      wr_en       <= wr_valid != '0;
      ram_wr_addr <= write_addr;
      ram_wr_data <= write_data;
      ram_wr_strb <= write_strb;
      rd_en       <= rd_valid != '0;
      ram_rd_addr <= read_addr;
      reader      <= rd_valid & rd_ready;
      if (rst) begin
        wr_en  <= 1'b0;
        rd_en  <= 1'b0;
        reader <= '0;
      end
    end
  end else begin : gen_in
    assign wr_en       = wr_valid != '0;
    assign ram_wr_addr = write_addr;
    assign ram_wr_data = write_data;
    assign ram_wr_strb = write_strb;
    assign rd_en       = rd_valid != '0;
    assign ram_rd_addr = read_addr;
    assign reader      = rd_valid & rd_ready;
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
