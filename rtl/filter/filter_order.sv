// SPDX-License-Identifier: Apache-2.0
// Takes the finished packets out of the cores in the order in which they arrived, one a cycle.
// Packets that arrive in the same cycle keep the order of their ports.
module filter_order
  import bpf_pkg::*;
#(
    parameter int unsigned CORES = 8,
    localparam int unsigned CORE_W = CORES > 1 ? $clog2(CORES) : 1
) (
    input  logic                   clk,
    input  logic                   rst,

    // Arrivals: the core that each port's packet goes to
    input  logic [1:0]             arrived,
    input  logic [1:0][CORE_W-1:0] arrived_core,
    input  logic                   arrived_set,
    input  logic [63:0]            time_ns,

    input  logic [CORES-1:0]       finished_valid,
    input  finished_t              finished[CORES],
    output logic [CORES-1:0]       pop,
    input  logic                   stall,         // take nothing out in this cycle

    // The packet taken out, one cycle later
    output logic                   out_valid,
    output finished_t              out_finished,
    output logic [CORE_W-1:0]      out_core,
    output logic                   out_port,
    output logic [63:0]            out_time_ns,

    output logic [SETS-1:0]        set_busy,      // packets of that set are in flight
    output logic                   idle
);

  if (CORES < 1 || CORES > 64) begin : gen_bad_cores
    $fatal(1, "filter_order: CORES must be 1 to 64, not %0d", CORES);
  end

  typedef struct packed {
    logic [1:0]             valid;
    logic [1:0][CORE_W-1:0] core;
    logic                   set;
    logic [63:0]            time_ns;
  } arrival_t;

  localparam int unsigned DEPTH = CORES << ID_W;  // all that the cores can hold

  arrival_t head;
  logic head_valid, head_done;
  logic room, arrivals_idle;

  stream_fifo #(
      .WIDTH($bits(arrival_t)),
      .DEPTH(DEPTH)
  ) u_arrivals (
      .clk,
      .rst,
      .s_valid(arrived != 0),
      .s_ready(room),
      .s_data (arrival_t'{arrived, arrived_core, arrived_set, time_ns}),
      .m_valid(head_valid),
      .m_ready(head_done),
      .m_data (head),
      .count  (),
      .idle   (arrivals_idle)
  );

  logic first_done_q;  // of two packets in one entry, port 0's is out
  wire port = !head.valid[0] || first_done_q;
  wire [CORE_W-1:0] core = head.core[port];
  wire take = head_valid && finished_valid[core] && !stall;
  assign head_done = take && (port || !head.valid[1]);
  assign pop       = take ? CORES'(1) << core : '0;

  localparam int unsigned FLIGHT_W = $clog2(2 * DEPTH + 1);
  logic [SETS-1:0][FLIGHT_W-1:0] flight_q;

  always_ff @(posedge clk) begin
    first_done_q <= (take && !head_done) || (first_done_q && !take);
    out_valid    <= take;
    if (take) begin
      out_finished <= finished[core];
      out_core     <= core;
      out_port     <= port;
      out_time_ns  <= head.time_ns;
    end
    for (int set = 0; set < int'(SETS); set++) begin
      flight_q[set] <= flight_q[set] + (arrived_set == set[0] ? FLIGHT_W'(arrived[0]) + FLIGHT_W'(arrived[1]) : '0)
          - FLIGHT_W'(take && head.set == set[0]);
      set_busy[set] <= flight_q[set] != 0 || arrived != 0;
    end
    if (rst) begin
      first_done_q <= 1'b0;
      out_valid    <= 1'b0;
      flight_q     <= '0;
      set_busy     <= '0;
    end
  end

`ifndef SYNTHESIS
  for (genvar i = 0; i < CORES; i++) begin : gen_contract
    offer_contract #(
        .WIDTH($bits(finished_t))
    ) u_finished_stays (
        .clk,
        .rst,
        .valid(finished_valid[i]),
        .ready(pop[i]),
        .data (finished[i])
    );
  end
  always_ff @(posedge clk) begin
    if (!rst && arrived != 0) assert (room) else $fatal(1, "filter_order: more packets than the cores can hold");
  end
`endif

  assign idle = arrivals_idle && arrived == 0 && !out_valid;

endmodule
