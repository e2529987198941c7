// SPDX-License-Identifier: Apache-2.0
// Packets from one unit to another: those of the lower half of UNITS units send what they receive to a unit of the
// upper half, which sends it to the other port than it came from, as the last byte of its source MAC address tells.
#include "headrace.h"

#ifndef UNITS
#define UNITS 8
#endif

int main(void) {
  unsigned int id = core_id();
  struct Desc packet;
  init_hdr_slots(16, 0x804000, 128);
  init_slots(16, 0, 16384);
  set_masks(FLAG_EVICT | FLAG_POKE);
  if (id < UNITS / 2) {
    while (1) {
      if (in_pkt_ready()) {
        read_in_pkt(&packet);
        packet.data[11] = packet.port;
        packet.port = (unsigned char)(id + UNITS / 2);
        send_to_core(&packet);
      }
    }
  }
  while (1) {
    if (in_pkt_ready()) {
      read_in_pkt(&packet);
      packet.port = packet.data[11] ^ 1;
      pkt_send(&packet);
    }
  }
}
