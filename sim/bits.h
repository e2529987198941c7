// Reads and writes bit fields of the model's packed vectors, which lie in memory with the lowest byte first.
#pragma once

#include <array>
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

// A copy of `Width` bits whose fields are then read one after the other, from the lowest on.
template <unsigned Width>
class BitReader {
 public:
  BitReader(const uint8_t* vector, size_t at) : at_(at % 8) {
    std::memcpy(bytes_.data(), vector + at / 8, (at_ + Width + 7) / 8);
  }

  uint64_t take(unsigned width) {
    const size_t byte = at_ / 8;
    const unsigned shift = at_ % 8;
    uint64_t low;
    std::memcpy(&low, bytes_.data() + byte, sizeof low);
    uint64_t value = low >> shift;
    if (shift != 0) value |= uint64_t{bytes_[byte + 8]} << (64 - shift);
    at_ += width;
    return width == 64 ? value : value & ((uint64_t{1} << width) - 1);
  }

 private:
  size_t at_;
  std::array<uint8_t, (Width + 7) / 8 + 1 + 16> bytes_{};
};

}  // namespace headrace
