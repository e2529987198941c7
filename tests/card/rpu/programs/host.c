// SPDX-License-Identifier: Apache-2.0
// Sends what comes from the Ethernet ports to the host, and what comes from the host to port 1.
#include "core.h"

int main(void) {
  init_slots(8, 0, 16384);
  while (1) {
    struct Desc desc;
    if (!in_pkt_ready()) continue;
    read_in_pkt(&desc);
    desc.port = desc.port == 2 ? 1 : 2;
    pkt_send(&desc);
  }
}
