// SPDX-License-Identifier: Apache-2.0
// Puts an AXI4 manager on Avalon memory-mapped interfaces: its reads go to one host, its writes to another, as the
// bridges of Cyclone V class parts want them. The manager's bursts are INCR with beats as wide as the bus, at most
// BURST of them, all with one ID: the ports that would say so are left out. wstrb passes as byteenable, as it is.
//
// Latency: 1 cycle from an address to a read, 2 cycles from an address and its data to a write, none from data to the
// manager.
// Throughput: 1 beat a cycle each way, bursts back to back; READS bursts are under way at once.
// Backpressure: waitrequest holds what is offered, unchanged. Avalon's read data can't wait: with a READ_BUFFER of some
// beats no more is asked for than has room there; with 0 the manager must keep s_axi_rready high.
//
// A write is answered when its last beat is taken, so before it is in the memory (Avalon's posted writes), or with
// WRITE_RESPONSES when writeresponsevalid says that it is. Both sides code errors alike. A burst that lies beyond
// ADDR_W bits of address does not go out: it is answered with DECERR, in its turn.
module axi_to_avalon #(
    parameter int unsigned MEM_W = 32,
    parameter int unsigned ADDR_W = 32,
    parameter int unsigned BURST = 16,
    parameter int unsigned READS = 16,            // under way, a power of two
    parameter int unsigned WRITES = 16,           // not yet answered, a power of two
    parameter int unsigned READ_BUFFER = 0,       // beats
    parameter bit          WRITE_RESPONSES = 1'b0,
    localparam int unsigned BYTES = MEM_W / 8,
    localparam int unsigned COUNT_W = $clog2(BURST) + 1
) (
    input  logic               clk,
    input  logic               rst,

    input  logic [63:0]        s_axi_awaddr,
    input  logic [7:0]         s_axi_awlen,       // less than BURST
    input  logic               s_axi_awvalid,
    output logic               s_axi_awready,
    input  logic [MEM_W-1:0]   s_axi_wdata,
    input  logic [BYTES-1:0]   s_axi_wstrb,
    input  logic               s_axi_wlast,
    input  logic               s_axi_wvalid,
    output logic               s_axi_wready,
    output logic [1:0]         s_axi_bresp,
    output logic               s_axi_bvalid,
    input  logic               s_axi_bready,
    input  logic [63:0]        s_axi_araddr,
    input  logic [7:0]         s_axi_arlen,
    input  logic               s_axi_arvalid,
    output logic               s_axi_arready,
    output logic [MEM_W-1:0]   s_axi_rdata,
    output logic [1:0]         s_axi_rresp,
    output logic               s_axi_rlast,
    output logic               s_axi_rvalid,
    input  logic               s_axi_rready,

    output logic [ADDR_W-1:0]  avm_read_address,  // in bytes
    output logic [COUNT_W-1:0] avm_read_burstcount,
    output logic [BYTES-1:0]   avm_read_byteenable,
    output logic               avm_read_read,
    input  logic               avm_read_waitrequest,
    input  logic [MEM_W-1:0]   avm_read_readdata,
    input  logic [1:0]         avm_read_response,  // 0 where the agent has none
    input  logic               avm_read_readdatavalid,

    output logic [ADDR_W-1:0]  avm_write_address,  // and burstcount: the same for all beats of a burst
    output logic [COUNT_W-1:0] avm_write_burstcount,
    output logic [MEM_W-1:0]   avm_write_writedata,
    output logic [BYTES-1:0]   avm_write_byteenable,
    output logic               avm_write_write,
    input  logic               avm_write_waitrequest,
    input  logic [1:0]         avm_write_response, // both only with WRITE_RESPONSES
    input  logic               avm_write_writeresponsevalid
);

  if (READS < 2 || 2 ** $clog2(READS) != READS) begin : gen_bad_reads
    $fatal(1, "axi_to_avalon: READS must be a power of two from 2, not %0d", READS);
  end
  if (WRITES < 2 || 2 ** $clog2(WRITES) != WRITES) begin : gen_bad_writes
    $fatal(1, "axi_to_avalon: WRITES must be a power of two from 2, not %0d", WRITES);
  end

  localparam logic [1:0] DECERR = 2'b11;
  localparam int unsigned LANE_W = $clog2(BYTES);

  if (MEM_W < 16 || MEM_W > 1024 || 2 ** $clog2(MEM_W) != MEM_W) begin : gen_bad_mem_w
    $fatal(1, "axi_to_avalon: MEM_W must be a power of two from 16 to 1024, not %0d", MEM_W);
  end
  if (ADDR_W <= LANE_W || ADDR_W > 64) begin : gen_bad_addr_w
    $fatal(1, "axi_to_avalon: ADDR_W must be at most 64 and more than a word's offset takes, not %0d", ADDR_W);
  end
  if (BURST < 1 || BURST > 256) begin : gen_bad_burst
    $fatal(1, "axi_to_avalon: BURST must be 1 to 256, not %0d", BURST);
  end
  if (READ_BUFFER != 0 && READ_BUFFER < BURST) begin : gen_bad_read_buffer
    $fatal(1, "axi_to_avalon: READ_BUFFER must be 0 or have room for a burst, not %0d", READ_BUFFER);
  end

  function automatic logic beyond(logic [63:0] address);
    return (address >> (ADDR_W - 1)) > 64'd1;
  endfunction

  // Avalon wants addresses of whole words.
  function automatic logic [ADDR_W-1:0] word_address(logic [63:0] address);
    return ADDR_W'(address >> LANE_W << LANE_W);
  endfunction

  // ------------------------------------------------------------------------------------------------------------- reads
  // Avalon does not mark the last beat of a burst: the lengths of those under way wait here.
  logic reads_ready, read_under_way, room, buffered;
  logic [7:0] read_len, beat_q;
  logic refuse_q;  // a burst beyond the address range is being answered; nothing else is under way then
  logic [7:0] refuse_len_q;
  wire read_free = !avm_read_read || !avm_read_waitrequest;
  wire read_beyond = beyond(s_axi_araddr);
  wire read_taken = s_axi_arvalid && s_axi_arready;
  wire read_goes = read_taken && !read_beyond;
  wire in_last = beat_q == read_len;

  stream_queue #(
      .WIDTH(8),
      .DEPTH(READS)
  ) u_reads (
      .clk,
      .rst,
      .s_valid(read_goes),
      .s_ready(reads_ready),
      .s_data (s_axi_arlen),
      .m_valid(read_under_way),
      .m_ready(avm_read_readdatavalid && in_last),
      .m_data (read_len),
      .idle   ()
  );

  logic out_valid, out_last;
  logic [1:0] out_response;
  logic [MEM_W-1:0] out_data;
  wire quiet = !read_under_way && !buffered;  // all data that were asked for are with the manager
  assign s_axi_arready = !refuse_q && reads_ready && (read_beyond ? quiet : read_free && room);

  always_ff @(posedge clk) begin
    if (!avm_read_waitrequest) avm_read_read <= 1'b0;
    if (read_goes) begin
      avm_read_read       <= 1'b1;
      avm_read_address    <= word_address(s_axi_araddr);
      avm_read_burstcount <= COUNT_W'(9'(s_axi_arlen) + 1'b1);
    end
    if (avm_read_readdatavalid) beat_q <= in_last ? '0 : beat_q + 1'b1;
    if (refuse_q && s_axi_rready) begin
      refuse_len_q <= refuse_len_q - 1'b1;
      if (refuse_len_q == 0) refuse_q <= 1'b0;
    end
    if (read_taken && read_beyond) begin
      refuse_q     <= 1'b1;
      refuse_len_q <= s_axi_arlen;
    end
    if (rst) begin
      avm_read_read <= 1'b0;
      beat_q        <= '0;
      refuse_q      <= 1'b0;
    end
  end
  assign avm_read_byteenable = '1;

  if (READ_BUFFER == 0) begin : gen_direct
    assign room      = 1'b1;
    assign buffered  = 1'b0;
    assign out_valid = avm_read_readdatavalid;
    assign {out_last, out_response, out_data} = {in_last, avm_read_response, avm_read_readdata};
  end else begin : gen_buffer
    localparam int unsigned ROOM_W = $clog2(READ_BUFFER + 1);
    logic [ROOM_W-1:0] room_q;  // of the buffer, not yet asked for
    logic unused_ready;
    stream_fifo #(
        .WIDTH(MEM_W + 3),
        .DEPTH(READ_BUFFER)
    ) u_buffer (
        .clk,
        .rst,
        .s_valid(avm_read_readdatavalid),
        .s_ready(unused_ready),
        .s_data ({in_last, avm_read_response, avm_read_readdata}),
        .m_valid(out_valid),
        .m_ready(s_axi_rready),
        .m_data ({out_last, out_response, out_data}),
        .count  (),
        .idle   ()
    );
    assign room     = 32'(room_q) > 32'(s_axi_arlen);
    assign buffered = room_q != ROOM_W'(READ_BUFFER);
    always_ff @(posedge clk) begin
      room_q <= room_q + ROOM_W'(out_valid && s_axi_rready) - (read_goes ? ROOM_W'(s_axi_arlen) + 1'b1 : '0);
      if (rst) room_q <= ROOM_W'(READ_BUFFER);
    end
`ifndef SYNTHESIS
    always_ff @(posedge clk) begin
      if (!rst) assert (!avm_read_readdatavalid || unused_ready) else $error("%m: data without room are lost");
    end
`endif
  end

  assign s_axi_rvalid = refuse_q || out_valid;
  assign s_axi_rdata  = out_data;
  assign s_axi_rresp  = refuse_q ? DECERR : out_response;
  assign s_axi_rlast  = refuse_q ? refuse_len_q == 0 : out_last;

  // ------------------------------------------------------------------------------------------------------------ writes
  typedef struct packed {
    logic               beyond;
    logic [ADDR_W-1:0]  address;
    logic [COUNT_W-1:0] burstcount;
  } write_t;

  logic write_valid, answers_s_ready, answer_valid, answer_beyond, done_valid, unused_done_ready;
  logic [1:0] done_response;
  write_t write;
  logic last_q;  // the beat that is offered is its burst's last
  wire write_free = !avm_write_write || !avm_write_waitrequest;
  wire beat_taken = s_axi_wvalid && s_axi_wready;
  wire written = WRITE_RESPONSES ? avm_write_writeresponsevalid : avm_write_write && !avm_write_waitrequest && last_q;

  stream_queue #(
      .WIDTH($bits(write_t)),
      .DEPTH(4)
  ) u_writes (
      .clk,
      .rst,
      .s_valid(s_axi_awvalid),
      .s_ready(s_axi_awready),
      .s_data (write_t'{beyond(s_axi_awaddr), word_address(s_axi_awaddr), COUNT_W'(9'(s_axi_awlen) + 1'b1)}),
      .m_valid(write_valid),
      .m_ready(beat_taken && s_axi_wlast),
      .m_data (write),
      .idle   ()
  );

  assign s_axi_wready = write_valid && answers_s_ready && (write_free || write.beyond);
  always_ff @(posedge clk) begin
    if (!avm_write_waitrequest) avm_write_write <= 1'b0;
    if (beat_taken && !write.beyond) begin
      avm_write_write      <= 1'b1;
      avm_write_address    <= write.address;
      avm_write_burstcount <= write.burstcount;
      avm_write_writedata  <= s_axi_wdata;
      avm_write_byteenable <= s_axi_wstrb;
      last_q               <= s_axi_wlast;
    end
    if (rst) avm_write_write <= 1'b0;
  end

  // Answers are owed in order; those of the agent wait beside them.
  wire answered = s_axi_bvalid && s_axi_bready;
  stream_queue #(
      .WIDTH(1),
      .DEPTH(WRITES)
  ) u_answers (
      .clk,
      .rst,
      .s_valid(beat_taken && s_axi_wlast),
      .s_ready(answers_s_ready),
      .s_data (write.beyond),
      .m_valid(answer_valid),
      .m_ready(answered),
      .m_data (answer_beyond),
      .idle   ()
  );
  stream_queue #(
      .WIDTH(2),
      .DEPTH(WRITES)
  ) u_done (
      .clk,
      .rst,
      .s_valid(written),
      .s_ready(unused_done_ready),
      .s_data (WRITE_RESPONSES ? avm_write_response : 2'b00),
      .m_valid(done_valid),
      .m_ready(answered && !answer_beyond),
      .m_data (done_response),
      .idle   ()
  );
  assign s_axi_bvalid = answer_valid && (answer_beyond || done_valid);
  assign s_axi_bresp  = answer_beyond ? DECERR : done_response;

`ifndef SYNTHESIS
  offer_contract #(
      .WIDTH(64 + 8)
  ) u_reads_stay (
      .clk,
      .rst,
      .valid(s_axi_arvalid),
      .ready(s_axi_arready),
      .data ({s_axi_arlen, s_axi_araddr})
  );
  offer_contract #(
      .WIDTH(64 + 8)
  ) u_writes_stay (
      .clk,
      .rst,
      .valid(s_axi_awvalid),
      .ready(s_axi_awready),
      .data ({s_axi_awlen, s_axi_awaddr})
  );
  offer_contract #(
      .WIDTH(1 + MEM_W / 8 + MEM_W)
  ) u_data_stay (
      .clk,
      .rst,
      .valid(s_axi_wvalid),
      .ready(s_axi_wready),
      .data ({s_axi_wlast, s_axi_wstrb, s_axi_wdata})
  );
  always_ff @(posedge clk) begin
    if (!rst) assert (!written || unused_done_ready) else $error("%m: an answer of the agent is lost");
  end
`endif

endmodule
