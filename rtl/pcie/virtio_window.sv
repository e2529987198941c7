// SPDX-License-Identifier: Apache-2.0
// The devices' part of configuration space: virtio_capabilities to be read, and its window to the BARs (PCI_CFG;
// VIRTIO 1.2, 4.1.4.9). In the window a driver sets bar, offset and length; each read or write of pci_cfg_data is then
// an access of that BAR with 1, 2 or 4 bytes, whose data pci_cfg_data keeps. Without a good length, at an offset that
// is no multiple of it, or outside of a BAR, nothing is accessed, and pci_cfg_data is four bytes as others are. An
// access that is answered with an error reads as ones. Which bytes a read asks for doesn't matter, as hard IPs don't
// say. A function's window is as new after its reset (flr_done).
//
// A configuration access stays with its fields until cfg_ready, with which cfg_hit (there is such a register here) and
// cfg_rdata come. Hard IPs whose configuration accesses don't stay need a buffer before it.
// Latency: 2 cycles, 4 more than the BAR's for the window's data. One at a time.
// Backpressure: cfg_ready waits until the BAR's access is over.
module virtio_window
  import axi_pkg::*, virtio_pkg::*;
#(
    parameter int unsigned FUNCTIONS = 16,
    parameter int unsigned PAIRS = 1,
    parameter int unsigned FIRST = 1,         // number of the first device
    parameter int unsigned MSIX_BAR = 2,
    parameter logic [4:0][7:0] PLACES = {8'h48, 8'hE4, 8'hD4, 8'hC0, 8'hB0},
    parameter logic [7:0] NEXT = 8'h00
) (
    input  logic        clk,
    input  logic        rst,

    input  logic        cfg_valid,
    output logic        cfg_ready,
    input  logic [15:0] cfg_func,
    input  logic [9:0]  cfg_number,           // of the register: its address / 4
    input  logic [3:0]  cfg_wstrb,            // bytes to be written; none: a read
    input  logic [31:0] cfg_wdata,
    output logic        cfg_hit,
    output logic [31:0] cfg_rdata,

    input  logic        flr_done,             // a function has been reset
    input  logic [15:0] flr_done_func,

    output logic [15:0] func,                 // beside the access
    output logic [2:0]  bar,
    output axil_req_t   axil_req,
    // An error of a write is nobody's.
    // verilator lint_off UNUSEDSIGNAL
    input  axil_rsp_t   axil_rsp,
    // verilator lint_on UNUSEDSIGNAL
    output logic        idle
);

  if (FUNCTIONS < 1 || FUNCTIONS > 256) begin : gen_bad_functions
    $fatal(1, "virtio_window: FUNCTIONS must be 1 to 256, not %0d", FUNCTIONS);
  end
  if (FIRST < 1 || FIRST > 255) begin : gen_bad_first
    $fatal(1, "virtio_window: FIRST must be 1 to 255, not %0d", FIRST);
  end
  if (MSIX_BAR < 1 || MSIX_BAR > 5) begin : gen_bad_msix_bar
    $fatal(1, "virtio_window: MSIX_BAR must be 1 to 5, not %0d", MSIX_BAR);
  end

  localparam int unsigned FUNC_W = FUNCTIONS > 1 ? $clog2(FUNCTIONS) : 1;

  // What a driver sets, as struct virtio_pci_cfg_cap has it
  typedef struct packed {
    logic [31:0] data;
    logic [31:0] length;
    logic [31:0] offset;
    logic [7:0]  bar;
  } window_t;

  typedef enum logic [2:0] {
    WAITS,
    ACTS,
    CHOOSES,   // whether the BAR is accessed
    ASKS,      // the BAR
    ANSWERS
  } state_t;

  function automatic logic [31:0] merged(logic [31:0] old, logic [31:0] data, logic [3:0] strobes);
    for (int i = 0; i < 4; i++) merged[8*i+:8] = strobes[i] ? data[8*i+:8] : old[8*i+:8];
  endfunction

  state_t state_q;
  logic [FUNCTIONS-1:0] set_q;                // a driver has written the function's window since its reset
  logic [31:0] data_q;
  logic hit_q, aw_q, w_q, ar_q;
  logic stored_q;                             // the BAR's access is by what is stored
  window_t stored, kept, aim, window;   // aim: what is kept, behind ACTS
  logic window_write;
  logic listed;
  logic [31:0] listed_data;
  wire known = 32'(cfg_func) >= FIRST && 32'(cfg_func) < FIRST + FUNCTIONS;
  wire [FUNC_W-1:0] who = FUNC_W'(cfg_func - 16'(FIRST));
  wire write = cfg_wstrb != '0;
  wire [9:0] word = cfg_number - 10'(PLACES[4] / 4);

  virtio_capabilities #(
      .PAIRS (PAIRS),
      .PLACES(PLACES),
      .NEXT  (NEXT)
  ) u_capabilities (
      .number(cfg_number),
      .hit   (listed),
      .data  (listed_data)
  );
  ram_fit #(
      .WIDTH($bits(window_t)),
      .DEPTH(2 ** FUNC_W)
  ) u_windows (
      .clk,
      .wr_en  (window_write),
      .wr_addr(who),
      .wr_data(window),
      .rd_en  (state_q == WAITS && cfg_valid),
      .rd_addr(who),
      .rd_data(stored)
  );

  // ---------------------------------------------------------------------------------------------------- the window
  logic [31:0] old_word;
  always_comb begin
    kept = set_q[who] ? stored : '0;
    aim  = stored_q ? stored : '0;
    case (word)
      10'd1:   old_word = {24'd0, kept.bar};
      10'd2:   old_word = kept.offset;
      10'd3:   old_word = kept.length;
      10'd4:   old_word = kept.data;
      default: old_word = listed_data;
    endcase
  end
  wire [31:0] new_word = merged(old_word, cfg_wdata, cfg_wstrb);

  // One access of the length's bytes, in their lanes
  logic [31:0] bytes;
  logic [3:0] strobes;
  wire [1:0] lane = aim.offset[1:0];
  wire [31:0] read = axil_rsp.rresp >= SLVERR ? '1 : axil_rsp.rdata >> (8 * lane);
  wire [31:0] read_data = merged(aim.data, read, strobes);
  always_comb begin
    bytes = aim.bar == 8'd0 ? BAR_BYTES : aim.bar == 8'(MSIX_BAR) ? MSIX_BYTES : '0;
    case (aim.length)
      32'd1:   strobes = 4'b0001;
      32'd2:   strobes = 4'b0011;
      default: strobes = 4'b1111;
    endcase
  end
  wire aligned = aim.length == 32'd1 || (aim.length == 32'd2 && !lane[0]) || (aim.length == 32'd4 && lane == '0);
  wire accesses = known && aligned && aim.offset < bytes;
  wire answered = state_q == ASKS && (write ? axil_rsp.bvalid : axil_rsp.rvalid);
  wire sets = state_q == ACTS && known && write && word >= 10'd1 && word <= 10'd4;

  always_comb begin
    window       = state_q == ACTS ? kept : aim;
    window_write = sets || (answered && !write);
    case (word)
      10'd1:   window.bar = new_word[7:0];
      10'd2:   window.offset = new_word;
      10'd3:   window.length = new_word;
      default: window.data = write ? new_word : read_data;
    endcase
  end

  always_ff @(posedge clk) begin
    if (axil_rsp.awready) aw_q <= 1'b0;
    if (axil_rsp.wready) w_q <= 1'b0;
    if (axil_rsp.arready) ar_q <= 1'b0;
    if (sets) set_q[who] <= 1'b1;
    case (state_q)
      WAITS: if (cfg_valid) state_q <= ACTS;
      ACTS: begin
        stored_q <= set_q[who];
        hit_q    <= known && listed;
        data_q   <= write ? new_word : old_word;
        state_q  <= word == 10'd4 ? CHOOSES : ANSWERS;
      end
      CHOOSES: begin
        aw_q    <= accesses && write;
        w_q     <= accesses && write;
        ar_q    <= accesses && !write;
        state_q <= accesses ? ASKS : ANSWERS;
      end
      ASKS: begin
        if (answered) begin
          if (!write) data_q <= read_data;
          state_q <= ANSWERS;
        end
      end
      default: state_q <= WAITS;
    endcase
    for (int i = 0; i < FUNCTIONS; i++) begin
      if (flr_done && 32'(flr_done_func) == FIRST + i) set_q[i] <= 1'b0;
    end
    if (rst) begin
      state_q <= WAITS;
      set_q   <= '0;
      aw_q    <= 1'b0;
      w_q     <= 1'b0;
      ar_q    <= 1'b0;
    end
  end

  assign cfg_ready = state_q == ANSWERS;
  assign cfg_hit   = hit_q;
  assign cfg_rdata = hit_q ? data_q : '0;
  assign func      = cfg_func;
  assign bar       = aim.bar[2:0];
  assign axil_req  = '{
          awaddr: {aim.offset[31:2], 2'b00},
          awprot: '0,
          awvalid: aw_q,
          wdata: data_q << (8 * lane),
          wstrb: strobes << lane,
          wvalid: w_q,
          bready: state_q == ASKS,
          araddr: {aim.offset[31:2], 2'b00},
          arprot: '0,
          arvalid: ar_q,
          rready: state_q == ASKS
      };
  assign idle      = state_q == WAITS && !cfg_valid;

`ifndef SYNTHESIS
  range_contract #(
      .WIDTH($bits(state_q)),
      .MOST (32'(ANSWERS))
  ) u_state (
      .clk,
      .rst,
      .valid (1'b1),
      .number(state_q)
  );
  offer_contract #(
      .WIDTH(16 + 10 + 4 + 32)
  ) u_contract (
      .clk,
      .rst,
      .valid(cfg_valid),
      .ready(cfg_ready),
      .data ({cfg_func, cfg_number, cfg_wstrb, cfg_wdata})
  );
`endif

endmodule
