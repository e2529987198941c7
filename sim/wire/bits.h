// SPDX-License-Identifier: Apache-2.0
// Reads and writes bit fields of the model's packed vectors, which lie in memory with the lowest byte first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace headrace {

// Writes `width` (at most 57) bits at bit `at`.
inline void put_bits(uint8_t* vector, size_t at, unsigned width, uint64_t value) {
  uint8_t* first = vector + at / 8;
  const unsigned shift = at % 8;
  const size_t bytes = (shift + width + 7) / 8;
  const uint64_t mask = ((uint64_t{1} << width) - 1) << shift;
  uint64_t word = 0;
  std::memcpy(&word, first, bytes);
  word = (word & ~mask) | ((value << shift) & mask);
  std::memcpy(first, &word, bytes);
}

// Reads `width` (at most 64) bits at bit `at`.
inline uint64_t get_bits(const uint8_t* vector, size_t at, unsigned width) {
  const uint8_t* first = vector + at / 8;
  const unsigned shift = at % 8;
  uint64_t word = 0;
  if (shift == 0 && width == 64) {
    std::memcpy(&word, first, sizeof word);
    return word;
  }
  const size_t bytes = (shift + width + 7) / 8;
  std::memcpy(&word, first, std::min(bytes, sizeof word));
  word >>= shift;
  if (bytes > sizeof word) word |= uint64_t{first[8]} << (64 - shift);
  return width == 64 ? word : word & ((uint64_t{1} << width) - 1);
}

}  // namespace headrace
