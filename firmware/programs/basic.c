// SPDX-License-Identifier: Apache-2.0
// Sends each packet back to where it came from, written as firmware of the Rosebud framework is: 12 cycles a packet.
#include "core.h"

int main(void) {
  init_hdr_slots(16, 0x804000, 128);
  init_slots(16, 0x000000, 16384);
  set_masks(0x30); // evict and poke

  while (1) {
    if (in_pkt_ready()) {
      SEND_DESC = RECV_DESC;
      asm volatile("" ::: "memory");
      RECV_DESC_RELEASE = 1;
      asm volatile("" ::: "memory");
      SEND_DESC_TYPE = 0;
    }
  }
}
