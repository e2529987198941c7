// SPDX-License-Identifier: Apache-2.0
// Memory that all units share: each forwards packets to the other port and tells the others how many it has had, so
// that any unit knows the sum: DEBUG_OUT has this unit's count and that of all.
#include "headrace.h"

#define UNITS 16

IN_BROADCAST static volatile unsigned int counts[UNITS];

int main(void) {
  unsigned int id = core_id(), count = 0, other = 0, sum = 0;
  for (unsigned int i = 0; i < UNITS; i++) {
    if (i == id) counts[i] = 0; // what a store of ours does in all units
  }
  headrace_slots(32, 0);
  set_masks(FLAG_EVICT | FLAG_POKE);
  while (1) {
    unsigned int low = RECV_LOW;
    if (low != 0) {
      SEND_LOW = low ^ DESC_PORT(1);
      SEND_HIGH_GO = RECV_HIGH_POP;
      counts[id] = ++count;
      DEBUG_OUT_L = count;
    }
    // One of the others' counts each time, so that packets don't wait
    sum += counts[other];
    if (++other == UNITS) {
      DEBUG_OUT_H = sum;
      sum = other = 0;
    }
  }
}
