// SPDX-License-Identifier: Apache-2.0
// Leaves out the rest of a frame that began before the end of reset: a link that runs does not wait for a card's reset,
// and what is left of such a frame is no frame. Only the handshake goes through here; data go beside it.
// Latency: none. Backpressure: a beat that is left out is taken at once, in reset too.
// The frame shows by a beat in the last cycle of reset. One that pauses just then can't be told from the start of a
// frame, which AXI-Stream does not mark: a MAC that has pauses inside frames is to be reset with the card.
module stream_whole (
    input  logic clk,
    input  logic rst,
    input  logic s_valid,
    output logic s_ready,
    input  logic s_last,
    output logic m_valid,
    input  logic m_ready
);

  logic rest_q;

  always_ff @(posedge clk) begin
    if (s_valid && s_last) rest_q <= 1'b0;
    if (rst) rest_q <= s_valid && !s_last;
  end

  assign m_valid = s_valid && !rest_q;
  assign s_ready = m_ready || rest_q || rst;

endmodule
