// SPDX-License-Identifier: Apache-2.0
// filter_monitor with cores whose rows tell where they lie: each 32-bit word is {core, row, word}; a packet's return
// values are {~id, core, id, slot}, a byte each.
module filter_monitor_fed
  import bpf_pkg::*;
  import filter_pkg::*;
  import headrace_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned CORES = 3,
    parameter int unsigned STORE_KB = 16,
    localparam int unsigned CORE_W = CORES > 1 ? $clog2(CORES) : 1,
    localparam int unsigned TX_META_W = $bits(filter_user_t)
) (
    input  logic                  clk,
    input  logic                  rst,
    input  logic                  flow_control,

    input  logic                  in_valid,
    output logic                  in_ready,
    input  logic [WIRE_LEN_W-1:0] in_wire_len,
    input  logic [LEN_W-1:0]      in_len,
    input  logic [PROGRAMS-1:0]   in_matched,
    input  logic [LEN_W-1:0]      in_snaplen,
    input  logic [ROW_W-1:0]      in_row,
    input  logic [ID_W-1:0]       in_id,
    input  logic [CORE_W-1:0]     in_core,
    input  logic                  in_port,
    input  logic [63:0]           in_time_ns,

    input  logic [CORES-1:0]      willing,      // a core grants what it is asked for
    output logic [CORES-1:0]      release_en,
    output logic [ROW_W-1:0]      release_row,
    output logic [ID_W-1:0]       release_id,

    output logic                  tx_tvalid,
    input  logic                  tx_tready,
    output logic [DATA_W-1:0]     tx_tdata,
    output logic [DATA_W/8-1:0]   tx_tkeep,
    output logic                  tx_tlast,
    output logic [TX_META_W-1:0]  tx_tuser,
    output logic [LEN_W-1:0]      tx_len,

    output logic                  forwarded,
    output logic [BYTES_W-1:0]    forwarded_bytes,
    output logic                  dropped,
    output logic                  idle
);

  finished_t finished;
  always_comb begin
    finished                 = '0;
    finished.pkt.wire_len    = in_wire_len;
    finished.pkt.len         = in_len;
    finished.verdict.matched = in_matched;
    finished.verdict.snaplen = in_snaplen;
    finished.row             = in_row;
    finished.id              = in_id;
  end

  logic [CORES-1:0] forward_req;
  logic [ROW_W-1:0] forward_row;
  logic [CORES-1:0][DATA_W-1:0] forward_data;

  logic [ID_W-1:0] value_id, id_q1, id_q2;
  logic [SLOT_W-1:0] value_slot, slot_q1, slot_q2;
  logic [CORES-1:0][31:0] value_data;
  always_ff @(posedge clk) begin
    {id_q1, slot_q1} <= {value_id, value_slot};
    {id_q2, slot_q2} <= {id_q1, slot_q1};
  end

  for (genvar core = 0; core < CORES; core++) begin : gen_core
    assign value_data[core] = {~8'(id_q2), 8'(core), 8'(id_q2), 8'(slot_q2)};
    logic [ROW_W-1:0] row_q1, row_q2;
    always_ff @(posedge clk) begin
      row_q1 <= forward_row;
      row_q2 <= row_q1;
    end
    for (genvar word = 0; word < DATA_W / 32; word++) begin : gen_word
      assign forward_data[core][32*word+:32] = {8'(core), row_q2, 11'(word)};
    end
  end

  filter_monitor #(
      .DATA_W(DATA_W),
      .CORES(CORES),
      .STORE_KB(STORE_KB)
  ) u_monitor (
      .clk,
      .rst,
      .flow_control,
      .in_valid,
      .in_ready,
      .in_finished  (finished),
      .in_core,
      .in_port,
      .in_time_ns,
      .forward_req,
      .forward_row,
      .forward_grant(forward_req & willing),
      .forward_data,
      .value_id,
      .value_slot,
      .value_data,
      .release_en,
      .release_row,
      .release_id,
      .tx_tvalid,
      .tx_tready,
      .tx_tdata,
      .tx_tkeep,
      .tx_tlast,
      .tx_tuser,
      .tx_len,
      .forwarded,
      .forwarded_bytes,
      .dropped,
      .idle
  );

endmodule
