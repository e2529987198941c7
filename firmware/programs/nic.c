// SPDX-License-Identifier: Apache-2.0
// A NIC: joins Ethernet port 0 with the host, and with -D FUNCTIONS=2 port 1 with the host's function 1. Packets from
// elsewhere are dropped.
#include "headrace.h"

#ifndef FUNCTIONS
#define FUNCTIONS 1
#endif
_Static_assert(FUNCTIONS == 1 || FUNCTIONS == 2, "FUNCTIONS: as many as Ethernet ports, at most");

int main(void) {
  headrace_slots(32, 0);
  set_masks(FLAG_EVICT | FLAG_POKE);
  while (1) {
    unsigned int low = headrace_wait();
    unsigned int port = low >> 24;
    unsigned int number = IS_FUNCTION(port) ? FUNCTION_OF(port) : port;
    unsigned int other = IS_FUNCTION(port) ? number : PORT_FUNCTION(number);
    SEND_LOW = number < FUNCTIONS ? (low & 0x00FFFFFF) | DESC_PORT(other) : desc_drop(low);
    SEND_HIGH_GO = RECV_HIGH_POP;
  }
}
