// SPDX-License-Identifier: Apache-2.0
// The registers of an RPU and what firmware does with them, with the names and semantics that firmware of the Rosebud
// framework uses: such programs compile unmodified.
//
// Two things are other than one would write them first, both for the core, which has no barrel shifter (a shift by n
// takes n cycles) and gives a load's value to the third instruction behind it:
// - The received descriptor is no volatile object. GCC neither groups volatile loads before their uses nor loads 16
//   bits of one without two shifts by 16. Instead each use of RECV_DESC begins with an empty asm that has changed it.
// - Descriptors are copied field by field, so that changing one of them afterwards needs neither shifts nor the stack.
#ifndef CORE_H
#define CORE_H

#include "riscv_encoding.h"

#define IO_BASE     0x00000000
#define IO_INT_BASE 0x00000000
#define IO_EXT_BASE 0x00400000
#define DMEM_BASE   0x00800000
#define PMEM_BASE   0x01000000

// 64 bits; tag: a slot from 1, 0: none; len 0: the packet is dropped
struct Desc {
  union {
    unsigned int desc_low;
    struct {
      unsigned short len;
      unsigned char tag;
      unsigned char port;
    };
  };
  union {
    unsigned int desc_high;
    unsigned char *data;
  };
};

#define RPU_REGISTER(type, offset) (*((volatile type *)(IO_INT_BASE + (offset))))

// Written
#define SEND_DESC         RPU_REGISTER(struct Desc, 0x08)
#define DRAM_ADDR         RPU_REGISTER(unsigned long long, 0x10)
#define SLOT_ADDR         RPU_REGISTER(unsigned int, 0x18)
#define TIMER_INTERVAL    RPU_REGISTER(unsigned int, 0x1C)
#define DRAM_FLAG_WR      RPU_REGISTER(unsigned int, 0x20)
#define READY_TO_EVICT    RPU_REGISTER(unsigned int, 0x24)
#define SEND_DESC_TYPE    RPU_REGISTER(unsigned char, 0x28)
#define RECV_DESC_RELEASE (*(RPU_RECEIVED(), (volatile unsigned char *)(IO_INT_BASE + 0x2C)))
#define DRAM_FLAG_RST     RPU_REGISTER(unsigned char, 0x30)
#define UPDATE_SLOT       RPU_REGISTER(unsigned char, 0x34)
#define MASK_WRITE        RPU_REGISTER(unsigned short, 0x38)
#define INTERRUPT_ACK     RPU_REGISTER(unsigned int, 0x3C)
#define DEBUG_OUT         RPU_REGISTER(unsigned long long, 0x40)
#define DEBUG_OUT_L       RPU_REGISTER(unsigned int, 0x40)
#define DEBUG_OUT_H       RPU_REGISTER(unsigned int, 0x44)
#define BC_MSG_MASK_WR    RPU_REGISTER(unsigned int, 0x48)
#define BC_MSG_EQUAL_WR   RPU_REGISTER(unsigned int, 0x4C)
#define BC_MSG_FIFO_EN    RPU_REGISTER(unsigned char, 0x50)
#define BC_MSG_RELEASE    RPU_REGISTER(unsigned char, 0x54)
#define DESC_OVERRIDE     RPU_REGISTER(struct Desc, 0x58)
#define LB_TAG_LEN        RPU_REGISTER(unsigned short, 0x60)

// Read
#define RECV_DESC         (*(RPU_RECEIVED(), (struct Desc *)(IO_INT_BASE + 0x80)))
#define DRAM_FLAGS        RPU_REGISTER(unsigned int, 0x88)
#define STATUS_RD         (IO_INT_BASE + 0x8C)
#define IN_PKT_READY      (RPU_REGISTER(unsigned char, 0x8C) == 1)
#define DATA_DESC_READY   (RPU_REGISTER(unsigned char, 0x8D) == 1)
#define UPDATE_SLOT_READY (RPU_REGISTER(unsigned char, 0x8E) == 1)
#define CORE_MSG_READY    (RPU_REGISTER(unsigned char, 0x8F) == 1)
#define CORE_ID           (*((const unsigned int *)(IO_INT_BASE + 0x90)))
#define TIMER_32_L        RPU_REGISTER(unsigned int, 0x94)
#define TIMER_32_H        RPU_REGISTER(unsigned int, 0x98)
#define TIMER_16_LL       RPU_REGISTER(unsigned short, 0x94)
#define TIMER_16_LH       RPU_REGISTER(unsigned short, 0x96)
#define TIMER_16_HL       RPU_REGISTER(unsigned short, 0x98)
#define TIMER_16_HH       RPU_REGISTER(unsigned short, 0x9A)
#define FLAGS_REG         RPU_REGISTER(unsigned int, 0x9C)
#define INTERRUPT_FLAGS   RPU_REGISTER(unsigned short, 0x9C)
#define ERROR_FLAGS       RPU_REGISTER(unsigned char, 0x9E)
#define MASK_READ         RPU_REGISTER(unsigned short, 0xA0)
#define IMEM_SIZE         (*((const unsigned int *)(IO_INT_BASE + 0xA4)))
#define DMEM_SIZE         (*((const unsigned int *)(IO_INT_BASE + 0xA8)))
#define PMEM_SIZE         (*((const unsigned int *)(IO_INT_BASE + 0xAC)))
#define PMEM_SEG_SIZE     (*((const unsigned int *)(IO_INT_BASE + 0xB0)))
#define PMEM_SEG_COUNT    (*((const unsigned int *)(IO_INT_BASE + 0xB4)))
#define BC_REGION_SIZE    (*((const unsigned int *)(IO_INT_BASE + 0xB8)))
#define MAX_SLOT_COUNT    (*((const unsigned int *)(IO_INT_BASE + 0xBC)))
#define DEBUG_IN_L        RPU_REGISTER(unsigned int, 0xC0)
#define DEBUG_IN_H        RPU_REGISTER(unsigned int, 0xC4)
#define RD_BC_MASK        RPU_REGISTER(unsigned int, 0xC8)
#define RD_BC_EQUAL       RPU_REGISTER(unsigned int, 0xCC)
#define RECV_BC_ADDR      RPU_REGISTER(unsigned int, 0xD0)
#define SEND_FIFO_OCC     RPU_REGISTER(unsigned char, 0xD4)
#define DRAM_WR_FIFO_OCC  RPU_REGISTER(unsigned char, 0xD5)
#define DRAM_RD_FIFO_OCC  RPU_REGISTER(unsigned char, 0xD6)
#define BC_MSG_FIFO_OCC   RPU_REGISTER(unsigned char, 0xD7)
#define ACTIVE_SLOTS      RPU_REGISTER(unsigned int, 0xD8)

// What a barrier orders: packet and data memory, which the hardware reads and writes, against registers
#define RPU_BARRIER() __asm__ volatile("" ::: "memory")

// The received descriptor has changed; earlier reads of it are done.
static inline __attribute__((always_inline)) void RPU_RECEIVED(void) {
  __asm__ volatile("" : "+m"(*(struct Desc *)(IO_INT_BASE + 0x80)));
}

// 16 bits of a register without the two shifts that GCC adds to a volatile load
static inline __attribute__((always_inline)) unsigned short rpu_read_16(unsigned int address) {
  unsigned int value;
  __asm__ volatile("lhu %0, %1" : "=r"(value) : "m"(*(const unsigned short *)address));
  if (value > 0xFFFF) __builtin_unreachable();
  return (unsigned short)value;
}

#ifdef HEADRACE_OWN_BSWAP // a source defines macros of these names itself, as `headrace rpu build` has seen
static inline unsigned short bswap_16(unsigned short value) { return __builtin_bswap16(value); }
static inline unsigned int bswap_32(unsigned int value) { return __builtin_bswap32(value); }
#else
#ifndef bswap_16
#define bswap_16(value) __builtin_bswap16(value)
#endif
#ifndef bswap_32
#define bswap_32(value) __builtin_bswap32(value)
#endif
#endif
#ifndef ctz
#define ctz(value) ((unsigned int)__builtin_ctz(value))
#endif

// The path where there is none lies out of line: the core predicts forward branches as not taken, backward ones as
// taken.
static inline _Bool in_pkt_ready(void) {
  if (__builtin_expect(RPU_REGISTER(unsigned char, 0x8C) != 0, 1)) return 1;
  __asm__ volatile("");
  return 0;
}

static inline _Bool update_slot_ready(void) { return UPDATE_SLOT_READY; }
static inline _Bool core_msg_ready(void) { return CORE_MSG_READY; }
static inline unsigned int core_id(void) { return CORE_ID; }
static inline unsigned int dram_flags(void) { return DRAM_FLAGS; }
static inline unsigned int active_slots(void) { return ACTIVE_SLOTS; }
static inline unsigned short interrupt_flags(void) { return rpu_read_16(IO_INT_BASE + 0x9C); }
static inline unsigned char error_flags(void) { return ERROR_FLAGS; }
static inline unsigned short read_masks(void) { return rpu_read_16(IO_INT_BASE + 0xA0); }
static inline unsigned int read_timer_low(void) { return TIMER_32_L; }
static inline unsigned int read_timer_high(void) { return TIMER_32_H; }
static inline unsigned int read_bc_mask(void) { return RD_BC_MASK; }
static inline unsigned int read_bc_equal(void) { return RD_BC_EQUAL; }
static inline unsigned int recv_bc_msg_addr(void) { return RECV_BC_ADDR; }
static inline unsigned char send_fifo_occ(void) { return SEND_FIFO_OCC; }
static inline unsigned char dram_wr_fifo_occ(void) { return DRAM_WR_FIFO_OCC; }
static inline unsigned char dram_rd_fifo_occ(void) { return DRAM_RD_FIFO_OCC; }
static inline unsigned char core_msg_fifo_occ(void) { return BC_MSG_FIFO_OCC; }

// Takes the oldest descriptor. The barrier comes before the copy is stored, so that it needn't be loaded again.
static inline void read_in_pkt(struct Desc *input_desc) {
  const struct Desc *from = &RECV_DESC;
  unsigned short len = from->len;
  unsigned char tag = from->tag, port = from->port;
  unsigned char *data = from->data;
  RPU_BARRIER();
  RECV_DESC_RELEASE = 1;
  input_desc->len = len;
  input_desc->tag = tag;
  input_desc->port = port;
  input_desc->data = data;
}

// Puts a descriptor into the send registers and sends it as `type`.
static inline __attribute__((always_inline)) void rpu_send(const struct Desc *desc, unsigned char type) {
  unsigned short len = desc->len;
  unsigned char tag = desc->tag, port = desc->port;
  unsigned char *data = desc->data;
  SEND_DESC.len = len;
  SEND_DESC.tag = tag;
  SEND_DESC.port = port;
  SEND_DESC.data = data;
  RPU_BARRIER();
  SEND_DESC_TYPE = type;
}

static inline void pkt_send(const struct Desc *output_desc) { rpu_send(output_desc, 0); }
static inline void pkt_done_msg(const struct Desc *output_desc) { rpu_send(output_desc, 1); }
static inline void send_to_core(const struct Desc *output_desc) { rpu_send(output_desc, 2); }

static inline void atomic_pkt_send(const struct Desc *output_desc) {
  unsigned short masks = read_masks();
  MASK_WRITE = 0;
  rpu_send(output_desc, 0);
  MASK_WRITE = masks;
}

static inline void dram_write(const unsigned long long *dram_addr, const struct Desc *output_desc) {
  DRAM_ADDR = *dram_addr;
  rpu_send(output_desc, 4);
}

static inline void dram_read_req(const unsigned long long *dram_addr, const struct Desc *output_desc) {
  DRAM_ADDR = *dram_addr;
  rpu_send(output_desc, 5);
}

// Slots 1 to `count`; `kind` is 1 << 31 for header slots
static inline void rpu_enter_slots(unsigned int count, unsigned int addr, unsigned int step, unsigned int kind) {
  unsigned int number = kind;
  addr &= 0x00FFFFFF;
  for (; count != 0; count--) {
    number += 1u << 24;
    SLOT_ADDR = number + addr;
    RPU_BARRIER();
    UPDATE_SLOT = 1;
    addr += step;
  }
}

// Slots 1 to `count` are there for packets of so many bytes at most; 0x10000: for all
static inline void rpu_tell_slots(unsigned int count, unsigned int bytes) {
  SEND_DESC.len = (unsigned short)bytes;
  SEND_DESC.tag = (unsigned char)count;
  RPU_BARRIER();
  SEND_DESC_TYPE = 3;
}

static inline void init_slots(const unsigned int slot_count, const unsigned int start_addr,
                              const unsigned int addr_step) {
  rpu_enter_slots(slot_count, start_addr, addr_step, 0);
  rpu_tell_slots(slot_count, addr_step);
}

static inline void init_hdr_slots(const unsigned int slot_count, const unsigned int start_hdr_addr,
                                  const unsigned int hdr_addr_step) {
  rpu_enter_slots(slot_count, start_hdr_addr, hdr_addr_step, 1u << 31);
}

// Interrupt handlers see what was stored before, though nothing else may read it.
static inline void set_masks(const unsigned short masks) {
  RPU_BARRIER();
  MASK_WRITE = masks;
  RPU_BARRIER();
}

static inline void set_bc_filter(const unsigned int bc_mask, const unsigned int bc_equal) {
  BC_MSG_MASK_WR = bc_mask;
  BC_MSG_EQUAL_WR = bc_equal;
  BC_MSG_FIFO_EN = 1;
  set_masks(read_masks() | 8);
}

static inline void write_timer_interval(const unsigned int val) { TIMER_INTERVAL = val; }
static inline void write_dram_flags(const unsigned int val) { DRAM_FLAG_WR = val; }
static inline void write_debug(const unsigned long long val) { DEBUG_OUT = val; }
static inline void interrupt_ack(const unsigned int flags) { INTERRUPT_ACK = flags; }
static inline void error_ack(const unsigned int errors) { INTERRUPT_ACK = errors << 16; }
static inline void dram_flag_reset(const unsigned char num) { DRAM_FLAG_RST = num; }

// The first `offset` bytes of each packet are the load balancer's; earlier programs call it the scheduler.
static inline void set_lb_offset(const unsigned short offset) { LB_TAG_LEN = offset; }
static inline void set_sched_offset(const unsigned short offset) { LB_TAG_LEN = offset; }

#endif
