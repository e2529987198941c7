// SPDX-License-Identifier: Apache-2.0
// The registers of the switch, and the operations that they begin: on flow tables, groups, meters and counters.
module switch_control
  import axi_pkg::*;
  import switch_pkg::*;
  import table_pkg::*;
#(
    parameter int unsigned PORTS = 8,
    parameter int unsigned TABLES = 8,
    parameter int unsigned EXACT = 4096,
    parameter int unsigned TERNARY = 128,
    parameter int unsigned EFFECTS = 256,
    parameter int unsigned PROGRAM_WORDS = 4096,
    parameter int unsigned GROUPS = 256,
    parameter int unsigned COUNTERS = 1024,
    parameter int unsigned METERS = 128,
    parameter bit NARROW = 1'b0,
    parameter bit CUSTOM = 1'b1
) (
    input  logic                          clk,
    input  logic                          rst,
    input  axil_req_t                     axil_req,
    output axil_rsp_t                     axil_rsp,

    output logic          [PORTS_MAX-1:0] enabled,
    output logic          [PORTS_MAX-1:0] receiving,
    output logic          [PORTS_MAX-1:0] hold,
    output logic          [PORTS_MAX-1:0] live,
    output logic          [PORTS_MAX-1:0] quiet,

    output logic          [TABLES-1:0]    flow_valid,
    input  logic          [TABLES-1:0]    flow_ready,
    output flow_command_t                 flow,
    input  logic          [TABLES-1:0]    flow_done,
    input  table_answer_t [TABLES-1:0]    flow_answer,

    output logic                          program_write,
    output logic          [PROGRAM_W-1:0] program_address,
    output action_t                       program_word,
    output logic                          group_write,
    output logic          [15:0]          group_number,
    output logic          [PROGRAM_W-1:0] group_program,
    output logic                          meter_valid,
    input  logic                          meter_ready,
    output logic          [15:0]          meter_number,
    output meter_t                        meter,
    output logic                          clear_valid,
    input  logic                          clear_ready,
    output logic          [15:0]          clear_number,

    // Counters: read is high for a cycle; what was counted comes later, or with the next cycle.
    output logic          [TABLES-1:0]    entry_read,
    output logic          [ENTRY_W-1:0]   count_number,
    input  logic          [TABLES-1:0]    entry_valid,
    input  flow_count_t                   entry_count[TABLES],
    output logic                          action_read,
    input  logic                          action_valid,
    input  logic          [127:0]         action_count,
    output logic                          meter_read,
    input  logic                          meter_count_valid,
    input  logic          [2+2*METER_BANDS-1:0][63:0] meter_count,
    output logic                          port_read,
    input  logic          [63:0]          port_count,      // of port count_number[15:3], counter count_number[2:0]
    input  logic          [TABLES-1:0]    looked_up,
    input  logic          [TABLES-1:0]    matched,

    input  logic          [TABLES-1:0]    expired_valid,
    output logic          [TABLES-1:0]    expired_ready,
    input  expiry_t       [TABLES-1:0]    expired,

    input  logic          [1:0]           entered,         // so many packets in this cycle
    input  logic          [1:0]           finished,
    input  logic                          host_copied,     // a copy for the host is made
    input  logic                          host_taken,
    input  logic                          host_dropped,
    input  logic                          resubmit_dropped,
    input  logic                          custom_dropped,
    input  logic                          from_host_dropped,
    output logic          [3:0][31:0]     fir_coefficients,
    output logic                          fir_carry,
    output logic                          idle
);

  switch_regs_pkg::switch_regs__in_t regs_in;
  switch_regs_pkg::switch_regs__out_t regs_out;

  // Accesses wait while an operation is under way, from the cycle on in which the registers have taken the write of
  // `start`. Address and data are taken together, so that none is half in by then. What was taken before has been
  // written when an operation begins: the registers keep the order of writes.
  localparam logic [15:2] START = 14'h020;  // a word, as in regs/switch.rdl
  logic busy;
  logic starts_q;  // the write of `start` is not yet answered
  logic [2:0] unanswered_q;  // writes that the registers have taken: 3 at most
  axil_req_t regs_req;
  axil_rsp_t regs_rsp;

  wire holds = busy || starts_q;
  wire writes = axil_req.awvalid && axil_req.wvalid && regs_rsp.awready && regs_rsp.wready && !holds;
  wire answered = regs_rsp.bvalid && axil_req.bready;

  always_comb begin
    regs_req         = axil_req;
    regs_req.awvalid = writes;
    regs_req.wvalid  = writes;
    regs_req.arvalid = axil_req.arvalid && !holds;
    axil_rsp         = regs_rsp;
    axil_rsp.awready = writes;
    axil_rsp.wready  = writes;
    axil_rsp.arready = regs_rsp.arready && !holds;
  end

  always_ff @(posedge clk) begin
    unanswered_q <= unanswered_q + 3'(writes) - 3'(answered);
    if (writes) starts_q <= axil_req.awaddr[15:2] == START;
    else if (unanswered_q == 3'(answered)) starts_q <= 1'b0;
    if (rst) begin
      unanswered_q <= '0;
      starts_q     <= 1'b0;
    end
  end

  switch_regs u_regs (
      .clk,
      .rst,
      .s_axil_awaddr (regs_req.awaddr[15:0]),
      .s_axil_awprot (regs_req.awprot),
      .s_axil_awvalid(regs_req.awvalid),
      .s_axil_awready(regs_rsp.awready),
      .s_axil_wdata  (regs_req.wdata),
      .s_axil_wstrb  (regs_req.wstrb),
      .s_axil_wvalid (regs_req.wvalid),
      .s_axil_wready (regs_rsp.wready),
      .s_axil_bresp  (regs_rsp.bresp),
      .s_axil_bvalid (regs_rsp.bvalid),
      .s_axil_bready (regs_req.bready),
      .s_axil_araddr (regs_req.araddr[15:0]),
      .s_axil_arprot (regs_req.arprot),
      .s_axil_arvalid(regs_req.arvalid),
      .s_axil_arready(regs_rsp.arready),
      .s_axil_rdata  (regs_rsp.rdata),
      .s_axil_rresp  (regs_rsp.rresp),
      .s_axil_rvalid (regs_rsp.rvalid),
      .s_axil_rready (regs_req.rready),
      .hwif_in (regs_in),
      .hwif_out(regs_out)
  );

  // ------------------------------------------------------------------------------------------------------- operations
  typedef enum logic [2:0] {
    IDLE,
    FLOW,
    FLOW_DONE,
    METER,
    CLEAR,
    COUNT
  } state_t;

  localparam int unsigned COUNTED = 4 + 4 * METER_BANDS;  // words of what is read at once, at most

  state_t state_q;
  table_answer_t answer_q;
  logic [TABLE_W-1:0] table_q;
  logic [15:0] number_q;
  logic [2:0] kind_q;
  logic counting_q;  // in the cycle in which counters are asked
  logic group_write_q;
  logic [COUNTED-1:0][31:0] counted_q;
  logic [TABLES-1:0][1:0][63:0] lookups_q;  // looked up, matched
  localparam int unsigned FLOW_WORDS = ($bits(flow_command_t) + 31) / 32;
  localparam int unsigned METER_WORDS = ($bits(meter_t) + 31) / 32;
  logic [FLOW_WORDS-1:0][31:0] flow_q;  // its words: one decoder has them all
  logic [METER_WORDS-1:0][31:0] meter_words;
  logic known;       // there is such a table

  // From the cycle on in which an operation is written
  assign busy = state_q != IDLE || group_write_q || regs_out.operation.start.flow.value ||
      regs_out.operation.start.group.value || regs_out.operation.start.meter.value ||
      regs_out.operation.start.clear.value || regs_out.operation.start.count.value;
  assign flow         = flow_command_t'(flow_q);
  assign meter        = meter_t'(meter_words);
  assign known        = table_q < TABLE_W'(TABLES);
  assign count_number = number_q;
  assign clear_number = number_q;
  assign meter_number = number_q;
  assign group_number = number_q;
  assign group_write  = group_write_q;
  assign meter_valid  = state_q == METER;
  assign clear_valid  = state_q == CLEAR;
  assign action_read  = counting_q && kind_q == 3'd1;
  assign meter_read   = counting_q && kind_q == 3'd2;
  assign port_read    = state_q == COUNT && kind_q == 3'd3;

  always_comb begin
    for (int unsigned i = 0; i < METER_WORDS; i++) meter_words[i] = regs_out.meter.word[i].value.value;
    for (int unsigned i = 0; i < TABLES; i++) begin
      flow_valid[i] = state_q == FLOW && table_q == TABLE_W'(i);
      entry_read[i] = counting_q && kind_q == 3'd0 && table_q == TABLE_W'(i);
    end
  end

  wire flow_write = regs_out.flow.req && regs_out.flow.req_is_wr;
  always_ff @(posedge clk) begin
    if (flow_write) begin
      for (int unsigned i = 0; i < FLOW_WORDS; i++) begin
        if (regs_out.flow.addr[7:2] == 6'(i)) begin
          flow_q[i] <= (flow_q[i] & ~regs_out.flow.wr_biten) | (regs_out.flow.wr_data & regs_out.flow.wr_biten);
        end
      end
    end
  end

  // What has come of the counters that were asked for
  logic come;
  logic [32*COUNTED-1:0] count;
  always_comb begin
    {come, count} = 'x;  // nobody looks then
    if (state_q == COUNT) begin
      come  = 1'b1;
      count = '0;
      unique case (kind_q)
        3'd0: begin
          come = !known;
          for (int unsigned i = 0; i < TABLES; i++) begin
            if (table_q == TABLE_W'(i)) begin
              come  = entry_valid[i];
              count = (32 * COUNTED)'(entry_count[i]);
            end
          end
        end
        3'd1: begin
          come  = action_valid;
          count = (32 * COUNTED)'(action_count);
        end
        3'd2: begin
          come  = meter_count_valid;
          count = (32 * COUNTED)'(meter_count);
        end
        3'd3: count = (32 * COUNTED)'(port_count);
        default:
        for (int unsigned i = 0; i < TABLES; i++) begin
          if (table_q == TABLE_W'(i)) count = (32 * COUNTED)'(lookups_q[i]);
        end
      endcase
    end
  end

  always_ff @(posedge clk) begin
    counting_q    <= 1'b0;
    group_write_q <= 1'b0;
    unique case (state_q)
      IDLE: begin
        table_q <= regs_out.operation.start.table_number.value;
        number_q <= regs_out.operation.start.item.value;
        kind_q <= regs_out.operation.start.kind.value;
        if (regs_out.operation.start.flow.value) state_q <= FLOW;
        if (regs_out.operation.start.meter.value) state_q <= METER;
        if (regs_out.operation.start.clear.value) state_q <= CLEAR;
        if (regs_out.operation.start.group.value) group_write_q <= 1'b1;
        if (regs_out.operation.start.count.value) begin
          state_q    <= COUNT;
          counting_q <= 1'b1;
        end
      end
      FLOW: begin
        if (|(flow_valid & flow_ready)) state_q <= FLOW_DONE;
        if (!known) begin
          state_q  <= IDLE;
          answer_q <= NOT_FOUND;
        end
      end
      FLOW_DONE:
      for (int unsigned i = 0; i < TABLES; i++) begin
        if (table_q == TABLE_W'(i) && flow_done[i]) begin
          state_q  <= IDLE;
          answer_q <= flow_answer[i];
        end
      end
      METER: if (meter_ready) state_q <= IDLE;
      CLEAR: if (clear_ready) state_q <= IDLE;
      default:
      if (!counting_q && come) begin
        state_q   <= IDLE;
        counted_q <= count;
      end
    endcase
    if (rst) begin
      state_q       <= IDLE;
      counting_q    <= 1'b0;
      group_write_q <= 1'b0;
    end
  end

  // --------------------------------------------------------------------------------------------------- what is counted
  always_ff @(posedge clk) begin
    for (int unsigned i = 0; i < TABLES; i++) begin
      if (looked_up[i]) lookups_q[i][0] <= lookups_q[i][0] + 1'b1;
      if (matched[i]) lookups_q[i][1] <= lookups_q[i][1] + 1'b1;
    end
    if (rst) lookups_q <= '0;
  end

  logic [31:0] entered_q, finished_q, taken_q, copied_q;
  always_ff @(posedge clk) begin
    if (entered != '0) entered_q <= entered_q + 32'(entered);
    if (finished != '0) finished_q <= finished_q + 32'(finished);
    if (host_taken) taken_q <= taken_q + 1'b1;
    if (host_copied) copied_q <= copied_q + 1'b1;
    if (rst) begin
      entered_q  <= '0;
      finished_q <= '0;
      taken_q    <= '0;
      copied_q   <= '0;
    end
  end

  // ---------------------------------------------------------------------------------------------------- what expires
  typedef struct packed {
    logic [TABLE_W-1:0] table_number;
    expiry_t            entry;
  } expired_t;

  logic expired_push, expired_room, expired_there;
  expired_t expired_next, expired_first;
  always_comb begin
    expired_push  = expired_valid != '0;
    expired_next  = '0;
    expired_ready = '0;
    for (int i = int'(TABLES) - 1; i >= 0; i--) begin
      if (expired_valid[i]) begin
        expired_next     = '{table_number: TABLE_W'(i), entry: expired[i]};
        expired_ready    = '0;
        expired_ready[i] = expired_room;
      end
    end
  end
  // Outputs that nobody needs here stay open.
  // verilator lint_off PINCONNECTEMPTY
  stream_fifo #(
      .WIDTH($bits(expired_t)),
      .DEPTH(16)
  ) u_expired (
      .clk,
      .rst,
      .s_valid(expired_push),
      .s_ready(expired_room),
      .s_data (expired_next),
      .m_valid(expired_there),
      .m_ready(regs_out.expired.advance.start.value),
      .m_data (expired_first),
      .count  (),
      .idle   ()  // software takes them when it likes
  );
  // verilator lint_on PINCONNECTEMPTY

  // -------------------------------------------------------------------------------------------------------- registers
  logic written_q;
  always_ff @(posedge clk) begin
    written_q <= regs_out.actions.last_word.value.swmod;
    if (rst) written_q <= 1'b0;
  end

  logic [ACTION_W-1:0] program_bits;
  always_comb begin
    for (int unsigned i = 0; i < 4; i++) program_bits[32*i+:32] = regs_out.actions.word[i].value.value;
    program_bits[128+:32] = regs_out.actions.last_word.value.value;
  end
  assign program_write   = written_q;
  assign program_word    = action_t'(program_bits[$bits(action_t)-1:0]);
  assign program_address = regs_out.actions.place.value.value;
  assign group_program   = regs_out.actions.place.value.value;
  assign fir_carry       = regs_out.fir.control.carry.value;

  always_comb begin
    for (int unsigned i = 0; i < 4; i++) fir_coefficients[i] = regs_out.fir.coefficient[i].value.value;
    for (int unsigned i = 0; i < 2; i++) begin
      enabled[32*i+:32]   = regs_out.ports.enabled[i].ports.value;
      receiving[32*i+:32] = regs_out.ports.receiving[i].ports.value;
      hold[32*i+:32]      = regs_out.ports.hold[i].ports.value;
      live[32*i+:32]      = regs_out.ports.live[i].ports.value;
      quiet[32*i+:32]     = regs_out.ports.quiet[i].ports.value;
    end

    regs_in                                   = '{default: '0};
    regs_in.sizes.ports.next                  = 7'(PORTS);
    regs_in.sizes.tables.next                 = 4'(TABLES);
    regs_in.sizes.narrow.next                 = NARROW;
    regs_in.sizes.custom.next                 = CUSTOM;
    regs_in.sizes.bands.next                  = 4'(METER_BANDS);
    regs_in.exact_entries.value.next          = EXACT;
    regs_in.ternary_entries.value.next        = TERNARY;
    regs_in.effects.value.next                = EFFECTS;
    regs_in.program_words.value.next          = PROGRAM_WORDS;
    regs_in.groups.value.next                 = GROUPS;
    regs_in.counters.value.next               = COUNTERS;
    regs_in.meters.value.next                 = METERS;
    regs_in.entered.value.next                = entered_q;
    regs_in.finished.value.next               = finished_q;
    regs_in.from_host.value.next              = taken_q;
    regs_in.to_host.value.next                = copied_q;
    regs_in.flow.wr_ack                       = flow_write;
    regs_in.flow.rd_ack                       = regs_out.flow.req && !regs_out.flow.req_is_wr;
    regs_in.operation.answer.value.next       = answer_q;
    for (int unsigned i = 0; i < COUNTED; i++) regs_in.operation.counted[i].value.next = counted_q[i];
    regs_in.actions.place.value.we          = written_q;
    regs_in.actions.place.value.next        = regs_out.actions.place.value.value + 1'b1;
    regs_in.expired.first.valid.next          = expired_there;
    regs_in.expired.first.hard.next           = expired_first.entry.hard;
    regs_in.expired.first.table_number.next   = expired_first.table_number;
    regs_in.expired.first.item.next         = expired_first.entry.number;
    regs_in.host_dropped.count.incr           = host_dropped;
    regs_in.host_dropped.count.incrvalue      = 1'b1;
    regs_in.resubmit_dropped.count.incr       = resubmit_dropped;
    regs_in.resubmit_dropped.count.incrvalue  = 1'b1;
    regs_in.custom_dropped.count.incr         = custom_dropped;
    regs_in.custom_dropped.count.incrvalue    = 1'b1;
    regs_in.from_host_dropped.count.incr      = from_host_dropped;
    regs_in.from_host_dropped.count.incrvalue = 1'b1;
  end

  assign idle = state_q == IDLE && !written_q && !group_write_q && entered == '0 && finished == '0;

`ifndef SYNTHESIS
  for (genvar i = 0; i < TABLES; i++) begin : gen_expired
    offer_contract #(
        .WIDTH($bits(expiry_t))
    ) u_expired (
        .clk,
        .rst,
        .valid(expired_valid[i]),
        .ready(expired_ready[i]),
        .data (expired[i])
    );
  end
  onehot_contract #(
      .WIDTH(TABLES)
  ) u_flow (
      .clk,
      .rst,
      .valid (state_q == FLOW),
      .select(flow_valid)
  );
  range_contract #(
      .WIDTH($bits(state_q)),
      .MOST (32'(COUNT))
  ) u_state (
      .clk,
      .rst,
      .valid (1'b1),
      .number(state_q)
  );
`endif

endmodule
