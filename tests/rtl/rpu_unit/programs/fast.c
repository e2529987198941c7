// Headrace's shorter registers: what comes is sent by the other port.
#include "headrace.h"

int main(void) {
  init_slots(16, 0x000000, 4096);
  while (1) {
    unsigned int low = RECV_LOW;
    if (__builtin_expect(low == 0, 0)) {
      asm volatile(""); // out of line: the core predicts a branch ahead as not taken
      continue;
    }
    unsigned int high = RECV_HIGH_POP;
    SEND_LOW = low ^ DESC_PORT(1);
    SEND_HIGH_GO = high;
  }
}
