// SPDX-License-Identifier: Apache-2.0
// Joins Ethernet port 0 with the host's function 0, and function 1 with function 2. What comes from Ethernet port 1 is
// sent to a function that isn't there.
#include "headrace.h"

static unsigned int counterpart(unsigned int port) {
  switch (port) {
  case PORT_ETH0: return PORT_FUNCTION(0);
  case PORT_FUNCTION(0): return PORT_ETH0;
  case PORT_FUNCTION(1): return PORT_FUNCTION(2);
  case PORT_FUNCTION(2): return PORT_FUNCTION(1);
  default: return PORT_FUNCTION(3);
  }
}

int main(void) {
  headrace_slots(16, 0);
  while (1) {
    unsigned int low = headrace_wait();
    SEND_LOW = (low & 0x00FFFFFF) | DESC_PORT(counterpart(low >> 24));
    SEND_HIGH_GO = RECV_HIGH_POP;
  }
}
