// SPDX-License-Identifier: Apache-2.0
// A file of records, written with a buffer of our own so that a full disk leaves whole records behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "headrace.h"

namespace headrace {

class RecordFile {
 public:
  // "-" is standard output. Throws Error when the file can't be opened.
  explicit RecordFile(const std::string& path);
  ~RecordFile();
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  void append(const void* data, size_t size) {
    const auto* bytes = static_cast<const uint8_t*>(data);
    buffer_.insert(buffer_.end(), bytes, bytes + size);
    size_ += size;
  }

  // Ends a record, or something else that stays whole. After an error it is lost.
  void commit(const hr_totals& packet = {});

  // Throws Error when the file can't be written; what was whole on disk then stays, a partial record is cut off.
  void flush();
  void close();

  // In messages.
  const std::string& name() const { return name_; }
  // Bytes of the file, those in the buffer too.
  uint64_t size() const { return size_; }
  // Packets whose records are not in the file, since it could not be written.
  const hr_totals& lost() const { return lost_; }

 private:
  static constexpr size_t kBuffer = 1 << 18;

  struct Boundary {
    size_t at;
    hr_totals packet;
  };

  [[noreturn]] void fail(size_t written, int reason);

  std::string name_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
  std::vector<uint8_t> buffer_;
  std::vector<Boundary> boundaries_;
  hr_totals lost_{};
};

}  // namespace headrace
