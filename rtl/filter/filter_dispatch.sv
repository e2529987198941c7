// SPDX-License-Identifier: Apache-2.0
// Finds the cores for the packets that arrive. Even and odd cores take turns, so that each half has two cycles to find
// its next core, round robin: one packet a cycle on one port, or one every second cycle on each of two.
// A port that starts a frame takes the core that is offered to it; if both do in one cycle, they get different ones,
// and if there is one core only, the ports get it in turn.
module filter_dispatch #(
    parameter int unsigned CORES = 8,
    localparam int unsigned CORE_W = CORES > 1 ? $clog2(CORES) : 1
) (
    input  logic                   clk,
    input  logic                   rst,
    input  logic [CORES-1:0]       core_ready,     // as bpf_core's in_ready
    input  logic [CORES-1:0]       core_listed,    // the last beat of a frame goes to this core
    input  logic [1:0]             wanted,         // the port is about to start a frame
    input  logic [1:0]             taken,          // and does so now
    output logic [1:0]             offered,
    output logic [1:0][CORE_W-1:0] offered_core,
    output logic                   idle            // a core is found for a frame at each port
);

  if (CORES < 1 || CORES > 64) begin : gen_bad_cores
    $fatal(1, "filter_dispatch: CORES must be 1 to 64, not %0d", CORES);
  end

  // A core is out of the question from the moment it is taken until its readiness speaks of that frame too.
  logic [CORES-1:0] assigned_q;
  logic [2:0][CORES-1:0] settling_q;
  logic [CORES-1:0] eligible, assign_mask;
  assign eligible = core_ready & ~assigned_q & ~settling_q[0] & ~settling_q[1] & ~settling_q[2];

  function automatic logic [CORE_W-1:0] lowest(logic [CORES-1:0] mask);
    lowest = '0;
    for (int i = int'(CORES) - 1; i >= 0; i--) if (mask[i]) lowest = CORE_W'(i);
  endfunction

  logic [1:0] valid_q, take;  // of the even and the odd half
  logic [1:0][CORE_W-1:0] core_q;

  for (genvar half = 0; half < 2; half++) begin : gen_half
    logic [CORES-1:0] members, above;
    for (genvar i = 0; i < CORES; i++) begin : gen_member
      assign members[i] = eligible[i] && i % 2 == half;
    end
    assign above = members & (~CORES'(1) << core_q[half]);
    always_ff @(posedge clk) begin
      if (take[half]) begin
        valid_q[half] <= 1'b0;
      end else if (!valid_q[half] && members != 0) begin
        valid_q[half] <= 1'b1;
        core_q[half]  <= lowest(above != 0 ? above : members);
      end
      if (rst) begin
        valid_q[half] <= 1'b0;
        core_q[half]  <= '0;
      end
    end
  end

  // The half whose turn it is goes first, to the port that did not get the last core.
  logic turn_q, port_q;
  wire first = valid_q[turn_q] ? turn_q : !turn_q;
  wire second = wanted[port_q] && valid_q[first] ? !first : first;
  wire [1:0] chosen = port_q ? {first, second} : {second, first};  // the half that is offered to each port
  assign offered      = {valid_q[chosen[1]], valid_q[chosen[0]]};
  assign offered_core = {core_q[chosen[1]], core_q[chosen[0]]};

  assign idle         = offered == '1;

  wire [1:0] got = taken & offered;
  always_comb begin
    take        = '0;
    assign_mask = '0;
    for (int port = 0; port < 2; port++) begin
      if (got[port]) begin
        take[chosen[port]] = 1'b1;
        assign_mask |= CORES'(1) << offered_core[port];
      end
    end
  end

  always_ff @(posedge clk) begin
    turn_q     <= turn_q ^ take[turn_q];
    port_q     <= got == 2'b01 || (port_q && got != 2'b10);
    assigned_q <= (assigned_q | assign_mask) & ~core_listed;
    settling_q <= {settling_q[1:0], core_listed};
    if (rst) begin
      turn_q     <= 1'b0;
      port_q     <= 1'b0;
      assigned_q <= '0;
      settling_q <= '0;
    end
  end

endmodule
