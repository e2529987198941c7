// SPDX-License-Identifier: Apache-2.0
// AXI4 read bursts become plans of requests of at most max_read_size and READ_BYTES, for pcie_read. What is asked for
// begins with the DW of the address.
// Latency: 3 cycles. Throughput: a plan a cycle. Backpressure: plan_ready, which comes with plan_valid alone.
module pcie_read_plan
  import pcie_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned READ_BYTES = 512,  // of a request at most
    localparam int unsigned ROWS = READ_BYTES / (DATA_W / 8),  // beats of a request at most
    localparam int unsigned ROW_W = $clog2(ROWS),
    localparam int unsigned LANES = DATA_W / 32,
    localparam int unsigned LANE_W = $clog2(LANES),
    localparam int unsigned PLACE_W = ROW_W + LANE_W           // of a DW among a request's
) (
    input  logic               clk,
    input  logic               rst,
    input  logic [2:0]         max_read_size,  // 128 bytes << that

    input  logic [7:0]         s_axi_arid,
    // verilator lint_off UNUSEDSIGNAL
    input  logic [63:0]        s_axi_araddr,
    // verilator lint_on UNUSEDSIGNAL
    input  logic [7:0]         s_axi_arlen,
    input  logic [2:0]         s_axi_arsize,
    input  logic [1:0]         s_axi_arburst,
    input  logic [15:0]        s_axi_aruser,   // function
    input  logic               s_axi_arvalid,
    output logic               s_axi_arready,

    output logic               plan_valid,
    input  logic               plan_ready,
    output logic [7:0]         plan_id,
    output logic [15:0]        plan_func,
    output logic [63:2]        plan_addr,
    output logic [PLACE_W-1:0] plan_last,      // DW, counted from lane 0 of the first beat
    output logic               plan_burst_ends,
    output logic               idle
);

  localparam int unsigned BYTES = DATA_W / 8;
  localparam int unsigned OFFSET_W = $clog2(BYTES);

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "pcie_read_plan: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (READ_BYTES < 128 || READ_BYTES > PAGE || 2 ** $clog2(READ_BYTES) != READ_BYTES) begin : gen_bad_read_bytes
    $fatal(1, "pcie_read_plan: READ_BYTES must be a power of two from 128 to 4096, not %0d", READ_BYTES);
  end

  typedef logic [LANE_W-1:0] lane_t;
  typedef struct packed {
    logic [7:0]  id;
    logic [15:0] func;
    logic [63:2] addr;
    logic [7:0]  len;
  } burst_t;
  // A request to be: `first` to `last` are its DWs, counted from lane 0 of its first beat.
  typedef struct packed {
    logic [7:0]           id;
    logic [15:0]          func;
    logic [63-OFFSET_W:0] beat;        // address
    lane_t                first;
    logic [PLACE_W-1:0]   last;
    logic                 burst_ends;
  } plan_t;

  logic burst_valid, bursts_idle, load, advance;
  burst_t next_burst, burst_q;
  logic [2:0] next_size;
  stream_queue #(
      .WIDTH($bits(burst_t) + 3),
      .DEPTH(4)
  ) u_bursts (
      .clk,
      .rst,
      .s_valid(s_axi_arvalid),
      .s_ready(s_axi_arready),
      .s_data ({s_axi_arsize, s_axi_arid, s_axi_aruser, s_axi_araddr[63:2], s_axi_arlen}),
      .m_valid(burst_valid),
      .m_ready(load),
      .m_data ({next_size, next_burst}),
      .idle   (bursts_idle)
  );

  // burst_q.addr is that of the next request, len its beats that are left - 1.
  logic busy_q, plan_room, plans_idle;
  lane_t end_q;                        // lane of the burst's last DW
  plan_t plan;
  logic [ROW_W-1:0] most_q;            // beats of a request at most, - 1
  wire final_request = burst_q.len <= 8'(most_q);
  wire [ROW_W-1:0] rows = final_request ? ROW_W'(burst_q.len) : most_q;
  wire [31:0] granted_rows = (32'd128 << max_read_size) / BYTES;
  // The last lane of a single beat that is narrower than the bus: all ones below its size.
  wire lane_t low_lanes = lane_t'(((8'd1 << next_size) - 8'd1) >> 2);
  wire narrow = 32'(next_size) != OFFSET_W;

  assign advance = busy_q && plan_room;
  assign load    = burst_valid && (!busy_q || (advance && final_request));

  always_ff @(posedge clk) begin
    most_q <= granted_rows < ROWS ? ROW_W'(granted_rows - 32'd1) : ROW_W'(ROWS - 1);
    if (advance) begin
      busy_q       <= !final_request;
      burst_q.len  <= burst_q.len - 8'(most_q) - 1'b1;
      // The rest of a burst is in the same 4 KB.
      burst_q.addr <= {burst_q.addr[63:12], burst_q.addr[11:OFFSET_W] + (12 - OFFSET_W)'(most_q) + 1'b1, lane_t'(0)};
    end
    if (load) begin
      busy_q  <= 1'b1;
      burst_q <= next_burst;
      end_q   <= narrow ? next_burst.addr[OFFSET_W-1:2] | low_lanes : lane_t'(LANES - 1);
    end
    if (rst) busy_q <= 1'b0;
  end

  stream_reg #(
      .WIDTH($bits(plan_t))
  ) u_plan (
      .clk,
      .rst,
      .s_valid(busy_q),
      .s_ready(plan_room),
      .s_data (plan_t'{
        id: burst_q.id,
        func: burst_q.func,
        beat: burst_q.addr[63:OFFSET_W],
        first: burst_q.addr[OFFSET_W-1:2],
        last: {rows, final_request ? end_q : lane_t'(LANES - 1)},
        burst_ends: final_request
      }),
      .m_valid(plan_valid),
      .m_ready(plan_ready),
      .m_data (plan),
      .idle   (plans_idle)
  );

  assign plan_id         = plan.id;
  assign plan_func       = plan.func;
  assign plan_addr       = {plan.beat, plan.first};
  assign plan_last       = plan.last;
  assign plan_burst_ends = plan.burst_ends;
  assign idle            = bursts_idle && plans_idle && !busy_q;

`ifndef SYNTHESIS
  wire [12:0] burst_end = 13'(s_axi_araddr[11:OFFSET_W]) + 13'(s_axi_arlen);
  always_ff @(posedge clk) begin
    if (!rst && s_axi_arvalid && s_axi_arready) begin
      assert (s_axi_arburst == 2'b01) else $error("%m: a burst that doesn't increment");
      assert (32'(s_axi_arsize) == OFFSET_W || (32'(s_axi_arsize) < OFFSET_W && s_axi_arlen == 0))
      else $error("%m: beats narrower than the bus");
      assert (32'(burst_end) < PAGE / BYTES) else $error("%m: a burst that crosses 4 KB");
    end
  end
`else
  wire unused = &{1'b0, s_axi_arburst};
`endif

endmodule
