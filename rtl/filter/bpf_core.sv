// SPDX-License-Identifier: Apache-2.0
// A filter core: takes whole frames at the port's rate into its packet memory, runs the filter programs on them, offers
// the verdicts in order of arrival, and gives out the rows of kept packets and what each program returned for them.
//
// in_ready says that there is room for a frame of any length; it follows an assigned frame's last beat by 4 cycles,
// until which the caller must not assign another. A row of packet memory follows 2 cycles after forward_grant, a return
// value 2 cycles after its slot was asked for; that of a program that did not match is noise.
// While it is idle, and nothing arrives or is loaded, clk may stand still.
// Work per packet: one cycle per executed instruction (8 packets at a time); DIV and MOD take 40 cycles or more.
//
//  in -+-> bpf_queue -- packets --> bpf_execute -- verdicts --> bpf_queue -> finished
//      |                              |   +-> u_values -> value_data
//      |                              | loads
//      +-> bpf_packet_memory <--------+
//                +-> forward_data
module bpf_core
  import bpf_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned PACKET_KB = 128,
    parameter int unsigned IMEM_WORDS = 1024,
    parameter int unsigned MAX_FRAME = 65600,
    localparam int unsigned TID_W = $clog2(THREADS)
) (
    input  logic              clk,
    input  logic              rst,
    input  logic [TID_W-1:0]  turn,            // counts cycles from reset on, also while clk stands still
    input  load_t             load,

    output logic              in_ready,
    input  logic              in_valid,
    input  logic [DATA_W-1:0] in_data,
    input  logic              in_last,
    input  packet_t           in_packet,       // valid with in_last

    output logic              finished_valid,
    output finished_t         finished,
    input  logic              pop,             // an accepted packet's rows and values are kept until they are released
    input  logic              release_en,      // frees the oldest kept packet, which ends before release_row
    input  logic [ROW_W-1:0]  release_row,
    input  logic [ID_W-1:0]   release_id,      // its number

    input  logic              forward_req,
    input  logic [ROW_W-1:0]  forward_row,
    output logic              forward_grant,
    output logic [DATA_W-1:0] forward_data,
    input  logic [ID_W-1:0]   value_id,
    input  logic [SLOT_W-1:0] value_slot,
    output logic [31:0]       value_data,

    output logic              slot_used,
    output logic              instr_done,
    output logic              idle             // no packet inside, and room for one
);

  if (PACKET_KB < 1 || PACKET_KB > 1024 || 2 ** $clog2(PACKET_KB) != PACKET_KB) begin : gen_bad_packet_kb
    $fatal(1, "bpf_core: PACKET_KB must be a power of two from 1 to 1024, not %0d", PACKET_KB);
  end

  localparam int unsigned ROWS = PACKET_KB * 1024 * 8 / DATA_W;
  localparam int unsigned ADDR_W = $clog2(ROWS);
  localparam int unsigned BANK_W = $clog2(DATA_W / 32);

  logic write_en, job_valid, job_ready, verdict_valid, returned_valid;
  logic [ADDR_W-1:0] write_row, job_row;
  packet_t job_packet;
  logic [ID_W-1:0] job_id, verdict_id;
  verdict_t verdict;
  logic [SLOT_W-1:0] returned_slot;
  logic [31:0] returned;

  bpf_queue #(
      .DATA_W(DATA_W),
      .ROWS(ROWS),
      .MAX_FRAME(MAX_FRAME)
  ) u_queue (
      .clk,
      .rst,
      .odd(turn[0]),
      .in_ready,
      .in_valid,
      .in_last,
      .in_packet,
      .write_en,
      .write_row,
      .job_valid,
      .job_ready,
      .job_packet,
      .job_id,
      .job_row,
      .verdict_valid,
      .verdict_id,
      .verdict,
      .finished_valid,
      .finished,
      .pop,
      .release_en,
      .release_row(release_row[ADDR_W-1:0]),
      .release_id,
      .idle
  );

  // Loads go before forwarding, which takes a turn by force after it has waited for 16 cycles.
  logic [3:0] waited_q;
  logic steal_q;
  always_ff @(posedge clk) begin
    if (forward_req || waited_q != '0 || steal_q) begin
      waited_q <= forward_req && !forward_grant ? waited_q + 1'b1 : '0;
      steal_q  <= &waited_q && !forward_grant;
    end
    if (rst) begin
      waited_q <= '0;
      steal_q  <= 1'b0;
    end
  end

  logic load_en, load_msh;
  logic [ADDR_W-1:0] load_row, load_row_last;
  logic [BANK_W-1:0] load_bank;
  logic [1:0] load_offset;
  size_e load_size;
  logic [31:0] load_value;

  bpf_execute #(
      .IMEM_WORDS(IMEM_WORDS),
      .ADDR_W(ADDR_W),
      .BANK_W(BANK_W)
  ) u_execute (
      .clk,
      .rst,
      .tid(turn),
      .load,
      .job_valid,
      .job_ready,
      .job_packet,
      .job_id,
      .job_row,
      .verdict_valid,
      .verdict_id,
      .verdict,
      .value_valid(returned_valid),
      .value_slot(returned_slot),
      .value(returned),
      .load_steal(steal_q),
      .load_en,
      .load_row,
      .load_row_last,
      .load_bank,
      .load_offset,
      .load_size,
      .load_msh,
      .load_value,
      .slot_used,
      .instr_done
  );

  // What the programs returned, until the monitor wants to know.
  ram_sdp #(
      .WIDTH(32),
      .DEPTH((1 << ID_W) * PROGRAMS),
      .OUT_REG(1'b1)
  ) u_values (
      .clk,
      .wr_en  (returned_valid),
      .wr_addr({verdict_id, returned_slot}),
      .wr_data(returned),
      .rd_en  (1'b1),
      .rd_addr({value_id, value_slot}),
      .rd_data(value_data)
  );

  bpf_packet_memory #(
      .DATA_W(DATA_W),
      .ROWS(ROWS)
  ) u_memory (
      .clk,
      .write_en,
      .write_row,
      .write_data(in_data),
      .load_en,
      .load_row,
      .load_row_last,
      .load_bank,
      .load_offset,
      .load_size,
      .load_msh,
      .load_value,
      .forward_req,
      .forward_row(forward_row[ADDR_W-1:0]),
      .forward_grant,
      .forward_data
  );

endmodule
