// SPDX-License-Identifier: Apache-2.0
// An AF_XDP socket in copy mode: the kernel puts the packets of one receive queue into memory of ours (its UMEM).
#pragma once

#include <xdp/xsk.h>

#include <cstdint>
#include <memory>
#include <string>

namespace headrace {

class XdpSocket {
 public:
  static constexpr uint32_t kHeadroom = 256;  // that the kernel keeps free before the packet in each chunk of memory

  struct Piece {
    uint8_t* data;
    uint32_t length;
    bool more;  // of the packet follows
  };

  // `memory` is whole pages; with `pieces`, packets that are longer than a chunk come in several. Throws Error.
  XdpSocket(const std::string& shown, const std::string& interface, uint32_t queue, uint8_t* memory, size_t size,
            uint32_t chunk, bool pieces);

  // The next piece of a packet, if there is one; its memory is the caller's until release().
  bool receive(Piece& piece);
  // Gives back the chunk in which `data` lies.
  void release(const uint8_t* data);

  // Pieces that are there.
  uint32_t waiting() const { return __atomic_load_n(received_.producer, __ATOMIC_ACQUIRE) - received_.cached_cons; }
  int descriptor() const { return xsk_socket__fd(socket_.get()); }
  uint64_t dropped() const;
  // Why the socket gets nothing any more; 0 while it does.
  int error() const;

 private:
  struct Delete {
    void operator()(xsk_umem* umem) const { xsk_umem__delete(umem); }
    void operator()(xsk_socket* socket) const { xsk_socket__delete(socket); }
  };

  void give(uint64_t at);

  uint8_t* memory_;
  uint32_t chunk_;
  xsk_ring_prod fill_{};
  xsk_ring_cons completion_{};
  xsk_ring_cons received_{};
  std::unique_ptr<xsk_umem, Delete> umem_;
  std::unique_ptr<xsk_socket, Delete> socket_;
};

}  // namespace headrace
