// SPDX-License-Identifier: Apache-2.0
#include "matcher.h"

#define BYTES(control) ((control) >> 16 & 15)
#define STEP(control) ((control) >> 20 & 7)
#define IS_LAST(control) ((control) >> 23 & 1)
#define NOCASE(control) ((control) >> 24 & 1)
#define KIND(control) ((control) >> 25 & 3)

static uint32_t fold(uint32_t letter) {
  return letter - 'A' < 26 ? letter | 0x20 : letter;
}

static uint32_t turn(uint32_t byte, uint32_t place, uint32_t width) {
  return (byte << place | byte >> (width - place)) & ((1u << width) - 1);
}

// The patterns of one kind that may end at `end`, the byte after them. `key`: bytes before it, the last one lowest.
static uint32_t compare(const struct matcher* matcher, const uint8_t* end, uint32_t position, uint32_t key,
                        uint32_t kind, matcher_report report, void* context) {
  static const uint16_t seeds[4] = {0, 0x555, 0x2AA, 0x7FF};
  uint32_t masked = key & 0xFFFFFFFFu >> (24 - 8 * kind);
  uint32_t bucket = matcher->buckets[seeds[kind] ^ (masked & 0xFF) ^ turn(masked >> 8 & 0xFF, 3, 11) ^
                                     turn(masked >> 16 & 0xFF, 6, 11) ^ turn(masked >> 24, 9, 11)];
  const uint32_t (*row)[3] = &matcher->rows[bucket & 0xFFF];
  uint32_t found = 0, same = 1;
  for (uint32_t count = bucket >> 16; count; count--, row++) {
    uint32_t control = (*row)[2], step = STEP(control), bytes = BYTES(control);
    if (!step) same = 1;
    if (!same || KIND(control) != kind || position < 8 * step + bytes) {
      same = 0;
      continue;
    }
    for (uint32_t i = 8 - bytes; i < 8 && same; i++) {
      uint32_t letter = *(end - 8 * step - 8 + i);
      same = (NOCASE(control) ? fold(letter) : letter) == ((*row)[i / 4] >> (8 * (i & 3)) & 0xFF);
    }
    if (same && IS_LAST(control)) {
      found++;
      if (report) report(context, control & 0xFFFF, position);
    }
  }
  return found;
}

void matcher_load(struct matcher* matcher, uint32_t address, uint32_t data) {
  uint32_t row = (address & 0xFFFF) / 16, column = address / 4 & 3;
  if (address == 0x20000) {
    matcher->whole = data;
  } else if (address >> 16 == 1 && row < MATCHER_ROWS && column < 3) {
    matcher->rows[row][column] = data;
  } else if (address < 0x1800) {
    matcher->filter[address / 0x800][address / 4 & 511] = data;
  } else if (address >= 0x2000 && address < 0x4000) {
    matcher->buckets[address / 4 & 2047] = data;
  }
}

uint32_t matcher_run(const struct matcher* matcher, const void* data, uint32_t length, matcher_report report,
                     void* context) {
  const uint8_t* bytes = data;
  uint32_t key = 0, found = 0;
  if (!matcher->whole) return 0;
  for (uint32_t position = 1; position <= length; position++, bytes++) {
    key = key << 8 | fold(*bytes);
    uint32_t before = key >> 8 & 0xFF, third = key >> 16 & 0xFF, fourth = key >> 24;
    uint32_t by_first = (before ^ before >> 5 << 2) & 31, column = by_first & 15;
    uint32_t word = matcher->filter[0][(key & 0xFF) << 1 | by_first >> 4];
    if (word >> 31) found += compare(matcher, bytes + 1, position, key, 0, report, context);
    if (word >> column & 1) found += compare(matcher, bytes + 1, position, key, 1, report, context);
    if (!(word >> (16 + (column < 14 ? column : 14)) & 1)) continue;
    uint32_t by_second = (key & 0xFF) ^ turn(before, 5, 13) ^ turn(third, 9, 13);
    word = matcher->filter[1][by_second >> 4] >> (by_second & 15);
    if (word & 1) found += compare(matcher, bytes + 1, position, key, 2, report, context);
    if (!(word >> 16 & 1)) continue;
    uint32_t by_third = (key & 0xFF) ^ turn(before, 4, 14) ^ turn(third, 7, 14) ^ turn(fourth, 11, 14);
    if (matcher->filter[2][by_third >> 5] >> (by_third & 31) & 1) {
      found += compare(matcher, bytes + 1, position, key, 3, report, context);
    }
  }
  return found;
}
