// Puts what the registers say into packet memory, and sends it.
#include "headrace.h"

static unsigned int *const report = (unsigned int *)(PMEM_BASE + 0x10000);

int main(void) {
  init_slots(4, 0, 4096);
  unsigned int waiting = RPU_REGISTER(unsigned int, 0xD4);
  report[0] = core_id();
  report[1] = IMEM_SIZE;
  report[2] = DMEM_SIZE;
  report[3] = PMEM_SIZE;
  report[4] = BC_REGION_SIZE;
  report[5] = MAX_SLOT_COUNT;
  report[6] = read_masks();
  report[7] = DEBUG_IN_L;
  report[8] = DEBUG_IN_H;
  report[9] = load_be32(&report[8]);
  report[10] = read_timer_low();
  report[11] = waiting;
  *(volatile unsigned char *)&report[12] = 0x5A;
  *((volatile unsigned short *)&report[12] + 1) = 0xBEEF;
  write_debug(0x0123456789ABCDEFull);
  struct Desc packet = {.len = 51, .tag = 0, .port = 2, .data = (unsigned char *)report};
  pkt_send(&packet);
  packet.data = (unsigned char *)0x00804100;
  for (int i = 0; i < 51; i++) packet.data[i] = i;
  packet.port = 7;
  send_to_core(&packet);
  while (1) continue;
}
