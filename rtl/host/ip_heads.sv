// SPDX-License-Identifier: Apache-2.0
// Finds IP's and TCP's or UDP's header in a packet's first bytes (ip_view): IPv4 with any options, IPv6 without
// extension headers or with hop-by-hop options. Others, and fragments, are not known.
// What is said of a field holds as soon as the bytes before it are there, and it.
// Combinational.
module ip_heads
  import offload_pkg::*;
(
    input  logic [4:0]                 ip,
    // verilator lint_off UNUSEDSIGNAL
    input  logic [VIEW_BYTES-1:0][7:0] view,
    // verilator lint_on UNUSEDSIGNAL
    output heads_t                     heads
);

  // IPv6's length has no header in it, IPv4's has.
  wire [15:0] kind = {view[0], view[1]};
  wire v4 = kind == 16'h0800 && view[2][7:4] == 4'd4 && view[2][3:0] >= 4'd5 && {view[8][5:0], view[9]} == '0;
  wire v6 = kind == 16'h86DD && view[2][7:4] == 4'd6;
  wire options = view[8] == '0;
  wire [7:0] proto = !v6 ? view[11] : options ? view[42] : view[8];
  wire tcp = proto == TCP;
  wire [5:0] start = 6'(ip) + (v6 ? 6'd40 : 6'd0);
  wire [11:0] header = !v6 ? {6'd0, view[2][3:0], 2'd0} : options ? {1'b0, view[43], 3'd0} + 12'd8 : 12'd0;
  wire [15:0] length = v6 ? {view[6], view[7]} : {view[4], view[5]};

  assign heads.known = (v4 || v6) && (tcp || proto == UDP);
  assign heads.v6    = v6;
  assign heads.tcp   = tcp;
  assign heads.ip    = ip;
  assign heads.l4    = 12'(start) + header;
  assign heads.least = 12'(start) + (tcp ? 12'd20 : 12'd8) + header;
  assign heads.ends  = PLACE_W'(start) + PLACE_W'(length);

endmodule
