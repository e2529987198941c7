// SPDX-License-Identifier: Apache-2.0
// Takes the packets of all units to the ports that they name: whole packets, in turn. Nothing is kept before the choice
// of the next packet: once a unit's last beat is taken, its packet is before all that are taken later.
// While `flush` of a unit is high, nothing comes from it, and a packet of which a part has gone is ended by one more
// byte and marked as cut. A packet for a port that there is none of is taken and thrown away.
// The last port is PORT_DRAM's; beside each packet goes whose it is.
// Latency: 2 cycles from a beat to the port. Throughput: 1 beat a cycle at each port, with no gap between packets of
// different units; one cycle between packets of a unit if no other waits.
// Backpressure: m_axis_tready ends in registers; s_axis_tready comes from registers.
module rpu_from_units
  import rpu_pkg::*, rpu_fabric_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned UNITS = 8,
    parameter int unsigned FUNCTIONS = 1,  // of the host port
    localparam int unsigned KEEP_W = DATA_W / 8,
    localparam int unsigned PORTS = SOURCES + 1
) (
    input  logic                            clk,
    input  logic                            rst,
    input  logic     [UNITS-1:0]            flush,
    input  logic     [UNITS-1:0][LIFE_W-1:0] life,
    input  logic     [UNITS-1:0]            s_axis_tvalid,
    output logic     [UNITS-1:0]            s_axis_tready,
    input  logic     [UNITS-1:0][DATA_W-1:0] s_axis_tdata,
    input  logic     [UNITS-1:0][KEEP_W-1:0] s_axis_tkeep,
    input  logic     [UNITS-1:0]            s_axis_tlast,
    input  unit_tx_t [UNITS-1:0]            s_axis_tuser,
    output logic     [PORTS-1:0]             m_axis_tvalid,
    input  logic     [PORTS-1:0]             m_axis_tready,
    output logic     [PORTS-1:0][DATA_W-1:0] m_axis_tdata,
    output logic     [PORTS-1:0][KEEP_W-1:0] m_axis_tkeep,
    output logic     [PORTS-1:0]             m_axis_tlast,
    output logic     [PORTS-1:0]             m_axis_cut,   // with the last beat: the packet is not whole
    output unit_tx_t [PORTS-1:0]             m_axis_tuser,
    output owner_t   [PORTS-1:0]             m_axis_owner,
    output logic     [UNITS-1:0]               bad_port,
    output logic     [UNITS-1:0]               cut,
    output logic                               idle
);

  if (UNITS < 1 || UNITS > MAX_UNITS) begin : gen_bad_units
    $fatal(1, "rpu_from_units: UNITS must be 1 to %0d, not %0d", MAX_UNITS, UNITS);
  end
  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "rpu_from_units: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (FUNCTIONS < 1 || FUNCTIONS > MAX_FUNCTIONS) begin : gen_bad_functions
    $fatal(1, "rpu_from_units: FUNCTIONS must be 1 to %0d, not %0d", MAX_FUNCTIONS, FUNCTIONS);
  end

  typedef struct packed {
    owner_t            owner;
    unit_tx_t          user;
    logic              cut;
    logic              last;
    logic [KEEP_W-1:0] keep;
    logic [DATA_W-1:0] data;
  } beat_t;

  logic [UNITS-1:0] nowhere;  // the packet has no port to go to
  logic [PORTS-1:0][UNITS-1:0] wants, takes, cuts;
  logic [PORTS-1:0] out_idle, on;

  for (genvar u = 0; u < UNITS; u++) begin : gen_unit
    logic [PORTS-1:0] to;
    always_comb begin
      to = s_axis_tuser[u].port < 8'(PORTS) ? PORTS'(1) << s_axis_tuser[u].port[2:0] : '0;
      if (is_host(s_axis_tuser[u].port, FUNCTIONS)) to = PORTS'(1) << PORT_HOST;
      if (s_axis_tuser[u].to_unit) to = PORTS'(1) << PORT_LOOPBACK;
    end
    assign nowhere[u] = to == '0;
    for (genvar d = 0; d < PORTS; d++) begin : gen_wants
      assign wants[d][u] = to[d] && s_axis_tvalid[u] && !flush[u];
    end
  end

  for (genvar d = 0; d < PORTS; d++) begin : gen_port
    logic on_q, begun_q, ended_q, out_ready;  // a unit has its turn; a part of its packet has gone; there is no rest
    logic [UNIT_W-1:0] unit_q, next;
    beat_t out;

    wire [MAX_UNITS-1:0] valids = MAX_UNITS'(s_axis_tvalid);
    wire [MAX_UNITS-1:0] lasts = MAX_UNITS'(s_axis_tlast);
    wire [MAX_UNITS-1:0] flushes = MAX_UNITS'(flush);
    wire ended = flushes[unit_q] || ended_q;
    wire valid = on_q && (ended ? begun_q : valids[unit_q]);
    wire last = ended || lasts[unit_q];
    wire finish = on_q && (ended && !begun_q || valid && out_ready && last);

    wire [UNITS-1:0] others = wants[d] & ~(UNITS'(on_q) << unit_q);
    assign takes[d] = UNITS'(on_q && !ended && out_ready) << unit_q;
    assign cuts[d]  = UNITS'(valid && out_ready && ended) << unit_q;

    always_comb begin
      next = '0;
      for (int i = int'(UNITS) - 1; i >= 0; i--) if (others[i]) next = UNIT_W'(i);
      for (int i = int'(UNITS) - 1; i >= 0; i--) if (others[i] && UNIT_W'(i) > unit_q) next = UNIT_W'(i);
    end

    always_ff @(posedge clk) begin
      if (!on_q || finish) begin
        on_q    <= others != '0;
        begun_q <= 1'b0;
        ended_q <= 1'b0;
        if (others != '0) unit_q <= next;
      end else begin
        begun_q <= begun_q || (valid && out_ready);
        ended_q <= ended && begun_q;
      end
      if (rst) begin
        on_q    <= 1'b0;
        ended_q <= 1'b0;
        begun_q <= 1'b0;
        unit_q  <= '0;
      end
    end

    localparam int unsigned INDEX_W = UNITS > 1 ? $clog2(UNITS) : 1;
    wire [INDEX_W-1:0] index = INDEX_W'(unit_q);

    stream_reg #(
        .WIDTH($bits(beat_t))
    ) u_out (
        .clk,
        .rst,
        .s_valid(valid),
        .s_ready(out_ready),
        .s_data ({
          unit_q,
          life[index],
          s_axis_tuser[index],
          ended,
          last,
          ended ? KEEP_W'(1) : s_axis_tkeep[index],
          s_axis_tdata[index]
        }),
        .m_valid(m_axis_tvalid[d]),
        .m_ready(m_axis_tready[d]),
        .m_data (out),
        .idle   (out_idle[d])
    );

    assign on[d]           = on_q;
    assign m_axis_tdata[d] = out.data;
    assign m_axis_tkeep[d] = out.keep;
    assign m_axis_tlast[d] = out.last;
    assign m_axis_cut[d]   = out.cut;
    assign m_axis_tuser[d] = out.user;
    assign m_axis_owner[d] = out.owner;
  end

  always_comb begin
    s_axis_tready = nowhere;
    cut           = '0;
    for (int unsigned d = 0; d < PORTS; d++) begin
      s_axis_tready |= takes[d];
      cut |= cuts[d];
    end
  end

  assign bad_port = nowhere & s_axis_tvalid & s_axis_tlast & ~flush;
  assign idle     = &out_idle && on == '0;

`ifndef SYNTHESIS
  for (genvar u = 0; u < UNITS; u++) begin : gen_contract
    offer_contract #(
        .WIDTH($bits(unit_tx_t) + 1 + KEEP_W + DATA_W)
    ) u_stays (
        .clk,
        .rst  (rst || flush[u]),
        .valid(s_axis_tvalid[u]),
        .ready(s_axis_tready[u]),
        .data ({s_axis_tuser[u], s_axis_tlast[u], s_axis_tkeep[u], s_axis_tdata[u]})
    );
  end
`endif

endmodule
