// SPDX-License-Identifier: Apache-2.0
// Forwards each packet from one Ethernet port to the other, as fast as a unit can: 7 cycles a packet. A packet of the
// host's goes to loopback, and back from there. -D SAME_PORT sends packets back to where they came from, at 6 cycles.
#include "headrace.h"

#ifdef SAME_PORT
#define FORWARDED(low) (low)
#else
#define FORWARDED(low) ((low) ^ DESC_PORT(1))
#endif

static unsigned int wait_for_packet(void) {
  unsigned int low;
  do low = RECV_LOW;
  while (low == 0);
  return low;
}

// Sends the packet whose low word is known, and has a look at the next one meanwhile: no load's value is used before it
// is there, and no branch is taken while there are packets.
static inline unsigned int forward(unsigned int low) {
  unsigned int high = RECV_HIGH_POP;
  unsigned int next = RECV_LOW;
  SEND_LOW = FORWARDED(low);
  SEND_HIGH_GO = high;
  if (__builtin_expect(next == 0, 0)) next = wait_for_packet();
  return next;
}

int main(void) {
  unsigned int slots = MAX_SLOT_COUNT < 32 ? MAX_SLOT_COUNT : 32;
  init_hdr_slots(slots, 0x804000, 128);
  init_slots(slots, 0x000000, 16384);
  set_masks(FLAG_EVICT | FLAG_POKE);

  unsigned int low = wait_for_packet();
  while (1) low = forward(forward(forward(forward(low))));
}
