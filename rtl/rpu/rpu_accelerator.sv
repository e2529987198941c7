// SPDX-License-Identifier: Apache-2.0
// The accelerator slot of a unit: which accelerator a unit has is chosen when the card is built. KIND: 0 none, 1
// CRC-32, 2 Internet checksum, 3 IPv4 blacklist, 4 string matcher. The registers of a slot without one read as 0.
module rpu_accelerator
  import rpu_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned KIND = 0,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,
    input  logic              reg_valid,
    output logic              reg_ready,
    input  logic              reg_write,
    input  logic [15:0]       reg_addr,
    input  logic [31:0]       reg_wdata,
    input  logic [3:0]        reg_wstrb,
    output logic [31:0]       reg_rdata,
    input  logic              load_valid,
    input  logic [23:0]       load_addr,
    input  logic [31:0]       load_data,
    output logic              job_valid,
    input  logic              job_ready,
    output accel_job_t        job,
    input  logic              s_axis_tvalid,
    output logic              s_axis_tready,
    input  logic [DATA_W-1:0] s_axis_tdata,
    input  logic [KEEP_W-1:0] s_axis_tkeep,
    input  logic              s_axis_tlast,
    output logic              interrupt,
    output logic              idle
);

  if (KIND > 4) begin : gen_bad_kind
    $fatal(1, "rpu_accelerator: KIND must be 0 to 4, not %0d", KIND);
  end

  if (KIND == 1) begin : gen_accel
    accel_crc32 #(.DATA_W(DATA_W)) u_accel (.*);
  end else if (KIND == 2) begin : gen_accel
    accel_checksum #(.DATA_W(DATA_W)) u_accel (.*);
  end else if (KIND == 3) begin : gen_accel
    accel_blacklist #(.DATA_W(DATA_W)) u_accel (.*);
  end else if (KIND == 4) begin : gen_accel
    accel_matcher #(.DATA_W(DATA_W)) u_accel (.*);
  end else begin : gen_accel
    assign reg_ready     = 1'b1;
    assign reg_rdata     = '0;
    assign job_valid     = 1'b0;
    assign job           = '0;
    assign s_axis_tready = 1'b1;
    assign interrupt     = 1'b0;
    assign idle          = 1'b1;
  end

endmodule
