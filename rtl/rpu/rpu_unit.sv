// SPDX-License-Identifier: Apache-2.0
// A packet processor: a RISC-V core with instruction, data and packet memory, packet DMA in and out, and an accelerator
// beside it, which sees packet memory.
// A packet that comes in is written into its slot; software then gets its descriptor, and sends or drops it, which
// gives the slot back by a release. `core_rst` holds the core, and forgets packets and registers; memories keep what
// they have, and the host reaches them always (instruction memory, and packet memory under load, with waits).
// Latency and backpressure: rpu_writer, rpu_transmit, rpu_reader, rpu_bus.
//
//  s_axis -> rpu_writer -+-> packet memory -+-> rpu_transmit -> m_axis
//                |       +-> data memory ---+     ^   |
//                | descriptors                    |   +-> rpu_slot_return -> releases
//                v                                |
//             rpu_io --- to be sent --> rpu_send_check
//                ^
//                |
//  rpu_core <-> rpu_bus <-> packet memory, data memory, accelerator, other units
//     ^                                                     ^
//  instruction memory         packet memory -> u_accel_reader
//  Beside them: rpu_host_access to all memories, rpu_last_error.
module rpu_unit
  import rpu_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned IMEM_KB = 64,
    parameter int unsigned DMEM_KB = 32,
    parameter int unsigned PMEM_KB = 1024,
    parameter int unsigned BROADCAST_KB = 8,
    parameter int unsigned SLOTS = 32,
    parameter int unsigned FUNCTIONS = 1,  // of the host port
    parameter bit BUS_REGS = 1'b0,   // registers around the core's bus and the memories: loads take 2 to 4 cycles more
    parameter bit GATED = 1'b0,      // clock gates: see clock_gate
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,
    input  logic              core_rst,
    input  logic [63:0]       time_ns,
    input  logic [7:0]        core_id,

    input  logic              s_axis_tvalid,
    output logic              s_axis_tready,
    input  logic [DATA_W-1:0] s_axis_tdata,
    input  logic [KEEP_W-1:0] s_axis_tkeep,
    input  logic              s_axis_tlast,
    input  unit_rx_t          s_axis_tuser,

    output logic              m_axis_tvalid,
    input  logic              m_axis_tready,
    output logic [DATA_W-1:0] m_axis_tdata,
    output logic [KEEP_W-1:0] m_axis_tkeep,
    output logic              m_axis_tlast,
    output unit_tx_t          m_axis_tuser,

    output logic              release_valid,
    input  logic              release_ready,
    output release_t          released,

    output logic              broadcast_valid,   // stores for all other units
    input  logic              broadcast_ready,
    output word_t             broadcast,
    input  logic              message_valid,     // and theirs
    output logic              message_ready,
    input  word_t             message,

    input  logic              host_valid,        // the host's access to a word of a memory, software's addresses
    output logic              host_ready,
    input  logic              host_write,
    input  logic [31:0]       host_addr,
    input  logic [31:0]       host_wdata,
    output logic              host_rvalid,
    output logic [31:0]       host_rdata,

    input  logic              debug_valid,       // the core's debug port
    output logic              debug_ready,
    input  logic              debug_write,
    input  logic [7:0]        debug_addr,
    input  logic [31:0]       debug_wdata,
    output logic [31:0]       debug_rdata,

    input  logic              accel_there,       // the accelerator: there is one
    output logic              reg_valid,
    input  logic              reg_ready,
    output logic              reg_write,
    output logic [15:0]       reg_addr,
    output logic [31:0]       reg_wdata,
    output logic [3:0]        reg_wstrb,
    input  logic [31:0]       reg_rdata,
    output logic              load_valid,
    output logic [23:0]       load_addr,
    output logic [31:0]       load_data,
    input  logic              job_valid,
    output logic              job_ready,
    input  accel_job_t        job,
    output logic              accel_tvalid,
    input  logic              accel_tready,
    output logic [DATA_W-1:0] accel_tdata,
    output logic [KEEP_W-1:0] accel_tkeep,
    output logic              accel_tlast,
    input  logic              accel_irq,

    input  logic              dram_error,        // a request of the unit for host memory has failed

    input  logic              poke,
    input  logic              evict,
    input  logic [63:0]       debug_in,
    output logic [63:0]       debug_out,
    output core_status_t      status,
    output logic [31:0]       error_addr,        // of the last error: of the access, packet or slot
    output logic [31:0]       error_pc,          // the instruction's; with descriptors, where the core was then
    output logic [31:0]       program_counter,
    output logic [15:0]       slot_bytes,        // the longest packet that a slot takes
    output logic              too_long,          // one that was longer has been dropped
    output logic              watch,
    output logic [63:0]       wake_ns,
    output logic              idle               // no packet moves, and the core sleeps or is in reset
);

  localparam int unsigned BYTE_W = $clog2(KEEP_W);
  localparam int unsigned DMEM_LINES = DMEM_KB * 1024 / KEEP_W;
  localparam int unsigned PMEM_LINES = PMEM_KB * 1024 / KEEP_W;
  localparam int unsigned DMEM_W = $clog2(DMEM_LINES);
  localparam int unsigned PMEM_W = $clog2(PMEM_LINES);
  localparam int unsigned DMEM_WORD_W = $clog2(DMEM_KB * 256);
  localparam int unsigned PMEM_WORD_W = $clog2(PMEM_KB * 256);

  function automatic logic [DMEM_W-1:0] dmem_line(logic [23:0] addr);
    return DMEM_W'(addr >> BYTE_W);
  endfunction
  function automatic logic [PMEM_W-1:0] pmem_line(logic [23:0] addr);
    return PMEM_W'(addr >> BYTE_W);
  endfunction
  function automatic logic [DMEM_WORD_W-1:0] dmem_word(logic [23:0] addr);
    return DMEM_WORD_W'(addr >> 2);
  endfunction
  function automatic logic [PMEM_WORD_W-1:0] pmem_word(logic [23:0] addr);
    return PMEM_WORD_W'(addr >> 2);
  endfunction
  logic reset;
  assign reset = rst || core_rst;

  // The core
  logic bus_valid, bus_ready, bus_write, bus_rvalid, bus_error, timer_irq, external_irq, imem_error, wrong;
  logic [31:0] bus_addr, bus_wdata, bus_rdata, bus_pc, imem_error_addr;
  logic [3:0] bus_strb;
  logic core_valid, core_ready, core_write, core_rvalid, core_error;
  logic [31:0] core_addr, core_wdata, core_rdata, core_pc;
  logic [3:0] core_strb;
  logic imem_valid, imem_ready;
  logic [31:0] imem_rdata;

  rpu_core #(
      .IMEM_KB(IMEM_KB)
  ) u_core (
      .clk,
      .rst,
      .core_rst,
      .bus_valid(core_valid),
      .bus_ready(core_ready),
      .bus_write(core_write),
      .bus_addr(core_addr),
      .bus_wdata(core_wdata),
      .bus_strb(core_strb),
      .bus_rvalid(core_rvalid),
      .bus_rdata(core_rdata),
      .bus_error(core_error),
      .timer_irq,
      .external_irq,
      .imem_error,
      .imem_error_addr,
      .program_counter,
      .bus_pc    (core_pc),
      .host_valid(imem_valid),
      .host_ready(imem_ready),
      .host_write,
      .host_addr (host_addr[23:0]),
      .host_wdata,
      .host_rdata(imem_rdata),
      .debug_valid,
      .debug_ready,
      .debug_write,
      .debug_addr,
      .debug_wdata,
      .debug_rdata
  );

  if (BUS_REGS) begin : gen_bus
    stream_reg #(
        .WIDTH(101)
    ) u_request (
        .clk,
        .rst    (reset),
        .s_valid(core_valid),
        .s_ready(core_ready),
        .s_data ({core_pc, core_write, core_addr, core_wdata, core_strb}),
        .m_valid(bus_valid),
        .m_ready(bus_ready),
        .m_data ({bus_pc, bus_write, bus_addr, bus_wdata, bus_strb}),
        .idle   ()
    );
    always_ff @(posedge clk) begin
      core_rvalid <= bus_rvalid && !reset;
      core_rdata  <= bus_rdata;
      core_error  <= bus_error;
    end
  end else begin : gen_bus
    assign bus_valid  = core_valid;
    assign core_ready = bus_ready;
    assign {bus_pc, bus_write, bus_addr, bus_wdata, bus_strb} = {
      core_pc, core_write, core_addr, core_wdata, core_strb
    };
    assign {core_rvalid, core_rdata, core_error} = {bus_rvalid, bus_rdata, bus_error};
  end

  // Its loads and stores
  logic io_valid, io_ready, io_wait, io_elsewhere;
  logic [31:0] io_rdata;
  logic [3:0] access_error;
  logic core_dmem_write, core_dmem_read, core_dmem_done, core_pmem_write, core_pmem_read, core_pmem_done;
  logic [23:0] core_dmem_addr, core_pmem_addr;
  logic [31:0] core_dmem_wdata, core_pmem_wdata;
  logic [3:0] core_dmem_wstrb, core_pmem_wstrb;
  logic [DATA_W-1:0] dmem_rdata, pmem_rdata;

  rpu_bus #(
      .DATA_W(DATA_W),
      .DMEM_KB(DMEM_KB),
      .PMEM_KB(PMEM_KB),
      .BROADCAST_KB(BROADCAST_KB)
  ) u_bus (
      .clk,
      .rst       (reset),
      .bus_valid,
      .bus_ready,
      .bus_write,
      .bus_addr,
      .bus_wdata,
      .bus_strb,
      .bus_rvalid,
      .bus_rdata,
      .bus_error,
      .access_error,
      .io_valid,
      .io_ready,
      .io_rdata,
      .io_wait,
      .io_elsewhere,
      .accel_there,
      .reg_valid,
      .reg_ready,
      .reg_write,
      .reg_addr,
      .reg_wdata,
      .reg_wstrb,
      .reg_rdata,
      .dmem_write(core_dmem_write),
      .dmem_read (core_dmem_read),
      .dmem_addr (core_dmem_addr),
      .dmem_wdata(core_dmem_wdata),
      .dmem_wstrb(core_dmem_wstrb),
      .dmem_done (core_dmem_done),
      .dmem_rdata,
      .pmem_write(core_pmem_write),
      .pmem_read (core_pmem_read),
      .pmem_addr (core_pmem_addr),
      .pmem_wdata(core_pmem_wdata),
      .pmem_wstrb(core_pmem_wstrb),
      .pmem_done (core_pmem_done),
      .pmem_rdata,
      .broadcast_valid,
      .broadcast_ready,
      .broadcast
  );

  // Packets in. Both memories serve the writer next after the core.
  logic slot_write, slot_header, pw_valid, pw_ready, hw_valid, hw_ready, header_there, in_valid, in_ready, beyond;
  logic writer_idle, slots_told;
  logic [7:0] slot_number, long_slot;
  logic [15:0] slots_bytes;
  logic [23:0] slot_addr, pw_addr, hw_addr, in_header;
  logic [DATA_W-1:0] w_data;
  logic [KEEP_W-1:0] w_strb;
  logic [31:0] dram_done, dram_empty;
  desc_t in_desc;
  logic begin_q;                   // the next beat is a packet's first

  rpu_writer #(
      .DATA_W(DATA_W),
      .PMEM_KB(PMEM_KB),
      .SLOTS(SLOTS)
  ) u_writer (
      .clk,
      .rst         (reset),
      .slot_write,
      .slot_header,
      .slot_number,
      .slot_addr,
      .slots_told,
      .slots_bytes,
      .slot_bytes,
      .s_axis_tvalid,
      .s_axis_tready,
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .s_axis_tuser,
      .wr_valid    (pw_valid),
      .wr_ready    (pw_ready),
      .wr_addr     (pw_addr),
      .header_valid(hw_valid),
      .header_ready(hw_ready),
      .header_addr (hw_addr),
      .wr_data     (w_data),
      .wr_strb     (w_strb),
      .dram_done,
      .desc_valid  (in_valid),
      .desc_ready  (in_ready && header_there),
      .desc        (in_desc),
      .desc_header (in_header),
      .beyond,
      .too_long,
      .long_slot,
      .idle        (writer_idle)
  );

  // What of it goes to data memory
  logic hd_valid, hd_ready;
  logic [DMEM_W-1:0] hd_line;
  logic [DATA_W-1:0] hd_data;
  logic [KEEP_W-1:0] hd_strb;
  if (BUS_REGS) begin : gen_header
    stream_reg #(
        .WIDTH(DMEM_W + DATA_W + KEEP_W)
    ) u_header (
        .clk,
        .rst    (reset),
        .s_valid(hw_valid),
        .s_ready(hw_ready),
        .s_data ({dmem_line(hw_addr), w_data, w_strb}),
        .m_valid(hd_valid),
        .m_ready(hd_ready),
        .m_data ({hd_line, hd_data, hd_strb}),
        .idle   (header_there)
    );
  end else begin : gen_header
    assign hd_valid     = hw_valid;
    assign hw_ready     = hd_ready;
    assign hd_line      = dmem_line(hw_addr);
    assign hd_data      = w_data;
    assign hd_strb      = w_strb;
    assign header_there = 1'b1;
  end
  wire arrives = s_axis_tvalid && s_axis_tready;
  logic slot_begin_q;
  logic [7:0] slot_begun_q;
  always_ff @(posedge clk) begin
    if (arrives) begin_q <= s_axis_tlast;
    slot_begin_q <= arrives && begin_q && s_axis_tuser.port != PORT_DRAM;
    slot_begun_q <= s_axis_tuser.slot;
    if (reset) begin
      begin_q      <= 1'b1;
      slot_begin_q <= 1'b0;
    end
  end

  // Packets out
  logic send_valid, send_ready, invalid_desc, again, tx_end, slot_end;
  logic tx_valid, tx_ready, tx_done, txl_valid, txl_ready, txl_done;
  logic transmit_idle, queued_valid, queued_ready, asked_valid, asked_ready, checks_idle;
  send_t queued, asked;
  checked_t send;
  logic [7:0] tx_ended, slot_ended;
  logic freed_valid, freed_ready, return_idle;
  release_t freed;
  logic [23:0] tx_addr;

  if (BUS_REGS) begin : gen_send
    stream_reg #(
        .WIDTH($bits(send_t))
    ) u_asked (
        .clk,
        .rst    (reset),
        .s_valid(queued_valid),
        .s_ready(queued_ready),
        .s_data (queued),
        .m_valid(asked_valid),
        .m_ready(asked_ready),
        .m_data (asked),
        .idle   ()
    );
  end else begin : gen_send
    assign asked_valid  = queued_valid;
    assign queued_ready = asked_ready;
    assign asked        = queued;
  end

  rpu_send_check #(
      .DMEM_KB(DMEM_KB),
      .PMEM_KB(PMEM_KB),
      .SLOTS(SLOTS),
      .FUNCTIONS(FUNCTIONS)
  ) u_send_check (
      .clk,
      .rst    (reset),
      .s_valid(asked_valid),
      .s_ready(asked_ready),
      .s      (asked),
      .m_valid(send_valid),
      .m_ready(send_ready),
      .m      (send),
      .idle   (checks_idle)
  );

  rpu_transmit #(
      .DATA_W(DATA_W)
  ) u_transmit (
      .clk,
      .rst        (reset),
      .send_valid,
      .send_ready,
      .send,
      .active     (status.active),
      .invalid_desc,
      .again,
      .slots_told,
      .slots_bytes,
      .dram_empty,
      .slot_end   (tx_end),
      .slot_ended (tx_ended),
      .rd_valid   (tx_valid),
      .rd_ready   (tx_ready),
      .rd_done    (tx_done),
      .rd_data    (pmem_rdata),
      .local_valid(txl_valid),
      .local_ready(txl_ready),
      .local_done (txl_done),
      .local_data (dmem_rdata),
      .rd_addr    (tx_addr),
      .m_axis_tvalid,
      .m_axis_tready,
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_tuser,
      .release_valid(freed_valid),
      .release_ready(freed_ready),
      .released   (freed),
      .idle       (transmit_idle)
  );

  rpu_slot_return u_slot_return (
      .clk,
      .rst          (reset),
      .too_long,
      .long_slot,
      .active       (status.active),
      .s_end        (tx_end),
      .s_ended      (tx_ended),
      .s_valid      (freed_valid),
      .s_ready      (freed_ready),
      .s            (freed),
      .slot_end,
      .slot_ended,
      .release_valid,
      .release_ready,
      .released,
      .idle         (return_idle)
  );

  logic message_in_q;              // another unit's store is in data memory
  logic [23:0] message_addr_q;
  always_ff @(posedge clk) begin
    message_in_q   <= message_valid && message_ready && !reset;
    message_addr_q <= message.addr;
  end

  rpu_io #(
      .IMEM_KB(IMEM_KB),
      .DMEM_KB(DMEM_KB),
      .PMEM_KB(PMEM_KB),
      .BROADCAST_KB(BROADCAST_KB),
      .SLOTS(SLOTS)
  ) u_io (
      .clk,
      .rst          (reset),
      .time_ns,
      .core_id,
      .io_valid,
      .io_ready,
      .io_write     (bus_write),
      .io_addr      (bus_addr[8:0]),
      .io_wdata     (bus_wdata),
      .io_strb      (bus_strb),
      .io_rdata,
      .io_wait,
      .io_elsewhere,
      .wake         (debug_valid),
      .timer_irq,
      .external_irq,
      .recv_valid   (in_valid && header_there),
      .recv_ready   (in_ready),
      .recv         (in_desc),
      .recv_header  (in_header),
      .send_valid   (queued_valid),
      .send_ready   (queued_ready),
      .send         (queued),
      .slot_write,
      .slot_header,
      .slot_number,
      .slot_addr,
      .slot_begin   (slot_begin_q),
      .slot_begun   (slot_begun_q),
      .again,
      .slot_end,
      .slot_ended,
      .message_valid(message_in_q),
      .message_addr (message_addr_q),
      .message_ready(broadcast_ready),
      .dram_done    (dram_done | dram_empty),
      .dram_error,
      .accel_irq,
      .invalid_desc,
      .access_error (access_error | {1'b0, beyond, 1'b0, imem_error}),
      .poke,
      .evict,
      .debug_in,
      .debug_out,
      .status,
      .wrong,
      .watch,
      .wake_ns
  );

  logic ax_valid, ax_ready, ax_done, accel_reader_idle, seldom_clk;  // of what seldom has work
  logic [23:0] ax_addr;
  clock_gate #(
      .GATED(GATED),
      .WATCHED(68)
  ) u_seldom_gate (
      .clk,
      .rst    (reset),
      .work   (wrong || !accel_reader_idle),
      .watched({error_addr, error_pc, job_ready, ax_valid, accel_tvalid, accel_reader_idle}),
      .gated  (seldom_clk)
  );

  rpu_last_error u_last_error (
      .clk(seldom_clk),
      .rst        (reset),
      .wrong,
      .access     (access_error != '0),
      .imem       (imem_error),
      .beyond,
      .descriptor (invalid_desc || again || slot_end),
      .bus_addr,
      .bus_pc,
      .pc         (program_counter),
      .imem_addr  (imem_error_addr),
      .packet_addr(pw_addr),
      .sent       (send.send.desc.data),
      .slot_addr,
      .error_addr,
      .error_pc
  );

  // The accelerator's view of packet memory
  // verilator lint_off PINCONNECTEMPTY
  rpu_reader #(
      .DATA_W(DATA_W),
      .USER_W(1),
      .HAS_LOCAL(1'b0)
  ) u_accel_reader (
      .clk(seldom_clk),
      .rst          (reset),
      .job_valid,
      .job_ready,
      .job_local    (1'b0),
      .job_addr     (job.addr),
      .job_len      (job.len),
      .job_user     (1'b0),
      .rd_valid     (ax_valid),
      .rd_ready     (ax_ready),
      .rd_done      (ax_done),
      .rd_data      (pmem_rdata),
      .local_valid  (),
      .local_ready  (1'b0),
      .local_done   (1'b0),
      .local_data   ('0),
      .rd_addr      (ax_addr),
      .m_axis_tvalid(accel_tvalid),
      .m_axis_tready(accel_tready),
      .m_axis_tdata (accel_tdata),
      .m_axis_tkeep (accel_tkeep),
      .m_axis_tlast (accel_tlast),
      .m_axis_tuser (),
      .idle         (accel_reader_idle)
  );
  // verilator lint_on PINCONNECTEMPTY

  logic host_dmem, host_pmem, host_dmem_done, host_pmem_done, dw_ready, pw_host_ready, dr_ready, pr_ready;
  rpu_host_access #(
      .DATA_W(DATA_W)
  ) u_host_access (
      .clk,
      .rst,
      .host_valid,
      .host_ready,
      .host_write,
      .host_addr,
      .host_wdata,
      .host_rvalid,
      .host_rdata,
      .load_valid,
      .load_addr,
      .load_data,
      .imem_valid,
      .imem_ready,
      .imem_rdata,
      .dmem_valid(host_dmem),
      .dmem_ready(host_write ? dw_ready : dr_ready),
      .dmem_done (host_dmem_done),
      .dmem_rdata,
      .pmem_valid(host_pmem),
      .pmem_ready(host_write ? pw_host_ready : pr_ready),
      .pmem_done (host_pmem_done),
      .pmem_rdata
  );

  // Data memory: the core's stores and loads come first and take no time.
  logic unused_dw_ready;
  logic unused_dr_ready;
  rpu_memory #(
      .DATA_W(DATA_W),
      .LINES(DMEM_LINES),
      .WRITERS(3),
      .READERS(3),
      .IN_REG (BUS_REGS),
      .OUT_REG(BUS_REGS)
  ) u_dmem (
      .clk,
      .rst,
      .wr_valid({host_dmem && host_write, message_valid, core_dmem_write}),
      .wr_ready({dw_ready, message_ready, unused_dw_ready}),
      .wr_addr ({dmem_word(host_addr[23:0]), dmem_word(message.addr), dmem_word(core_dmem_addr)}),
      .wr_data ({host_wdata, message.data, core_dmem_wdata}),
      .wr_strb ({4'hf, message.strb, core_dmem_wstrb}),
      .line_valid(hd_valid),
      .line_ready(hd_ready),
      .line_addr (hd_line),
      .line_data (hd_data),
      .line_strb (hd_strb),
      .rd_valid({host_dmem && !host_write, txl_valid, core_dmem_read}),
      .rd_ready({dr_ready, txl_ready, unused_dr_ready}),
      .rd_addr ({dmem_line(host_addr[23:0]), dmem_line(tx_addr), dmem_line(core_dmem_addr)}),
      .rd_done ({host_dmem_done, txl_done, core_dmem_done}),
      .rd_data (dmem_rdata)
  );

  // Packet memory
  logic unused_pw_ready;
  logic unused_pr_ready;
  rpu_memory #(
      .DATA_W(DATA_W),
      .LINES(PMEM_LINES),
      .WRITERS(2),
      .READERS(4),
      .IN_REG (BUS_REGS),
      .OUT_REG(1'b1)
  ) u_pmem (
      .clk,
      .rst,
      .wr_valid({host_pmem && host_write, core_pmem_write}),
      .wr_ready({pw_host_ready, unused_pw_ready}),
      .wr_addr ({pmem_word(host_addr[23:0]), pmem_word(core_pmem_addr)}),
      .wr_data ({host_wdata, core_pmem_wdata}),
      .wr_strb ({4'hf, core_pmem_wstrb}),
      .line_valid(pw_valid),
      .line_ready(pw_ready),
      .line_addr (pmem_line(pw_addr)),
      .line_data (w_data),
      .line_strb (w_strb),
      .rd_valid({host_pmem && !host_write, ax_valid, tx_valid, core_pmem_read}),
      .rd_ready({pr_ready, ax_ready, tx_ready, unused_pr_ready}),
      .rd_addr ({pmem_line(host_addr[23:0]), pmem_line(ax_addr), pmem_line(tx_addr), pmem_line(core_pmem_addr)}),
      .rd_done ({host_pmem_done, ax_done, tx_done, core_pmem_done}),
      .rd_data (pmem_rdata)
  );

  always_comb begin
    idle = 1'b0;
    if (core_rst || io_wait) begin  // only then does a simulator look further
      idle = writer_idle && transmit_idle && accel_reader_idle && !queued_valid && !asked_valid && checks_idle
          && return_idle && !in_valid && status.active == '0;
    end
  end

endmodule
