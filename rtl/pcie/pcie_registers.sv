// SPDX-License-Identifier: Apache-2.0
// The host's accesses to registers: memory reads and writes of 1 or 2 DWs to a base address register's range become
// accesses of AXI4-Lite, one DW after the other, with function and BAR beside the address. An access is over before the
// next begins, so that a read's answer means that the writes before it are done.
// Bytes that the byte enables leave out are not written; DWs without any are neither written nor read. A read that the
// registers answer with an error is answered as aborted (CA). What is no read or write, and reads of more DWs, are
// answered as unsupported (UR); poisoned writes, and those of more DWs, have no effect (`refused` counts all of these).
// Latency: 2 cycles from an access to the registers, 1 from their last answer to the completion.
// Throughput: an access in 4 cycles with registers that answer in the next one. Backpressure: an access waits for the
// one before it, with its completion.
module pcie_registers
  import pcie_pkg::*, axi_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned ADDR_W = 16   // of a BAR's range; what is above it in the address doesn't matter
) (
    input  logic              clk,
    input  logic              rst,

    input  logic              access_valid,
    output logic              access_ready,
    // Of the data only what can be written, of the address the range.
    // verilator lint_off UNUSEDSIGNAL
    input  access_t           access_header,
    input  logic [DATA_W-1:0] access_data,
    // verilator lint_on UNUSEDSIGNAL
    input  logic              access_last,

    output logic              answer_valid,
    input  logic              answer_ready,
    output answer_t           answer_header,
    output logic [DATA_W-1:0] answer_data,   // one beat each

    output logic [15:0]       func,          // beside the access
    output logic [2:0]        bar,
    output axil_req_t         axil_req,
    input  axil_rsp_t         axil_rsp,

    output logic              refused,       // an access that had no effect
    output logic              idle
);

  if (DATA_W < 64 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "pcie_registers: DATA_W must be a power of two from 64 to 512, not %0d", DATA_W);
  end
  if (ADDR_W < 3 || ADDR_W > 32) begin : gen_bad_addr_w
    $fatal(1, "pcie_registers: ADDR_W must be 3 to 32, not %0d", ADDR_W);
  end

  typedef enum logic [1:0] {
    WAITS,     // for an access
    CHOOSES,   // the next DW
    ASKS,      // the registers
    ANSWERS
  } state_t;

  // Bytes from the first to the last one that are enabled, and how many are before the first: 2.3.1.1.
  function automatic logic [1:0] skipped(logic [3:0] be);
    return be[0] ? 2'd0 : be[1] ? 2'd1 : be[2] ? 2'd2 : be[3] ? 2'd3 : 2'd0;
  endfunction
  function automatic logic [2:0] reach(logic [3:1] be);
    return be[3] ? 3'd4 : be[2] ? 3'd3 : be[1] ? 3'd2 : 3'd1;
  endfunction

  // verilator lint_off UNUSEDSIGNAL
  access_t access_q;
  // verilator lint_on UNUSEDSIGNAL
  state_t state_q;
  logic second_q, within_q, unsupported_q, error_q;
  logic aw_q, w_q, ar_q;
  logic [1:0][31:0] data_q;
  wire write = access_q.kind == ACCESS_WRITE;
  wire two = access_q.dwords == 11'd2;
  wire [3:0] be = second_q ? access_q.last_be : access_q.first_be;
  wire last_dw = second_q || !two;
  wire done = write ? axil_rsp.bvalid : axil_rsp.rvalid;
  wire [1:0] response = write ? axil_rsp.bresp : axil_rsp.rresp;
  wire fits = access_header.dwords == 11'd1 || access_header.dwords == 11'd2;
  wire opens = access_valid && access_ready && !within_q;
  wire acts = fits && access_header.kind != ACCESS_OTHER &&
      !(access_header.kind == ACCESS_WRITE && access_header.poisoned);

  assign access_ready = state_q == WAITS;

  always_ff @(posedge clk) begin
    refused <= opens && !acts;
    if (access_valid && access_ready) within_q <= !access_last;
    if (axil_rsp.awready) aw_q <= 1'b0;
    if (axil_rsp.wready) w_q <= 1'b0;
    if (axil_rsp.arready) ar_q <= 1'b0;
    case (state_q)
      WAITS: begin
        if (opens) begin
          access_q      <= access_header;
          data_q        <= access_data[63:0];
          second_q      <= 1'b0;
          error_q       <= 1'b0;
          unsupported_q <= !acts;
          if (acts) state_q <= CHOOSES;
          else if (access_header.kind != ACCESS_WRITE) state_q <= ANSWERS;
        end
      end
      CHOOSES: begin
        if (be == 0) begin
          second_q <= 1'b1;
          if (last_dw) state_q <= write ? WAITS : ANSWERS;
        end else begin
          state_q <= ASKS;
          aw_q    <= write;
          w_q     <= write;
          ar_q    <= !write;
        end
      end
      ASKS: begin
        if (done) begin
          second_q <= 1'b1;
          if (!write) data_q[second_q] <= axil_rsp.rdata;
          if (response >= SLVERR) error_q <= 1'b1;
          state_q <= !last_dw ? CHOOSES : write ? WAITS : ANSWERS;
        end
      end
      default: begin
        if (answer_ready) state_q <= WAITS;
      end
    endcase
    if (rst) begin
      state_q  <= WAITS;
      within_q <= 1'b0;
      refused  <= 1'b0;
      aw_q     <= 1'b0;
      w_q      <= 1'b0;
      ar_q     <= 1'b0;
    end
  end

  wire [ADDR_W-3:0] dw = access_q.addr[ADDR_W-1:2] + (ADDR_W - 2)'(second_q);
  wire [31:0] at = 32'({dw, 2'b00});
  assign func     = access_q.id.func;
  assign bar      = access_q.bar;
  assign axil_req = '{
          awaddr: at,
          awprot: '0,
          awvalid: aw_q,
          wdata: data_q[second_q],
          wstrb: be,
          wvalid: w_q,
          bready: state_q == ASKS,
          araddr: at,
          arprot: '0,
          arvalid: ar_q,
          rready: state_q == ASKS
      };

  wire good = !unsupported_q && !error_q;
  wire read = access_q.kind == ACCESS_READ;
  wire [3:1] end_be = access_q.dwords == 11'd1 ? access_q.first_be[3:1] : access_q.last_be[3:1];
  wire [12:0] bytes = {access_q.dwords, 2'b00} - 13'd4 + 13'(reach(end_be)) - 13'(skipped(access_q.first_be));
  assign answer_valid  = state_q == ANSWERS;
  assign answer_header = '{
          id: access_q.id,
          status: unsupported_q ? UNSUPPORTED : error_q ? ABORTED : SUCCESSFUL,
          bytes: read ? bytes : 13'd4,
          lower_addr: read ? {access_q.addr[6:2], skipped(access_q.first_be)} : '0,
          dwords: good ? access_q.dwords : '0
      };
  assign answer_data = DATA_W'(data_q);
  assign idle        = state_q == WAITS && !within_q && !access_valid;

`ifndef SYNTHESIS
  offer_contract #(
      .WIDTH($bits(access_t) + 1)
  ) u_access (
      .clk,
      .rst,
      .valid(access_valid),
      .ready(access_ready),
      .data ({access_header, access_last})
  );
  offer_contract #(
      .WIDTH($bits(answer_t))
  ) u_answer (
      .clk,
      .rst,
      .valid(answer_valid),
      .ready(answer_ready),
      .data (answer_header)
  );
`endif

endmodule
