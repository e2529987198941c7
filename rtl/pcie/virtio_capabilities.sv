// SPDX-License-Identifier: Apache-2.0
// virtio's capabilities in a function's configuration space (VIRTIO 1.2, 4.1.4), the same for all functions: what the
// DW at a register number is. For hard IPs that ask user logic for parts of configuration space; others take the same
// bytes as settings. The structures are in BAR, as virtio_pkg says. PLACES are byte addresses of the capabilities, in
// the order of their cfg_type, each of which points to the next one, the last one to NEXT.
// PCI_CFG, the window to the BARs, is as a driver finds it first: virtio_window keeps what it writes.
// Combinational.
module virtio_capabilities
  import virtio_pkg::*;
#(
    parameter int unsigned PAIRS = 1,
    parameter int unsigned BAR = 0,
    parameter logic [4:0][7:0] PLACES = {8'h48, 8'hE4, 8'hD4, 8'hC0, 8'hB0},
    parameter logic [7:0] NEXT = 8'h00
) (
    input  logic [9:0]  number,   // of the register: its address / 4
    output logic        hit,      // it is one of these
    output logic [31:0] data
);

  if (PAIRS < 1 || PAIRS > 8) begin : gen_bad_pairs
    $fatal(1, "virtio_capabilities: PAIRS must be 1 to 8, not %0d", PAIRS);
  end
  if (BAR > 5) begin : gen_bad_bar
    $fatal(1, "virtio_capabilities: BAR must be 0 to 5, not %0d", BAR);
  end

  localparam logic [7:0] VENDOR_SPECIFIC = 8'h09;
  localparam logic [4:0][2:0] DWORDS = {3'd5, 3'd4, 3'd4, 3'd5, 3'd4};
  localparam logic [4:0][31:0] OFFSETS = {32'd0, DEVICE, ISR, NOTIFY, COMMON};
  localparam logic [4:0][31:0] LENGTHS = {
    32'd0, 32'(DEVICE_BYTES), 32'd1, 32'(NOTIFY_STEP * 2 * PAIRS), 32'(COMMON_BYTES)
  };

  for (genvar i = 0; i < 5; i++) begin : gen_place
    if (PLACES[i] % 4 != 0 || PLACES[i] < 8'h40 || 32'(PLACES[i]) + 4 * 32'(DWORDS[i]) > 256) begin : gen_bad_place
      $fatal(1, "virtio_capabilities: PLACES must be multiples of 4 from 64 to 255, not %0d", PLACES[i]);
    end
  end

  always_comb begin
    hit  = 1'b0;
    data = '0;
    for (int i = 0; i < 5; i++) begin
      for (int word = 0; word < 5; word++) begin
        if (word < int'(DWORDS[i]) && 32'(number) == 32'(PLACES[i]) / 4 + word) begin
          hit = 1'b1;
          case (word)
            0:       data = {8'(i + 1), 8'(4 * DWORDS[i]), i == 4 ? NEXT : PLACES[(i+1)%5], VENDOR_SPECIFIC};
            1:       data = i == 4 ? '0 : 32'(BAR);
            2:       data = OFFSETS[i];
            3:       data = LENGTHS[i];
            default: data = i == 1 ? 32'(NOTIFY_STEP) : '0;
          endcase
        end
      end
    end
  end

endmodule
