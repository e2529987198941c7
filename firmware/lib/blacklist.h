// SPDX-License-Identifier: Apache-2.0
// Is an IPv4 address in one of many prefixes, in software: the twin of accel_blacklist, of the same table words.
#ifndef HEADRACE_BLACKLIST_H
#define HEADRACE_BLACKLIST_H

#include <stdint.h>

// Prefixes that the table was made for (blacklist_words' capacity). 12 bytes of memory each.
#ifndef BLACKLIST_CAPACITY
#define BLACKLIST_CAPACITY 2048
#endif

struct blacklist {
  uint32_t loaded;  // 0 before and while a table is loaded: no address matches
  uint32_t base;
  uint32_t starts[2 * BLACKLIST_CAPACITY];
  uint16_t numbers[2 * BLACKLIST_CAPACITY];
};

// Loads one word of a table. The structure must be all zeros before the first one.
void blacklist_load(struct blacklist* list, uint32_t address, uint32_t data);

// The number of the longest prefix that the address is in, or -1. The address is as it is loaded from a packet.
int32_t blacklist_find(const struct blacklist* list, uint32_t address);

#endif
