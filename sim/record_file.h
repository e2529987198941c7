// A file of records, written with a buffer of our own so that a full disk leaves whole records behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

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

  // Ends a record.
  void commit() {
    boundaries_.push_back(buffer_.size());
    if (buffer_.size() >= kBuffer) flush();
  }

  // Throws Error when the file can't be written; what was whole on disk then stays, a partial record is cut off.
  void flush();
  void close();

  // Bytes of the file, those in the buffer too.
  uint64_t size() const { return size_; }

 private:
  static constexpr size_t kBuffer = 1 << 18;

  [[noreturn]] void fail(size_t written, int reason);

  std::string name_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
  std::vector<uint8_t> buffer_;
  std::vector<size_t> boundaries_;
};

}  // namespace headrace
