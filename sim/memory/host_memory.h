// SPDX-License-Identifier: Apache-2.0
// The host's memory as the card's DMA sees it: ranges of a 64-bit address space for each function, backed by pages that
// exist once touched, or by a file that is shared with other processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

namespace headrace {

class HostMemory {
 public:
  enum class Answer : uint8_t { kOkay = 0, kRefused = 2, kNothingThere = 3 };  // AXI's OKAY, SLVERR, DECERR

  HostMemory() = default;
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  // Both throw Error when the range is empty, overlaps another one of its function or can't be reserved. A file must
  // have all bytes of the range from `offset` on and, unless it is trusted, a seal against becoming shorter: an access
  // beyond its end would kill the process. Its descriptor may be closed afterwards.
  void map(uint16_t function, uint64_t address, uint64_t size, bool read_only);
  void map_file(uint16_t function, uint64_t address, uint64_t size, bool read_only, int descriptor, uint64_t offset,
                bool trusted);
  void unmap(uint16_t function, uint64_t address);

  // The host's own access: nullptr if the bytes are not within one range, or may not be written.
  uint8_t* at(uint16_t function, uint64_t address, uint64_t size, bool write = false) {
    const Range* range = find(function, address, size);
    if (range == nullptr || (write && !range->writable)) return nullptr;
    return range->bytes.get() + (address - range->address);
  }

  // The pages of the range that has a byte, for who uses them longer than they are mapped; nullptr if there is none.
  std::shared_ptr<uint8_t> pages(uint16_t function, uint64_t address) {
    const Range* range = find(function, address, 1);
    return range == nullptr ? nullptr : range->bytes;
  }

  // A card's access of up to one bus beat.
  Answer locate(uint16_t function, uint64_t address, uint64_t size, bool write, uint8_t*& bytes) {
    const Range* range = find(function, address, size);
    if (range == nullptr) return Answer::kNothingThere;
    if (write && range->read_only) return Answer::kRefused;
    bytes = range->bytes.get() + (address - range->address);
    return Answer::kOkay;
  }

 private:
  struct Range {
    uint16_t function;
    uint64_t address;
    uint64_t size;
    std::shared_ptr<uint8_t> bytes;
    bool read_only;  // for the card
    bool writable;   // for the host
  };

  const Range* find(uint16_t function, uint64_t address, uint64_t size) {
    if (last_ != nullptr && covers(*last_, function, address, size)) return last_;
    auto after = ranges_.upper_bound({function, address});
    if (after == ranges_.begin()) return nullptr;
    const Range& range = std::prev(after)->second;
    if (!covers(range, function, address, size)) return nullptr;
    last_ = &range;
    return last_;
  }

  static bool covers(const Range& range, uint16_t function, uint64_t address, uint64_t size) {
    const uint64_t offset = address - range.address;
    return range.function == function && offset < range.size && size <= range.size - offset;
  }

  void check(uint16_t function, uint64_t address, uint64_t size) const;
  void add(const Range& range);

  std::map<std::pair<uint16_t, uint64_t>, Range> ranges_;  // by function and address
  const Range* last_ = nullptr;
};

}  // namespace headrace
