// SPDX-License-Identifier: Apache-2.0
#include "links/tap_device.h"

#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>

#include "error.h"
#include "links/interface.h"

namespace headrace {
namespace {

[[noreturn]] void fail(const std::string& shown, int reason) {
  const bool forbidden = reason == EPERM || reason == EACCES;
  throw Error(HR_ERROR_FILE, shown + ": " +
                                 (forbidden         ? "not permitted: a TAP device takes root or CAP_NET_ADMIN"
                                  : reason == EBUSY ? "another program has this device"
                                                    : std::strerror(reason)));
}

}  // namespace

TapDevice::TapDevice(const std::string& name, std::string shown, bool offload)
    : name_(name),
      shown_(std::move(shown)),
      offload_(offload),
      device_(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC)) {
  ifreq request{};
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_flags = static_cast<short>(IFF_TAP | IFF_NO_PI | (offload ? IFF_VNET_HDR : 0));
  if (!device_.valid() || ::ioctl(device_.number(), TUNSETIFF, &request) != 0) fail(shown_, errno);
  if (offload) {
    const int header = kOffloadHeader;
    const int little_endian = 1;
    constexpr unsigned long kOffered = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN;
    if (::ioctl(device_.number(), TUNSETVNETHDRSZ, &header) != 0 ||
        ::ioctl(device_.number(), TUNSETVNETLE, &little_endian) != 0 ||
        ::ioctl(device_.number(), TUNSETOFFLOAD, kOffered) != 0) {
      fail(shown_, errno);
    }
  }
  const Interface interface(name);
  if (const int reason = interface.set_queue_length(kQueue)) fail(shown_, reason);
  if (const int reason = interface.set_up()) fail(shown_, reason);
  dropped_before_ = dropped_now();
}

// One that the user has made stays, for programs that may not know of offload.
TapDevice::~TapDevice() {
  if (offload_) ::ioctl(device_.number(), TUNSETOFFLOAD, 0UL);
}

void TapDevice::set_mtu(uint32_t mtu) {
  if (const int reason = Interface(name_).set_mtu(mtu)) fail(shown_ + ",mtu=" + std::to_string(mtu), reason);
}

ssize_t TapDevice::receive(std::span<uint8_t> frame) const {
  return ::read(device_.number(), frame.data(), frame.size());
}

ssize_t TapDevice::send(std::span<const uint8_t> frame) const {
  if (!offload_) return ::write(device_.number(), frame.data(), frame.size());
  uint8_t header[kOffloadHeader] = {};
  const iovec parts[] = {{header, sizeof header}, {const_cast<uint8_t*>(frame.data()), frame.size()}};
  return ::writev(device_.number(), parts, 2);
}

// The kernel takes frames from us while the interface is up; this holds where a name of the interface doesn't.
bool TapDevice::up() const {
  pollfd device{device_.number(), POLLOUT, 0};
  return ::poll(&device, 1, 0) == 1 && (device.revents & POLLOUT) != 0;
}

std::string TapDevice::name() const {
  ifreq answer{};
  return ::ioctl(device_.number(), TUNGETIFF, &answer) == 0 ? answer.ifr_name : "";
}

// As `ip -s link` asks; not from /sys, which may be that of another network namespace.
uint64_t TapDevice::dropped_now() const {
  struct {
    nlmsghdr header;
    if_stats_msg which;
  } request{};
  request.header = {sizeof request, RTM_GETSTATS, NLM_F_REQUEST, 0, 0};
  request.which.ifindex = ::if_nametoindex(name().c_str());
  request.which.filter_mask = IFLA_STATS_FILTER_BIT(IFLA_STATS_LINK_64);
  const Descriptor kernel(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!kernel.valid() || ::send(kernel.number(), &request, sizeof request, 0) < 0) return dropped_before_;
  struct {
    nlmsghdr header;
    if_stats_msg which;
    rtattr attribute;
    rtnl_link_stats64 counters;
  } answer{};
  const ssize_t size = ::recv(kernel.number(), &answer, sizeof answer, MSG_TRUNC);
  const bool found = size > 0 && answer.header.nlmsg_type == RTM_NEWSTATS;
  return found && answer.attribute.rta_type == IFLA_STATS_LINK_64 ? answer.counters.tx_dropped : dropped_before_;
}

}  // namespace headrace
