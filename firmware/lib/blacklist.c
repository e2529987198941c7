// SPDX-License-Identifier: Apache-2.0
#include "blacklist.h"

#define INTERVALS (2u * BLACKLIST_CAPACITY)

void blacklist_load(struct blacklist* list, uint32_t address, uint32_t data) {
  uint32_t index = (address & 0xFFFF) / 4;
  list->loaded = 0;
  if (address == 0x20000) {
    list->base = data;
    list->loaded = 1;
  } else if (index < INTERVALS && address >> 16 == 0) {
    list->starts[index] = data;
  } else if (index < INTERVALS && address >> 16 == 1) {
    list->numbers[index] = (uint16_t)data;
  }
}

int32_t blacklist_find(const struct blacklist* list, uint32_t address) {
  uint32_t first = 0, count = INTERVALS;
  if (!list->loaded) return -1;
  address = address >> 24 | (address >> 8 & 0xFF00) | (address & 0xFF00) << 8 | address << 24;
  address -= list->base;
  while (count > 1) {  // the interval is one of `count` from `first` on
    uint32_t half = count / 2;
    if (list->starts[first + half] <= address) {
      first += half;
      count -= half;
    } else {
      count = half;
    }
  }
  return (int32_t)list->numbers[first] - 1;
}
