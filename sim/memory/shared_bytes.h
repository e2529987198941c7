// SPDX-License-Identifier: Apache-2.0
// Bytes that other threads and processes may read and write at the same time. Each word of 2, 4 or 8 bytes that is
// aligned to its size is copied whole, so that nobody sees half of an index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace headrace {
namespace shared {

template <class Word>
struct Aliasing {
  using Type __attribute__((may_alias)) = Word;
};

template <class Word>
uint64_t load(const uint8_t* from, int order) {
  return __atomic_load_n(reinterpret_cast<const typename Aliasing<Word>::Type*>(from), order);
}

template <class Word>
void store(uint8_t* to, uint64_t value, int order) {
  __atomic_store_n(reinterpret_cast<typename Aliasing<Word>::Type*>(to), static_cast<Word>(value), order);
}

}  // namespace shared

// A word of 1, 2, 4 or 8 bytes that is aligned to its size.
inline uint64_t load_word(const uint8_t* from, size_t bytes, int order = __ATOMIC_RELAXED) {
  if (bytes == 8) return shared::load<uint64_t>(from, order);
  if (bytes == 4) return shared::load<uint32_t>(from, order);
  if (bytes == 2) return shared::load<uint16_t>(from, order);
  return shared::load<uint8_t>(from, order);
}

inline void store_word(uint8_t* to, uint64_t value, size_t bytes, int order = __ATOMIC_RELAXED) {
  if (bytes == 8) return shared::store<uint64_t>(to, value, order);
  if (bytes == 4) return shared::store<uint32_t>(to, value, order);
  if (bytes == 2) return shared::store<uint16_t>(to, value, order);
  return shared::store<uint8_t>(to, value, order);
}

// Bytes of the largest word that lies at a place and has no more than so many.
inline size_t word_at(const uint8_t* place, size_t most) {
  size_t bytes = 8;
  while (bytes > most || reinterpret_cast<uintptr_t>(place) % bytes != 0) bytes /= 2;
  return bytes;
}

inline void load_bytes(uint8_t* to, const uint8_t* shared, size_t count) {
  for (size_t done = 0; done < count;) {
    const size_t bytes = word_at(shared + done, count - done);
    const uint64_t word = load_word(shared + done, bytes);
    std::memcpy(to + done, &word, bytes);
    done += bytes;
  }
}

inline void store_bytes(uint8_t* shared, const uint8_t* from, size_t count) {
  for (size_t done = 0; done < count;) {
    const size_t bytes = word_at(shared + done, count - done);
    uint64_t word = 0;
    std::memcpy(&word, from + done, bytes);
    store_word(shared + done, word, bytes);
    done += bytes;
  }
}

}  // namespace headrace
