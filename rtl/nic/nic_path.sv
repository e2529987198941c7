// SPDX-License-Identifier: Apache-2.0
// One direction of the NIC: frames of Ethernet ports or of functions come in, and go to functions and ports. A frame is
// kept once while it is found out whom it is for (nic_lookup, nic_copies), and given out for each of them (nic_store).
// Latency: 16 cycles from a frame's last beat to the first one out, 15 with a DEPTH of at most 64. Throughput: 1 beat a
// cycle, for frames of one beat too, if each goes to one and DEPTH is 20 beats more than the longest; see nic_copies
// for others.
// Backpressure: s_axis_tready is low while DEPTH beats wait. No frame may have more.
module nic_path
  import nic_pkg::*;
  import table_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned FUNCTIONS = 16,
    parameter int unsigned PAIRS = 1,
    parameter int unsigned STATIONS = 1024,
    parameter int unsigned DEPTH = 256,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic                             clk,
    input  logic                             rst,
    input  vf_write_t                        vf_write,
    input  pair_write_t                      pair_write,
    input  logic [rpu_fabric_pkg::KEY_W-1:0] hash_key,
    input  logic                             op_valid,       // on the table of stations, as in exact_table
    output logic                             op_ready,
    input  table_op_t                        op,
    input  station_t                         op_station,
    input  logic [VF_W-1:0]                  op_vf,
    output logic                             op_done,
    output table_answer_t                    op_answer,

    input  logic                             s_axis_tvalid,
    output logic                             s_axis_tready,
    input  logic [DATA_W-1:0]                s_axis_tdata,
    input  logic [KEEP_W-1:0]                s_axis_tkeep,
    input  logic                             s_axis_tlast,
    input  origin_t                          s_origin,       // with the last beat
    output logic                             m_axis_tvalid,
    input  logic                             m_axis_tready,
    output logic [DATA_W-1:0]                m_axis_tdata,
    output logic [KEEP_W-1:0]                m_axis_tkeep,
    output logic                             m_axis_tlast,
    output copy_t                            m_copy,         // whom it is for, the same on each beat
    output path_event_t                      told,
    output logic                             idle
);

  localparam int unsigned BEATS_W = $clog2(DEPTH) + 1;

  logic found_valid, listed_valid, listed_ready, copy_valid, copy_ready, job_valid, job_ready;
  logic lookup_idle, list_idle, copies_idle, jobs_idle, store_idle, extra, dropped;
  found_t found, listed;
  copy_t copy, job;
  logic [BEATS_W-1:0] found_beats, listed_beats, copy_beats, job_beats;
  wire taken = s_axis_tvalid && s_axis_tready;

  nic_lookup #(
      .DATA_W(DATA_W),
      .STATIONS(STATIONS),
      .BEATS_W(BEATS_W)
  ) u_lookup (
      .clk,
      .rst,
      .hash_key,
      .op_valid,
      .op_ready,
      .op,
      .op_station,
      .op_vf,
      .op_done,
      .op_answer,
      .s_taken(taken),
      .s_data (s_axis_tdata),
      .s_keep (s_axis_tkeep),
      .s_last (s_axis_tlast),
      .s_origin,
      .m_valid(found_valid),
      .m_found(found),
      .m_beats(found_beats),
      .idle   (lookup_idle)
  );

  // It has room for as many frames as the store: each of those has a beat there at least, until its last copy is read.
  stream_fifo #(
      .WIDTH($bits(found_t) + BEATS_W),
      .DEPTH(DEPTH)
  ) u_list (
      .clk,
      .rst,
      .s_valid(found_valid),
      .s_ready(),
      .s_data ({found, found_beats}),
      .m_valid(listed_valid),
      .m_ready(listed_ready),
      .m_data ({listed, listed_beats}),
      .count  (),
      .idle   (list_idle)
  );

  nic_copies #(
      .FUNCTIONS(FUNCTIONS),
      .PAIRS(PAIRS),
      .BEATS_W(BEATS_W)
  ) u_copies (
      .clk,
      .rst,
      .vf_write,
      .pair_write,
      .s_valid(listed_valid),
      .s_ready(listed_ready),
      .s_found(listed),
      .s_beats(listed_beats),
      .m_valid(copy_valid),
      .m_ready(copy_ready),
      .m_copy (copy),
      .m_beats(copy_beats),
      .extra,
      .dropped,
      .idle   (copies_idle)
  );

  stream_queue #(
      .WIDTH($bits(copy_t) + BEATS_W),
      .DEPTH(4)
  ) u_jobs (
      .clk,
      .rst,
      .s_valid(copy_valid),
      .s_ready(copy_ready),
      .s_data ({copy, copy_beats}),
      .m_valid(job_valid),
      .m_ready(job_ready),
      .m_data ({job, job_beats}),
      .idle   (jobs_idle)
  );

  nic_store #(
      .DATA_W(DATA_W),
      .DEPTH(DEPTH),
      .BESIDE_W($bits(copy_t))
  ) u_store (
      .clk,
      .rst,
      .s_axis_tvalid,
      .s_axis_tready,
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .job_valid,
      .job_ready,
      .job_beats,
      .job_none  (job.none),
      .job_last  (job.last),
      .job_beside(job),
      .m_axis_tvalid,
      .m_axis_tready,
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_beside  (m_copy),
      .idle      (store_idle)
  );

  wire leaves = m_axis_tvalid && m_axis_tready && m_axis_tlast;
  assign told = '{
          received: taken && s_axis_tlast,
          to_vf: leaves && !m_copy.to_port,
          to_port: leaves && m_copy.to_port,
          extra: extra,
          dropped: dropped
      };
  assign idle = !s_axis_tvalid && lookup_idle && list_idle && copies_idle && jobs_idle && store_idle;

endmodule
