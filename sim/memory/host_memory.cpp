// SPDX-License-Identifier: Apache-2.0
#include "memory/host_memory.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "error.h"

namespace headrace {
namespace {

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::shared_ptr<uint8_t> owned(void* bytes, uint64_t size) {
  return {static_cast<uint8_t*>(bytes), [size](uint8_t* pages) { ::munmap(pages, size); }};
}

Error wrong(const std::string& what) {
  return Error(HR_ERROR_USAGE, "host memory: " + what);
}

// Bytes that a mapping of the file is counted in.
uint64_t page_bytes(int descriptor) {
  struct statfs system{};
  if (::fstatfs(descriptor, &system) == 0 && system.f_type == HUGETLBFS_MAGIC) {
    return static_cast<uint64_t>(system.f_bsize);
  }
  return static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

// Throws Error when the file has not all of the bytes, or could lose them.
void check_file(int descriptor, uint64_t offset, uint64_t size, bool trusted) {
  const std::string shown = "file descriptor " + std::to_string(descriptor);
  struct stat file{};
  if (::fstat(descriptor, &file) != 0) throw wrong(shown + ": " + std::strerror(errno));
  if (!S_ISREG(file.st_mode)) throw wrong(shown + " is no file that has a size, such as a memfd");
  const auto bytes = static_cast<uint64_t>(file.st_size);
  if (size > bytes || offset > bytes - size) {
    throw wrong(shown + " has " + std::to_string(bytes) + " bytes, too few for " + std::to_string(size) +
                " from offset " + std::to_string(offset) + " on");
  }
  if (const uint64_t page = page_bytes(descriptor); offset % page != 0) {
    throw wrong(shown + ": offset " + std::to_string(offset) + " is no multiple of a page, " + std::to_string(page));
  }
  const int seals = ::fcntl(descriptor, F_GET_SEALS);
  if (trusted || (seals >= 0 && (seals & F_SEAL_SHRINK) != 0)) return;
  if (seals < 0 || (seals & F_SEAL_SEAL) != 0) {
    throw wrong(shown +
                " can't be sealed, and whoever makes it shorter ends this process: F_SEAL_SHRINK of a memfd "
                "that allows seals prevents it, or say that it is trusted");
  }
  throw wrong(shown + " has no seal F_SEAL_SHRINK: whoever makes it shorter ends this process");
}

}  // namespace

void HostMemory::check(uint16_t function, uint64_t address, uint64_t size) const {
  if (size == 0 || address + (size - 1) < address) {
    throw wrong("no range of " + std::to_string(size) + " bytes at " + hex(address));
  }
  const auto after = ranges_.upper_bound({function, address + (size - 1)});
  if (after == ranges_.begin()) return;
  const Range& below = std::prev(after)->second;
  if (below.function == function && below.address + (below.size - 1) >= address) {
    throw wrong("the range at " + hex(address) + " overlaps the one at " + hex(below.address));
  }
}

void HostMemory::map(uint16_t function, uint64_t address, uint64_t size, bool read_only) {
  check(function, address, size);
  void* bytes = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (bytes == MAP_FAILED) throw wrong(std::to_string(size) + " bytes: " + std::strerror(errno));
  add({function, address, size, owned(bytes, size), read_only, true});
}

void HostMemory::map_file(uint16_t function, uint64_t address, uint64_t size, bool read_only, int descriptor,
                          uint64_t offset, bool trusted) {
  check(function, address, size);
  check_file(descriptor, offset, size, trusted);
  const uint64_t page = page_bytes(descriptor);
  const uint64_t whole = (size + page - 1) / page * page;  // huge pages are unmapped whole
  const int access = read_only ? PROT_READ : PROT_READ | PROT_WRITE;
  void* bytes = ::mmap(nullptr, whole, access, MAP_SHARED, descriptor, static_cast<off_t>(offset));
  if (bytes == MAP_FAILED) {
    throw wrong("file descriptor " + std::to_string(descriptor) + ", " + std::to_string(size) +
                " bytes: " + std::strerror(errno));
  }
  add({function, address, size, owned(bytes, whole), read_only, !read_only});
}

void HostMemory::add(const Range& range) {
  ranges_[{range.function, range.address}] = range;
  last_ = nullptr;
}

void HostMemory::unmap(uint16_t function, uint64_t address) {
  const auto found = ranges_.find({function, address});
  if (found == ranges_.end()) throw wrong("no range begins at " + hex(address));
  ranges_.erase(found);
  last_ = nullptr;
}

}  // namespace headrace
