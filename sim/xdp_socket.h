// An AF_XDP socket in copy mode: the kernel puts the packets of one receive queue into memory of ours (its UMEM).
#pragma once

#include <xdp/xsk.h>

#include <cstdint>
#include <memory>
#include <string>

namespace headrace {

class XdpSocket {
 public:
  static constexpr uint32_t kChunk = 4096;  // of memory for a packet; the kernel keeps 256 bytes of it free before it

  // `memory` is whole pages. Throws Error.
  XdpSocket(const std::string& shown, const std::string& interface, uint32_t queue, uint8_t* memory, size_t size);

  // The next packet, if there is one; its memory is the caller's until release().
  bool receive(uint8_t*& data, uint32_t& length);
  // Gives back the chunk in which `data` lies.
  void release(const uint8_t* data);

  int descriptor() const { return xsk_socket__fd(socket_.get()); }
  uint64_t dropped() const;
  // Why the socket gets nothing any more; 0 while it does.
  int error() const;

 private:
  struct Delete {
    void operator()(xsk_umem* umem) const { xsk_umem__delete(umem); }
    void operator()(xsk_socket* socket) const { xsk_socket__delete(socket); }
  };

  void give(uint64_t chunk);

  uint8_t* memory_;
  xsk_ring_prod fill_{};
  xsk_ring_cons completion_{};
  xsk_ring_cons received_{};
  std::unique_ptr<xsk_umem, Delete> umem_;
  std::unique_ptr<xsk_socket, Delete> socket_;
};

}  // namespace headrace
