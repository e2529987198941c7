// SPDX-License-Identifier: Apache-2.0
// A network interface's settings, as netdevice(7) has them.
#pragma once

#include <linux/ethtool.h>

#include <cstdint>
#include <string>

#include "links/descriptor.h"

namespace headrace {

class Interface {
 public:
  explicit Interface(const std::string& name);

  // False also when there is no such interface (any more).
  bool up() const;
  // What is the matter with it; nothing while it is up. The kernel takes an interface down before it deletes it: the
  // answer waits until that is over.
  std::string why_down() const;
  // As `ethtool -l` shows them; 1 where the driver doesn't say.
  uint32_t receive_queues() const;
  uint32_t mtu() const;  // 0: there is no such interface

  // Give 0 or an errno.
  int set_up() const;
  int set_mtu(uint32_t mtu) const;
  int set_queue_length(uint32_t frames) const;

 private:
  int ask(ethtool_channels& channels) const;

  std::string name_;
  Descriptor any_;  // a socket, which the kernel wants to be asked by
};

}  // namespace headrace
