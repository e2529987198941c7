// SPDX-License-Identifier: Apache-2.0
#include "memory/host_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "error.h"

namespace headrace {
namespace {

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

void HostMemory::map(uint64_t address, uint64_t size, bool read_only) {
  if (size == 0 || address + (size - 1) < address) {
    throw Error(HR_ERROR_USAGE, "host memory: no range of " + std::to_string(size) + " bytes at " + hex(address));
  }
  const auto after = ranges_.upper_bound(address + (size - 1));
  if (after != ranges_.begin()) {
    const Range& below = std::prev(after)->second;
    if (below.address + (below.size - 1) >= address) {
      throw Error(HR_ERROR_USAGE,
                  "host memory: the range at " + hex(address) + " overlaps the one at " + hex(below.address));
    }
  }
  void* bytes = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (bytes == MAP_FAILED) {
    throw Error(HR_ERROR_USAGE, "host memory: " + std::to_string(size) + " bytes: " + std::strerror(errno));
  }
  const auto unmap = [size](uint8_t* pages) { ::munmap(pages, size); };
  ranges_[address] = {address, size, std::shared_ptr<uint8_t>(static_cast<uint8_t*>(bytes), unmap), read_only};
  last_ = nullptr;
}

void HostMemory::unmap(uint64_t address) {
  const auto found = ranges_.find(address);
  if (found == ranges_.end()) throw Error(HR_ERROR_USAGE, "host memory: no range begins at " + hex(address));
  ranges_.erase(found);
  last_ = nullptr;
}

}  // namespace headrace
