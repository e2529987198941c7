// SPDX-License-Identifier: Apache-2.0
// METERS meters of OpenFlow 1.3, each band a token bucket. A packet that doesn't fit into a band's bucket takes nothing
// out of it and is over the band; of the bands that it is over the one with the highest rate applies, the first one if
// equal. A meter that is off, or doesn't exist, passes the packet and counts nothing.
// Tokens are in units of 1e-6 bit, or 1e-9 packet: a rate of 1 kb/s, or 1 packet/s, is 1 unit a nanosecond, so nothing
// is ever rounded. A burst of 2**32 - 1 kb is less than 2**62 units; the time since the last packet counts in whole.
// Writing a meter fills its buckets and clears its counters. What comes before or after it on meter_valid is judged by
// the old or the new meter, never by a part of it.
// Latency: 10 cycles from a request to its answer. Throughput: 1 request in 4 cycles.
// Backpressure: meter_ready is low for 3 cycles after a request, while a write waits for its turn, and after reset
// while all meters are turned off. Reads wait for cycles without an answer, and disturb nothing.
module meter_bank
  import switch_pkg::*;
#(
    parameter int unsigned METERS = 128
) (
    input  logic                         clk,
    input  logic                         rst,
    input  logic [63:0]                  time_ns,

    input  logic                         meter_valid,
    output logic                         meter_ready,
    input  logic [15:0]                  meter_number,
    input  logic [BYTES_W-1:0]           meter_bytes,
    output logic                         meter_answer,   // one cycle for each request, in order
    output logic                         meter_drop,
    output logic [2:0]                   meter_raise,

    input  logic                         config_valid,
    output logic                         config_ready,
    input  logic [15:0]                  config_number,
    input  meter_t                       config_meter,

    input  logic                         read,           // one cycle; the next one after read_valid
    input  logic [15:0]                  read_number,
    output logic                         read_valid,     // one cycle, with the values
    output logic [63:0]                  packets,        // that came to the meter
    output logic [63:0]                  bytes,
    output logic [METER_BANDS-1:0][63:0] band_packets,   // that the band was applied to
    output logic [METER_BANDS-1:0][63:0] band_bytes,
    output logic                         idle
);

  if (METERS < 2 || METERS > 65536 || 2 ** $clog2(METERS) != METERS) begin : gen_bad_meters
    $fatal(1, "meter_bank: METERS must be a power of two from 2 to 65536, not %0d", METERS);
  end
  if (METER_BANDS != 2) begin : gen_bad_bands
    $fatal(1, "meter_bank: METER_BANDS must be 2, not %0d", METER_BANDS);
  end

  localparam int unsigned ADDR_W = $clog2(METERS);
  localparam int unsigned LEVEL_W = 62;
  localparam int unsigned CHUNK_W = 16;                   // of the time, which is multiplied in 4 steps
  localparam int unsigned PART_W = 32 + CHUNK_W;
  localparam int unsigned COST_W = 40;
  localparam logic [63:0] SECOND = 64'd1_000_000_000;     // a burst's units are what its number as a rate gives in it
  localparam logic [COST_W-1:0] PACKET = 40'd1_000_000_000;
  localparam logic [13:0] BYTE = 14'd15625;               // times 2**9: 8 bits

  typedef logic [METER_BANDS-1:0][LEVEL_W-1:0] levels_t;

  function automatic logic exists(logic [15:0] number);
    return 32'(number) < METERS;
  endfunction

  // A request, or a write of a meter (setup), takes a step a cycle; step[i] is high i cycles after it was taken.
  localparam int unsigned STEPS = 10;
  logic [STEPS:1] step_q;
  logic pending_q, read_pending_q;                        // a write, a read waits
  logic [15:0] config_number_q, read_number_q;
  meter_t config_q;
  logic [ADDR_W:0] wipe_at_q;
  wire wiped = wipe_at_q[ADDR_W];
  wire free = wiped && step_q[3:1] == '0;
  wire setup = free && pending_q;
  wire taken = meter_valid && meter_ready;
  wire [15:0] number = setup ? config_number_q : meter_number;

  assign meter_ready  = free && !pending_q;
  assign config_ready = !pending_q;

  // ------------------------------------------------------------------------------------------- step 1: meter and time
  logic setup1_q;
  logic [15:0] number1_q;
  logic [BYTES_W-1:0] bytes1_q;
  logic [63:0] now_q, stamp;
  meter_t memory_meter, meter1;

  assign meter1 = setup1_q ? config_q : memory_meter;

  ram_fit #(
      .WIDTH($bits(meter_t)),
      .DEPTH(METERS)
  ) u_meters (
      .clk,
      .wr_en  (!wiped || (step_q[1] && setup1_q && exists(number1_q))),
      .wr_addr(wiped ? number1_q[ADDR_W-1:0] : wipe_at_q[ADDR_W-1:0]),
      .wr_data(wiped ? config_q : '0),
      .rd_en  (taken),
      .rd_addr(number[ADDR_W-1:0]),
      .rd_data(memory_meter)
  );

  ram_fit #(
      .WIDTH(64),
      .DEPTH(METERS)
  ) u_stamps (
      .clk,
      .wr_en  (step_q[1] && exists(number1_q)),
      .wr_addr(number1_q[ADDR_W-1:0]),
      .wr_data(now_q),
      .rd_en  (taken),
      .rd_addr(number[ADDR_W-1:0]),
      .rd_data(stamp)
  );

  // ------------------------------------------------------------------------------- steps 2 to 6: what has been earned
  typedef struct packed {
    logic                        setup;
    logic                        on;       // of an existing meter
    logic [15:0]                 number;
    logic [BYTES_W-1:0]          bytes;
    logic [METER_BANDS-1:0]      drops;
    logic [METER_BANDS-1:0]      remarks;
    logic [METER_BANDS-1:0][2:0] raise;
  } request_t;

  request_t request2_q, request3_q;  // of steps 2 to 5, 6 to 9
  logic [63:0] elapsed_q;
  logic [METER_BANDS-1:0][31:0] rate_q;
  logic [METER_BANDS-1:0][PART_W-1:0] part_q, high_q;
  logic [METER_BANDS-1:0][3*CHUNK_W-1:0] low_q;
  logic packets_q;                   // they are metered
  logic second_q;                    // the second band's rate is the higher one
  logic [COST_W-1:0] cost_q;

  always_ff @(posedge clk) begin
    if (step_q[1]) begin
      request2_q.setup   <= setup1_q;
      request2_q.on      <= meter1.on && exists(number1_q);
      packets_q          <= meter1.packets;
      request2_q.number  <= number1_q;
      request2_q.bytes   <= bytes1_q;
      for (int unsigned b = 0; b < METER_BANDS; b++) begin
        request2_q.drops[b]   <= meter1.band[b].kind == BAND_DROP;
        request2_q.remarks[b] <= meter1.band[b].kind == BAND_DSCP_REMARK;
        request2_q.raise[b]   <= meter1.band[b].raise;
        rate_q[b]             <= setup1_q ? meter1.band[b].burst : meter1.band[b].rate;
      end
      elapsed_q <= setup1_q ? SECOND : now_q - stamp;
    end else if (step_q[4:2] != '0) begin
      elapsed_q <= elapsed_q >> CHUNK_W;
    end
    for (int unsigned b = 0; b < METER_BANDS; b++) begin
      if (step_q[5:2] != '0) part_q[b] <= rate_q[b] * elapsed_q[CHUNK_W-1:0];
      if (step_q[6:3] != '0) begin
        high_q[b] <= part_q[b] + (step_q[3] ? '0 : high_q[b] >> CHUNK_W);
        low_q[b]  <= {high_q[b][CHUNK_W-1:0], low_q[b][3*CHUNK_W-1:CHUNK_W]};
      end
    end
    if (step_q[5]) begin
      request3_q <= request2_q;
      second_q   <= rate_q[1] > rate_q[0];
      cost_q     <= packets_q ? PACKET : (COST_W'(request2_q.bytes) * COST_W'(BYTE)) << 9;
      if (request2_q.setup) cost_q <= '0;
    end
  end

  // ------------------------------------------------------------------------------------- steps 7 to 9: what is left
  localparam int unsigned EARNED_W = LEVEL_W + 1;
  levels_t level, limit, limit_q, level_q, left;
  logic [METER_BANDS-1:0][EARNED_W:0] sum_q;
  logic [METER_BANDS-1:0] more_q, over;
  wire write = step_q[9] && exists(request3_q.number);

  ram_fit #(
      .WIDTH($bits(levels_t)),
      .DEPTH(METERS)
  ) u_levels (
      .clk,
      .wr_en  (write),
      .wr_addr(request3_q.number[ADDR_W-1:0]),
      .wr_data(left),
      .rd_en  (step_q[6]),
      .rd_addr(request3_q.number[ADDR_W-1:0]),
      .rd_data(level)
  );

  ram_fit #(
      .WIDTH($bits(levels_t)),
      .DEPTH(METERS)
  ) u_limits (
      .clk,
      .wr_en  (write && request3_q.setup),
      .wr_addr(request3_q.number[ADDR_W-1:0]),
      .wr_data(left),
      .rd_en  (step_q[6]),
      .rd_addr(request3_q.number[ADDR_W-1:0]),
      .rd_data(limit)
  );

  always_comb begin
    {over, left} = 'x;  // nobody looks then
    if (step_q[9]) begin
      for (int unsigned b = 0; b < METER_BANDS; b++) begin
        over[b] = level_q[b] < LEVEL_W'(cost_q);
        left[b] = over[b] ? level_q[b] : level_q[b] - LEVEL_W'(cost_q);
      end
    end
  end

  always_ff @(posedge clk) begin
    for (int unsigned b = 0; b < METER_BANDS; b++) begin
      if (step_q[7]) begin
        sum_q[b]  <= (EARNED_W + 1)'(request3_q.setup ? '0 : level[b])
                     + (EARNED_W + 1)'({high_q[b][EARNED_W-3*CHUNK_W-1:0], low_q[b]});
        more_q[b] <= high_q[b] >> (EARNED_W - 3 * CHUNK_W) != '0;
        limit_q   <= limit;
      end
      if (step_q[8]) begin
        level_q[b] <= sum_q[b][LEVEL_W-1:0];
        if (!request3_q.setup && (more_q[b] || sum_q[b] > (EARNED_W + 1)'(limit_q[b]))) level_q[b] <= limit_q[b];
      end
    end
  end

  // ----------------------------------------------------------------------------------------------- step 10: the answer
  logic [METER_BANDS-1:0] exceeded, applied, applied_q;
  logic counted_q, clears_q, answer_q;
  logic [15:0] number_q;
  logic [BYTES_W-1:0] bytes_q;

  always_comb begin
    exceeded = request3_q.on ? over & (request3_q.drops | request3_q.remarks) : '0;
    applied  = exceeded;
    if (&exceeded) applied = second_q ? 2'b10 : 2'b01;
  end

  always_ff @(posedge clk) begin
    if (step_q[9]) begin
      number_q    <= request3_q.number;
      bytes_q     <= request3_q.bytes;
      meter_drop  <= |(applied & request3_q.drops);
      meter_raise <= '0;
      for (int unsigned b = 0; b < METER_BANDS; b++) begin
        if (applied[b] && request3_q.remarks[b]) meter_raise <= request3_q.raise[b];
      end
    end
    answer_q  <= step_q[9] && !request3_q.setup;
    counted_q <= step_q[9] && !request3_q.setup && request3_q.on;
    applied_q <= step_q[9] && !request3_q.setup ? applied : '0;
    clears_q  <= step_q[9] && request3_q.setup;

    if (setup || taken) begin
      setup1_q  <= setup;
      number1_q <= number;
      bytes1_q  <= meter_bytes;
      now_q     <= time_ns;
    end
    step_q <= {step_q[STEPS-1:1], setup || taken};
    if (config_valid && !pending_q) begin
      pending_q       <= 1'b1;
      config_number_q <= config_number;
      config_q        <= config_meter;
    end else if (setup) begin
      pending_q <= 1'b0;
    end
    if (!wiped) wipe_at_q <= wipe_at_q + 1'b1;
    if (rst) begin
      answer_q  <= 1'b0;
      counted_q <= 1'b0;
      applied_q <= '0;
      clears_q  <= 1'b0;
      step_q    <= '0;
      pending_q <= 1'b0;
      wipe_at_q <= '0;
    end
  end

  assign meter_answer = answer_q;

  // -------------------------------------------------------------------------------------------------------- counters
  // All of a meter are read in the same cycle: one in which none counts or is cleared.
  wire reads = read_pending_q && step_q[10:9] == '0;
  logic [METER_BANDS:0] counters_idle, counters_read;
  logic [METER_BANDS:0][63:0] counters_packets, counters_bytes;

  always_ff @(posedge clk) begin
    if (read) begin
      read_pending_q <= 1'b1;
      read_number_q  <= read_number;
    end else if (reads) begin
      read_pending_q <= 1'b0;
    end
    if (rst) read_pending_q <= 1'b0;
  end

  for (genvar i = 0; i <= METER_BANDS; i++) begin : gen_counters
    logic count;
    if (i == METER_BANDS) begin : gen_meter
      assign count = counted_q;
    end else begin : gen_band
      assign count = applied_q[i];
    end
    counter_bank #(
        .COUNTERS(METERS),
        .NUMBER_W(16)
    ) u_counters (
        .clk,
        .rst,
        .count_valid (count),
        .count_number(number_q),
        .count_bytes (bytes_q),
        .clear_valid (clears_q),
        .clear_ready (),  // always, in the cycle before too
        .clear_number(number_q),
        .read        (reads),
        .read_number (read_number_q),
        .read_valid  (counters_read[i]),
        .packets     (counters_packets[i]),
        .bytes       (counters_bytes[i]),
        .idle        (counters_idle[i])
    );
  end

  assign read_valid = &counters_read;
  assign {packets, band_packets} = counters_packets;
  assign {bytes, band_bytes} = counters_bytes;
  assign idle = wiped && step_q == '0 && !pending_q && !read_pending_q && &counters_idle;

`ifndef SYNTHESIS
  offer_contract #(
      .WIDTH(16 + BYTES_W)
  ) u_meter (
      .clk,
      .rst,
      .valid(meter_valid),
      .ready(meter_ready),
      .data ({meter_number, meter_bytes})
  );
  offer_contract #(
      .WIDTH(16 + $bits(meter_t))
  ) u_config (
      .clk,
      .rst,
      .valid(config_valid),
      .ready(config_ready),
      .data ({config_number, config_meter})
  );
`endif

endmodule
