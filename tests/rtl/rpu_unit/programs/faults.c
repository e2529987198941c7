// Does one thing wrong for each packet, as its first byte says, and sends what the flags are then.
#include "headrace.h"

volatile unsigned int errors; // access errors can't be masked

void __attribute__((interrupt)) int_handler(void) {
  errors = FLAGS_REG;
  INTERRUPT_ACK = 0xFFFFFFFF;
}

static void send(unsigned char *data, unsigned char port, unsigned char tag, unsigned short len) {
  struct Desc desc = {.len = len, .tag = tag, .port = port, .data = data};
  pkt_send(&desc);
}

int main(void) {
  init_slots(8, 0, 4096);
  set_masks(0);
  if (ACCEL_IDENTIFICATION) return 1; // there is none, and to ask for it is no error
  while (1) {
    if (!in_pkt_ready()) continue;
    struct Desc packet;
    read_in_pkt(&packet);
    unsigned int *words = (unsigned int *)packet.data;
    switch (packet.data[0]) {
    case 0: send(packet.data, 9, packet.tag, 60); break;                              // no such port
    case 1: send((unsigned char *)(PMEM_BASE + PMEM_SIZE - 59), 0, packet.tag, 60); break; // beyond the memory
    case 2: send(packet.data, 0, 99, 60); pkt_send(&packet); break;                   // no such slot
    case 3: send(packet.data, 0, packet.tag, 0); send(packet.data, 0, packet.tag, 0); break; // twice
    case 4: SLOT_ADDR = 99 << 24 | 0x140; UPDATE_SLOT = 1; pkt_send(&packet); break; // no such slot
    case 5: SEND_DESC_TYPE = 17; pkt_send(&packet); break;
    case 6: *(volatile unsigned int *)0x00810000 = 1; pkt_send(&packet); break;      // behind data memory
    case 7: *(volatile unsigned int *)(PMEM_BASE + PMEM_SIZE) = 1; pkt_send(&packet); break;
    case 8: *(volatile unsigned int *)0x00000300 = 1; pkt_send(&packet); break;
    case 9: *(volatile unsigned int *)0x02000000 = 1; pkt_send(&packet); break;
    case 10: *(volatile unsigned int *)IO_EXT_BASE = 1; pkt_send(&packet); break;
    case 11: pkt_send(&packet); pkt_send(&packet); break;
    case 12: send(packet.data, 0, packet.tag % 8 + 1, 60); pkt_send(&packet); break; // a slot that has no packet
    }
    for (int i = 0; i < 20; i++) asm volatile("");
    DEBUG_OUT_L = FLAGS_REG | errors;
    DEBUG_OUT_H = words[1];
    INTERRUPT_ACK = 0xFFFFFFFF;
    errors = 0;
  }
}
