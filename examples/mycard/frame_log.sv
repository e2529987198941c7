// SPDX-License-Identifier: Apache-2.0
// Writes the first 64 bytes of every frame of PORTS ports into a ring in host memory, one AXI4 burst of one beat each,
// and raises interrupt PORT when an entry is there. Bytes beyond a shorter frame's end are zero.
// Never stalls the ports: a frame that finds DEPTH others of its port waiting is dropped from the log and counted.
module frame_log #(
    parameter int unsigned PORTS = 2,
    parameter int unsigned DEPTH = 16,
    localparam int unsigned DATA_W = 512
) (
    input  logic                           clk,
    input  logic                           rst,

    input  logic                           enable,
    input  logic [63:0]                    base,
    input  logic [31:0]                    entries,
    output logic [31:0]                    written,
    output logic                           dropped,
    output logic                           failed,

    input  logic [PORTS-1:0]               first,   // a frame's first beat is on `data`
    input  logic [PORTS-1:0][DATA_W-1:0]   data,
    input  logic [PORTS-1:0][DATA_W/8-1:0] keep,

    output logic [63:0]                    m_axi_awaddr,
    output logic                           m_axi_awvalid,
    input  logic                           m_axi_awready,
    output logic [DATA_W-1:0]              m_axi_wdata,
    output logic                           m_axi_wvalid,
    input  logic                           m_axi_wready,
    input  logic [1:0]                     m_axi_bresp,
    input  logic                           m_axi_bvalid,
    output logic                           m_axi_bready,

    output logic                           irq_valid,
    input  logic                           irq_ready,
    output logic [15:0]                    irq_vector,

    output logic                           idle
);

  localparam int unsigned PORT_W = PORTS > 1 ? $clog2(PORTS) : 1;

  logic [PORTS-1:0] waiting, chosen, room, fifo_idle;
  logic [PORTS-1:0][DATA_W-1:0] entry;
  logic [PORTS-1:0] refused;

  for (genvar p = 0; p < PORTS; ++p) begin : gen_port
    logic [DATA_W-1:0] masked;
    always_comb for (int b = 0; b < DATA_W / 8; ++b) masked[8*b+:8] = keep[p][b] ? data[p][8*b+:8] : 8'h00;

    stream_fifo #(
        .WIDTH(DATA_W),
        .DEPTH(DEPTH)
    ) u_fifo (
        .clk,
        .rst,
        .s_valid(first[p] && enable),
        .s_ready(room[p]),
        .s_data(masked),
        .m_valid(waiting[p]),
        .m_ready(chosen[p]),
        .m_data(entry[p]),
        .count(),
        .idle(fifo_idle[p])
    );
    assign refused[p] = first[p] && enable && !room[p];
  end

  // One entry at a time: address and data together, then the response, then the interrupt.
  typedef enum logic [1:0] {
    CHOOSE,
    WRITE,
    RESPONSE,
    INTERRUPT
  } state_e;

  state_e state_q;
  logic [PORT_W-1:0] port_q;
  logic [31:0] place_q;
  logic address_done_q, data_done_q;
  logic [DATA_W-1:0] entry_q;

  // The port after the last one goes first.
  logic [PORT_W-1:0] next;
  always_comb begin
    next = port_q;
    for (int unsigned back = PORTS; back > 0; --back) begin
      if (waiting[PORT_W'((32'(port_q) + back) % PORTS)]) next = PORT_W'((32'(port_q) + back) % PORTS);
    end
    chosen = '0;
    chosen[next] = state_q == CHOOSE;
  end

  wire address_done = address_done_q || m_axi_awready;
  wire data_done = data_done_q || m_axi_wready;

  always_ff @(posedge clk) begin
    dropped <= |refused;
    failed  <= 1'b0;
    case (state_q)
      CHOOSE:
      if (|waiting) begin
        state_q <= WRITE;
        port_q  <= next;
        entry_q <= entry[next];
        address_done_q <= 1'b0;
        data_done_q <= 1'b0;
      end
      WRITE: begin
        address_done_q <= address_done;
        data_done_q <= data_done;
        if (address_done && data_done) state_q <= RESPONSE;
      end
      RESPONSE:
      if (m_axi_bvalid) begin
        state_q <= m_axi_bresp == 2'b00 ? INTERRUPT : CHOOSE;
        failed  <= m_axi_bresp != 2'b00;
        if (m_axi_bresp == 2'b00) begin
          written <= written + 1'b1;
          place_q <= place_q + 1'b1 >= entries ? '0 : place_q + 1'b1;
        end
      end
      INTERRUPT: if (irq_ready) state_q <= CHOOSE;
    endcase
    if (rst) begin
      state_q <= CHOOSE;
      port_q  <= '0;
      place_q <= '0;
      written <= '0;
      dropped <= 1'b0;
    end
  end

  assign m_axi_awaddr = base + {26'd0, place_q, 6'd0};
  assign m_axi_awvalid = state_q == WRITE && !address_done_q;
  assign m_axi_wdata = entry_q;
  assign m_axi_wvalid = state_q == WRITE && !data_done_q;
  assign m_axi_bready = state_q == RESPONSE;
  assign irq_valid = state_q == INTERRUPT;
  assign irq_vector = 16'(port_q);
  assign idle = state_q == CHOOSE && fifo_idle == '1 && first == '0;

endmodule
