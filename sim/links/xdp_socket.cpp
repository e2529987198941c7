// SPDX-License-Identifier: Apache-2.0
#include "links/xdp_socket.h"

#include <linux/if_xdp.h>
#include <sys/socket.h>

#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "error.h"

namespace headrace {
namespace {

// The kernel frees a queue some time after the socket that had it was closed.
constexpr int kTries = 50;
constexpr std::chrono::milliseconds kPause{10};

// Of Linux 6.6 and later: XDP_USE_SG of a socket, XDP_PKT_CONTD of a descriptor.
constexpr int kUsePieces = 1 << 4;
constexpr uint32_t kContinued = 1 << 0;

[[noreturn]] void fail(const std::string& shown, uint32_t queue, int reason) {
  std::string why = std::strerror(reason);
  if (reason == EPERM) why = "not permitted: XDP takes root, or CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW";
  if (reason == ENETDOWN) why = "the interface is down";
  if (reason == EBUSY) why = "another program has queue " + std::to_string(queue);
  if (reason == ENOBUFS) why = "the limit of locked memory is too low for its buffers (ulimit -l)";
  throw Error(HR_ERROR_FILE, shown + ": " + why);
}

}  // namespace

XdpSocket::XdpSocket(const std::string& shown, const std::string& interface, uint32_t queue, uint8_t* memory,
                     size_t size, uint32_t chunk, bool pieces)
    : memory_(memory), chunk_(chunk) {
  const size_t chunks = size / chunk;
  const auto entries = static_cast<uint32_t>(std::bit_ceil(chunks));  // rings as large as that are never full
  const xsk_umem_config umem_config{entries, 1, chunk, 0, 0};
  xsk_umem* umem = nullptr;
  if (const int status = xsk_umem__create(&umem, memory, chunks * chunk, &fill_, &completion_, &umem_config)) {
    fail(shown, queue, -status);
  }
  umem_.reset(umem);

  xsk_socket_config config{};
  config.rx_size = entries;
  config.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD;
  config.bind_flags = static_cast<uint16_t>(XDP_COPY | (pieces ? kUsePieces : 0));
  xsk_socket* socket = nullptr;
  int status = -EBUSY;
  for (int tries = 0; status == -EBUSY && tries < kTries; ++tries) {
    if (tries != 0) std::this_thread::sleep_for(kPause);
    status = xsk_socket__create(&socket, interface.c_str(), queue, umem, &received_, nullptr, &config);
  }
  if (status != 0) fail(shown, queue, -status);
  socket_.reset(socket);
  for (size_t n = 0; n < chunks; ++n) give(n * chunk);
}

void XdpSocket::give(uint64_t at) {
  uint32_t entry;
  xsk_ring_prod__reserve(&fill_, 1, &entry);
  *xsk_ring_prod__fill_addr(&fill_, entry) = at;
  xsk_ring_prod__submit(&fill_, 1);
}

bool XdpSocket::receive(Piece& piece) {
  uint32_t at;
  if (xsk_ring_cons__peek(&received_, 1, &at) == 0) return false;
  const xdp_desc* found = xsk_ring_cons__rx_desc(&received_, at);
  piece = {memory_ + found->addr, found->len, (found->options & kContinued) != 0};
  xsk_ring_cons__release(&received_, 1);
  return true;
}

void XdpSocket::release(const uint8_t* data) {
  give(static_cast<uint64_t>(data - memory_) / chunk_ * chunk_);
}

uint64_t XdpSocket::dropped() const {
  xdp_statistics statistics{};
  socklen_t size = sizeof statistics;
  if (::getsockopt(descriptor(), SOL_XDP, XDP_STATISTICS, &statistics, &size) != 0) return 0;
  return statistics.rx_dropped + statistics.rx_ring_full;
}

int XdpSocket::error() const {
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(descriptor(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

}  // namespace headrace
