// SPDX-License-Identifier: Apache-2.0
// Packet memory of a filter core: rows as wide as the Ethernet ports, in banks of 32 bits, so that a load of any
// alignment is one access. Whole rows are written at the port's rate; one read port serves loads and the forwarding of
// whole rows, loads first.
//
// A load is the four bytes that end before byte `load_end` of the packet, of which the last 1, 2 or 4 are used, most
// significant first (network order). Its value follows 4 cycles after load_en; a row 2 cycles after forward_grant.
module bpf_packet_memory
  import bpf_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned ROWS = 2048,
    localparam int unsigned ADDR_W = $clog2(ROWS),
    localparam int unsigned BANKS = DATA_W / 32,
    localparam int unsigned BANK_W = $clog2(BANKS)
) (
    input  logic              clk,

    input  logic              write_en,
    input  logic [ADDR_W-1:0] write_row,
    input  logic [DATA_W-1:0] write_data,

    input  logic              load_en,
    input  logic [ADDR_W-1:0] load_row,       // row that holds byte load_end
    input  logic [ADDR_W-1:0] load_row_last,  // the same for the last bank: one row before if load_end is in bank 0
    input  logic [BANK_W-1:0] load_bank,      // bank that holds byte load_end
    input  logic [1:0]        load_offset,    // load_end modulo 4
    input  size_e             load_size,
    input  logic              load_msh,
    output logic [31:0]       load_value,     // 0 if there was no load

    input  logic              forward_req,
    input  logic [ADDR_W-1:0] forward_row,
    output logic              forward_grant,
    output logic [DATA_W-1:0] forward_data
);

  if (ROWS < 2 || 2 ** $clog2(ROWS) != ROWS) begin : gen_bad_rows
    $fatal(1, "bpf_packet_memory: ROWS must be a power of two from 2, not %0d", ROWS);
  end
  if (BANKS < 4 || (BANKS & (BANKS - 1)) != 0) begin : gen_bad_width
    $fatal(1, "bpf_packet_memory: DATA_W must be a power of two of at least 128, not %0d", DATA_W);
  end

  assign forward_grant = forward_req && !load_en;

  wire read_en = load_en || forward_req;
  wire [ADDR_W-1:0] read_row = load_en ? load_row : forward_row;
  wire [ADDR_W-1:0] read_row_last = load_en ? load_row_last : forward_row;

  // Phase 1 and 2: memory and its output register.
  logic [BANKS-1:0][31:0] words;
  ram_sdp #(
      .WIDTH(DATA_W - 32),
      .DEPTH(ROWS),
      .OUT_REG(1'b1)
  ) u_banks (
      .clk,
      .wr_en  (write_en),
      .wr_addr(write_row),
      .wr_data(write_data[DATA_W-33:0]),
      .rd_en  (read_en),
      .rd_addr(read_row),
      .rd_data(words[BANKS-2:0])
  );
  ram_sdp #(
      .WIDTH(32),
      .DEPTH(ROWS),
      .OUT_REG(1'b1)
  ) u_last_bank (
      .clk,
      .wr_en  (write_en),
      .wr_addr(write_row),
      .wr_data(write_data[DATA_W-1-:32]),
      .rd_en  (read_en),
      .rd_addr(read_row_last),
      .rd_data(words[BANKS-1])
  );
  assign forward_data = words;

  typedef struct packed {
    logic              en;
    logic [BANK_W-1:0] bank;
    logic [1:0]        offset;
    size_e             size;
    logic              msh;
  } load_t;
  load_t load_q1, load_q2, load_q3;

  always_ff @(posedge clk) begin
    load_q1.en <= load_en;
    load_q2.en <= load_q1.en;
    load_q3.en <= load_q2.en;
    if (load_en) load_q1 <= '{load_en, load_bank, load_offset, load_size, load_msh};
    if (load_q1.en) load_q2 <= load_q1;
    if (load_q2.en) load_q3 <= load_q2;
  end

  // Phase 3: the two words, one from the even banks and one from the odd. The second word is in load_bank, the first in
  // the bank before.
  wire [BANK_W-2:0] even_index = load_q2.bank[BANK_W-1:1];
  wire [BANK_W-2:0] odd_index = load_q2.bank[0] ? even_index : even_index - 1'b1;

  logic [BANKS/2-1:0][31:0] evens, odds;
  for (genvar i = 0; i < BANKS / 2; i++) begin : gen_pairs
    assign evens[i] = words[2*i];
    assign odds[i]  = words[2*i+1];
  end

  logic [31:0] even_q, odd_q;
  always_ff @(posedge clk) begin
    if (load_q2.en) begin
      even_q <= evens[even_index];
      odd_q  <= odds[odd_index];
    end
  end

  // Phase 4: four of the eight bytes, in network order.
  logic [31:0] value_q;
  always_ff @(posedge clk) begin
    value_q <= '0;
    if (load_q3.en) begin
      automatic logic [63:0] window = load_q3.bank[0] ? {odd_q, even_q} : {even_q, odd_q};
      automatic logic [31:0] unaligned = window[8*load_q3.offset+:32];
      automatic logic [31:0] value = {unaligned[7:0], unaligned[15:8], unaligned[23:16], unaligned[31:24]};
      value_q <= load_q3.msh ? {26'b0, value[3:0], 2'b00} : value;
      if (load_q3.size != WORD) value_q[31:16] <= '0;
      if (load_q3.size == BYTE) value_q[15:8] <= '0;
    end
  end
  assign load_value = value_q;

endmodule
