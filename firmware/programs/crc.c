// SPDX-License-Identifier: Apache-2.0
// Forwards packets whose last 4 bytes are the CRC-32 of those before, least significant byte first, and drops all
// others: what a MAC does with a frame's check sequence, for packets that carry a further one. accel_crc32 computes, up
// to 8 packets at the same time; with -D SOFTWARE it is the core, some 30 cycles a byte.
// DEBUG_OUT: packets that were right, and those that were wrong.
#include "headrace.h"
#include "crc32.h"

// The CRC-32 of anything with its CRC-32 behind it
#define RIGHT 0x2144DF1C

static unsigned int right, wrong;

static inline void finish(unsigned int low, unsigned int high, unsigned int crc) {
  unsigned int out = low ^ DESC_PORT(1);
  if (__builtin_expect(crc == RIGHT, 1)) {
    DEBUG_OUT_L = ++right;
  } else {
    out = desc_drop(out);
    DEBUG_OUT_H = ++wrong;
  }
  SEND_LOW = out;
  SEND_HIGH_GO = high;
}

#ifdef SOFTWARE
static void __attribute__((noreturn)) check_packets(void) {
  while (1) {
    unsigned int low = headrace_wait();
    unsigned int high = RECV_HIGH_POP;
    RPU_BARRIER();
    finish(low, high, crc32((const void *)high, desc_len(low), 0));
  }
}
#else
#define CRC_STATUS    (*((volatile unsigned char *)(IO_EXT_BASE + 0x00))) // results that wait
#define CRC_ADDR      (*((volatile unsigned int *)(IO_EXT_BASE + 0x08)))
#define CRC_RESULT    (*((volatile unsigned int *)(IO_EXT_BASE + 0x10)))
#define CRC_LEN_START (*((volatile unsigned int *)(IO_EXT_BASE + 0x14)))
#define JOBS 8

static void __attribute__((noreturn)) check_packets(void) {
  static struct {
    unsigned int low, high;
  } jobs[JOBS], *const end = jobs + JOBS;
  typeof(&jobs[0]) newest = jobs, oldest = jobs; // the next one to start, and to finish
  unsigned int started = 0;
  while (1) {
    unsigned int low = RECV_LOW;
    if (low != 0 && started != JOBS) {
      unsigned int high = RECV_HIGH_POP;
      CRC_ADDR = high;
      CRC_LEN_START = desc_len(low);
      newest->low = low;
      newest->high = high;
      if (++newest == end) newest = jobs;
      started++;
    } else if (started != 0) {
      unsigned int result = CRC_RESULT; // waits for it
      finish(oldest->low, oldest->high, result);
      if (++oldest == end) oldest = jobs;
      started--;
    }
  }
}
#endif

int main(void) {
  headrace_slots(32, 0);
  set_masks(FLAG_EVICT | FLAG_POKE);
  check_packets();
}
