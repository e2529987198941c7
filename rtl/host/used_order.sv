// SPDX-License-Identifier: Apache-2.0
// IDs of the writes of used elements, and which element an answer is for. A function with writes under way keeps its
// ID, so that it is answered in order. One that begins gets its number modulo IDS, if no other function uses that ID,
// else one that none uses, as long as there is one.
// Latency: an ID 1 cycle after it is asked for; the element 1 cycle after its answer.
// Throughput: an ID and an answer every other cycle. Backpressure: none; `ready` is low for IDS cycles after reset.
module used_order #(
    parameter int unsigned FUNCTIONS = 16,
    parameter int unsigned IDS = 32,
    parameter int unsigned ELEMENTS = 256,
    localparam int unsigned FUNCTION_W = FUNCTIONS > 1 ? $clog2(FUNCTIONS) : 1,
    localparam int unsigned ID_W = $clog2(IDS),
    localparam int unsigned ELEMENT_W = $clog2(ELEMENTS)
) (
    input  logic                  clk,
    input  logic                  rst,
    output logic                  ready,
    output logic                  rests,          // the spare ID is known

    input  logic                  begin_valid,
    input  logic [FUNCTION_W-1:0] begin_function,
    input  logic                  begin_alone,    // the function has no other write under way
    input  logic [ELEMENT_W-1:0]  begin_element,
    input  logic                  begin_second,   // kept beside
    output logic [ID_W-1:0]       begin_id,       // 1 cycle later

    input  logic                  end_valid,
    input  logic [ID_W-1:0]       end_id,
    output logic [ELEMENT_W-1:0]  end_element,    // 1 cycle later
    output logic                  end_second
);

  if (FUNCTIONS < 1 || FUNCTIONS > 2 ** 16) begin : gen_bad_functions
    $fatal(1, "used_order: FUNCTIONS must be 1 to 65536, not %0d", FUNCTIONS);
  end
  if (IDS < 2 || IDS > 128 || 2 ** ID_W != IDS) begin : gen_bad_ids
    $fatal(1, "used_order: IDS must be a power of two from 2 to 128, not %0d", IDS);
  end
  if (ELEMENTS < 8 || ELEMENTS > 1024 || 2 ** ELEMENT_W != ELEMENTS) begin : gen_bad_elements
    $fatal(1, "used_order: ELEMENTS must be a power of two from 8 to 1024, not %0d", ELEMENTS);
  end

  // Each ID has a queue of as many elements as there are: how many went in and came out, in copies for each who reads.
  localparam int unsigned READERS = 3;
  localparam int unsigned AT_HOME = 0, AT_SPARE = 1, AT_TURN = 2;
  typedef logic [ID_W-1:0] id_t;
  typedef logic [ELEMENT_W:0] count_t;

  id_t wipe_at_q, home, own, id, id_q, spare_q;
  logic ready_q, spare_valid_q, push_q, second_q;
  logic [ELEMENT_W-1:0] element_q;
  id_t [READERS-1:0] in_at, out_at;
  count_t [READERS-1:0] went_in, came_out;

  assign ready = ready_q;
  assign rests = spare_valid_q;
  assign home  = id_t'(begin_function);
  assign in_at = {id_q, spare_q, home};
  assign out_at = {end_id, spare_q, home};
  wire home_free = went_in[AT_HOME] == came_out[AT_HOME];
  wire spare_free = went_in[AT_SPARE] == came_out[AT_SPARE];

  for (genvar i = 0; i < int'(READERS); i++) begin : gen_reader
    ram_dist #(
        .WIDTH(ELEMENT_W + 1),
        .DEPTH(IDS)
    ) u_in (
        .clk,
        .wr_en  (!ready_q || push_q),
        .wr_addr(ready_q ? id_q : wipe_at_q),
        .wr_data(ready_q ? went_in[AT_TURN] + 1'b1 : '0),
        .rd_addr(in_at[i]),
        .rd_data(went_in[i])
    );
    ram_dist #(
        .WIDTH(ELEMENT_W + 1),
        .DEPTH(IDS)
    ) u_out (
        .clk,
        .wr_en  (!ready_q || end_valid),
        .wr_addr(ready_q ? end_id : wipe_at_q),
        .wr_data(ready_q ? came_out[AT_TURN] + 1'b1 : '0),
        .rd_addr(out_at[i]),
        .rd_data(came_out[i])
    );
  end

  ram_dist #(
      .WIDTH(ID_W),
      .DEPTH(FUNCTIONS)
  ) u_own (
      .clk,
      .wr_en  (begin_valid),
      .wr_addr(begin_function),
      .wr_data(id),
      .rd_addr(begin_function),
      .rd_data(own)
  );

  always_comb begin
    id = home;
    if (!begin_alone) id = own;
    else if (!home_free && spare_valid_q) id = spare_q;
  end

  // The spare ID is sought one after another, and stays until it is used.
  always_ff @(posedge clk) begin
    if (!ready_q) wipe_at_q <= wipe_at_q + 1'b1;
    if (wipe_at_q == id_t'(IDS - 1)) ready_q <= 1'b1;
    if (spare_valid_q) begin
      if (push_q && id_q == spare_q) spare_valid_q <= 1'b0;
    end else if (spare_free && !(push_q && id_q == spare_q)) spare_valid_q <= ready_q;
    else spare_q <= spare_q + 1'b1;
    push_q    <= begin_valid;
    id_q      <= id;
    element_q <= begin_element;
    second_q  <= begin_second;
    if (rst) begin
      wipe_at_q     <= '0;
      spare_q       <= '0;
      ready_q       <= 1'b0;
      spare_valid_q <= 1'b0;
      push_q        <= 1'b0;
    end
  end
  assign begin_id = id_q;

  ram_fit #(
      .WIDTH(ELEMENT_W + 1),
      .DEPTH(IDS * ELEMENTS)
  ) u_elements (
      .clk,
      .wr_en  (push_q),
      .wr_addr({id_q, ELEMENT_W'(went_in[AT_TURN])}),
      .wr_data({second_q, element_q}),
      .rd_en  (end_valid),
      .rd_addr({end_id, ELEMENT_W'(came_out[AT_TURN])}),
      .rd_data({end_second, end_element})
  );

endmodule
