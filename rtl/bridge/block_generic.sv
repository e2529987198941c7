// Kernel of a functional block that stands for any processing: it changes nothing, but each frame takes its time, one
// frame after the other: packet_ns and, for each byte, byte_ns_256 / 256 ns, from its first beat's arrival here.
// Latency: as set, measured at the last beat: it is offered in the first cycle with time_ns at or after that, 2 cycles
// after it came at the earliest. The beats before it pass straight through.
// Throughput: 1 beat a cycle and 2 cycles a frame. Backpressure: s_axis_tready follows m_axis_tready; low while time passes.
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

  localparam int unsigned COUNT_W = $clog2(KEEP_W + 1);

  logic started_q;            // due_q counts for the frame that is here
  logic measured_q, ready_q;  // its last beat: its bytes are counted, and added to due_q
  logic add_q;
  logic [31+COUNT_W:0] product_q;
  logic [71:0] due_q;         // in ns / 256
  logic last, early, take, measure;
  logic [COUNT_W-1:0] bytes;

  assign last          = s_axis_tvalid && s_axis_tlast;
  assign early         = time_ns < due_q[71:8];
  assign m_axis_tvalid = s_axis_tvalid && (!s_axis_tlast || (ready_q && !early));
  assign s_axis_tready = m_axis_tready && (!s_axis_tlast || (ready_q && !early));
  assign m_axis_tdata  = s_axis_tdata;
  assign m_axis_tkeep  = s_axis_tkeep;
  assign m_axis_tlast  = s_axis_tlast;
  assign m_drop        = 1'b0;
  assign wake_ns       = ready_q && early ? due_q[71:8] : NEVER;

  assign take    = s_axis_tvalid && s_axis_tready;
  assign measure = s_axis_tlast ? s_axis_tvalid && !measured_q : take;
  assign bytes   = s_axis_tlast ? COUNT_W'($countones(s_axis_tkeep)) : COUNT_W'(KEEP_W);

  always_ff @(posedge clk) begin
    started_q  <= s_axis_tvalid || started_q;
    measured_q <= last;
    ready_q    <= last && measured_q;
    add_q      <= measure;
    product_q  <= bytes * byte_ns_256;
    if (!started_q) due_q <= {time_ns + 64'(packet_ns), 8'd0};
    else if (add_q) due_q <= due_q + 72'(product_q);
    if (take && last) begin
      started_q  <= 1'b0;
      measured_q <= 1'b0;
      ready_q    <= 1'b0;
    end
    if (rst) begin
      started_q  <= 1'b0;
      measured_q <= 1'b0;
      ready_q    <= 1'b0;
      add_q      <= 1'b0;
    end
  end

endmodule
