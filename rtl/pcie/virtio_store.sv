// SPDX-License-Identifier: Apache-2.0
// What virtio_registers keeps of its functions and queues, in RAM: the driver's settings, and the four words of a
// device's configuration, the last one the lower half of the features that it offers. After reset all are as new, word
// for word, until `wiped`; before that, nothing is to be read or written.
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
    output logic               wiped,

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

  localparam int unsigned ENTRY_W = FUNC_W + (QUEUE_W > 2 ? QUEUE_W : 2);  // to wipe all RAMs at once

  logic [ENTRY_W-1:0] wipe_at_q;
  logic [31:0] wipe_word;

  always_ff @(posedge clk) begin
    if (!wiped) wipe_at_q <= wipe_at_q + 1'b1;
    if (wipe_at_q == '1) wiped <= 1'b1;
    if (rst) begin
      wipe_at_q <= '0;
      wiped <= 1'b0;
    end
  end

  always_comb begin
    case (wipe_at_q[1:0])
      2'd0:    wipe_word = '0;                       // MAC address
      2'd1:    wipe_word = 32'h0001_0000;            // the link is up
      2'd2:    wipe_word = {16'd1500, 16'(PAIRS)};   // MTU
      default: wipe_word = OFFERED[31:0];
    endcase
  end

  ram_fit #(
      .WIDTH($bits(device_t)),
      .DEPTH(2 ** FUNC_W)
  ) u_devices (
      .clk,
      .wr_en  (!wiped || device_write),
      .wr_addr(wiped ? who : wipe_at_q[FUNC_W-1:0]),
      .wr_data(wiped ? device_new : new_device('0)),
      .rd_en  (device_read),
      .rd_addr(who),
      .rd_data(device)
  );
  ram_fit #(
      .WIDTH($bits(virtqueue_t)),
      .DEPTH(2 ** (FUNC_W + QUEUE_W))
  ) u_queues (
      .clk,
      .wr_en  (!wiped || queue_write),
      .wr_addr(wiped ? {who, queue_number} : wipe_at_q[FUNC_W+QUEUE_W-1:0]),
      .wr_data(wiped ? queue_new : new_queue(16'(QUEUE_SIZE))),
      .rd_en  (queue_read),
      .rd_addr({who, queue_number}),
      .rd_data(virtq)
  );
  ram_sdp_strb #(
      .WIDTH(32),
      .DEPTH(4 * 2 ** FUNC_W)
  ) u_configs (
      .clk,
      .wr_en  (!wiped || config_write),
      .wr_strb(wiped ? config_strb : 4'hf),
      .wr_addr(wiped ? {who, config_place} : wipe_at_q[FUNC_W+1:0]),
      .wr_data(wiped ? config_new : wipe_word),
      .rd_en  (device_read),
      .rd_addr({who, config_place}),
      .rd_data(config_word)
  );

endmodule
