// SPDX-License-Identifier: Apache-2.0
// Says to which header a key leads: of ENTRIES entries the first one (lowest index) that matches gives it. An entry
// matches when it is valid and its key equals the one asked for in the bits of its mask.
// Entries are written one in a cycle: a lookup sees each of them either as it was before or as it is after.
// Latency: 2 cycles from key_valid to result_valid; hit and header then stay until the next result.
// Throughput: 1 lookup a cycle. Backpressure: none.
module idp_table
  import bridge_pkg::*;
#(
    parameter int unsigned ENTRIES = TABLE_ENTRIES
) (
    input  logic         clk,
    input  logic         rst,
    input  table_write_t write,
    input  noc_address_t here,          // writes to another address are not ours
    input  logic         key_valid,
    input  logic [31:0]  key,
    output logic         result_valid,
    output logic         hit,
    output noc_header_t  header         // valid with hit
);

  if (ENTRIES < 1 || ENTRIES > TABLE_ENTRIES) begin : gen_bad_entries
    $fatal(1, "idp_table: ENTRIES must be 1 to bridge_pkg::TABLE_ENTRIES, not %0d", ENTRIES);
  end

  localparam int unsigned INDEX_W = $clog2(TABLE_ENTRIES);

  logic [ENTRIES-1:0] valid_q;
  logic [ENTRIES-1:0][31:0] key_q, mask_q;

  // The header of an entry follows its key and mask one cycle later, as it does in a lookup.
  logic write_q;
  logic [INDEX_W-1:0] write_index_q;
  noc_header_t write_header_q;

  logic asked_q, done_q;
  logic [ENTRIES-1:0] match_q;
  logic [INDEX_W-1:0] index;
  noc_header_t found;

  always_comb begin
    index = 'x;  // nobody looks then
    if (asked_q) begin
      index = '0;
      for (int unsigned i = ENTRIES; i > 0; i--) if (match_q[i-1]) index = INDEX_W'(i - 1);
    end
  end

  ram_dist #(
      .WIDTH($bits(noc_header_t)),
      .DEPTH(TABLE_ENTRIES)
  ) u_headers (
      .clk,
      .wr_en  (write_q),
      .wr_addr(write_index_q),
      .wr_data(write_header_q),
      .rd_addr(index),
      .rd_data(found)
  );

  always_ff @(posedge clk) begin
    write_q <= write.valid && write.address == here;
    if (write.valid) begin
      write_index_q  <= write.index;
      write_header_q <= write.entry.header;
      for (int unsigned i = 0; i < ENTRIES; i++) begin
        if (write.address == here && 32'(write.index) == i) begin
          valid_q[i] <= write.entry.valid;
          key_q[i]   <= write.entry.key;
          mask_q[i]  <= write.entry.mask;
        end
      end
    end
    if (key_valid) begin
      for (int unsigned i = 0; i < ENTRIES; i++) begin
        match_q[i] <= valid_q[i] && ((key ^ key_q[i]) & mask_q[i]) == '0;
      end
    end

    asked_q <= key_valid;
    done_q  <= asked_q;
    if (asked_q) begin
      hit    <= |match_q;
      header <= found;
    end
    if (rst) begin
      valid_q <= '0;
      write_q <= 1'b0;
      asked_q <= 1'b0;
      done_q  <= 1'b0;
    end
  end

  assign result_valid = done_q;

endmodule
