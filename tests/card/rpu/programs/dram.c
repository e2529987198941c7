// SPDX-License-Identifier: Apache-2.0
// Does what a list in data memory says with host memory, once for each poke; says the number of lists in DEBUG_OUT.
#include "core.h"

#define LIST ((volatile unsigned int *)0x00801000)

enum { END, WAIT = 1, DRAIN = 2, INVALID = 3, WRITE = 4, READ = 5 };

static void run(void) {
  struct Desc desc = {0};
  for (volatile unsigned int *item = LIST; item[0] != END; item += 6) {
    unsigned long long address = (unsigned long long)item[5] << 32 | item[4];
    desc.data = (unsigned char *)item[1];
    desc.len = item[2];
    desc.tag = item[3];
    switch (item[0]) {
      case WAIT:
        while (!(dram_flags() >> item[3] & 1));
        dram_flag_reset(item[3]);
        break;
      case DRAIN:
        while (dram_wr_fifo_occ() || dram_rd_fifo_occ());
        break;
      case WRITE:
        dram_write(&address, &desc);
        break;
      case READ:
        dram_read_req(&address, &desc);
        break;
    }
  }
}

int main(void) {
  unsigned int done = 0;
  set_masks(0);
  init_slots(4, 0, 2048);
  while (1) {
    while (!(interrupt_flags() & 1 << 4)) {
      if (in_pkt_ready()) {
        struct Desc desc;
        read_in_pkt(&desc);
        pkt_send(&desc);
      }
    }
    interrupt_ack(1 << 4);
    run();
    done++;
    write_debug((unsigned long long)interrupt_flags() << 32 | done);
  }
}
