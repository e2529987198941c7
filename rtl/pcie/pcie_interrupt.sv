// SPDX-License-Identifier: Apache-2.0
// MSI-X of FUNCTIONS functions with VECTORS each (PCI Local Bus 3.0, 6.8.2): an interrupt request becomes the memory
// write that the function's table names, or sets its pending bit while the vector or the function is masked. What is
// pending and may go is found by a walk over the functions, which begins at a vector whose control word the host
// writes,
// and with each change of `enabled` and `masked`. Requests of a function whose MSI-X is disabled, and of one that there
// isn't, are dropped (`refused`).
// The host's accesses: the table from 0 on, 16 bytes a vector, the pending bits from PENDING on, which it can't write.
// Reset, and clear_valid for one function, mask all vectors and forget what is pending.
// Latency: 7 cycles from a request to its memory write. Throughput: one in 4 cycles.
// Backpressure: interrupts wait while 8 memory writes wait for req_ready; the host's accesses don't.
// After reset all wait for FUNCTIONS * VECTORS cycles, and VECTORS to clear a function. A walk takes 4 cycles for a
// function and for each vector of one with something pending, in turn with requests.
module pcie_interrupt
  import pcie_pkg::*, axi_pkg::*;
#(
    parameter int unsigned FUNCTIONS = 16,
    parameter int unsigned VECTORS = 4,
    parameter int unsigned PENDING = 2048,
    localparam int unsigned FUNC_W = FUNCTIONS > 1 ? $clog2(FUNCTIONS) : 1
) (
    input  logic                 clk,
    input  logic                 rst,
    input  logic [FUNCTIONS-1:0] enabled,      // MSI-X enable and function mask, of each function's message control
    input  logic [FUNCTIONS-1:0] masked,
    input  logic                 clear_valid,
    output logic                 clear_ready,
    input  logic [FUNC_W-1:0]    clear_func,

    input  logic                 irq_valid,
    output logic                 irq_ready,
    input  logic [15:0]          irq_func,
    input  logic [15:0]          irq_vector,

    // Of an access the offset.
    // verilator lint_off UNUSEDSIGNAL
    input  logic [15:0]          func,         // beside the host's access
    input  axil_req_t            axil_req,
    // verilator lint_on UNUSEDSIGNAL
    output axil_rsp_t            axil_rsp,

    output logic                 req_valid,
    input  logic                 req_ready,
    output request_t             req_header,
    output logic [31:0]          req_data,

    output logic                 refused,
    output logic                 idle          // what is pending and masked may stay
);

  localparam int unsigned VECTOR_W = $clog2(VECTORS);
  localparam int unsigned ENTRIES = 2 ** FUNC_W * VECTORS;
  localparam int unsigned WORDS = (VECTORS + 31) / 32;  // of pending bits

  if (FUNCTIONS < 1 || FUNCTIONS > 4096) begin : gen_bad_functions
    $fatal(1, "pcie_interrupt: FUNCTIONS must be 1 to 4096, not %0d", FUNCTIONS);
  end
  if (VECTORS < 2 || VECTORS > 64 || 2 ** VECTOR_W != VECTORS) begin : gen_bad_vectors
    $fatal(1, "pcie_interrupt: VECTORS must be a power of two from 2 to 64, not %0d", VECTORS);
  end
  if (PENDING < 16 * VECTORS || PENDING % 8 != 0 || PENDING > 32768) begin : gen_bad_pending
    $fatal(1, "pcie_interrupt: PENDING must be a multiple of 8 behind the table, up to 32768, not %0d", PENDING);
  end

  typedef logic [FUNC_W-1:0] func_t;
  typedef logic [VECTOR_W-1:0] vector_t;
  typedef struct packed {
    func_t   func;
    vector_t vector;
  } place_t;
  typedef enum logic [2:0] {
    CLEARS,
    WAITS,
    READS,     // the entry and its function's pending bits
    KEEPS,     // what was read, since a RAM's output comes late
    ACTS,      // on them
    RESPONDS   // to the host
  } state_t;
  typedef enum logic [1:0] {
    REQUEST,
    ACCESS,
    WALK
  } job_t;

  state_t state_q;
  job_t job_q;
  place_t place_q, walk_q;
  logic all_q;                         // clears every function
  logic write_q, known_q, start_q, turn_q;
  logic [FUNC_W:0] left_q;             // functions to walk over
  logic [FUNCTIONS-1:0] enabled_q, masked_q;
  logic on_q, off_q;                   // the function's MSI-X is enabled; is masked
  logic [15:0] offset_q;
  logic [31:0] wdata_q, rdata_q;
  logic [3:0] wstrb_q;
  logic queue_room, queue_idle, push;

  // What can be taken, in this order; requests and a walk's steps in turn.
  wire write = axil_req.awvalid && axil_req.wvalid;
  wire known_func = 32'(func) < FUNCTIONS;
  wire takes = state_q == WAITS;
  wire walks = left_q != 0;
  wire access = write || axil_req.arvalid;
  wire take_clear = takes && clear_valid;
  wire take_access = takes && !clear_valid && access;
  wire take_request = takes && !clear_valid && !access && queue_room && irq_valid && !(walks && turn_q);
  wire take_walk = takes && !clear_valid && !access && queue_room && walks && !(irq_valid && !turn_q);
  wire known_request = 32'(irq_func) < FUNCTIONS && 32'(irq_vector) < VECTORS;
  wire [15:0] offset = write ? axil_req.awaddr[15:0] : axil_req.araddr[15:0];

  assign clear_ready = takes;
  assign irq_ready   = take_request;

  // ------------------------------------------------------------------------------------------------------------- RAMs
  // The table as four words an entry, so that the host writes bytes of one; of the control word there is the mask.
  logic [2:0][31:0] words;
  logic [31:0] word_q;
  logic [2:0] word_write;
  logic mask, mask_q, mask_write, mask_new, pending_write;
  logic [VECTORS-1:0] pending, pending_q, pending_new;
  wire rd_en = state_q == READS;

  for (genvar i = 0; i < 3; i++) begin : gen_words
    ram_sdp_strb #(
        .WIDTH(32),
        .DEPTH(ENTRIES)
    ) u_ram (
        .clk,
        .wr_en  (word_write[i]),
        .wr_strb(wstrb_q),
        .wr_addr(place_q),
        .wr_data(wdata_q),
        .rd_en,
        .rd_addr(place_q),
        .rd_data(words[i])
    );
  end
  ram_fit #(
      .WIDTH(1),
      .DEPTH(ENTRIES)
  ) u_masks (
      .clk,
      .wr_en  (mask_write),
      .wr_addr(place_q),
      .wr_data(mask_new),
      .rd_en,
      .rd_addr(place_q),
      .rd_data(mask)
  );
  ram_fit #(
      .WIDTH(VECTORS),
      .DEPTH(FUNCTIONS)
  ) u_pending (
      .clk,
      .wr_en  (pending_write),
      .wr_addr(place_q.func),
      .wr_data(pending_new),
      .rd_en,
      .rd_addr(place_q.func),
      .rd_data(pending)
  );

  // ------------------------------------------------------------------------------------------------------------- acts
  wire acts = state_q == ACTS;
  wire clears = state_q == CLEARS;
  wire is_pending = pending_q[place_q.vector];
  wire may_go = on_q && !off_q && !mask_q;
  wire in_table = 32'(offset_q) < 16 * VECTORS;
  wire word_written = acts && job_q == ACCESS && write_q && known_q && in_table;
  wire [1:0] word = offset_q[3:2];
  wire control_written = word_written && word == 2'd3 && wstrb_q[0];
  wire sends = job_q == REQUEST ? known_q && may_go : job_q == WALK && is_pending && may_go;
  wire keeps = job_q == REQUEST && known_q && on_q && !may_go;
  wire last_vector = place_q.vector == vector_t'(VECTORS - 1);
  wire function_done = job_q == WALK && (last_vector || pending_q == '0 || !on_q || off_q);

  always_comb begin
    for (int i = 0; i < 3; i++) word_write[i] = word_written && 32'(word) == i;
    mask_write    = clears || control_written;
    mask_new      = clears || wdata_q[0];
    pending_write = clears || (acts && (keeps || (sends && job_q != REQUEST)));
    pending_new   = clears ? '0 : pending_q;
    if (!clears) pending_new[place_q.vector] = keeps;
  end
  assign push = acts && sends;

  // What the host reads: zero where there is nothing.
  logic [63:0] bits;
  logic [31:0] read_word;
  assign bits = 64'(pending_q);
  always_comb begin
    read_word = '0;
    if (known_q && in_table) read_word = word == 2'd3 ? 32'(mask_q) : word_q;
    for (int i = 0; i < int'(WORDS); i++) begin
      if (known_q && 32'(offset_q[15:2]) == PENDING / 4 + i) read_word = bits[32*i+:32];
    end
  end

  always_ff @(posedge clk) begin
    enabled_q <= enabled;
    masked_q  <= masked;
    start_q   <= enabled != enabled_q || masked != masked_q;
    refused   <= acts && job_q == REQUEST && !(known_q && on_q);
    on_q      <= enabled_q[place_q.func];
    off_q     <= masked_q[place_q.func];
    mask_q    <= mask;
    pending_q <= pending;
    for (int i = 0; i < 3; i++) if (32'(word) == i) word_q <= words[i];
    case (state_q)
      CLEARS: begin
        place_q.vector <= place_q.vector + 1'b1;
        if (last_vector) begin
          place_q.func <= place_q.func + 1'b1;
          if (!all_q || 32'(place_q.func) == FUNCTIONS - 1) state_q <= WAITS;
        end
      end
      WAITS: begin
        if (take_access || take_request || take_walk) state_q <= READS;
        if (take_request) begin
          job_q   <= REQUEST;
          turn_q  <= 1'b1;
          known_q <= known_request;
          place_q <= '{func: func_t'(irq_func), vector: vector_t'(irq_vector)};
        end
        if (take_walk) begin
          job_q   <= WALK;
          turn_q  <= 1'b0;
          place_q <= walk_q;
        end
        if (take_access) begin
          job_q    <= ACCESS;
          write_q  <= write;
          known_q  <= known_func;
          offset_q <= offset;
          wdata_q  <= axil_req.wdata;
          wstrb_q  <= axil_req.wstrb;
          place_q  <= '{func: func_t'(func), vector: offset[4+:VECTOR_W]};
        end
        if (take_clear) begin
          state_q <= CLEARS;
          all_q   <= 1'b0;
          place_q <= '{func: clear_func, vector: '0};
        end
      end
      READS: state_q <= KEEPS;
      KEEPS: state_q <= ACTS;
      ACTS: begin
        state_q <= job_q == ACCESS ? RESPONDS : WAITS;
        rdata_q <= read_word;
        if (job_q == WALK) begin
          walk_q.vector <= walk_q.vector + 1'b1;
          if (function_done) begin
            walk_q <= '{func: 32'(walk_q.func) == FUNCTIONS - 1 ? '0 : walk_q.func + 1'b1, vector: '0};
            left_q <= left_q - 1'b1;
          end
        end
      end
      default: begin
        if (write_q ? axil_req.bready : axil_req.rready) state_q <= WAITS;
      end
    endcase
    // From the changed vector on, and once around.
    if (control_written) begin
      walk_q <= place_q;
      left_q <= (FUNC_W + 1)'(FUNCTIONS + 1);
    end
    if (start_q) left_q <= (FUNC_W + 1)'(FUNCTIONS + 1);
    if (rst) begin
      state_q  <= CLEARS;
      all_q    <= 1'b1;
      place_q  <= '0;
      walk_q   <= '0;
      turn_q   <= 1'b0;
      left_q   <= '0;
      start_q  <= 1'b0;
      refused  <= 1'b0;
    end
  end

  wire responds = state_q == RESPONDS;
  assign axil_rsp = '{
          awready: take_access && write,
          wready: take_access && write,
          bresp: 2'b00,
          bvalid: responds && write_q,
          arready: take_access && !write,
          rdata: rdata_q,
          rresp: 2'b00,
          rvalid: responds && !write_q
      };

  logic wait_valid, wait_ready, out_idle;
  logic [$bits(request_t)+31:0] waits;
  stream_queue #(
      .WIDTH($bits(request_t) + 32),
      .DEPTH(8)
  ) u_requests (
      .clk,
      .rst,
      .s_valid(push),
      .s_ready(queue_room),
      .s_data ({
        request_t'{
          write: 1'b1,
          func: 16'(place_q.func),
          tag: '0,
          addr: {words[1], words[0][31:2], 2'b00},
          dwords: 11'd1,
          first_be: 4'hf,
          last_be: 4'h0
        },
        words[2]
      }),
      .m_valid(wait_valid),
      .m_ready(wait_ready),
      .m_data (waits),
      .idle   (queue_idle)
  );
  stream_reg #(
      .WIDTH($bits(request_t) + 32)
  ) u_out (
      .clk,
      .rst,
      .s_valid(wait_valid),
      .s_ready(wait_ready),
      .s_data (waits),
      .m_valid(req_valid),
      .m_ready(req_ready),
      .m_data ({req_header, req_data}),
      .idle   (out_idle)
  );

  assign idle = state_q == WAITS && left_q == 0 && !start_q && enabled == enabled_q && masked == masked_q
      && queue_idle && out_idle && !irq_valid && !clear_valid && axil_quiet(axil_req, axil_rsp);

`ifndef SYNTHESIS
  offer_contract #(
      .WIDTH(16 + 16)
  ) u_irq (
      .clk,
      .rst,
      .valid(irq_valid),
      .ready(irq_ready),
      .data ({irq_func, irq_vector})
  );
  offer_contract #(
      .WIDTH(FUNC_W)
  ) u_clear (
      .clk,
      .rst,
      .valid(clear_valid),
      .ready(clear_ready),
      .data (clear_func)
  );
  onehot_contract #(
      .WIDTH(4)
  ) u_take (
      .clk,
      .rst,
      .valid (1'b1),
      .select({take_clear, take_access, take_request, take_walk})
  );
  range_contract #(
      .WIDTH($bits(state_q)),
      .MOST (32'(RESPONDS))
  ) u_state (
      .clk,
      .rst,
      .valid (1'b1),
      .number(state_q)
  );

  always_ff @(posedge clk) if (!rst) assert (!push || queue_room) else $error("%m: a request is lost");
`endif

endmodule
