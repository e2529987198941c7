// SPDX-License-Identifier: Apache-2.0
// What interrupts and exceptions do in a program that has no int_handler of its own: acknowledge, evict, or stop.
#include "headrace.h"

volatile struct headrace_exception headrace_exception;

#define ACKNOWLEDGED \
  (FLAG_TIMER | FLAG_POKE | FLAG_ACCELERATOR | FLAG_DUPLICATE_SLOT | FLAG_INVALID_SLOT | FLAG_INVALID_DESC)

static void drop_received(void) {
  struct Desc packet;
  while (in_pkt_ready()) {
    read_in_pkt(&packet);
    packet.len = 0;
    pkt_send(&packet);
  }
}

void headrace_evict(void) {
  drop_received();
  // What was sent has left its slot, and the last drop is done, before the slots in use are looked at.
  for (unsigned int cycles = 0; cycles < 16; cycles++) __asm__ volatile("");
  struct Desc packet = {.len = 0, .tag = 0, .port = 0, .data = 0};
  for (unsigned int slots = active_slots(); slots != 0; slots >>= 1) {
    packet.tag++;
    if (slots & 1) pkt_send(&packet);
  }
  READY_TO_EVICT = 1;
  while (1) drop_received();
}

// What follows the interrupt instead of main. As nothing is called here, few registers are saved.
static inline __attribute__((always_inline)) void leave_for_evict(void) {
  interrupt_ack(FLAG_EVICT);
  write_csr(mepc, headrace_evict);
}

void __attribute__((interrupt, weak)) int_handler(void) {
  unsigned int cause = read_csr(mcause);
  if (cause == (MCAUSE_INT | IRQ_M_TIMER)) {
    interrupt_ack(FLAG_TIMER);
    return;
  }
  unsigned int errors = error_flags();
  if (cause != (MCAUSE_INT | IRQ_M_EXT) || errors != 0) {
    // The unit does nothing more, so that what went wrong can be seen; the host can still evict it.
    unsigned int pc = read_csr(mepc);
    headrace_exception.cause = cause;
    headrace_exception.pc = pc;
    headrace_exception.value = cause & MCAUSE_INT ? 0 : read_csr(mtval);
    headrace_exception.errors = errors;
    DEBUG_OUT_L = pc;
    DEBUG_OUT_H = EXCEPTION_MARK | (cause & 0xFF);
    while (!(interrupt_flags() & FLAG_EVICT)) {
    }
    error_ack(errors);
    leave_for_evict();
    return;
  }
  unsigned int masks = read_masks();
  unsigned int flags = interrupt_flags() & masks;
  if (flags & FLAG_EVICT) {
    leave_for_evict();
    return;
  }
  if (flags & ACKNOWLEDGED) interrupt_ack(flags & ACKNOWLEDGED);
  if (flags & FLAG_BROADCAST_FULL) {
    BC_MSG_FIFO_EN = 0; // empties it
    BC_MSG_FIFO_EN = 1;
    interrupt_ack(FLAG_BROADCAST_FULL);
  }
  if (flags & FLAG_BROADCAST) {
    do BC_MSG_RELEASE = 1;
    while (interrupt_flags() & FLAG_BROADCAST);
  }
  if (flags & FLAG_DRAM) {
    DEBUG_OUT_L = dram_flags();
    write_dram_flags(0);
  }
  // Nothing but taking the packet ends this one, and main can't while we return to the same interrupt.
  if (flags & FLAG_PACKET) MASK_WRITE = masks & ~FLAG_PACKET;
}
