// SPDX-License-Identifier: Apache-2.0
// Finds many patterns in a packet, in software: the twin of accel_matcher, of the same table words and in its order.
#ifndef HEADRACE_MATCHER_H
#define HEADRACE_MATCHER_H

#include <stdint.h>

// Rows of 8 bytes of patterns (matcher_words' rows). 12 bytes of memory each, and 14 KB for the rest.
#ifndef MATCHER_ROWS
#define MATCHER_ROWS 4096
#endif

struct matcher {
  uint32_t whole;  // 0 before and while tables are loaded: nothing is found
  uint32_t filter[3][512];
  uint32_t buckets[2048];
  uint32_t rows[MATCHER_ROWS][3];
};

// Is told each match: the pattern's place in the loaded ones, from 1, and how many bytes there are up to its end.
typedef void (*matcher_report)(void* context, uint32_t pattern, uint32_t position);

// Loads one word of the tables. The structure must be all zeros before the first one.
void matcher_load(struct matcher* matcher, uint32_t address, uint32_t data);

// Looks for all patterns in `length` bytes and returns how many matches there are. `report` may be 0.
uint32_t matcher_run(const struct matcher* matcher, const void* data, uint32_t length, matcher_report report,
                     void* context);

#endif
