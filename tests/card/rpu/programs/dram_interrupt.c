// SPDX-License-Identifier: Apache-2.0
// Counts the DRAM interrupts of reads that the host's DEBUG_IN names the address of, 64 bytes each.
#include "core.h"

static volatile unsigned int interrupts, seen;

void __attribute__((interrupt)) int_handler(void) {
  if (interrupt_flags() & 1 << 2) {
    unsigned int flags = dram_flags();
    seen |= flags;
    interrupts++;
    write_dram_flags(0);
  }
}

int main(void) {
  struct Desc desc = {.len = 64, .port = 0};
  set_masks(1 << 2);
  init_slots(4, 0, 2048);
  while (DEBUG_IN_L == 0);
  for (unsigned int i = 0; i < 3; i++) {
    unsigned long long address = DEBUG_IN_L + 64 * i;
    desc.tag = 5 + i;
    desc.data = (unsigned char *)0x00802000 + 64 * i;
    dram_read_req(&address, &desc);
    while (interrupts == i);
  }
  write_debug((unsigned long long)interrupts << 32 | seen);
  while (1);
}
