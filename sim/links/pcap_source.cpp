// SPDX-License-Identifier: Apache-2.0
#include "links/pcap_source.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio_ext.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "error.h"
#include "wire/pacing.h"

namespace headrace {
namespace {

constexpr uint32_t kPcapngMagic = 0x0A0D0D0A;
constexpr uint32_t kNanoMagic = 0xa1b23c4d;

}  // namespace

// A file as a FILE* whose position is known, also in a pipe.
class PcapSource::Input {
 public:
  Input(const std::string& path, const std::string& name) : buffer_(kBuffer) {
    descriptor_ = path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0) throw Error(HR_ERROR_FILE, name + ": " + std::strerror(errno));
    while (filled_ < kHeader && fill()) {
    }
    if (failure_ != 0) {
      ::close(descriptor_);
      throw Error(HR_ERROR_FILE, name + ": " + std::strerror(failure_));
    }
  }
  ~Input() { ::close(descriptor_); }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  FILE* stream() {
    stream_ = ::fopencookie(this, "r", {read, nullptr, nullptr, nullptr});
    std::setvbuf(stream_, nullptr, _IOFBF, kBuffer);
    __fsetlocking(stream_, FSETLOCKING_BYCALLER);
    return stream_;
  }

  int descriptor() const { return descriptor_; }

  // Bytes that libpcap has taken: those given to stdio, but for what waits in its buffer.
  uint64_t consumed() const { return given_ - waiting(); }

  // Whether something can be read without waiting, be it the end of the file.
  bool ready() const {
    pollfd input{descriptor_, POLLIN, 0};
    return waiting() != 0 || at_ < filled_ || ::poll(&input, 1, 0) != 0;
  }
  int failure() const { return failure_; }

  // What the file begins with, before anything is consumed.
  uint32_t magic() const {
    uint32_t word = 0;
    if (filled_ >= sizeof word) std::memcpy(&word, buffer_.data(), sizeof word);
    return word;
  }

 private:
  static constexpr size_t kBuffer = 1 << 18;
  static constexpr size_t kHeader = 24;

  // Reads more behind what is there; false at the end of the file or when it can't be read. An interrupt is an error
  // too: the user who waits for a pipe in vain wants to get away.
  bool fill() {
    const ssize_t count = ::read(descriptor_, buffer_.data() + filled_, buffer_.size() - filled_);
    if (count < 0) failure_ = errno;
    if (count <= 0) return false;
    filled_ += static_cast<size_t>(count);
    return true;
  }

  static ssize_t read(void* input, char* data, size_t size) { return static_cast<Input*>(input)->take(data, size); }

  // Bytes in stdio's buffer.
  size_t waiting() const { return static_cast<size_t>(stream_->_IO_read_end - stream_->_IO_read_ptr); }

  // Gives what there is, and waits only where there is nothing.
  ssize_t take(char* data, size_t size) {
    if (at_ == filled_) {
      at_ = filled_ = 0;
      if (!fill()) return 0;
    }
    const size_t part = std::min(size, filled_ - at_);
    std::memcpy(data, buffer_.data() + at_, part);
    at_ += part;
    given_ += part;
    return static_cast<ssize_t>(part);
  }

  int descriptor_;
  FILE* stream_ = nullptr;
  std::vector<uint8_t> buffer_;
  size_t at_ = 0;
  size_t filled_ = 0;
  uint64_t given_ = 0;
  int failure_ = 0;
};

PcapSource::PcapSource(const std::string& path)
    : name_(path == "-" ? "standard input" : path), input_(std::make_unique<Input>(path, name_)) {
  const uint32_t magic = input_->magic();
  const bool nanoseconds = magic == kPcapngMagic || magic == kNanoMagic || magic == __builtin_bswap32(kNanoMagic);

  FILE* stream = input_->stream();
  char reason[PCAP_ERRBUF_SIZE];
  const auto precision = nanoseconds ? PCAP_TSTAMP_PRECISION_NANO : PCAP_TSTAMP_PRECISION_MICRO;
  pcap_t* handle = pcap_fopen_offline_with_tstamp_precision(stream, precision, reason);
  if (handle == nullptr) {
    std::fclose(stream);
    throw Error(HR_ERROR_FILE, name_ + ": " + reason);
  }
  capture_.emplace(handle);
}

PcapSource::~PcapSource() = default;

void PcapSource::read() {
  const uint64_t start = input_->consumed();
  const int result = capture_->read();
  if (result == 1) {
    ++packets_;
    return;
  }
  ended_ = true;
  if (result != PCAP_ERROR_BREAK || input_->failure() != 0) {
    const std::string reason =
        input_->failure() != 0 ? std::strerror(input_->failure()) : pcap_geterr(capture_->handle());
    fault_ = name_ + ": packet " + std::to_string(packets_ + 1) + " at byte " + std::to_string(start) + ": " + reason;
  }
}

Next PcapSource::next(RxFrame& frame) {
  if (!held_ && !ended_) {
    if (!input_->ready()) return Next::kNotYet;
    read();
  }
  held_ = false;
  if (ended_) return Next::kEnd;
  frame = capture_->frame();
  return Next::kFrame;
}

int PcapSource::waits_for() const {
  return ended_ ? -1 : input_->descriptor();
}

std::optional<uint64_t> PcapSource::first_time_ns() {
  if (packets_ == 0 && !ended_) {
    read();
    held_ = !ended_;
  }
  if (!held_) return std::nullopt;
  return Pacing::time_ns(capture_->time());
}

}  // namespace headrace
