// SPDX-License-Identifier: Apache-2.0
// Finds IP's and TCP's or UDP's header in the first bytes of a frame: behind up to two tags (802.1Q, 802.1ad), IPv4
// with any options, IPv6 without extension headers or with hop-by-hop options. Others, and fragments, are not known.
// What is said of a field holds as soon as the bytes before it are there, and it.
// Combinational.
module ip_heads
  import offload_pkg::*;
(
    // verilator lint_off UNUSEDSIGNAL
    input  logic [8*HEAD_BYTES-1:0] head,  // the first byte lowest
    // verilator lint_on UNUSEDSIGNAL
    output heads_t                  heads
);

  localparam int unsigned VIEW_BYTES = 44;  // a type and an IPv6 header, and of the next one the first two

  function automatic logic is_tag(logic [15:0] ethertype);
    return ethertype == 16'h8100 || ethertype == 16'h88A8;
  endfunction

  logic tag, tags;
  // verilator lint_off UNUSEDSIGNAL
  logic [VIEW_BYTES-1:0][7:0] view;         // from the packet's type on
  // verilator lint_on UNUSEDSIGNAL
  logic [7:0] version, proto;
  logic v4, v6, options;
  logic [4:0] ip;

  assign tag     = is_tag({head[103:96], head[111:104]});
  assign tags    = tag && is_tag({head[135:128], head[143:136]});
  assign view    = tags ? head[8*20+:8*VIEW_BYTES] : tag ? head[8*16+:8*VIEW_BYTES] : head[8*12+:8*VIEW_BYTES];
  assign ip      = tags ? 5'd22 : tag ? 5'd18 : 5'd14;
  assign version = view[2];
  assign v4      = {view[0], view[1]} == 16'h0800 && version[7:4] == 4'd4 && version[3:0] >= 4'd5 &&
                   {view[8][5:0], view[9]} == '0;
  assign v6      = {view[0], view[1]} == 16'h86DD && version[7:4] == 4'd6;
  assign options = view[8] == '0;
  assign proto   = !v6 ? view[11] : options ? view[42] : view[8];

  always_comb begin
    heads.v6   = v6;
    heads.tcp  = proto == TCP;
    heads.ip   = ip;
    heads.l4   = 12'(ip) + (!v6 ? {6'd0, version[3:0], 2'd0} : options ? {1'b0, view[43], 3'd0} + 12'd48 : 12'd40);
    heads.ends = PLACE_W'(ip) + (v6 ? PLACE_W'({view[6], view[7]}) + PLACE_W'(40) : PLACE_W'({view[4], view[5]}));
    heads.known = (v4 || v6) && (proto == TCP || proto == UDP) &&
        PLACE_W'(heads.l4) + (proto == TCP ? PLACE_W'(20) : PLACE_W'(8)) <= heads.ends;
  end

endmodule
