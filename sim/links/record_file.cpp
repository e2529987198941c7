// SPDX-License-Identifier: Apache-2.0
#include "links/record_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "error.h"
#include "links/sink.h"

namespace headrace {

RecordFile::RecordFile(const std::string& path) : name_(path == "-" ? "standard output" : path) {
  descriptor_ =
      path == "-" ? ::dup(STDOUT_FILENO) : ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw Error(HR_ERROR_FILE, name_ + ": " + std::strerror(errno));
  buffer_.reserve(kBuffer + (kBuffer >> 1));
}

RecordFile::~RecordFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void RecordFile::commit(const hr_totals& packet) {
  if (descriptor_ < 0) {
    add(lost_, packet);
    buffer_.clear();
    return;
  }
  boundaries_.push_back({buffer_.size(), packet});
  if (buffer_.size() >= kBuffer) flush();
}

void RecordFile::flush() {
  size_t written = 0;
  while (written < buffer_.size()) {
    const ssize_t count = ::write(descriptor_, buffer_.data() + written, buffer_.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail(written, count < 0 ? errno : ENOSPC);
    written += static_cast<size_t>(count);
  }
  buffer_.clear();
  boundaries_.clear();
}

void RecordFile::fail(size_t written, int reason) {
  size_t whole = 0;
  for (const Boundary& boundary : boundaries_) {
    if (boundary.at <= written) {
      whole = boundary.at;
    } else {
      add(lost_, boundary.packet);
    }
  }
  struct stat status;
  if (::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode)) {
    const off_t end = ::lseek(descriptor_, 0, SEEK_CUR);
    // A file that can't be cut either keeps its partial record: the error says that it is incomplete.
    if (end >= 0 && ::ftruncate(descriptor_, end - static_cast<off_t>(written - whole)) != 0) errno = reason;
  }
  buffer_.clear();
  boundaries_.clear();
  ::close(descriptor_);
  descriptor_ = -1;
  throw Error(HR_ERROR_FILE, name_ + ": " + std::strerror(reason));
}

void RecordFile::close() {
  if (descriptor_ < 0) return;
  flush();
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (::close(descriptor) != 0) throw Error(HR_ERROR_FILE, name_ + ": " + std::strerror(errno));
}

}  // namespace headrace
