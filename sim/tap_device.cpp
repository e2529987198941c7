#include "tap_device.h"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "error.h"
#include "interface.h"

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

TapDevice::TapDevice(const std::string& name, std::string shown)
    : name_(name), shown_(std::move(shown)), device_(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC)) {
  ifreq request{};
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  if (!device_.valid() || ::ioctl(device_.number(), TUNSETIFF, &request) != 0) fail(shown_, errno);
  const Interface interface(name);
  if (const int reason = interface.set_queue_length(kQueue)) fail(shown_, reason);
  if (const int reason = interface.set_up()) fail(shown_, reason);
  dropped_before_ = dropped_now();
}

void TapDevice::set_mtu(uint32_t mtu) {
  if (const int reason = Interface(name_).set_mtu(mtu)) fail(shown_ + ",mtu=" + std::to_string(mtu), reason);
}

ssize_t TapDevice::receive(std::span<uint8_t> frame) const {
  return ::read(device_.number(), frame.data(), frame.size());
}

ssize_t TapDevice::send(std::span<const uint8_t> frame) const {
  return ::write(device_.number(), frame.data(), frame.size());
}

// From /proc and not from /sys, which may be that of another network namespace.
uint64_t TapDevice::dropped_now() const {
  std::ifstream interfaces("/proc/net/dev");
  for (std::string line; std::getline(interfaces, line);) {
    const size_t start = std::min(line.find_first_not_of(' '), line.size());
    const size_t colon = line.find(':', start);
    if (colon == std::string::npos || line.substr(start, colon - start) != name_) continue;
    // Eight counters of what the interface receives, then packets, bytes, errors and drops of what it sends.
    std::istringstream counters(line.substr(colon + 1));
    uint64_t value = 0;
    for (int n = 0; n < 12; ++n) counters >> value;
    return value;
  }
  return dropped_before_;
}

}  // namespace headrace
