// SPDX-License-Identifier: Apache-2.0
// Load balancer and fabric of the RPU card: packets of eth0, eth1, the host and the units' own (loopback) get a unit
// and a slot of it by the policy that is set; packets of the units go to the ports that they name. Their requests for
// host memory go to a port of their own, and what comes back goes past the balancer.
// A packet waits in its source's store until there is a slot for it. Under the hash policy the packets of a flow come
// to units, and leave them, in the order in which they arrived, also while units are disabled and enabled, if a unit
// keeps the order of its packets and releases a slot not before its packet's last beat is taken here.
// Control: a unit is taken out by its bit of settings.enable; when status says that none is outstanding, it is empty.
// flush is high in each cycle in which the unit is in reset, and for 64 cycles at least: its slots are gone until it
// names them anew, and what is on its way to it is thrown away.
// Latency: 10 cycles from the last beat of a packet at a source to its first at a unit; 2 from a unit to a port.
// Backpressure: eth0 and eth1 are always ready and drop, unless settings.hold says that they wait as others do; see the
// parts.
//
//  eth0, eth1, host, loopback -> rpu_ingress -+-> rpu_source_head -- beats -+-> rpu_unit_feed of each unit -> units
//                            rpu_parking -----+      ^        |             +-> rpu_unit_feed -> rpu_parking
//                                                    |        v
//                                     rpu_policy: unit, rpu_slot_book: slot <- releases
//  ports, loopback, requests for host memory <- rpu_from_units <- units
//  what host memory answers -> rpu_unit_feed
module rpu_fabric
  import rpu_pkg::*, rpu_fabric_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned UNITS = 8,
    parameter int unsigned SLOTS = 32,     // of a unit, at most
    parameter int unsigned STORE_KB = 32,  // of each source, and for parked packets
    parameter int unsigned FUNCTIONS = 1,  // of the host port
    localparam int unsigned KEEP_W = DATA_W / 8,
    localparam int unsigned PORTS = 3      // eth0, eth1, host
) (
    input  logic                          clk,
    input  logic                          rst,
    input  settings_t                     settings,
    input  table_write_t                  table_write,
    input  logic         [UNITS-1:0]      flush,
    output source_event_t [SOURCES-1:0]   source_event,
    output unit_event_t  [UNITS-1:0]      unit_event,
    output unit_status_t [UNITS-1:0]      unit_status,
    output logic                          idle,

    input  logic [PORTS-1:0]              s_axis_tvalid,
    output logic [PORTS-1:0]              s_axis_tready,
    input  logic [PORTS-1:0][DATA_W-1:0]  s_axis_tdata,
    input  logic [PORTS-1:0][KEEP_W-1:0]  s_axis_tkeep,
    input  logic [PORTS-1:0]              s_axis_tlast,
    input  logic [PORTS-1:0]              s_axis_cut,     // with the last beat: bad or not whole, dropped
    input  logic [VF_W-1:0]               s_axis_vf,      // of the host's packet: its function

    output logic [PORTS-1:0]              m_axis_tvalid,
    input  logic [PORTS-1:0]              m_axis_tready,
    output logic [PORTS-1:0][DATA_W-1:0]  m_axis_tdata,
    output logic [PORTS-1:0][KEEP_W-1:0]  m_axis_tkeep,
    output logic [PORTS-1:0]              m_axis_tlast,
    output logic [PORTS-1:0]              m_axis_cut,     // with the last beat: its unit was flushed amid the packet
    output logic [VF_W-1:0]               m_axis_vf,      // of the host's packet: its function

    output logic     [UNITS-1:0]              rx_axis_tvalid,  // to the units
    input  logic     [UNITS-1:0]              rx_axis_tready,
    output logic     [UNITS-1:0][DATA_W-1:0]  rx_axis_tdata,
    output logic     [UNITS-1:0][KEEP_W-1:0]  rx_axis_tkeep,
    output logic     [UNITS-1:0]              rx_axis_tlast,
    output unit_rx_t [UNITS-1:0]              rx_axis_tuser,

    input  logic     [UNITS-1:0]              tx_axis_tvalid,  // from the units
    output logic     [UNITS-1:0]              tx_axis_tready,
    input  logic     [UNITS-1:0][DATA_W-1:0]  tx_axis_tdata,
    input  logic     [UNITS-1:0][KEEP_W-1:0]  tx_axis_tkeep,
    input  logic     [UNITS-1:0]              tx_axis_tlast,
    input  unit_tx_t [UNITS-1:0]              tx_axis_tuser,

    output logic              dram_req_tvalid,  // to PORT_DRAM
    input  logic              dram_req_tready,
    output logic [DATA_W-1:0] dram_req_tdata,
    output logic [KEEP_W-1:0] dram_req_tkeep,
    output logic              dram_req_tlast,
    output logic              dram_req_cut,
    output owner_t            dram_req_owner,
    input  logic              dram_rsp_tvalid,  // from there
    output logic              dram_rsp_tready,
    input  logic [DATA_W-1:0] dram_rsp_tdata,
    input  logic [KEEP_W-1:0] dram_rsp_tkeep,
    input  logic              dram_rsp_tlast,
    input  owner_t            dram_rsp_owner,
    output logic     [UNITS-1:0][LIFE_W-1:0]  life,            // of each unit: its resets, counted

    input  logic     [UNITS-1:0]              release_valid,
    output logic     [UNITS-1:0]              release_ready,   // always
    input  release_t [UNITS-1:0]              release_s
);

  if (UNITS < 1 || UNITS > MAX_UNITS) begin : gen_bad_units
    $fatal(1, "rpu_fabric: UNITS must be 1 to %0d, not %0d", MAX_UNITS, UNITS);
  end

  localparam int unsigned HEADS = SOURCES + 1;  // the last one: parked packets
  localparam int unsigned LOT = SOURCES;

  // ------------------------------------------------------------------------------------------------ order of flows
  // After a change of what decides on units, packets of flows that have moved wait for those that were outstanding
  // then. Four cycles are what packets need that were on their way by the old settings.
  settings_t settings_q;
  logic [2:0] settling_q;
  wire settling = settling_q != '0;

  always_ff @(posedge clk) begin
    settings_q <= settings;
    if (settings != settings_q || table_write.valid) settling_q <= 3'd5;
    else if (settling) settling_q <= settling_q - 1'b1;
    if (rst) settling_q <= '0;
  end

  // ------------------------------------------------------------------------------------------------ slots
  logic [UNITS-1:0] offered, taken, drained, slot_error, book_idle;
  logic [MAX_UNITS-1:0][7:0] offered_slot;
  logic [MAX_UNITS-1:0][1:0] epoch;
  logic [UNITS-1:0][COUNT_W-1:0] outstanding;

  for (genvar u = 0; u < MAX_UNITS; u++) begin : gen_book
    if (u < UNITS) begin : gen_unit
      rpu_slot_book #(
          .SLOTS(SLOTS)
      ) u_book (
          .clk,
          .rst,
          .flush        (flush[u]),
          .snapshot     (settling),
          .release_valid(release_valid[u]),
          .release_s    (release_s[u]),
          .offered      (offered[u]),
          .offered_slot (offered_slot[u]),
          .take         (taken[u]),
          .slots        (unit_status[u].slots),
          .outstanding  (outstanding[u]),
          .epoch        (epoch[u]),
          .drained      (drained[u]),
          .error        (slot_error[u]),
          .idle         (book_idle[u])
      );
      assign unit_status[u].outstanding = outstanding[u];
    end else begin : gen_none
      assign offered_slot[u] = '0;
      assign epoch[u]        = '0;
    end
  end
  assign release_ready = '1;

  // ------------------------------------------------------------------------------------------------ sources
  logic [HEADS-1:0] packet_valid, packet_ready, beat_valid, beat_ready, beat_last;
  packet_t [HEADS-1:0] packet;
  logic [HEADS-1:0][DATA_W-1:0] beat_data;
  logic [HEADS-1:0][KEEP_W-1:0] beat_keep;
  logic [HEADS-1:0] part_idle;
  // verilator lint_off UNUSEDSIGNAL
  logic [HEADS-1:0] park, refused;  // from the parking store: neither
  packet_t [HEADS-1:0] bus_packet;  // to the parking store
  logic [HEADS-1:0] gone;           // from others: of no interest
  // verilator lint_on UNUSEDSIGNAL

  logic loop_valid, loop_ready, loop_last, loop_cut;  // from the units
  logic [DATA_W-1:0] loop_data;
  logic [KEEP_W-1:0] loop_keep;
  unit_tx_t loop_user;
  wire [SOURCES-1:0] hold = {2'b11, settings.hold} & settings.open;  // what is dropped waits for nobody

  for (genvar s = 0; s < SOURCES; s++) begin : gen_source
    logic s_valid, s_ready, s_last, s_cut;
    logic [DATA_W-1:0] s_data;
    logic [KEEP_W-1:0] s_keep;
    unit_tx_t s_user;

    if (s < PORTS) begin : gen_port
      assign s_valid          = s_axis_tvalid[s];
      assign s_axis_tready[s] = s_ready;
      assign s_data           = s_axis_tdata[s];
      assign s_keep           = s_axis_tkeep[s];
      assign s_last           = s_axis_tlast[s];
      assign s_cut            = s_axis_cut[s];
      assign s_user           = '{to_unit: 1'b0, port: s == PORT_HOST ? {s_axis_vf, PORT_HOST[2:0]} : 8'(s)};
    end else begin : gen_loopback
      assign s_valid    = loop_valid;
      assign loop_ready = s_ready;
      assign s_data     = loop_data;
      assign s_keep     = loop_keep;
      assign s_last     = loop_last;
      assign s_cut      = loop_cut;
      assign s_user     = loop_user;
    end

    logic store_refused, store_idle;
    rpu_ingress #(
        .DATA_W(DATA_W),
        .UNITS(UNITS),
        .PORT(s),
        .STORE_KB(STORE_KB)
    ) u_ingress (
        .clk,
        .rst,
        .open         (settings.open[s]),
        .hold         (hold[s]),
        .key          (settings.key),
        .s_axis_tvalid(s_valid),
        .s_axis_tready(s_ready),
        .s_axis_tdata (s_data),
        .s_axis_tkeep (s_keep),
        .s_axis_tlast (s_last),
        .s_axis_tuser (s_user),
        .s_cut,
        .packet_valid (packet_valid[s]),
        .packet_ready (packet_ready[s]),
        .packet       (packet[s]),
        .m_axis_tvalid(beat_valid[s]),
        .m_axis_tready(beat_ready[s]),
        .m_axis_tdata (beat_data[s]),
        .m_axis_tkeep (beat_keep[s]),
        .m_axis_tlast (beat_last[s]),
        .dropped      (source_event[s].dropped),
        .refused      (store_refused),
        .idle         (store_idle)
    );

    // Two refusals in one cycle would be told as one: the later one waits in a register.
    logic owed_q;
    always_ff @(posedge clk) begin
      owed_q <= (owed_q && (store_refused || refused[s])) || (store_refused && refused[s]);
      if (rst) owed_q <= 1'b0;
    end
    assign source_event[s].refused = store_refused || refused[s] || owed_q;
    assign part_idle[s]            = store_idle && !owed_q;
  end

  // ------------------------------------------------------------------------------------------------ parked packets
  logic [SOURCES-1:0] parking;
  logic [SOURCES-1:0][1:0] generation;
  logic lot_valid, lot_ready, lot_last, lot_feed_idle, lot_idle, lot_sent;
  logic [DATA_W-1:0] lot_data;
  logic [KEEP_W-1:0] lot_keep;
  packet_t lot_user;
  packet_t [HEADS-1:0] head;

  rpu_parking #(
      .DATA_W(DATA_W),
      .STORE_KB(STORE_KB)
  ) u_parking (
      .clk,
      .rst,
      .park         (park[SOURCES-1:0]),
      .parking,
      .generation,
      .s_axis_tvalid(lot_valid),
      .s_axis_tready(lot_ready),
      .s_axis_tdata (lot_data),
      .s_axis_tkeep (lot_keep),
      .s_axis_tlast (lot_last),
      .s_axis_tuser (lot_user),
      .packet_valid (packet_valid[LOT]),
      .packet_ready (packet_ready[LOT]),
      .packet       (packet[LOT]),
      .m_axis_tvalid(beat_valid[LOT]),
      .m_axis_tready(beat_ready[LOT]),
      .m_axis_tdata (beat_data[LOT]),
      .m_axis_tkeep (beat_keep[LOT]),
      .m_axis_tlast (beat_last[LOT]),
      .gone         (gone[LOT]),
      .gone_source  (bus_packet[LOT].source),
      .idle         (lot_idle)
  );
  assign part_idle[LOT] = lot_idle && lot_feed_idle;

  // ------------------------------------------------------------------------------------------------ heads and policy
  logic [HEADS-1:0] want_any, want_unit, granted, head_idle;
  logic [HEADS-1:0][UNIT_W-1:0] wanted, unit;
  logic [HEADS-1:0][UNITS-1:0] may;
  logic [HEADS-1:0][UNITS:0] bus_request;
  logic [HEADS-1:0] bus_valid, bus_ready, bus_last;
  logic [HEADS-1:0][DATA_W-1:0] bus_data;
  logic [HEADS-1:0][KEEP_W-1:0] bus_keep;
  feed_user_t [HEADS-1:0] bus_user;

  for (genvar h = 0; h < HEADS; h++) begin : gen_head
    rpu_source_head #(
        .DATA_W(DATA_W),
        .UNITS(UNITS),
        .PARKED(h == LOT)
    ) u_head (
        .clk,
        .rst,
        .hash_policy (settings.policy == FLOW_HASH),
        .enable      (settings.enable[UNITS-1:0]),
        .receive     (settings.receive),
        .prefix      (settings.prefix),
        .write       (table_write),
        .packet_valid(packet_valid[h]),
        .packet_ready(packet_ready[h]),
        .packet      (packet[h]),
        .beat_valid  (beat_valid[h]),
        .beat_ready  (beat_ready[h]),
        .beat_data   (beat_data[h]),
        .beat_keep   (beat_keep[h]),
        .beat_last   (beat_last[h]),
        .want_any    (want_any[h]),
        .want_unit   (want_unit[h]),
        .wanted      (wanted[h]),
        .may         (may[h]),
        .granted     (granted[h]),
        .unit        (unit[h]),
        .slot        (offered_slot[unit[h]]),
        .epoch       (epoch[unit[h]]),
        .settled     (settling ? '0 : drained),
        .parking     (h == LOT ? 1'b0 : parking[h%SOURCES]),
        .generation  (h == LOT ? 2'd0 : generation[h%SOURCES]),
        .sent        (lot_sent && head[LOT].source == 2'(h)),
        .sent_entry  (head[LOT].hash[ENTRY_W-1:0]),
        .sent_unit   (wanted[LOT]),
        .park        (park[h]),
        .head        (head[h]),
        .gone        (gone[h]),
        .bus_request (bus_request[h]),
        .bus_valid   (bus_valid[h]),
        .bus_ready   (bus_ready[h]),
        .bus_data    (bus_data[h]),
        .bus_keep    (bus_keep[h]),
        .bus_last    (bus_last[h]),
        .bus_user    (bus_user[h]),
        .bus_packet  (bus_packet[h]),
        .refused     (refused[h]),
        .idle        (head_idle[h])
    );
  end
  assign lot_sent = granted[LOT];

  rpu_policy #(
      .UNITS(UNITS),
      .HEADS(HEADS)
  ) u_policy (
      .clk,
      .rst,
      .least_loaded(settings.policy == LEAST_LOADED),
      .want_any,
      .want_unit,
      .wanted,
      .may,
      .offered,
      .outstanding,
      .granted,
      .unit,
      .taken
  );

  // ------------------------------------------------------------------------------------------------ to the units
  logic [UNITS:0][HEADS-1:0] feed_ready;
  logic [UNITS-1:0] feed_idle, discarded, bad_port, cut, dram_ready;

  for (genvar u = 0; u < UNITS; u++) begin : gen_feed
    logic [HEADS:0] request, stale, ready;  // the last one: from host memory
    unit_rx_t [HEADS:0] user;
    for (genvar h = 0; h < HEADS; h++) begin : gen_head
      assign request[h] = bus_request[h][u];
      assign stale[h]   = bus_user[h].epoch != epoch[u];
      assign user[h]    = '{port: bus_user[h].port, slot: bus_user[h].slot};
    end

    assign request[HEADS] = dram_rsp_owner.unit == UNIT_W'(u);
    assign stale[HEADS]   = dram_rsp_owner.life != life[u];
    assign user[HEADS]    = '{port: PORT_DRAM, slot: '0};
    assign dram_ready[u]  = ready[HEADS] && request[HEADS];
    assign feed_ready[u]  = ready[HEADS-1:0];

    rpu_unit_feed #(
        .HEADS(HEADS + 1),
        .DATA_W(DATA_W),
        .USER_W($bits(unit_rx_t)),
        .COUNTED(8'(2 ** HEADS - 1))
    ) u_feed (
        .clk,
        .rst,
        .flush        (flush[u]),
        .s_request    (request),
        .s_stale      (stale),
        .s_valid      ({dram_rsp_tvalid, bus_valid}),
        .s_ready      (ready),
        .s_data       ({dram_rsp_tdata, bus_data}),
        .s_keep       ({dram_rsp_tkeep, bus_keep}),
        .s_last       ({dram_rsp_tlast, bus_last}),
        .s_user       (user),
        .m_axis_tvalid(rx_axis_tvalid[u]),
        .m_axis_tready(rx_axis_tready[u]),
        .m_axis_tdata (rx_axis_tdata[u]),
        .m_axis_tkeep (rx_axis_tkeep[u]),
        .m_axis_tlast (rx_axis_tlast[u]),
        .m_axis_tuser (rx_axis_tuser[u]),
        .discarded    (discarded[u]),
        .idle         (feed_idle[u])
    );

    logic assigned_q;
    always_ff @(posedge clk) assigned_q <= taken[u] && !rst;
    assign unit_event[u] = '{
            bad_port: bad_port[u],
            cut: cut[u],
            discarded: discarded[u],
            slot_error: slot_error[u],
            assigned: assigned_q
        };
  end

  assign dram_rsp_tready = dram_ready != '0;

  logic [UNITS-1:0] flush_q;
  always_ff @(posedge clk) begin
    flush_q <= flush;
    for (int i = 0; i < int'(UNITS); i++) if (flush[i] && !flush_q[i]) life[i] <= life[i] + 1'b1;
    if (rst) begin
      flush_q <= '0;
      life    <= '0;
    end
  end

  logic [SOURCES-1:0] lot_request;
  for (genvar h = 0; h < SOURCES; h++) begin : gen_lot
    assign lot_request[h] = bus_request[h][UNITS];
  end

  rpu_unit_feed #(
      .HEADS(SOURCES),
      .DATA_W(DATA_W),
      .USER_W($bits(packet_t)),
      .DEPTH(4)
  ) u_lot_feed (
      .clk,
      .rst,
      .flush        (1'b0),
      .s_request    (lot_request),
      .s_stale      ('0),
      .s_valid      (bus_valid[SOURCES-1:0]),
      .s_ready      (feed_ready[UNITS][SOURCES-1:0]),
      .s_data       (bus_data[SOURCES-1:0]),
      .s_keep       (bus_keep[SOURCES-1:0]),
      .s_last       (bus_last[SOURCES-1:0]),
      .s_user       (bus_packet[SOURCES-1:0]),
      .m_axis_tvalid(lot_valid),
      .m_axis_tready(lot_ready),
      .m_axis_tdata (lot_data),
      .m_axis_tkeep (lot_keep),
      .m_axis_tlast (lot_last),
      .m_axis_tuser (lot_user),
      .discarded    (),
      .idle         (lot_feed_idle)
  );
  assign feed_ready[UNITS][LOT] = 1'b0;

  always_comb begin
    bus_ready = '0;
    for (int unsigned u = 0; u <= UNITS; u++) begin
      for (int unsigned h = 0; h < HEADS; h++) bus_ready[h] |= feed_ready[u][h] && bus_request[h][u];
    end
  end

  // ------------------------------------------------------------------------------------------------ from the units
  logic from_idle;
  // verilator lint_off UNUSEDSIGNAL
  unit_tx_t [SOURCES:0] m_user;  // tells loopback and the host more, others nothing
  owner_t [SOURCES:0] m_owner;   // is of interest to host memory alone
  // verilator lint_on UNUSEDSIGNAL

  rpu_from_units #(
      .DATA_W(DATA_W),
      .UNITS(UNITS),
      .FUNCTIONS(FUNCTIONS)
  ) u_from (
      .clk,
      .rst,
      .flush,
      .life,
      .s_axis_tvalid(tx_axis_tvalid),
      .s_axis_tready(tx_axis_tready),
      .s_axis_tdata (tx_axis_tdata),
      .s_axis_tkeep (tx_axis_tkeep),
      .s_axis_tlast (tx_axis_tlast),
      .s_axis_tuser (tx_axis_tuser),
      .m_axis_tvalid({dram_req_tvalid, loop_valid, m_axis_tvalid}),
      .m_axis_tready({dram_req_tready, loop_ready, m_axis_tready}),
      .m_axis_tdata ({dram_req_tdata, loop_data, m_axis_tdata}),
      .m_axis_tkeep ({dram_req_tkeep, loop_keep, m_axis_tkeep}),
      .m_axis_tlast ({dram_req_tlast, loop_last, m_axis_tlast}),
      .m_axis_cut   ({dram_req_cut, loop_cut, m_axis_cut}),
      .m_axis_tuser (m_user),
      .m_axis_owner (m_owner),
      .bad_port,
      .cut,
      .idle         (from_idle)
  );
  assign loop_user      = m_user[32'(PORT_LOOPBACK)];
  assign m_axis_vf      = m_user[32'(PORT_HOST)].port[7:3];
  assign dram_req_owner = m_owner[32'(PORT_DRAM)];

  assign idle = &part_idle && &head_idle && &feed_idle && &book_idle && from_idle;

endmodule
