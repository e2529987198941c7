// SPDX-License-Identifier: Apache-2.0
// Accelerator: is an IPv4 address in one of up to CAPACITY prefixes of any lengths, and in which?
//   0x00  SRC_IP: a write begins a lookup; the address as the core loads it from a packet (network order)
//   0x04  verdict, 1 if it is in a prefix; 0x08 the longest such prefix' number, all ones if none: reads wait for them
//   0x0C  bit 0: a table is loaded; without one no address matches. 0xFFC "BLST", 0xFF8 version
// N prefixes cut the circle of addresses into at most 2 N intervals, each with one longest prefix or none. Their sorted
// starts are searched as a tree, 16 ways a step. Two tables: one is searched while the other is loaded, so that no
// lookup sees half a table; the verdict is that of the table in use when it is read.
// Loading, words at byte addresses (headrace.cards.rpu.tables.blacklist_words; all words but the last in any order):
//   0x00000 + 4 i  start of interval i, i < 2 CAPACITY, counted from BASE; unused ones 0xFFFFFFFF
//   0x10000 + 4 i  its prefix' number + 1, 0: none; unused ones as the last one used
//   0x20000        BASE, the first prefix' first address: the other table is in use from now on
// Latency: 8 cycles from the write of an address, or from a new table, to the verdict. Throughput: an address a cycle,
// of which the last one's verdict can be read. It reads no packets.
module accel_blacklist
  import rpu_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned CAPACITY = 2048,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,

    input  logic              reg_valid,
    input  logic              reg_write,
    input  logic [15:0]       reg_addr,
    input  logic [31:0]       reg_wdata,
    input  logic [3:0]        reg_wstrb,
    output logic              reg_ready,
    output logic [31:0]       reg_rdata,

    input  logic              load_valid,
    input  logic [23:0]       load_addr,
    input  logic [31:0]       load_data,

    output logic              job_valid,
    input  logic              job_ready,
    output accel_job_t        job,

    // verilator lint_off UNUSEDSIGNAL
    input  logic              s_axis_tvalid,
    output logic              s_axis_tready,
    input  logic [DATA_W-1:0] s_axis_tdata,
    input  logic [KEEP_W-1:0] s_axis_tkeep,
    input  logic              s_axis_tlast,
    // verilator lint_on UNUSEDSIGNAL

    output logic              interrupt,
    output logic              idle
);

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "accel_blacklist: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (CAPACITY < 256 || CAPACITY > 2048 || 2 ** $clog2(CAPACITY) != CAPACITY) begin : gen_bad_capacity
    $fatal(1, "accel_blacklist: CAPACITY must be 256, 512, 1024 or 2048, not %0d", CAPACITY);
  end

  localparam int unsigned INTERVAL_W = $clog2(2 * CAPACITY);
  localparam int unsigned ROOT_W = INTERVAL_W - 8;
  localparam int unsigned NUMBER_W = $clog2(CAPACITY + 1);
  localparam logic [3:0] STEPS = 4'd8;
  localparam logic [13:0] SRC_IP = 14'h000, VERDICT = 14'h001, NUMBER = 14'h002, STATUS = 14'h003;
  localparam logic [13:0] VERSION = 14'h3FE, IDENT = 14'h3FF;

  typedef logic [14:0][31:0] keys_t;

  function automatic logic [14:0] not_before(logic [31:0] address, keys_t keys);
    for (int unsigned i = 0; i < 15; i++) not_before[i] = address >= keys[i];
  endfunction
  // The number of ones, which are the lowest ones.
  function automatic logic [3:0] count(logic [14:0] ones);
    count = '0;
    for (int unsigned i = 0; i < 15; i++) if (ones[i] && (i == 14 || !ones[i+1])) count |= 4'(i + 1);
  endfunction

  // Loading: into the table that is not in use
  logic load_q, load_start, load_result, load_use, bank_q;
  logic [21:0] load_word_q;
  logic [31:0] load_data_q;
  wire [INTERVAL_W-1:0] load_i = load_word_q[INTERVAL_W-1:0];
  assign load_start  = load_q && 32'(load_word_q) < 2 * CAPACITY;
  assign load_result = load_q && load_word_q[21:14] == 8'd1 && 32'(load_word_q[13:0]) < 2 * CAPACITY;
  assign load_use    = load_q && load_word_q == 22'h8000;

  // Registers
  wire [13:0] word = reg_addr[15:2];
  wire write = reg_valid && reg_write && word == SRC_IP;
  logic [3:0] wait_q;  // cycles until the verdict
  logic [31:0] ip_q, base_q;
  logic loaded_q;
  logic [NUMBER_W-1:0] found_q;  // number + 1

  assign reg_ready = reg_write || wait_q == '0 || (word != VERDICT && word != NUMBER);
  always_comb begin
    unique case (word)
      SRC_IP:  reg_rdata = ip_q;
      VERDICT: reg_rdata = 32'(found_q != '0);
      NUMBER:  reg_rdata = 32'(found_q) - 32'd1;
      STATUS:  reg_rdata = 32'(loaded_q);
      VERSION: reg_rdata = 32'd1;
      // As bytes in memory the identification reads from left to right.
      IDENT:   reg_rdata = "TSLB";
      default: reg_rdata = '0;
    endcase
  end

  // The search goes on all the time; after STEPS cycles with the same address and table it has their verdict.
  wire searches = wait_q != '0;
  logic [31:0] address_q;
  logic [14:0] root_q, middle_q, leaf_q;
  keys_t root_keys, middle_keys, middle_keys_q, leaf_keys;
  logic [3:0] root_way, middle_way, leaf_way;
  logic [ROOT_W-1:0] root_way_q, root_way_qq;
  logic [NUMBER_W-1:0] found;

  assign root_way   = count(root_q);
  assign middle_way = count(middle_q);
  assign leaf_way   = count(leaf_q);

  for (genvar k = 0; k < 15; k++) begin : gen_keys
    localparam logic [3:0] WAY = 4'(k + 1);

    if (k + 1 < 2 ** ROOT_W) begin : gen_root
      ram_dist #(
          .WIDTH(32),
          .DEPTH(2)
      ) u_ram (
          .clk,
          .wr_en  (load_start && load_i[7:0] == '0 && load_i[INTERVAL_W-1:8] == WAY[ROOT_W-1:0]),
          .wr_addr(!bank_q),
          .wr_data(load_data_q),
          .rd_addr(bank_q),
          .rd_data(root_keys[k])
      );
    end else begin : gen_no_root
      assign root_keys[k] = '1;
    end

    ram_dist #(
        .WIDTH(32),
        .DEPTH(2 * 2 ** ROOT_W)
    ) u_middle (
        .clk,
        .wr_en  (load_start && load_i[3:0] == '0 && load_i[7:4] == WAY),
        .wr_addr({!bank_q, load_i[INTERVAL_W-1:8]}),
        .wr_data(load_data_q),
        .rd_addr({bank_q, root_way[ROOT_W-1:0]}),
        .rd_data(middle_keys[k])
    );

    ram_sdp #(
        .WIDTH(32),
        .DEPTH(32 * 2 ** ROOT_W)
    ) u_leaf (
        .clk,
        .wr_en  (load_start && load_i[3:0] == WAY),
        .wr_addr({!bank_q, load_i[INTERVAL_W-1:4]}),
        .wr_data(load_data_q),
        .rd_en  (searches),
        .rd_addr({bank_q, root_way_qq, middle_way}),
        .rd_data(leaf_keys[k])
    );
  end

  logic [ROOT_W+3:0] leaf_row_q, leaf_row_qq;

  ram_sdp #(
      .WIDTH(NUMBER_W),
      .DEPTH(4 * CAPACITY)
  ) u_found (
      .clk,
      .wr_en  (load_result),
      .wr_addr({!bank_q, load_i}),
      .wr_data(load_data_q[NUMBER_W-1:0]),
      .rd_en  (searches),
      .rd_addr({bank_q, leaf_row_qq, leaf_way}),
      .rd_data(found)
  );

  always_ff @(posedge clk) begin
    load_q      <= load_valid && load_addr[1:0] == '0;
    load_word_q <= load_addr[23:2];
    load_data_q <= load_data;
    if (load_use) begin
      base_q   <= load_data_q;
      bank_q   <= !bank_q;
      loaded_q <= 1'b1;
    end

    for (int unsigned i = 0; i < 4; i++) if (write && reg_wstrb[i]) ip_q[8*i+:8] <= reg_wdata[8*i+:8];
    if (write || load_use) wait_q <= STEPS;
    else if (searches) wait_q <= wait_q - 1'b1;

    address_q     <= {ip_q[7:0], ip_q[15:8], ip_q[23:16], ip_q[31:24]} - base_q;
    root_q        <= not_before(address_q, root_keys);
    middle_keys_q <= middle_keys;
    root_way_q    <= root_way[ROOT_W-1:0];
    middle_q      <= not_before(address_q, middle_keys_q);
    root_way_qq   <= root_way_q;
    leaf_row_q    <= {root_way_qq, middle_way};
    leaf_q        <= not_before(address_q, leaf_keys);
    leaf_row_qq   <= leaf_row_q;
    if (wait_q == 4'd1) found_q <= loaded_q ? found : '0;

    if (rst) begin
      load_q   <= 1'b0;
      loaded_q <= 1'b0;
      bank_q   <= 1'b0;
      wait_q   <= '0;
      found_q  <= '0;
    end
  end

  assign job_valid     = 1'b0;
  assign job           = '0;
  assign s_axis_tready = 1'b1;
  assign interrupt     = 1'b0;
  assign idle          = !searches;

`ifndef SYNTHESIS
  offer_contract #(
      .WIDTH(17)
  ) u_contract (
      .clk,
      .rst,
      .valid(reg_valid),
      .ready(reg_ready),
      .data ({reg_write, reg_addr})
  );
`endif

endmodule
