// SPDX-License-Identifier: Apache-2.0
// A flag for each queue, in RAM: one side sets it, another clears it, and READERS look. It is kept as two bits, one
// written by each side; the flag is their difference. A flag that is set and cleared in one cycle changes.
// Latency: a change shows in the next cycle. Throughput: a change of either kind and READERS looks a cycle.
module virtq_fetch_flags #(
    parameter int unsigned QUEUES = 16,
    parameter int unsigned READERS = 1,
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1
) (
    input  logic                            clk,
    input  logic                            wipe,        // wipe_queue's flag becomes low; no other change meanwhile
    input  logic [QUEUE_W-1:0]              wipe_queue,
    input  logic                            set,
    input  logic [QUEUE_W-1:0]              set_queue,
    input  logic                            clear,
    input  logic [QUEUE_W-1:0]              clear_queue,
    input  logic [READERS-1:0][QUEUE_W-1:0] rd_queue,
    output logic [READERS-1:0]              rd_flag
);

  if (QUEUES < 1) begin : gen_bad_queues
    $fatal(1, "virtq_fetch_flags: QUEUES must be at least 1, not %0d", QUEUES);
  end
  if (READERS < 1) begin : gen_bad_readers
    $fatal(1, "virtq_fetch_flags: READERS must be at least 1, not %0d", READERS);
  end

  // The last copy of each bit is for the other side, who makes its own bit differ from it or the same.
  logic [READERS:0][QUEUE_W-1:0] up_at, down_at;
  logic [READERS:0] up, down;
  assign up_at   = {clear_queue, rd_queue};
  assign down_at = {set_queue, rd_queue};
  assign rd_flag = up[READERS-1:0] ^ down[READERS-1:0];

  for (genvar i = 0; i <= READERS; i++) begin : gen_copy
    ram_dist #(
        .WIDTH(1),
        .DEPTH(QUEUES)
    ) u_up (
        .clk,
        .wr_en  (wipe || set),
        .wr_addr(wipe ? wipe_queue : set_queue),
        .wr_data(!wipe && !down[READERS]),
        .rd_addr(up_at[i]),
        .rd_data(up[i])
    );
    ram_dist #(
        .WIDTH(1),
        .DEPTH(QUEUES)
    ) u_down (
        .clk,
        .wr_en  (wipe || clear),
        .wr_addr(wipe ? wipe_queue : clear_queue),
        .wr_data(!wipe && up[READERS]),
        .rd_addr(down_at[i]),
        .rd_data(down[i])
    );
  end

endmodule
