// SPDX-License-Identifier: Apache-2.0
// The registers of the bridge (regs/bridge.rdl): what software sets and does, and its interrupts; bridge_status says
// what it is told. A written setting acts in the cycle after its register has it; posts and table writes one later.
module bridge_control
  import axi_pkg::*;
  import bridge_pkg::*;
#(
    parameter int unsigned DATA_W = 64,
    parameter int unsigned SWITCHES = 2,
    parameter int unsigned H2S_KB = 128,
    parameter int unsigned EXPRESS_KB = 4,
    parameter int unsigned HOST_BUFFERS = 16,
    parameter int unsigned MAX_PACKET = 1514,
    parameter int unsigned CRC_SLOTS = 0,          // bit n: slot n has a CRC-32 check
    localparam int unsigned PORTS = 2,
    localparam int unsigned SLOTS = (SWITCHES - 1) * BLOCKS,
    localparam int unsigned COUNT_W = $clog2(SWITCHES * BLOCKS + 1)
) (
    input  logic                           clk,
    input  logic                           rst,
    input  axil_req_t                      s_req,
    output axil_rsp_t                      s_rsp,

    output logic                           epoch,
    output table_write_t                   table_write,
    output port_settings_t [PORTS-1:0]     port_settings,
    output h2s_settings_t                  h2s_settings,
    output batching_t                      batching,        // as software set it
    output logic                           h2s_flush,
    output logic [H2S_LANES-1:0]           h2s_post_valid,
    output buffer_t                        h2s_post,
    output logic [H2S_LANES-1:0]           h2s_message_take,
    output logic                           adaptive,
    output logic [31:0]                    target_ns,
    output logic [4:0]                     window_log2,
    output logic                           s2h_enable,
    output logic                           s2h_post_valid,
    output buffer_t                        s2h_post,
    output logic                           s2h_message_take,
    output slot_settings_t [SLOTS-1:0]     slot_settings,

    input  logic [1:0][15:0]               in_flight,
    input  logic [COUNT_W-1:0]             entered,
    input  logic [COUNT_W-1:0]             delivered,
    input  logic [COUNT_W-1:0]             no_block,
    input  port_events_t [PORTS-1:0]       port_events,
    input  logic [H2S_LANES-1:0]           h2s_message_valid,
    input  h2s_message_t [H2S_LANES-1:0]   h2s_message,
    input  logic [H2S_LANES-1:0][31:0]     batches_closed,
    input  h2s_events_t [H2S_LANES-1:0]    h2s_events,
    input  batching_t                      chosen,
    input  logic [31:0]                    service_ns,
    input  traffic_t                       traffic,
    input  logic                           s2h_message_valid,
    input  s2h_message_t                   s2h_message,
    input  s2h_events_t                    s2h_events,
    input  logic [SLOTS-1:0]               slot_idle,
    input  slot_events_t [SLOTS-1:0]       slot_events,

    output logic                           irq_valid,
    input  logic                           irq_ready,
    output logic [15:0]                    irq_function,
    output logic [15:0]                    irq_vector,
    output logic                           idle
);

  bridge_regs_pkg::bridge_regs__in_t regs_in;
  bridge_regs_pkg::bridge_regs__out_t regs_out;

  bridge_regs u_regs (
      .clk,
      .rst,
      .s_axil_awaddr (s_req.awaddr[15:0]),
      .s_axil_awprot (s_req.awprot),
      .s_axil_awvalid(s_req.awvalid),
      .s_axil_awready(s_rsp.awready),
      .s_axil_wdata  (s_req.wdata),
      .s_axil_wstrb  (s_req.wstrb),
      .s_axil_wvalid (s_req.wvalid),
      .s_axil_wready (s_rsp.wready),
      .s_axil_bresp  (s_rsp.bresp),
      .s_axil_bvalid (s_rsp.bvalid),
      .s_axil_bready (s_req.bready),
      .s_axil_araddr (s_req.araddr[15:0]),
      .s_axil_arprot (s_req.arprot),
      .s_axil_arvalid(s_req.arvalid),
      .s_axil_arready(s_rsp.arready),
      .s_axil_rdata  (s_rsp.rdata),
      .s_axil_rresp  (s_rsp.rresp),
      .s_axil_rvalid (s_rsp.rvalid),
      .s_axil_rready (s_req.rready),
      .hwif_in       (regs_in),
      .hwif_out      (regs_out)
  );

  // Host to card
  assign epoch = regs_out.epoch.value.value;

  always_ff @(posedge clk) begin
    table_write.valid             <= regs_out.table_write.write.value;
    table_write.address.block     <= regs_out.table_write.block.value;
    table_write.address.switch_id <= regs_out.table_write.switch_id.value;
    table_write.index             <= regs_out.table_write.index.value;
    if (rst) table_write.valid <= 1'b0;
  end
  assign table_write.entry = '{
      valid: regs_out.table_target.valid.value,
      header: '{
          level: regs_out.table_target.priority_level.value,
          address: '{switch_id: regs_out.table_target.switch_id.value, block: regs_out.table_target.block.value},
          egress: regs_out.table_target.egress.value,
          critical: regs_out.table_target.critical.value,
          source: regs_out.table_source.value.value,
          destination: regs_out.table_destination.value.value
      },
      key: regs_out.table_key.value.value,
      mask: regs_out.table_mask.value.value
  };

  // A buffer's words are in their register one cycle after the write that gives it.
  logic h2s_posted_q, s2h_posted_q;
  always_ff @(posedge clk) begin
    h2s_posted_q <= regs_out.h2s.post.express.swmod;
    s2h_posted_q <= regs_out.s2h.post.words.swmod;
    if (rst) begin
      h2s_posted_q <= 1'b0;
      s2h_posted_q <= 1'b0;
    end
  end

  assign h2s_settings = '{
      enable: regs_out.h2s.control.enable.value,
      wait_for_room: regs_out.h2s.control.wait_for_room.value,
      wait_limit_ns: regs_out.h2s.wait_limit.ns.value,
      express: regs_out.h2s.control.express.value && EXPRESS_KB != 0
  };
  assign h2s_flush           = regs_out.h2s.control.flush.value;
  assign batching.single     = regs_out.h2s.control.single.value;
  assign batching.bytes      = regs_out.h2s.limit.bytes.value;
  assign batching.timeout_ns = regs_out.h2s.timeout.ns.value;
  assign h2s_post_valid      = {h2s_posted_q && regs_out.h2s.post.express.value,
                                h2s_posted_q && !regs_out.h2s.post.express.value};
  assign h2s_post.tag        = regs_out.h2s.post.tag.value;
  assign h2s_post.words      = regs_out.h2s.post.words.value;
  assign h2s_post.page       = {regs_out.h2s.address.high.value, regs_out.h2s.address.low.value[31:12]};
  assign h2s_message_take    = h2s_message_valid
      & {regs_out.h2s.express_mailbox.words.swacc, regs_out.h2s.mailbox.words.swacc};

  assign adaptive    = regs_out.h2s.control.adaptive.value;
  assign target_ns   = regs_out.adaptation.target.ns.value;
  assign window_log2 = regs_out.adaptation.window.log2.value;

  assign s2h_enable       = regs_out.s2h.control.enable.value;
  assign s2h_post_valid   = s2h_posted_q;
  assign s2h_post.tag     = regs_out.s2h.post.tag.value;
  assign s2h_post.words   = regs_out.s2h.post.words.value;
  assign s2h_post.page    = {regs_out.s2h.address.high.value, regs_out.s2h.address.low.value[31:12]};
  assign s2h_message_take = regs_out.s2h.mailbox.read_error.swacc && s2h_message_valid;

  always_comb begin
    for (int i = 0; i < int'(PORTS); i++) begin
      port_settings[i].enable       = regs_out.port[i].control.enable.value;
      port_settings[i].flow_control = regs_out.port[i].control.flow_control.value;
      port_settings[i].key_offset   = regs_out.port[i].control.key_offset.value;
    end
    for (int i = 0; i < int'(SLOTS); i++) begin
      slot_settings[i].enable      = regs_out.slot[i].control.enable.value;
      slot_settings[i].hold        = regs_out.slot[i].control.hold.value;
      slot_settings[i].packet_ns   = regs_out.slot[i].packet_time.ns.value;
      slot_settings[i].byte_ns_256 = regs_out.slot[i].byte_time.ns_256.value;
    end
  end

  // Card to host
  logic counting;
  logic [2:0] disarm;
  bridge_status #(
      .DATA_W(DATA_W),
      .SWITCHES(SWITCHES),
      .H2S_KB(H2S_KB),
      .EXPRESS_KB(EXPRESS_KB),
      .HOST_BUFFERS(HOST_BUFFERS),
      .MAX_PACKET(MAX_PACKET),
      .CRC_SLOTS(CRC_SLOTS)
  ) u_status (.*);

  // Interrupts
  wire [2:0] armed = {
    regs_out.interrupt.s2h.value, regs_out.interrupt.express.value, regs_out.interrupt.h2s.value
  };
  wire [2:0] due = armed & {s2h_message_valid, h2s_message_valid};  // as H2S_LANES are ordered
  wire [2:0] first = due & (~due + 1'b1);
  always_ff @(posedge clk) begin
    if (irq_ready) irq_valid <= 1'b0;
    disarm <= '0;
    if (!irq_valid && disarm == '0 && due != '0) begin
      irq_valid  <= 1'b1;
      irq_vector <= first[2] ? 16'd2 : first[1] ? 16'd1 : 16'd0;
      disarm     <= first;
    end
    if (rst) begin
      irq_valid <= 1'b0;
      disarm    <= '0;
    end
  end
  assign irq_function = '0;

  assign idle = !irq_valid && disarm == '0 && due == '0 && !table_write.valid && !regs_out.table_write.write.value
      && !h2s_posted_q && !s2h_posted_q && !counting;

endmodule
