// SPDX-License-Identifier: Apache-2.0
// The head of a store of packets, one source's or that of parked ones: asks for a unit and a slot for the packet whose
// turn it is, while those before it are still on their way, and sends them to their units, with the hash before them
// if a setting says so.
// Under the hash policy a packet whose flow has moved to another unit waits until the old one has none from before. So
// that others' packets need not wait for it, it goes to the parking store instead, and so do all of its flow until none
// is parked any more.
// Latency: 2 cycles from a description to the packet's first beat. Throughput: 1 packet a cycle.
// Backpressure: bus_ready goes through to beat_ready.
module rpu_source_head
  import rpu_fabric_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned UNITS = 8,
    parameter bit PARKED = 1'b0,  // of the parking store, which has packets of all sources
    localparam int unsigned KEEP_W = DATA_W / 8,
    localparam int unsigned PLACE_W = PARKED ? ENTRY_W + 2 : ENTRY_W
) (
    input  logic         clk,
    input  logic         rst,
    input  logic                               hash_policy,
    input  logic [UNITS-1:0]                   enable,
    input  logic [SOURCES-1:0][MAX_UNITS-1:0]  receive,
    input  logic [SOURCES-1:0]                 prefix,
    input  table_write_t                       write,
    // The store: descriptions of its packets, each no later than its packet's beats are wanted
    input  logic         packet_valid,
    output logic         packet_ready,
    input  packet_t      packet,
    input  logic                beat_valid,
    output logic                beat_ready,
    input  logic [  DATA_W-1:0] beat_data,
    input  logic [  KEEP_W-1:0] beat_keep,
    input  logic                beat_last,
    // The policy: a packet wants a unit, `wanted` or any
    output logic                want_any,
    output logic                want_unit,
    output logic [  UNIT_W-1:0] wanted,
    output logic [   UNITS-1:0] may,
    input  logic                granted,
    input  logic [  UNIT_W-1:0] unit,
    input  logic [         7:0] slot,         // of `unit`
    input  logic [         1:0] epoch,        // of `unit`
    // Order of flows
    input  logic [   UNITS-1:0] settled,      // the unit has no packet of a flow that has moved away
    input  logic                parking,      // packets of this source are parked; PARKED: 0
    input  logic [         1:0] generation,   // another one each time that none is parked any more
    input  logic                sent,         // the parking store sends a packet of this source's flow to a unit
    input  logic [ ENTRY_W-1:0] sent_entry,
    input  logic [  UNIT_W-1:0] sent_unit,
    output logic                park,         // a packet goes to the parking store
    output packet_t             head,         // the packet that asks
    output logic                gone,         // the last beat of a packet of `bus_packet.source` is taken
    // To the units, and to the parking store as number UNITS
    output logic [     UNITS:0] bus_request,  // from a packet's first beat being offered until its last is taken
    output logic                bus_valid,
    input  logic                bus_ready,
    output logic [  DATA_W-1:0] bus_data,
    output logic [  KEEP_W-1:0] bus_keep,
    output logic                bus_last,
    output feed_user_t          bus_user,
    output packet_t             bus_packet,
    output logic                refused,      // a packet to a unit that is not enabled is dropped
    output logic                idle
);

  if (UNITS < 1 || UNITS > MAX_UNITS) begin : gen_bad_units
    $fatal(1, "rpu_source_head: UNITS must be 1 to %0d, not %0d", MAX_UNITS, UNITS);
  end
  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "rpu_source_head: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end

  // ------------------------------------------------------------------------------------------- the packet that asks
  packet_t head_q, next;  // next: the one that asks in the cycle to come
  logic head_valid_q, advance, leave;
  logic target_found, target_found_q, table_ready;
  logic [UNIT_W-1:0] target, target_q;
  logic refuse, go, queue_ready;

  assign advance      = leave || !head_valid_q;
  assign packet_ready = advance;
  assign next         = advance ? packet : head_q;
  wire asks_next = packet_valid || !advance;
  assign head         = head_q;

  wire [UNITS-1:0] usable = enable & receive[next.source][UNITS-1:0];
  wire [PLACE_W-1:0] place = PLACE_W'({next.source, next.hash[ENTRY_W-1:0]});
  wire [PLACE_W-1:0] head_place = PLACE_W'({head_q.source, head_q.hash[ENTRY_W-1:0]});

  rpu_flow_target #(
      .UNITS(UNITS)
  ) u_target (
      .clk,
      .rst,
      .write,
      .entry (next.hash[ENTRY_W-1:0]),
      .usable,
      .found (target_found),
      .unit  (target),
      .ready (table_ready)
  );

  // Of each entry: where this head last sent a packet of it to, and if the last one went to the parking store instead,
  // where that has sent one to. Before the first packet: nowhere.
  typedef struct packed {
    logic              known;
    logic [UNIT_W-1:0] unit;
  } sent_t;
  typedef struct packed {
    logic       parked;
    logic [1:0] generation;
  } mark_t;

  logic [PLACE_W:0] wipe_at_q;
  wire wipe = !wipe_at_q[PLACE_W];
  wire hashed = PARKED || (hash_policy && !head_q.direct);
  wire place_on = hashed && granted;
  wire again = place == head_place;
  sent_t last, last_read, last_q;
  mark_t mark_read, mark_q;
  logic [UNIT_W-1:0] parked_unit, parked_unit_q;

  always_ff @(posedge clk) begin
    if (wipe) wipe_at_q <= wipe_at_q + 1'b1;
    if (rst) wipe_at_q <= '0;
  end

  ram_dist #(
      .WIDTH($bits(sent_t)),
      .DEPTH(2 ** PLACE_W)
  ) u_last (
      .clk,
      .wr_en  (wipe || place_on),
      .wr_addr(wipe ? wipe_at_q[PLACE_W-1:0] : head_place),
      .wr_data({!wipe, target_q}),
      .rd_addr(place),
      .rd_data(last_read)
  );
  assign last = place_on && again ? '{known: 1'b1, unit: target_q} : last_read;

  if (PARKED) begin : gen_parked
    assign parked_unit = next.unit;
    assign mark_read   = '{parked: 1'b1, generation: '0};
    wire unused = &{1'b0, sent, sent_entry, sent_unit, parking, generation};
    always_ff @(posedge clk) mark_q <= mark_read;
  end else begin : gen_source
    ram_dist #(
        .WIDTH(UNIT_W),
        .DEPTH(2 ** ENTRY_W)
    ) u_sent (
        .clk,
        .wr_en  (sent),
        .wr_addr(sent_entry),
        .wr_data(sent_unit),
        .rd_addr(place),
        .rd_data(parked_unit)
    );
    ram_dist #(
        .WIDTH($bits(mark_t)),
        .DEPTH(2 ** ENTRY_W)
    ) u_marks (
        .clk,
        .wr_en  (wipe || place_on || park),
        .wr_addr(wipe ? wipe_at_q[PLACE_W-1:0] : head_place),
        .wr_data({park && !wipe, generation}),
        .rd_addr(place),
        .rd_data(mark_read)
    );
    always_ff @(posedge clk) begin
      mark_q <= (place_on || park) && again ? '{parked: park, generation: generation} : mark_read;
    end
  end

  always_ff @(posedge clk) begin
    if (asks_next) begin
      head_q         <= next;
      target_q       <= target;
      target_found_q <= target_found && table_ready && !wipe;
      last_q         <= last;
      parked_unit_q  <= parked_unit;
    end
    head_valid_q <= asks_next;
    if (rst) begin
      head_valid_q   <= 1'b0;
      target_found_q <= 1'b0;
    end
  end

  logic [MAX_UNITS-1:0] settled_mask;
  always_comb begin
    settled_mask            = '1;  // a unit that does not exist has no packets
    settled_mask[UNITS-1:0] = settled;
  end
  wire last_settled = !last_q.known || last_q.unit == target_q || settled_mask[last_q.unit];
  wire parked_settled = parked_unit_q == target_q || settled_mask[parked_unit_q];
  wire in_order = (PARKED ? !head_q.direct : mark_q.parked) ? parked_settled : last_settled;
  wire follows = !PARKED && parking && mark_q.parked && mark_q.generation == generation;
  wire asks = head_valid_q && queue_ready;
  wire [MAX_UNITS-1:0] enables = MAX_UNITS'(enable);
  wire enabled = enables[head_q.unit];

  assign may          = enable & (head_q.direct && !PARKED ? '1 : receive[head_q.source][UNITS-1:0]);
  assign wanted       = hashed ? target_q : head_q.unit;
  assign want_any     = asks && !hashed && !head_q.direct;
  assign want_unit    = asks && (hashed ? target_found_q && in_order && !follows : head_q.direct);
  assign park         = asks && !PARKED && hashed && target_found_q && (!in_order || follows);
  assign refuse       = asks && !hashed && head_q.direct && !enabled;
  assign go           = granted || park || refuse;
  assign leave        = go;
  assign refused      = refuse;

  // ------------------------------------------------------------------------------------------- packets with a unit
  typedef struct packed {
    logic [UNITS:0] to;  // none: the packet is thrown away
    logic           prefix;
    logic [7:0]     slot;
    logic [1:0]     epoch;
    packet_t        packet;
  } place_t;

  place_t give, current;
  logic current_valid, current_ready, queue_idle;

  always_comb begin
    give = 'x;  // so that a simulator puts it together only for a packet that goes
    if (go) begin
      give = '{
          to: '0,
          prefix: prefix[head_q.source] && !park,
          slot: slot,
          epoch: epoch,
          packet: head_q
      };
      for (int unsigned i = 0; i < UNITS; i++) if (granted && unit == UNIT_W'(i)) give.to[i] = 1'b1;
      give.to[UNITS] = park;
      if (park) begin
        give.packet.direct = follows;
        give.packet.unit   = mark_q.parked ? parked_unit_q : last_q.unit;
      end
    end
  end

  stream_queue #(
      .WIDTH($bits(place_t)),
      .DEPTH(2)
  ) u_queue (
      .clk,
      .rst,
      .s_valid(go),
      .s_ready(queue_ready),
      .s_data (give),
      .m_valid(current_valid),
      .m_ready(current_ready),
      .m_data (current),
      .idle   (queue_idle)
  );

  // ------------------------------------------------------------------------------------------- the hash before it
  logic begun_q, extra_q;  // amid a packet; its last 4 bytes or less need a beat of their own
  logic [31:0] carry_q;
  logic [3:0] carry_keep_q;
  wire [4:0] vf = current.packet.vf;
  wire throw = current.to == '0;
  wire shift = current.prefix;
  wire more = shift && beat_last && beat_keep[KEEP_W-4];  // than fit into this beat
  wire taken = bus_valid && (bus_ready || throw);

  assign bus_valid     = current_valid && (beat_valid || extra_q);
  assign bus_request   = current_valid ? current.to : '0;
  assign bus_data      = shift ? {beat_data[DATA_W-33:0], begun_q ? carry_q : current.packet.hash} : beat_data;
  assign bus_keep      = !shift ? beat_keep : extra_q ? KEEP_W'(carry_keep_q) : {beat_keep[KEEP_W-5:0], 4'hf};
  assign bus_last      = extra_q || (beat_last && !more);
  assign bus_user      = '{epoch: current.epoch, port: {vf, 3'(current.packet.source)}, slot: current.slot};
  assign bus_packet    = current.packet;
  assign beat_ready    = current_valid && !extra_q && (bus_ready || throw);
  assign current_ready = taken && bus_last;
  assign gone          = current_ready;

  always_ff @(posedge clk) begin
    if (taken) begin
      begun_q      <= !bus_last;
      extra_q      <= !extra_q && more;
      carry_q      <= beat_data[DATA_W-1-:32];
      carry_keep_q <= beat_keep[KEEP_W-1-:4];
    end
    if (rst) begin
      begun_q <= 1'b0;
      extra_q <= 1'b0;
    end
  end

  assign idle = !head_valid_q && queue_idle;

endmodule
