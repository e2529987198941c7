// SPDX-License-Identifier: Apache-2.0
#include "links/xdp_program.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <linux/if_link.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "error.h"

namespace headrace {
namespace {

constexpr char kMap[] = "xsks_map";

// An eBPF instruction. The constructors' names are those of the kernel's own macros.
constexpr bpf_insn instruction(int code, int destination, int source, int offset, int immediate) {
  return {static_cast<uint8_t>(code), static_cast<uint8_t>(destination), static_cast<uint8_t>(source),
          static_cast<int16_t>(offset), immediate};
}
constexpr bpf_insn move(int to, int from) {
  return instruction(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0);
}
constexpr bpf_insn move_value(int to, int value) {
  return instruction(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value);
}
constexpr bpf_insn add_value(int to, int value) {
  return instruction(BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, value);
}
constexpr bpf_insn load_word(int to, int from, size_t offset) {
  return instruction(BPF_LDX | BPF_MEM | BPF_W, to, from, static_cast<int>(offset), 0);
}
constexpr bpf_insn call(int helper) {
  return instruction(BPF_JMP | BPF_CALL, 0, 0, 0, helper);
}

}  // namespace

XdpProgram::XdpProgram(std::string shown, const std::string& file, uint32_t queues, bool pieces)
    : shown_(std::move(shown)) {
  libbpf_set_print(nullptr);  // errors are told by exceptions
  if (file.empty()) {
    load_own(queues, pieces);
  } else {
    load_file(file);
  }
}

// Every packet goes to the socket of its queue, with the time (CLOCK_MONOTONIC) in 8 bytes of metadata before it; where
// the driver has no room for metadata, without. A queue without a socket keeps its packets.
void XdpProgram::load_own(uint32_t queues, bool pieces) {
  own_map_ = Descriptor(bpf_map_create(BPF_MAP_TYPE_XSKMAP, kMap, sizeof(int), sizeof(int), queues, nullptr));
  if (!own_map_.valid()) fail("", errno);
  const bpf_insn program[] = {
      move(BPF_REG_6, BPF_REG_1),
      move_value(BPF_REG_2, -8),
      call(BPF_FUNC_xdp_adjust_meta),
      instruction(BPF_JMP | BPF_JNE | BPF_K, BPF_REG_0, 0, 7, 0),  // no room
      call(BPF_FUNC_ktime_get_ns),
      load_word(BPF_REG_1, BPF_REG_6, offsetof(xdp_md, data_meta)),
      load_word(BPF_REG_2, BPF_REG_6, offsetof(xdp_md, data)),
      move(BPF_REG_3, BPF_REG_1),
      add_value(BPF_REG_3, 8),
      instruction(BPF_JMP | BPF_JGT | BPF_X, BPF_REG_3, BPF_REG_2, 1, 0),  // never, but the verifier asks
      instruction(BPF_STX | BPF_MEM | BPF_DW, BPF_REG_1, BPF_REG_0, 0, 0),
      load_word(BPF_REG_2, BPF_REG_6, offsetof(xdp_md, rx_queue_index)),
      instruction(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, own_map_.number()),
      instruction(0, 0, 0, 0, 0),
      move_value(BPF_REG_3, XDP_PASS),
      call(BPF_FUNC_redirect_map),
      instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
  };
  LIBBPF_OPTS(bpf_prog_load_opts, options, .prog_flags = pieces ? BPF_F_XDP_HAS_FRAGS : 0u);
  own_program_ =
      Descriptor(bpf_prog_load(BPF_PROG_TYPE_XDP, "headrace", "Apache-2.0", program, std::size(program), &options));
  if (!own_program_.valid()) fail("", errno);
  map_ = own_map_.number();
  program_ = own_program_.number();
}

void XdpProgram::load_file(const std::string& file) {
  object_.reset(bpf_object__open_file(file.c_str(), nullptr));
  if (!object_) fail(file, errno);
  bpf_program* found = nullptr;
  bpf_program* program;
  bpf_object__for_each_program(program, object_.get()) {
    if (bpf_program__type(program) != BPF_PROG_TYPE_XDP) continue;
    if (found != nullptr) throw Error(HR_ERROR_FILE, shown_ + ": " + file + " has more than one XDP program");
    found = program;
  }
  if (found == nullptr) throw Error(HR_ERROR_FILE, shown_ + ": " + file + " has no XDP program");
  const bpf_map* map = bpf_object__find_map_by_name(object_.get(), kMap);
  if (map == nullptr || bpf_map__type(map) != BPF_MAP_TYPE_XSKMAP) {
    throw Error(HR_ERROR_FILE, shown_ + ": " + file + " has no map " + kMap + " of type XSKMAP");
  }
  if (const int status = bpf_object__load(object_.get())) fail(file, -status);
  map_ = bpf_map__fd(map);
  program_ = bpf_program__fd(found);
}

void XdpProgram::redirect(uint32_t queue, int socket) {
  if (bpf_map_update_elem(map_, &queue, &socket, BPF_ANY) != 0) {
    fail(std::string(kMap) + " entry " + std::to_string(queue), errno);
  }
}

void XdpProgram::attach(unsigned interface) {
  for (const uint32_t mode : {XDP_FLAGS_DRV_MODE, XDP_FLAGS_SKB_MODE}) {
    LIBBPF_OPTS(bpf_link_create_opts, options, .flags = mode);
    attached_ = Descriptor(bpf_link_create(program_, static_cast<int>(interface), BPF_XDP, &options));
    if (attached_.valid()) return;
    if (errno == EBUSY || errno == EEXIST) {
      throw Error(HR_ERROR_FILE, shown_ + ": another XDP program is attached to this interface");
    }
    if (errno == EPERM) break;
  }
  fail("attaching the program", errno);
}

void XdpProgram::fail(const std::string& what, int reason) const {
  if (reason == EPERM || reason == EACCES) {
    throw Error(HR_ERROR_FILE, shown_ + ": not permitted: XDP takes root, or CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW");
  }
  char why[128];
  libbpf_strerror(reason, why, sizeof why);
  throw Error(HR_ERROR_FILE, shown_ + ": " + (what.empty() ? "" : what + ": ") + why);
}

}  // namespace headrace
