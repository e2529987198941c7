// SPDX-License-Identifier: Apache-2.0
// What Headrace's RPUs have beyond core.h.
#ifndef HEADRACE_H
#define HEADRACE_H

#include "core.h"

#define PORT_ETH0     0
#define PORT_ETH1     1
#define PORT_HOST     2
#define PORT_LOOPBACK 3
#define PORT_DRAM     4

// Where the host has virtual functions: the port of one, 0 to 31, whether a port is one's, and whose it is. Number 0's
// is PORT_HOST.
#define PORT_FUNCTION(number) (PORT_HOST + 8 * (number))
#define IS_FUNCTION(port)     (((port)&7) == PORT_HOST)
#define FUNCTION_OF(port)     ((port) >> 3)

// Interrupt flags and masks
#define FLAG_TIMER          0x0001
#define FLAG_PACKET         0x0002
#define FLAG_DRAM           0x0004
#define FLAG_BROADCAST      0x0008
#define FLAG_POKE           0x0010
#define FLAG_EVICT          0x0020
#define FLAG_BROADCAST_FULL 0x0100
#define FLAG_ACCELERATOR    0x0200
#define FLAG_DUPLICATE_SLOT 0x0400
#define FLAG_INVALID_SLOT   0x0800
#define FLAG_INVALID_DESC   0x1000

// Descriptors in fewer accesses. The low word of the oldest one, 0: there is none
#define RECV_LOW RPU_REGISTER(unsigned int, 0x100)
// its data address; reading it releases the descriptor
#define RECV_HIGH_POP RPU_REGISTER(unsigned int, 0x104)
// where the beginning of its packet is in data memory, 0: nowhere
#define RECV_HEADER RPU_REGISTER(unsigned int, 0x110)
// the low word of the one to send
#define SEND_LOW RPU_REGISTER(unsigned int, 0x108)
// its data address; writing it sends the descriptor as type 0
#define SEND_HIGH_GO RPU_REGISTER(unsigned int, 0x10C)

// Fields of a low word
#define DESC_PORT(port) ((unsigned int)(port) << 24)
#define DESC_TAG(tag)   ((unsigned int)(tag) << 16)

// Of a low word; a mask from memory or by a constant of the compiler's would be two shifts by 16.
static inline __attribute__((always_inline)) unsigned int desc_len(unsigned int low) {
  unsigned int mask;
  __asm__("li %0, 0xFFFF" : "=r"(mask));
  return low & mask;
}

// The low word of a descriptor that drops the packet
static inline __attribute__((always_inline)) unsigned int desc_drop(unsigned int low) { return low & 0xFFFF0000u; }

// Slots of 16 KB for packets and 128 bytes for their headers, as many as the unit has: the lower half of packet
// memory with 32. Packets begin at byte `offset` of their slots, and their headers at that of theirs: 2 aligns what is
// behind the Ethernet header, and costs no cycle for packets of 64 bytes. Packets of more than 16,384 - offset bytes are
// dropped.
static inline unsigned int headrace_slots(unsigned int count, unsigned int offset) {
  if (count > MAX_SLOT_COUNT) count = MAX_SLOT_COUNT;
  init_hdr_slots(count, 0x804000, 128);
  rpu_enter_slots(count, offset, 16384, 0);
  rpu_tell_slots(count, 16384 - offset);
  return count;
}

// Waits for a packet; its low word
static inline unsigned int headrace_wait(void) {
  unsigned int low;
  do low = RECV_LOW;
  while (low == 0);
  return low;
}

// Accelerators: what they are, as four characters, and their version
#define ACCEL_IDENTIFICATION (*((volatile unsigned int *)(IO_EXT_BASE + 0xFFC)))
#define ACCEL_VERSION        (*((volatile unsigned int *)(IO_EXT_BASE + 0xFF8)))

// 32-bit loads at addresses with this bit set come byte-swapped, in no more time than others.
#define BYTE_SWAPPED 0x04000000u

static inline __attribute__((always_inline)) unsigned int load_be32(const void *address) {
  unsigned int value; // the compiler doesn't know that both addresses are the same word's
  __asm__("lw %0, 0(%1)"
          : "=r"(value)
          : "r"((unsigned int)address | BYTE_SWAPPED), "m"(*(const unsigned int *)address));
  return value;
}

// 16 bits in network byte order: two loads, and a shift by 8
static inline __attribute__((always_inline)) unsigned int load_be16(const void *address) {
  const unsigned char *bytes = (const unsigned char *)address;
  return (unsigned int)bytes[0] << 8 | bytes[1];
}

// Places for variables. A store into the first is sent to all units; the second is packet memory from its middle on,
// for tables that data memory has no room for, and is loaded with the program; the third is the same, and not loaded.
#define IN_BROADCAST __attribute__((section(".broadcast")))
#define IN_PACKET_MEMORY __attribute__((section(".pmem")))
#define IN_PACKET_MEMORY_UNSET __attribute__((section(".pmem_unset")))

// Variables end before the header slots at 0x804000. A program whose header slots lie elsewhere may use more:
// `DATA_LIMIT(0x805000);` at file scope.
#define DATA_LIMIT(address) __asm__(".globl __data_limit\n.set __data_limit, " #address)

// What the default interrupt handler leaves when it stops the unit, beside the program counter in DEBUG_OUT_L and
// EXCEPTION_MARK | cause in DEBUG_OUT_H
struct headrace_exception {
  unsigned int cause;  // mcause; bit 31: an interrupt that told of a wrong store
  unsigned int pc;     // mepc; of a store, a few instructions behind it
  unsigned int value;  // mtval: the address, or the instruction; of a wrong store, 0
  unsigned int errors; // error_flags()
};
extern volatile struct headrace_exception headrace_exception;
#define EXCEPTION_MARK 0xEC000000u

// Drops all packets of this unit, tells the host that it is empty and goes on dropping: what the host's eviction wants
void headrace_evict(void) __attribute__((noreturn));

#endif
