// SPDX-License-Identifier: Apache-2.0
// The XDP program that picks packets out of an interface's and redirects them to sockets: a small one of our own, which
// picks all and notes when each came, or the user's.
#pragma once

#include <bpf/libbpf.h>

#include <cstdint>
#include <memory>
#include <string>

#include "links/descriptor.h"

namespace headrace {

class XdpProgram {
 public:
  // `file`: an ELF object with one XDP program and a map `xsks_map`; "": our own, which with `pieces` takes packets in
  // several pieces. Throws Error.
  XdpProgram(std::string shown, const std::string& file, uint32_t queues, bool pieces);

  // Sends what the program picks of a receive queue to a socket.
  void redirect(uint32_t queue, int socket);
  // In native mode if the interface's driver has it, otherwise in generic mode. The program goes with this object, or
  // with the process, however that ends.
  void attach(unsigned interface);
  void detach() { attached_.close(); }

 private:
  struct CloseObject {
    void operator()(bpf_object* object) const { bpf_object__close(object); }
  };

  void load_own(uint32_t queues, bool pieces);
  void load_file(const std::string& file);
  [[noreturn]] void fail(const std::string& what, int reason) const;

  std::string shown_;
  std::unique_ptr<bpf_object, CloseObject> object_;
  Descriptor own_map_;
  Descriptor own_program_;
  int map_ = -1;
  int program_ = -1;
  Descriptor attached_;
};

}  // namespace headrace
