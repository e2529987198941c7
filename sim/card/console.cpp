// SPDX-License-Identifier: Apache-2.0
#include "card/console.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <termios.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "error.h"

namespace headrace {
namespace {

constexpr uint32_t kCores = 256;
constexpr size_t kMostUnsent = 1024;
constexpr std::string_view kFile = "file:";

void check_core(uint32_t core) {
  if (core >= kCores) throw Error(HR_ERROR_USAGE, "no core " + std::to_string(core) + " has a console: 0 to 255 may");
}

Error failed(const std::string& name) {
  return Error(HR_ERROR_FILE, name + ": " + std::strerror(errno));
}

}  // namespace

Console::Console(const Pins& pins) : pins_(pins) {
  if (there()) *pins_.console_tx_ready = 1;
}

void Console::check() const {
  if (!there()) throw Error(HR_ERROR_USAGE, "the card has no console");
}

void Console::attach(const hr_console& request) {
  check();
  Connection made = connect(request);
  close();
  for (std::string& kept : kept_) kept.clear();
  to_ = std::move(made);
}

Console::Connection Console::connect(const hr_console& request) {
  check_core(request.core);
  const std::string link = request.link;
  const std::string input = request.input == nullptr ? "" : request.input;
  Connection to;
  to.keeps = link == "memory";
  to.prefix = request.prefix != 0;
  to.input_core = static_cast<uint8_t>(request.core);
  if (input == "-") {
    to.input_name = "standard input";
    to.input = Descriptor(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
  } else if (input.starts_with(kFile)) {
    to.input_name = input.substr(kFile.size());
    to.input = Descriptor(::open(to.input_name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  } else if (!input.empty()) {
    throw Error(HR_ERROR_USAGE, "'" + input + "' is no input of a console: use file:NAME or - (standard input)");
  }
  if (!input.empty() && !to.input.valid()) throw failed(to.input_name);
  if (link == "-" || link.starts_with(kFile)) {
    to.file = std::make_unique<RecordFile>(link == "-" ? link : link.substr(kFile.size()));
  } else if (link == "pty:") {
    open_terminal(to);
  } else if (!to.keeps) {
    throw Error(HR_ERROR_USAGE, "'" + link + "' is no console: use file:NAME, - (standard output), pty: or memory");
  }
  return to;
}

void Console::open_terminal(Connection& to) {
  to.terminal = Descriptor(::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  std::array<char, 64> name{};
  const int master = to.terminal.number();
  if (master < 0 || ::grantpt(master) != 0 || ::unlockpt(master) != 0 ||
      ::ptsname_r(master, name.data(), name.size()) != 0) {
    throw failed("pty:");
  }
  to.name = name.data();
  to.line = Descriptor(::open(to.name.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  termios settings{};
  if (!to.line.valid() || ::tcgetattr(to.line.number(), &settings) != 0) throw failed(to.name);
  ::cfmakeraw(&settings);  // bytes as they are, and no echo
  if (::tcsetattr(to.line.number(), TCSANOW, &settings) != 0) throw failed(to.name);
  if (to.input.valid()) return;
  to.input_name = to.name;
  to.input = Descriptor(::fcntl(master, F_DUPFD_CLOEXEC, 0));
}

void Console::write(uint32_t core, std::span<const uint8_t> bytes) {
  check();
  check_core(core);
  for (const uint8_t value : bytes) waiting_.push_back({static_cast<uint8_t>(core), value});
}

size_t Console::read(uint32_t core, std::span<uint8_t> bytes) {
  check();
  check_core(core);
  if (!to_.keeps) throw Error(HR_ERROR_USAGE, "the console's output is not kept: its link is not memory");
  std::string& kept = kept_[core];
  const size_t count = std::min(bytes.size(), kept.size());
  std::copy_n(kept.begin(), count, bytes.begin());
  kept.erase(0, count);
  return count;
}

void Console::drive() {
  *pins_.console_rx_valid = !waiting_.empty();
  if (waiting_.empty()) return;
  *pins_.console_rx_core = waiting_.front().core;
  *pins_.console_rx_data = waiting_.front().value;
}

bool Console::sample() {
  const bool written = *pins_.console_tx_valid;
  const bool taken = *pins_.console_rx_valid && *pins_.console_rx_ready;
  if (written) take({*pins_.console_tx_core, *pins_.console_tx_data});
  if (taken) waiting_.pop_front();
  return written || taken;
}

void Console::take(Byte byte) {
  const char value = static_cast<char>(byte.value);
  if (!to_.keeps && !to_.prefix) {
    put({&value, 1});
    return;
  }
  kept_[byte.core] += value;
  if (!to_.keeps && value == '\n') put_line(byte.core);
}

// Lines go out whole, so that those of several cores don't mix.
void Console::put_line(unsigned core) {
  std::string& line = kept_[core];
  if (!line.ends_with('\n')) line += '\n';
  put("core " + std::to_string(core) + ": " + line);
  line.clear();
}

void Console::put(std::string_view text) {
  if (to_.file) {
    to_.file->append(text.data(), text.size());
    to_.file->commit();
  } else if (to_.terminal.valid()) {
    unsent_ += text;
    if (unsent_.size() >= kMostUnsent) flush();
  }
}

bool Console::fetch() {
  pollfd ready{to_.input.number(), POLLIN, 0};
  if (ready.fd < 0 || ::poll(&ready, 1, 0) <= 0) return false;
  std::array<uint8_t, 4096> bytes;
  const ssize_t count = ::read(ready.fd, bytes.data(), bytes.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (count < 0) {
    const Error error = failed(to_.input_name);
    stop();
    throw error;
  }
  if (count == 0) stop();
  write(to_.input_core, {bytes.data(), static_cast<size_t>(count)});
  return count > 0;
}

// What a terminal has no room for is lost: nobody reads it, and the card isn't held up.
void Console::flush() {
  if (to_.file) to_.file->flush();
  if (unsent_.empty()) return;
  const ssize_t count = ::write(to_.terminal.number(), unsent_.data(), unsent_.size());
  lost_ += unsent_.size() - static_cast<size_t>(std::max<ssize_t>(count, 0));
  unsent_.clear();
}

void Console::close() {
  if (to_.keeps) return;
  for (unsigned core = 0; core < kCores; ++core) {
    if (!kept_[core].empty()) put_line(core);
  }
  flush();
  const Connection done = std::exchange(to_, {});
  if (done.file) done.file->close();
}

}  // namespace headrace
