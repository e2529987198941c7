// Counts interrupts by their cause, in data memory where the host reads them; drops packets in its handler.
#include "headrace.h"

volatile unsigned int *const counts = (unsigned int *)0x00803000;

void __attribute__((interrupt)) int_handler(void) {
  int cause = read_csr(mcause);
  if (cause >= 0) {
    counts[8] = cause;
    counts[9] = read_csr(mtval);
    error_ack(0xFF);
    write_csr(mepc, read_csr(mepc) + 4);
    return;
  }
  unsigned int flags = interrupt_flags() & read_masks();
  for (int i = 0; i < 8; i++)
    if (flags >> i & 1) counts[i]++;
  if (flags & FLAG_EVICT) {
    interrupt_ack(FLAG_EVICT);
    headrace_evict();
  }
  while (in_pkt_ready()) {
    struct Desc packet;
    read_in_pkt(&packet);
    packet.len = 0;
    pkt_send(&packet);
  }
  while (flags & FLAG_BROADCAST && interrupt_flags() & FLAG_BROADCAST) {
    counts[10] = recv_bc_msg_addr();
    BC_MSG_RELEASE = 1;
  }
  interrupt_ack(flags);
}

int main(void) {
  for (int i = 0; i < 11; i++) counts[i] = 0;
  init_slots(8, 0, 4096);
  write_timer_interval(500);
  set_bc_filter(0xF0, 0x10);
  set_masks(0x3B);
  *(volatile unsigned int *)0x00806020 = 0x12345678; // for all others
  counts[11] = *(volatile unsigned int *)0x00810000; // an exception
  counts[12] = 1;
  while (1) continue;
}
