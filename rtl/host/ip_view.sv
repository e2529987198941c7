// SPDX-License-Identifier: Apache-2.0
// Finds the packet in the first bytes of a frame, behind up to two tags (802.1Q, 802.1ad). Combinational.
module ip_view
  import offload_pkg::*;
(
    // Its first 12 bytes are addresses.
    // verilator lint_off UNUSEDSIGNAL
    input  logic [8*HEAD_BYTES-1:0]    head, // the first byte lowest
    // verilator lint_on UNUSEDSIGNAL
    output logic [4:0]                 ip,   // where it begins
    output logic [VIEW_BYTES-1:0][7:0] view
);

  function automatic logic is_tag(logic [15:0] ethertype);
    return ethertype == 16'h8100 || ethertype == 16'h88A8;
  endfunction

  wire tag = is_tag({head[103:96], head[111:104]});
  wire tags = tag && is_tag({head[135:128], head[143:136]});

  assign view = tags ? head[8*20+:8*VIEW_BYTES] : tag ? head[8*16+:8*VIEW_BYTES] : head[8*12+:8*VIEW_BYTES];
  assign ip   = tags ? 5'd22 : tag ? 5'd18 : 5'd14;

endmodule
