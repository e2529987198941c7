// SPDX-License-Identifier: Apache-2.0
// The host's memory as the card's DMA sees it: ranges of a 64-bit address space, backed by pages that exist once
// touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace headrace {

class HostMemory {
 public:
  enum class Answer : uint8_t { kOkay = 0, kRefused = 2, kNothingThere = 3 };  // AXI's OKAY, SLVERR, DECERR

  HostMemory() = default;
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  // Throws Error when the range is empty, overlaps another one or can't be reserved.
  void map(uint64_t address, uint64_t size, bool read_only);
  void unmap(uint64_t address);

  // The host's own access: nullptr if the bytes are not within one range.
  uint8_t* at(uint64_t address, uint64_t size) {
    const Range* range = find(address, size);
    return range == nullptr ? nullptr : range->bytes.get() + (address - range->address);
  }

  // The pages of the range that has a byte, for who uses them longer than they are mapped; nullptr if there is none.
  std::shared_ptr<uint8_t> pages(uint64_t address) {
    const Range* range = find(address, 1);
    return range == nullptr ? nullptr : range->bytes;
  }

  // A card's access of up to one bus beat.
  Answer locate(uint64_t address, uint64_t size, bool write, uint8_t*& bytes) {
    const Range* range = find(address, size);
    if (range == nullptr) return Answer::kNothingThere;
    if (write && range->read_only) return Answer::kRefused;
    bytes = range->bytes.get() + (address - range->address);
    return Answer::kOkay;
  }

 private:
  struct Range {
    uint64_t address;
    uint64_t size;
    std::shared_ptr<uint8_t> bytes;
    bool read_only;
  };

  const Range* find(uint64_t address, uint64_t size) {
    if (last_ != nullptr && covers(*last_, address, size)) return last_;
    auto after = ranges_.upper_bound(address);
    if (after == ranges_.begin()) return nullptr;
    const Range& range = std::prev(after)->second;
    if (!covers(range, address, size)) return nullptr;
    last_ = &range;
    return last_;
  }

  static bool covers(const Range& range, uint64_t address, uint64_t size) {
    const uint64_t offset = address - range.address;
    return offset < range.size && size <= range.size - offset;
  }

  std::map<uint64_t, Range> ranges_;
  const Range* last_ = nullptr;
};

}  // namespace headrace
