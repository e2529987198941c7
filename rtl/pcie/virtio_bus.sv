// SPDX-License-Identifier: Apache-2.0
// Tells the function engine about queues by its registers (regs/host.rdl, from HOST_BASE on in the card), beside the
// card's own software, whose accesses come by s_req, one at a time. What software has selected stays selected for it:
// what one command does is not interrupted, and ends with the selection that was there before. Software leaves the
// settings of queues and `failed` alone.
// Latency: an access of the card's registers for a doorbell, 12 to begin a queue, 4 to stop it; a look ends when the
// queue is quiet, after LOOKS reads if it isn't. Backpressure: a command, or an access, waits for the one before it.
module virtio_bus
  import axi_pkg::*, virtio_pkg::*;
#(
    parameter logic [31:0] HOST_BASE = 32'h0,
    parameter int unsigned LOOKS = 40     // which take longer than a queue needs to count as quiet
) (
    input  logic        clk,
    input  logic        rst,

    input  logic        tell_valid,       // stays until tell_done
    input  tell_t       tell,
    output logic        tell_done,        // one cycle, with the answer
    output logic        quiet,            // to TELL_LOOK
    output logic        fault_valid,      // to TELL_FAULT: there was one
    output logic [15:0] fault_queue,

    input  axil_req_t   s_req,
    output axil_rsp_t   s_rsp,
    output axil_req_t   m_req,
    input  axil_rsp_t   m_rsp,
    output logic        idle
);

  if (LOOKS < 24 || LOOKS > 255) begin : gen_bad_looks
    $fatal(1, "virtio_bus: LOOKS must be 24 to 255, not %0d", LOOKS);
  end

  // Registers of the engine
  localparam logic [31:0] BELL = 32'h10;
  localparam logic [31:0] SELECT = 32'h40;
  localparam logic [31:0] KIND = 32'h44;      // from here on those that begin a queue, one after the other
  localparam logic [31:0] START = 32'h70;
  localparam logic [31:0] STATE = 32'h74;
  localparam logic [31:0] FAILED = 32'hC0;
  localparam logic [31:0] ADVANCE = 32'hC4;
  localparam logic [3:0] SETTINGS = 4'd8;

  typedef enum logic [3:0] {
    FREE,
    SOFTWARE,
    RINGS,
    SAVES,       // the selection
    SELECTS,
    SETS,
    STARTS,
    LOOKS_AT,
    RESTORES,
    ASKS,        // for a failure
    ADVANCES,
    DONE
  } state_t;

  state_t state_q;
  logic [3:0] setting_q;
  logic [7:0] looks_q;
  logic [31:0] saved_q;
  logic aw_q, w_q, ar_q, begun_q;        // begun_q: the access of this state is under way

  logic reads, answered;
  logic [31:0] addr, data;
  assign reads    = state_q == SAVES || state_q == LOOKS_AT || state_q == ASKS;
  wire ours = state_q != FREE && state_q != SOFTWARE && state_q != DONE;
  assign answered = ours && begun_q && (reads ? m_rsp.rvalid : m_rsp.bvalid);

  always_comb begin
    addr = SELECT;
    data = {15'd0, tell.receive, tell.number};
    case (state_q)
      RINGS: begin
        addr = BELL + {29'd0, tell.receive, 2'b00};
        data = 32'(tell.number);
      end
      SETS: begin
        addr = KIND + {26'd0, setting_q, 2'b00};
        case (setting_q)
          4'd0: data = {11'd0, tell.segment, tell.checksum, tell.event_index, tell.indirect, tell.mergeable, tell.size};
          4'd1: data = {tell.vector, 16'h8000};  // from the ring's beginning on, with the wrap counter 1
          4'd2: data = tell.ring[31:0];
          4'd3: data = tell.ring[63:32];
          4'd4: data = tell.driver[31:0];
          4'd5: data = tell.driver[63:32];
          4'd6: data = tell.device[31:0];
          default: data = tell.device[63:32];
        endcase
      end
      STARTS: begin
        addr = START;
        data = tell.kind == TELL_BEGIN ? 32'd1 : 32'd2;
      end
      LOOKS_AT: addr = STATE;
      RESTORES: data = saved_q;
      ASKS:     addr = FAILED;
      ADVANCES: begin
        addr = ADVANCE;
        data = 32'd1;
      end
      default:  ;
    endcase
  end

  always_comb begin
    m_req = '{
        awaddr: HOST_BASE + addr,
        awprot: '0,
        awvalid: aw_q,
        wdata: data,
        wstrb: '1,
        wvalid: w_q,
        bready: 1'b1,
        araddr: HOST_BASE + addr,
        arprot: '0,
        arvalid: ar_q,
        rready: 1'b1
    };
    s_rsp = '0;
    if (state_q == SOFTWARE) begin
      m_req = s_req;
      s_rsp = m_rsp;
    end
  end

  always_ff @(posedge clk) begin
    if (m_rsp.awready) aw_q <= 1'b0;
    if (m_rsp.wready) w_q <= 1'b0;
    if (m_rsp.arready) ar_q <= 1'b0;
    if (ours && !begun_q) begin
      begun_q <= 1'b1;
      aw_q    <= !reads;
      w_q     <= !reads;
      ar_q    <= reads;
    end
    if (answered) begun_q <= 1'b0;

    case (state_q)
      FREE: begin
        setting_q <= '0;
        looks_q   <= '0;
        if (tell_valid) state_q <= tell.kind == TELL_BELL ? RINGS : tell.kind == TELL_FAULT ? ASKS : SAVES;
        else if (s_req.awvalid || s_req.arvalid) state_q <= SOFTWARE;
      end
      SOFTWARE: if ((m_rsp.bvalid && s_req.bready) || (m_rsp.rvalid && s_req.rready)) state_q <= FREE;
      RINGS:    if (answered) state_q <= DONE;
      SAVES: begin
        saved_q <= m_rsp.rdata;
        if (answered) state_q <= SELECTS;
      end
      SELECTS: if (answered) state_q <= tell.kind == TELL_BEGIN ? SETS : tell.kind == TELL_STOP ? STARTS : LOOKS_AT;
      SETS: begin
        if (answered) begin
          setting_q <= setting_q + 1'b1;
          if (setting_q == SETTINGS - 1'b1) state_q <= STARTS;
        end
      end
      STARTS: if (answered) state_q <= RESTORES;
      LOOKS_AT: begin
        quiet <= m_rsp.rdata[0];
        if (answered) begin
          looks_q <= looks_q + 1'b1;
          if (m_rsp.rdata[0] || 32'(looks_q) == LOOKS - 1) state_q <= RESTORES;
        end
      end
      RESTORES: if (answered) state_q <= DONE;
      ASKS: begin
        fault_valid <= m_rsp.rdata[0];
        fault_queue <= m_rsp.rdata[31:16];
        if (answered) state_q <= m_rsp.rdata[0] ? ADVANCES : DONE;
      end
      ADVANCES: if (answered) state_q <= DONE;
      default:  state_q <= FREE;
    endcase
    if (rst) begin
      state_q <= FREE;
      begun_q <= 1'b0;
      aw_q    <= 1'b0;
      w_q     <= 1'b0;
      ar_q    <= 1'b0;
    end
  end

  assign tell_done = state_q == DONE;
  assign idle      = state_q == FREE && !tell_valid && axil_quiet(s_req, s_rsp);

`ifndef SYNTHESIS
  offer_contract #(
      .WIDTH($bits(tell_t))
  ) u_tell (
      .clk,
      .rst,
      .valid(tell_valid),
      .ready(tell_done),
      .data (tell)
  );
  range_contract #(
      .WIDTH($bits(state_q)),
      .MOST (32'(DONE))
  ) u_state (
      .clk,
      .rst,
      .valid (1'b1),
      .number(state_q)
  );
`endif

endmodule
