// SPDX-License-Identifier: Apache-2.0
// One accelerator of those that there are. KIND: 1 CRC-32, 2 Internet checksum, 3 IPv4 blacklist, 4 string matcher, 5 a
// module `accel_user` of the user's own, with the ports and the parameter DATA_W of the others.
module rpu_accel_kind
  import rpu_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned KIND = 1,
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

  if (KIND < 1 || KIND > 5) begin : gen_bad_kind
    $fatal(1, "rpu_accel_kind: KIND must be 1 to 5, not %0d", KIND);
  end

  if (KIND == 1) begin : gen_accel
    accel_crc32 #(.DATA_W(DATA_W)) u_accel (.*);
  end else if (KIND == 2) begin : gen_accel
    accel_checksum #(.DATA_W(DATA_W)) u_accel (.*);
  end else if (KIND == 3) begin : gen_accel
    accel_blacklist #(.DATA_W(DATA_W)) u_accel (.*);
  end else if (KIND == 4) begin : gen_accel
    accel_matcher #(.DATA_W(DATA_W)) u_accel (.*);
  end else if (KIND == 5) begin : gen_accel
    accel_user #(.DATA_W(DATA_W)) u_accel (.*);
  end

endmodule
