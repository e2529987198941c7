// SPDX-License-Identifier: Apache-2.0
#include "checksum.h"

typedef uint32_t __attribute__((may_alias)) packet_word_t;

// The sum of two 32-bit words and of the carry out of them: 2**32 is 1 in 16-bit ones' complement too.
static uint32_t add(uint32_t sum, uint32_t word) {
  sum += word;
  return sum + (sum < word);
}

uint16_t checksum(const void* data, size_t length, uint32_t start) {
  const uint8_t* bytes = data;
  uint32_t sum = start;
  if (((uintptr_t)bytes & 3) == 0) {
    for (; length >= 4; length -= 4, bytes += 4) sum = add(sum, *(const packet_word_t*)(const void*)bytes);
  }
  for (; length >= 2; length -= 2, bytes += 2) sum = add(sum, bytes[0] | (uint32_t)bytes[1] << 8);
  if (length) sum = add(sum, *bytes);
  sum = (sum >> 16) + (sum & 0xFFFF);
  sum += sum >> 16;
  return (uint16_t)~sum;
}
