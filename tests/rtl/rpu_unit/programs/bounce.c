// Sends every packet back by the other port, as the original's forwarder does. SLOT_START, SLOT_STEP: -D.
#include "core.h"

#ifndef SLOT_START
#define SLOT_START 0
#endif

#ifndef SLOT_STEP
#define SLOT_STEP 4096
#endif

struct Desc packet;

int main(void) {
  init_hdr_slots(16, 0x804000, 128);
  init_slots(16, SLOT_START, SLOT_STEP);
  set_masks(0x30);
  while (1) {
    if (in_pkt_ready()) {
      read_in_pkt(&packet);
      packet.port ^= 1;
      pkt_send(&packet);
    }
  }
}
