// SPDX-License-Identifier: Apache-2.0
// Forwards each packet from one Ethernet port to the other, as fast as a unit can: 6.25 cycles a packet. A packet of
// the host's goes to loopback, and back from there. -D SAME_PORT sends packets back to where they came from, in 5.25.
#include "headrace.h"

#ifdef SAME_PORT
#define FORWARDED(low) (low)
#else
#define FORWARDED(low) ((low) ^ DESC_PORT(1))
#endif

// Sends the packet whose low word is known, and has a look at the next one meanwhile: no load's value is used before it
// is there, and no branch but that of the loop is taken while there are packets.
static inline unsigned int forward(unsigned int low) {
  unsigned int high = RECV_HIGH_POP;
  unsigned int next = RECV_LOW;
  SEND_LOW = FORWARDED(low);
  SEND_HIGH_GO = high;
  if (__builtin_expect(next == 0, 0)) next = headrace_wait();
  return next;
}

int main(void) {
  headrace_slots(32, 0);
  set_masks(FLAG_EVICT | FLAG_POKE);
  unsigned int low = headrace_wait();
  while (1) low = forward(forward(forward(forward(low))));
}
