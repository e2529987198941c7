// SPDX-License-Identifier: Apache-2.0
// Queues of a side that failed, as SOURCES units say: each has room for all queues, of which it names one once until it
// is set again. Who sets it again without having taken its failures may lose some.
// Latency: 2 cycles. Backpressure: none but that.
module host_faults
  import host_pkg::fault_t;
#(
    parameter int unsigned QUEUES = 16,
    parameter int unsigned SOURCES = 3,
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1
) (
    input  logic                            clk,
    input  logic                            rst,
    input  logic [SOURCES-1:0]              failed,        // one cycle each
    input  logic [SOURCES-1:0][QUEUE_W-1:0] failed_queue,
    input  fault_t [SOURCES-1:0]            failed_fault,
    output logic                            fail_valid,
    input  logic                            fail_ready,
    output logic [QUEUE_W-1:0]              fail_queue,
    output fault_t                          fail_fault,
    output logic                            idle
);

  if (QUEUES < 1 || QUEUES > 65536) begin : gen_bad_queues
    $fatal(1, "host_faults: QUEUES must be 1 to 65536, not %0d", QUEUES);
  end
  if (SOURCES < 1 || SOURCES > 16) begin : gen_bad_sources
    $fatal(1, "host_faults: SOURCES must be 1 to 16, not %0d", SOURCES);
  end

  typedef struct packed {
    logic [QUEUE_W-1:0] number;
    fault_t             fault;
  } fault_of_t;

  logic [SOURCES-1:0] valid, first, empty, unused_room;
  fault_of_t [SOURCES-1:0] waiting;
  fault_of_t chosen;

  logic [SOURCES-1:0] failed_q;
  fault_of_t [SOURCES-1:0] fault_q;
  always_ff @(posedge clk) begin
    failed_q <= failed;
    for (int unsigned i = 0; i < SOURCES; i++) fault_q[i] <= {failed_queue[i], failed_fault[i]};
    if (rst) failed_q <= '0;
  end
  for (genvar i = 0; i < SOURCES; i++) begin : gen_source
    stream_queue #(
        .WIDTH($bits(fault_of_t)),
        .DEPTH(2 ** (QUEUES > 2 ? $clog2(QUEUES) : 1))
    ) u_queue (
        .clk,
        .rst,
        .s_valid(failed_q[i]),
        .s_ready(unused_room[i]),
        .s_data (fault_q[i]),
        .m_valid(valid[i]),
        .m_ready(first[i] && fail_ready),
        .m_data (waiting[i]),
        .idle   (empty[i])
    );
  end

  always_comb begin
    chosen = '0;
    first  = valid & (~valid + 1'b1);
    for (int unsigned i = 0; i < SOURCES; i++) if (first[i]) chosen |= waiting[i];
  end
  assign fail_valid = valid != '0;
  assign fail_queue = chosen.number;
  assign fail_fault = chosen.fault;
  assign idle       = &empty && failed == '0 && failed_q == '0;

endmodule
