// SPDX-License-Identifier: Apache-2.0
// filter_control with the fields of what it loads and of the events it counts as ports, and beside it a decoder that
// says what an instruction should be loaded as.
module filter_control_fields
  import bpf_pkg::*;
  import filter_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned CORES = 8,
    parameter int unsigned IMEM_WORDS = 1024,
    parameter int unsigned MAX_FRAME = 9216
) (
    input  logic                    clk,
    input  logic                    rst,

    input  logic [15:0]             s_axil_awaddr,
    input  logic [2:0]              s_axil_awprot,
    input  logic                    s_axil_awvalid,
    output logic                    s_axil_awready,
    input  logic [31:0]             s_axil_wdata,
    input  logic [3:0]              s_axil_wstrb,
    input  logic                    s_axil_wvalid,
    output logic                    s_axil_wready,
    output logic [1:0]              s_axil_bresp,
    output logic                    s_axil_bvalid,
    input  logic                    s_axil_bready,
    input  logic [15:0]             s_axil_araddr,
    input  logic [2:0]              s_axil_arprot,
    input  logic                    s_axil_arvalid,
    output logic                    s_axil_arready,
    output logic [31:0]             s_axil_rdata,
    output logic [1:0]              s_axil_rresp,
    output logic                    s_axil_rvalid,
    input  logic                    s_axil_rready,

    output logic                    instr_we,
    output logic [BASE_W-1:0]       instr_addr,
    output logic [$bits(instr_t)-1:0] instr,
    output logic                    program_we,
    output logic [2:0]              program_addr,
    output logic [1:0]              program_mode,
    output logic [LENGTH_W-1:0]     program_length,
    output logic [BASE_W-1:0]       program_base,
    output logic [BUDGET_W-1:0]     budget,
    output logic                    flow_control,
    output logic                    active_set,
    input  logic [SETS-1:0]         set_busy,
    input  logic                    ready,

    input  logic [15:0]             code,
    input  logic [7:0]              jt,
    input  logic [7:0]              jf,
    input  logic [31:0]             k,
    output logic [$bits(instr_t)-1:0] decoded,

    input  logic [1:0]              packet,
    input  logic [BYTES_W-1:0]      packet_bytes_0,
    input  logic [BYTES_W-1:0]      packet_bytes_1,
    input  logic [1:0]              uninspected,
    input  logic [1:0]              bad,
    input  logic [1:0]              held,
    input  logic                    inspected,
    input  logic                    accepted,
    input  logic [3:0]              matched,
    input  logic [3:0]              errors,
    input  logic [31:0]             wire_bytes,
    input  logic                    forwarded,
    input  logic [BYTES_W-1:0]      forwarded_bytes,
    input  logic                    monitor_dropped,
    input  logic [SLOTS_W-1:0]      slots_used,
    input  logic [SLOTS_W-1:0]      instructions,
    input  logic                    measure_out_of_range,
    input  logic                    monitor_ignored,

    output logic                    measure_read_req,
    output logic [9:0]              measure_read_index,
    input  logic                    measure_read_done,
    input  logic [63:0]             measure_read_packets,
    input  logic [63:0]             measure_read_bytes
);

  load_t load;
  assign instr_we       = load.instr_we;
  assign instr_addr     = load.instr_addr;
  assign instr          = load.instr;
  assign program_we     = load.program_we;
  assign program_addr   = load.program_addr;
  assign program_mode   = load.prog.mode;
  assign program_length = load.prog.length;
  assign program_base   = load.prog.base;
  assign budget         = load.budget;

  instr_t decoded_instr;
  bpf_decode u_decode (
      .code,
      .jt,
      .jf,
      .k,
      .instr(decoded_instr)
  );
  assign decoded = decoded_instr;

  events_t events;
  always_comb begin
    for (int port = 0; port < 2; port++) begin
      events.ingress[port].packet      = packet[port];
      events.ingress[port].bytes       = port == 0 ? packet_bytes_0 : packet_bytes_1;
      events.ingress[port].uninspected = uninspected[port];
      events.ingress[port].bad         = bad[port];
      events.ingress[port].held        = held[port];
    end
    events.inspected            = inspected;
    events.accepted             = accepted;
    events.matched              = matched;
    events.errors               = errors;
    events.bytes                = wire_bytes;
    events.forwarded            = forwarded;
    events.forwarded_bytes      = forwarded_bytes;
    events.monitor_dropped      = monitor_dropped;
    events.slots_used           = slots_used;
    events.instructions         = instructions;
    events.measure_out_of_range = measure_out_of_range;
    events.monitor_ignored      = monitor_ignored;
  end

  axi_pkg::axil_req_t axil_req;
  axi_pkg::axil_rsp_t axil_rsp;
  axil_ports u_axil_ports (
      .*,
      .req(axil_req),
      .rsp(axil_rsp)
  );

  filter_control #(
      .DATA_W(DATA_W),
      .CORES(CORES),
      .IMEM_WORDS(IMEM_WORDS),
      .MAX_FRAME(MAX_FRAME)
  ) u_control (
      .clk,
      .rst,
      .axil_req,
      .axil_rsp,
      .load,
      .flow_control,
      .active_set,
      .set_busy,
      .ready,
      .events,
      .measure_read_req,
      .measure_read_index,
      .measure_read_done,
      .measure_read_packets,
      .measure_read_bytes
  );

endmodule
