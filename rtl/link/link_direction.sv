// SPDX-License-Identifier: Apache-2.0
// A direction of an emulated link: frames come in, and leave when and as the settings say. They wait in RAM where there
// is room for them and they leave in order, or soon; in host memory otherwise.
// received + duplicated = bad + too_long + no_room + lost + limited + failed + sent + those inside
// Latency: that of the link; without delay about 30 cycles from a frame's last beat. Throughput: see link_decide.
// Backpressure: see link_store.
//
//  s_axis -> link_store -+-- NEAR: in order -----------> packet_fifo ---+
//             ^  |       +-- SOON: the earliest first -> link_soon -----+-> link_release -> tx
//         job |  | frame +-- FAR -> link_far ----------> packet_fifo ---+
//             |  v                    ^
//         link_decide                 +-> host memory
module link_direction
  import axi_pkg::*;
  import headrace_pkg::tx_meta_t;
  import link_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned STORE_KB = 32,     // of each of the four places in RAM
    parameter int unsigned FRAME_KB = 16,     // the longest frame
    parameter int unsigned SLOTS = 4096,      // frames in host memory
    parameter bit GATED = 1'b0,               // clock gates: see clock_gate
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic                   clk,
    input  logic                   rst,
    input  logic [63:0]            time_ns,
    input  logic [7:0]             port,            // goes beside each frame

    input  settings_t              settings,
    input  logic                   hold,            // no frame is begun: settings may change
    output logic                   held,
    input  logic                   hold_link,       // the link is held off while there is no room
    input  logic                   memory,          // slots of FRAME_KB from base on are there
    input  logic [63:0]            base,
    input  logic                   seed_valid,
    input  logic [3:0][31:0]       seed,
    input  logic                   table_valid,
    input  logic [TABLE_W-1:0]     table_index,
    input  logic [15:0]            table_value,

    input  logic                   s_axis_tvalid,
    output logic                   s_axis_tready,
    input  logic [DATA_W-1:0]      s_axis_tdata,
    input  logic [KEEP_W-1:0]      s_axis_tkeep,
    input  logic                   s_axis_tlast,
    input  logic                   s_error,         // with the last beat
    output logic                   tx_tvalid,
    input  logic                   tx_tready,
    output logic [DATA_W-1:0]      tx_tdata,
    output logic [KEEP_W-1:0]      tx_tkeep,
    output logic                   tx_tlast,
    output tx_meta_t               tx_tuser,

    output axi_req_t               axi_req,
    output logic [DATA_W-1:0]      axi_wdata,
    output logic [KEEP_W-1:0]      axi_wstrb,
    input  axi_rsp_t               axi_rsp,
    input  logic [DATA_W-1:0]      axi_rdata,

    output entered_t               entered,
    output decided_t               decided,
    output logic [1:0]             failed,          // frames that host memory lost
    output logic                   sent,
    output logic [$clog2(KEEP_W):0] sent_bytes,
    output logic [31:0]            queued,          // frames that are held
    output logic                   idle,            // nothing moves before wake_ns
    output logic [63:0]            wake_ns
);

  localparam int unsigned DEPTH = STORE_KB * 1024 / KEEP_W;
  localparam int unsigned ROOM_W = $clog2(DEPTH) + 1;
  localparam int unsigned LANES = 3;
  localparam int unsigned BIT_W = $clog2(DATA_W);

  logic main_clk;
  clock_gate #(
      .GATED(GATED),
      .WATCHED(38)
  ) u_gate (
      .clk,
      .rst,
      .work   (!idle || seed_valid || table_valid),
      .watched({queued, held, s_axis_tready, tx_tvalid, sent, failed}),
      .gated  (main_clk)
  );

  // ------------------------------------------------------------------------------------------------- frames come in
  logic frame_valid, job_valid, job_ready, placed, far_open, far_valid, far_ready, decide_idle, store_idle;
  logic store_valid, store_ready, store_last;
  logic [DATA_W-1:0] store_data;
  logic [KEEP_W-1:0] store_keep;
  logic [ROOM_W-1:0] near_room_q, soon_room;  // beats that nobody has been promised
  logic [31:0] queued_q;
  frame_t frame;
  job_t job;
  wire [ROOM_W-1:0] beats = ROOM_W'((job.bytes + BYTES_W'(KEEP_W - 1)) >> $clog2(KEEP_W));
  // verilator lint_off UNUSEDSIGNAL
  job_t store_job;
  // verilator lint_on UNUSEDSIGNAL

  link_store #(
      .DATA_W(DATA_W),
      .STORE_KB(STORE_KB),
      .FRAME_KB(FRAME_KB)
  ) u_store (
      .clk(main_clk),
      .rst,
      .time_ns,
      .hold         (hold_link),
      .s_axis_tvalid,
      .s_axis_tready,
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .s_error,
      .entered,
      .frame_valid,
      .frame,
      .job_valid,
      .job_ready,
      .job,
      .m_axis_tvalid(store_valid),
      .m_axis_tready(store_ready),
      .m_axis_tdata (store_data),
      .m_axis_tkeep (store_keep),
      .m_axis_tlast (store_last),
      .m_job        (store_job),
      .idle         (store_idle)
  );

  link_decide #(
      .DATA_W(DATA_W),
      .ROOM_W(ROOM_W)
  ) u_decide (
      .clk(main_clk),
      .rst,
      .time_ns,
      .settings,
      .hold,
      .held,
      .seed_valid,
      .seed,
      .table_valid,
      .table_index,
      .table_value,
      .frame_valid,
      .frame,
      .queued     (queued_q),
      .near_room  (near_room_q),
      .soon_room,
      .far_open   (far_open && memory),
      .far_ready,
      .far_valid,
      .job_valid,
      .job_ready,
      .job,
      .placed,
      .decided,
      .idle       (decide_idle)
  );

  // --------------------------------------------------------------------------------------------- to where they wait
  logic [LANES-1:0] lane_s_valid, lane_s_ready, lane_s_last, lane_valid, lane_ready, lane_last, lane_idle;
  logic [LANES-1:0] lane_head;
  // verilator lint_off UNUSEDSIGNAL
  logic [LANES-1:0] lane_dropped, lane_chosen;  // only host memory drops, only SOON waits until it is chosen
  // verilator lint_on UNUSEDSIGNAL
  logic [LANES-1:0][DATA_W-1:0] lane_s_data, lane_data;
  logic [LANES-1:0][KEEP_W-1:0] lane_s_keep, lane_keep;
  logic [LANES-1:0][63:0] lane_s_leave, lane_leave;
  logic [BYTES_W+2-BIT_W:0] beat_q;  // of the frame that is moved
  logic [DATA_W-1:0] moved;
  logic far_s_ready, far_error, far_failed, far_still, soon_settled, release_still;
  logic [63:0] far_wake_ns, release_wake_ns;

  // Where frames wait that don't leave in order, or not soon
  logic aside_clk;
  clock_gate #(
      .GATED(GATED),
      .WATCHED(ROOM_W + 15)
  ) u_aside_gate (
      .clk,
      .rst,
      .work   (far_valid || (placed && job.lane == SOON) || (store_valid && store_job.lane != NEAR) || !far_still ||
               !lane_idle[1] || lane_chosen[1] || !(lane_idle[2] || lane_valid[2]) || lane_ready[2]),
      .watched({far_open, far_ready, far_s_ready, far_failed, soon_room, soon_settled, lane_s_ready[2:1],
                lane_valid[2:1], lane_idle[2:1], lane_head[1], axi_req.arvalid, axi_req.awvalid, axi_req.wvalid}),
      .gated  (aside_clk)
  );

  always_comb begin
    moved = store_data;
    if (store_job.flip && store_job.flip_at[BYTES_W+2:BIT_W] == beat_q) begin
      moved[store_job.flip_at[BIT_W-1:0]] = ~store_data[store_job.flip_at[BIT_W-1:0]];
    end
    unique case (store_job.lane)
      NEAR: store_ready = lane_s_ready[0];
      SOON: store_ready = lane_s_ready[1];
      default: store_ready = far_s_ready;
    endcase
  end

  for (genvar i = 0; i < 2; i++) begin : gen_near
    assign lane_s_valid[i] = store_valid && 32'(store_job.lane) == i;
    assign lane_s_data[i]  = moved;
    assign lane_s_keep[i]  = store_keep;
    assign lane_s_last[i]  = store_last;
    assign lane_s_leave[i] = store_job.leave_ns;
  end

  link_far #(
      .DATA_W(DATA_W),
      .SLOTS(SLOTS),
      .FRAME_KB(FRAME_KB)
  ) u_far (
      .clk(aside_clk),
      .rst,
      .time_ns,
      .lead_ns       (settings.lead_ns),
      .base,
      .open          (far_open),
      .place_valid   (far_valid),
      .place_ready   (far_ready),
      .place_leave_ns(job.leave_ns),
      .place_bytes   (job.bytes),
      .s_axis_tvalid (store_valid && store_job.lane == FAR),
      .s_axis_tready (far_s_ready),
      .s_axis_tdata  (moved),
      .s_axis_tkeep  (store_keep),
      .s_axis_tlast  (store_last),
      .axi_req,
      .axi_wdata,
      .axi_wstrb,
      .axi_rsp,
      .axi_rdata,
      .m_axis_tvalid (lane_s_valid[2]),
      .m_axis_tready (lane_s_ready[2]),
      .m_axis_tdata  (lane_s_data[2]),
      .m_axis_tkeep  (lane_s_keep[2]),
      .m_axis_tlast  (lane_s_last[2]),
      .m_error       (far_error),
      .m_leave_ns    (lane_s_leave[2]),
      .failed        (far_failed),
      .still         (far_still),
      .wake_ns       (far_wake_ns)
  );

  // -------------------------------------------------------------------------------------- where they wait, and leave
  // Outputs that nobody needs here stay open.
  // verilator lint_off PINCONNECTEMPTY
  for (genvar i = 0; i < LANES; i += 2) begin : gen_lane
    packet_fifo #(
        .DATA_W(DATA_W),
        .USER_W(64),
        .DEPTH(DEPTH),
        .DROP_WHEN_FULL(1'b0)
    ) u_lane (
        .clk(i == 2 ? aside_clk : main_clk),
        .rst,
        .s_axis_tvalid(lane_s_valid[i]),
        .s_axis_tready(lane_s_ready[i]),
        .s_axis_tdata (lane_s_data[i]),
        .s_axis_tkeep (lane_s_keep[i]),
        .s_axis_tlast (lane_s_last[i]),
        .s_axis_tuser (lane_s_leave[i]),
        .s_drop       (i == 2 && far_error),
        .m_axis_tvalid(lane_valid[i]),
        .m_axis_tready(lane_ready[i]),
        .m_axis_tdata (lane_data[i]),
        .m_axis_tkeep (lane_keep[i]),
        .m_axis_tlast (lane_last[i]),
        .m_axis_tuser (lane_leave[i]),
        .used         (),
        .dropped      (lane_dropped[i]),
        .idle         (lane_idle[i])
    );
    assign lane_head[i] = lane_valid[i];
  end
  // verilator lint_on PINCONNECTEMPTY

  link_soon #(
      .DATA_W(DATA_W),
      .DEPTH(DEPTH)
  ) u_soon (
      .clk(aside_clk),
      .rst,
      .promise      (placed && job.lane == SOON),
      .promise_beats(beats),
      .room         (soon_room),
      .s_axis_tvalid(lane_s_valid[1]),
      .s_axis_tready(lane_s_ready[1]),
      .s_axis_tdata (lane_s_data[1]),
      .s_axis_tkeep (lane_s_keep[1]),
      .s_axis_tlast (lane_s_last[1]),
      .s_leave_ns   (lane_s_leave[1]),
      .head_valid   (lane_head[1]),
      .head_ns      (lane_leave[1]),
      .settled      (soon_settled),
      .chosen       (lane_chosen[1]),
      .m_axis_tvalid(lane_valid[1]),
      .m_axis_tready(lane_ready[1]),
      .m_axis_tdata (lane_data[1]),
      .m_axis_tkeep (lane_keep[1]),
      .m_axis_tlast (lane_last[1]),
      .idle         (lane_idle[1])
  );
  assign lane_dropped[1] = 1'b0;

  link_release #(
      .DATA_W(DATA_W),
      .LANES(LANES)
  ) u_release (
      .clk(main_clk),
      .rst,
      .time_ns,
      .port,
      .hold         (!soon_settled),
      .s_head_valid (lane_head),
      .s_leave_ns   (lane_leave),
      .s_chosen     (lane_chosen),
      .s_axis_tvalid(lane_valid),
      .s_axis_tready(lane_ready),
      .s_axis_tdata (lane_data),
      .s_axis_tkeep (lane_keep),
      .s_axis_tlast (lane_last),
      .tx_tvalid,
      .tx_tready,
      .tx_tdata,
      .tx_tkeep,
      .tx_tlast,
      .tx_tuser,
      .sent,
      .sent_bytes,
      .still        (release_still),
      .wake_ns      (release_wake_ns)
  );

  // ------------------------------------------------------------------------------------------------------- the whole
  assign failed = 2'(far_failed) + 2'(lane_dropped[2]);
  assign queued = queued_q;

  always_ff @(posedge main_clk) begin
    if (store_valid && store_ready) beat_q <= store_last ? '0 : beat_q + 1'b1;
    queued_q    <= queued_q + 32'(placed) - 32'(sent) - 32'(failed);
    near_room_q <= near_room_q + ROOM_W'(lane_valid[0] && lane_ready[0]) - (placed && job.lane == NEAR ? beats : '0);
    if (rst) begin
      beat_q      <= '0;
      queued_q    <= '0;
      near_room_q <= ROOM_W'(DEPTH);
    end
  end

  // A lane rests when it holds nothing, or when what it holds is whole and waits at its output.
  assign idle = store_idle && (decide_idle || hold) && far_still && release_still && &(lane_idle | lane_valid) &&
      entered == '0 && decided == '0 && failed == '0;
  assign wake_ns = far_wake_ns < release_wake_ns ? far_wake_ns : release_wake_ns;

endmodule
