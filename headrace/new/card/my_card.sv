// SPDX-License-Identifier: Apache-2.0
// A card: what comes in by one of its two ports leaves by the other one; frames and bytes are counted.
// Latency from port to port: that of my_card_path. A port that can't send stalls the other one's receiver.
module my_card
  import headrace_pkg::*;
#(
    localparam int unsigned PORTS = 2,
    localparam int unsigned DATA_W = 512,
    localparam int unsigned MEM_W = 64
) (
    `include "card_ports.svh"
    output tx_meta_t [PORTS-1:0] tx_tuser,
    output logic                 idle
);

  card_no_memory #(.MEM_W(MEM_W)) u_no_memory (.*);
  card_no_interrupts u_no_interrupts (.*);

  my_card_regs_pkg::my_card_regs__in_t hwif_in;
  my_card_regs u_regs (.*);

  logic [PORTS-1:0] path_idle;
  assign idle = path_idle == '1;

  for (genvar p = 0; p < PORTS; ++p) begin : gen_port
    localparam int unsigned TO = PORTS - 1 - p;
    wire taken = rx_tvalid[p] && rx_tready[p];
    tx_meta_t meta;
    card_meta #(
        .PORT(p)
    ) u_meta (
        .clk, .rst, .time_ns, .meta,
        .rx_tvalid(rx_tvalid[p]), .rx_tready(rx_tready[p]), .rx_tlast(rx_tlast[p]), .rx_tuser(rx_tuser[p])
    );
    my_card_path #(
        .WIDTH($bits(meta) + DATA_W / 8 + DATA_W)
    ) u_path (
        .clk, .rst,
        .s_valid(rx_tvalid[p]), .s_ready(rx_tready[p]), .s_last(rx_tlast[p]),
        .s_data({meta, rx_tkeep[p], rx_tdata[p]}),
        .m_valid(tx_tvalid[TO]), .m_ready(tx_tready[TO]), .m_last(tx_tlast[TO]),
        .m_data({tx_tuser[TO], tx_tkeep[TO], tx_tdata[TO]}),
        .idle(path_idle[p])
    );
    assign hwif_in.port[p].frames.count.incr = taken && rx_tlast[p];
    assign hwif_in.port[p].bytes.count.incr = taken;
    assign hwif_in.port[p].bytes.count.incrvalue = 7'($countones(rx_tkeep[p]));
  end

endmodule
