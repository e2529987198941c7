// SPDX-License-Identifier: Apache-2.0
// What virtio_registers keeps of its functions and queues, in RAM: the driver's settings, and the four words of a
// device's configuration, the last one the lower half of the features that it offers. After reset all are as new, word
// for word, until `cleared`; before that, nothing is to be read or written.
// Latency: a read 1 cycle; what was read stays until the next one. Never stalls.
module virtio_store
  import virtio_pkg::*;
#(
    parameter int unsigned FUNCTIONS = 16,
    parameter int unsigned PAIRS = 1,
    parameter int unsigned QUEUE_SIZE = 256,
    localparam int unsigned FUNC_W = FUNCTIONS > 1 ? $clog2(FUNCTIONS) : 1,
    localparam int unsigned QUEUE_W = $clog2(2 * PAIRS)
) (
    input  logic               clk,
    input  logic               rst,
    output logic               cleared,

    input  logic [FUNC_W-1:0]  who,
    input  logic [QUEUE_W-1:0] queue_number,   // of the function
    input  logic [1:0]         config_place,

    input  logic               device_read,    // with the configuration's word
    input  logic               queue_read,
    output device_t            device,
    output virtqueue_t         virtq,
    output logic [31:0]        config_word,

    input  logic               device_write,
    input  device_t            device_new,
    input  logic               queue_write,
    input  virtqueue_t         queue_new,
    input  logic               config_write,
    input  logic [31:0]        config_new,
    input  logic [3:0]         config_strb
);

  if (FUNCTIONS < 1 || FUNCTIONS > 256) begin : gen_bad_functions
    $fatal(1, "virtio_store: FUNCTIONS must be 1 to 256, not %0d", FUNCTIONS);
  end
  if (PAIRS < 1 || PAIRS > 8) begin : gen_bad_pairs
    $fatal(1, "virtio_store: PAIRS must be 1 to 8, not %0d", PAIRS);
  end
  if (QUEUE_SIZE < 1 || QUEUE_SIZE > 32768) begin : gen_bad_queue_size
    $fatal(1, "virtio_store: QUEUE_SIZE must be 1 to 32768, not %0d", QUEUE_SIZE);
  end

  localparam int unsigned ENTRY_W = FUNC_W + (QUEUE_W > 2 ? QUEUE_W : 2);  // to clear all RAMs at once

  logic [ENTRY_W-1:0] clear_q;
  logic [31:0] clear_word;

  always_ff @(posedge clk) begin
    if (!cleared) clear_q <= clear_q + 1'b1;
    if (clear_q == '1) cleared <= 1'b1;
    if (rst) begin
      clear_q <= '0;
      cleared <= 1'b0;
    end
  end

  always_comb begin
    case (clear_q[1:0])
      2'd0:    clear_word = '0;                      // MAC address
      2'd1:    clear_word = 32'h0001_0000;           // the link is up
      2'd2:    clear_word = {16'd1500, 16'(PAIRS)};  // MTU
      default: clear_word = OFFERED[31:0];
    endcase
  end

  ram_fit #(
      .WIDTH($bits(device_t)),
      .DEPTH(2 ** FUNC_W)
  ) u_devices (
      .clk,
      .wr_en  (!cleared || device_write),
      .wr_addr(cleared ? who : clear_q[FUNC_W-1:0]),
      .wr_data(cleared ? device_new : new_device('0)),
      .rd_en  (device_read),
      .rd_addr(who),
      .rd_data(device)
  );
  ram_fit #(
      .WIDTH($bits(virtqueue_t)),
      .DEPTH(2 ** (FUNC_W + QUEUE_W))
  ) u_queues (
      .clk,
      .wr_en  (!cleared || queue_write),
      .wr_addr(cleared ? {who, queue_number} : clear_q[FUNC_W+QUEUE_W-1:0]),
      .wr_data(cleared ? queue_new : new_queue(16'(QUEUE_SIZE))),
      .rd_en  (queue_read),
      .rd_addr({who, queue_number}),
      .rd_data(virtq)
  );
  ram_sdp_strb #(
      .WIDTH(32),
      .DEPTH(4 * 2 ** FUNC_W)
  ) u_configs (
      .clk,
      .wr_en  (!cleared || config_write),
      .wr_strb(cleared ? config_strb : 4'hf),
      .wr_addr(cleared ? {who, config_place} : clear_q[FUNC_W+1:0]),
      .wr_data(cleared ? config_new : clear_word),
      .rd_en  (device_read),
      .rd_addr({who, config_place}),
      .rd_data(config_word)
  );

endmodule
