// SPDX-License-Identifier: Apache-2.0
#include "card/events.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/uio.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>

#include "error.h"

namespace headrace {
namespace {

// A descriptor of our own of the same eventfd.
Descriptor copy_of(int descriptor) {
  const std::string shown = "file descriptor " + std::to_string(descriptor);
  Descriptor copy(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  if (!copy.valid()) throw Error(HR_ERROR_USAGE, shown + ": " + std::strerror(errno));
  std::array<char, 64> kind{};
  const std::string link = "/proc/self/fd/" + std::to_string(copy.number());
  const ssize_t length = ::readlink(link.c_str(), kind.data(), kind.size());
  if (length < 0 || std::string(kind.data(), static_cast<size_t>(length)) != "anon_inode:[eventfd]") {
    throw Error(HR_ERROR_USAGE, shown + " is no eventfd");
  }
  return copy;
}

// Takes an eventfd's signals; false: there are none, another reader may have had them. Never waits.
bool take_signals(int event) {
  uint64_t count = 0;
  const iovec into{&count, sizeof count};
  return ::preadv2(event, &into, 1, -1, RWF_NOWAIT) == sizeof count;
}

std::string shown(uint16_t function, uint16_t vector) {
  return "interrupt " + std::to_string(vector) + " of function " + std::to_string(function);
}

}  // namespace

void BoundInterrupts::bind(uint16_t function, uint16_t vector, int descriptor) {
  if (bound_.contains({function, vector})) throw Error(HR_ERROR_USAGE, shown(function, vector) + " is bound already");
  bound_[{function, vector}] = copy_of(descriptor);
}

void BoundInterrupts::unbind(uint16_t function, uint16_t vector) {
  if (bound_.erase({function, vector}) == 0) throw Error(HR_ERROR_USAGE, shown(function, vector) + " is not bound");
}

bool BoundInterrupts::raise(uint16_t function, uint16_t vector) {
  if (bound_.empty()) return false;
  const auto found = bound_.find({function, vector});
  if (found == bound_.end()) return false;
  std::atomic_thread_fence(std::memory_order_release);
  // A counter at its end would block: it is signalled as it is.
  pollfd room{found->second.number(), POLLOUT, 0};
  constexpr uint64_t kOne = 1;
  while (::poll(&room, 1, 0) == 1 && ::write(room.fd, &kOne, sizeof kOne) < 0 && errno == EINTR) continue;
  return true;
}

void BoundDoorbells::bind(int descriptor, hr_register_write write) {
  if (bound_.contains(descriptor)) {
    throw Error(HR_ERROR_USAGE, "file descriptor " + std::to_string(descriptor) + " is bound already");
  }
  Descriptor event = copy_of(descriptor);
  if (!watch_.valid()) watch_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  wanted.data.fd = descriptor;
  if (!watch_.valid() || ::epoll_ctl(watch_.number(), EPOLL_CTL_ADD, event.number(), &wanted) != 0) {
    throw Error(HR_ERROR_FILE, std::string("a doorbell can't be watched: ") + std::strerror(errno));
  }
  bound_[descriptor] = {std::move(event), write};
}

void BoundDoorbells::unbind(int descriptor) {
  const auto found = bound_.find(descriptor);
  if (found == bound_.end()) {
    throw Error(HR_ERROR_USAGE, "file descriptor " + std::to_string(descriptor) + " is not bound to a doorbell");
  }
  // The eventfd lives on in others' descriptors: closing ours would not take it out.
  ::epoll_ctl(watch_.number(), EPOLL_CTL_DEL, found->second.event.number(), nullptr);
  bound_.erase(found);
}

void BoundDoorbells::take(std::vector<hr_register_write>& writes) {
  std::vector<epoll_event> signalled(bound_.size());
  const int count = ::epoll_wait(watch_.number(), signalled.data(), static_cast<int>(signalled.size()), 0);
  for (int n = 0; n < count; ++n) {
    const Doorbell& doorbell = bound_.at(signalled[static_cast<size_t>(n)].data.fd);
    if (take_signals(doorbell.event.number())) writes.push_back(doorbell.write);
  }
  std::atomic_thread_fence(std::memory_order_acquire);
}

}  // namespace headrace
