// SPDX-License-Identifier: Apache-2.0
// Drops each packet; DEBUG_OUT has how many there were and how many bytes they had.
#include "headrace.h"

int main(void) {
  headrace_slots(32, 0);
  set_masks(FLAG_EVICT | FLAG_POKE);
  unsigned int packets = 0, bytes = 0;
  while (1) {
    unsigned int low = headrace_wait();
    SEND_LOW = desc_drop(low);
    SEND_HIGH_GO = RECV_HIGH_POP;
    bytes += desc_len(low);
    DEBUG_OUT_L = ++packets;
    DEBUG_OUT_H = bytes;
  }
}
