// SPDX-License-Identifier: Apache-2.0
// Kernel of a functional block that stands for any processing: it changes nothing, but each frame takes its time, one
// frame after the other: packet_ns and, for each byte, byte_ns_256 / 256 ns, from its first beat's arrival here.
// Latency: as set, measured at the last beat: it is offered in the first cycle with time_ns at or after that, 3 cycles
// after it came at the earliest. The beats before it pass straight through.
// Throughput: 1 beat a cycle and 3 cycles a frame. Backpressure: s_axis_tready follows m_axis_tready; low while time
// passes.
module block_generic
  import bridge_pkg::*;
#(
    parameter int unsigned DATA_W = 64,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,
    input  logic [63:0]       time_ns,
    input  logic [31:0]       packet_ns,
    input  logic [31:0]       byte_ns_256,

    input  logic              s_axis_tvalid,
    output logic              s_axis_tready,
    input  logic [DATA_W-1:0] s_axis_tdata,
    input  logic [KEEP_W-1:0] s_axis_tkeep,
    input  logic              s_axis_tlast,

    output logic              m_axis_tvalid,
    input  logic              m_axis_tready,
    output logic [DATA_W-1:0] m_axis_tdata,
    output logic [KEEP_W-1:0] m_axis_tkeep,
    output logic              m_axis_tlast,
    output logic              m_drop,
    output logic [63:0]       wake_ns        // all that is here waits for this time; NEVER otherwise
);

  if (DATA_W < 32 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "block_generic: DATA_W must be 32, 64, 128, 256 or 512, not %0d", DATA_W);
  end

  // From the last beat's arrival on, a step a cycle: 1, its bytes are counted; 2, the time of all bytes; 3, added to
  // due_q
  logic [3:1] step_q;
  logic started_q;           // due_q counts for the frame that is here
  logic [15:0] bytes_q;      // of this frame
  logic [47:0] product_q;    // in ns / 256
  logic [63:0] due_q;
  logic last, take, early, go;

  assign last  = s_axis_tvalid && s_axis_tlast;
  assign take  = s_axis_tvalid && s_axis_tready;
  assign early = time_ns < due_q;
  assign go    = !s_axis_tlast || (step_q[3] && !early);

  assign m_axis_tvalid = s_axis_tvalid && go;
  assign s_axis_tready = m_axis_tready && go;
  logic [$clog2(KEEP_W):0] beat_bytes;
  keep_bytes #(.KEEP_W(KEEP_W)) u_bytes (.keep(s_axis_tkeep), .bytes(beat_bytes));

  assign m_axis_tdata  = s_axis_tdata;
  assign m_axis_tkeep  = s_axis_tkeep;
  assign m_axis_tlast  = s_axis_tlast;
  assign m_drop        = 1'b0;
  assign wake_ns       = step_q[3] && early ? due_q : NEVER;

  always_ff @(posedge clk) begin
    started_q <= (s_axis_tvalid || started_q) && !(take && s_axis_tlast);
    step_q    <= {step_q[2:1], last} & {3{!(take && s_axis_tlast)}};
    if (take && s_axis_tlast) bytes_q <= '0;
    else if (take) bytes_q <= bytes_q + 16'(KEEP_W);
    else if (last && !step_q[1]) bytes_q <= bytes_q + 16'(beat_bytes);
    product_q <= bytes_q * byte_ns_256;
    if (!started_q) due_q <= time_ns + 64'(packet_ns);
    else if (step_q[2] && !step_q[3]) due_q <= due_q + 64'(product_q[47:8]);
    if (rst) begin
      started_q <= 1'b0;
      step_q    <= '0;
      bytes_q   <= '0;
    end
  end

endmodule
