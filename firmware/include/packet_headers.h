// SPDX-License-Identifier: Apache-2.0
// Headers of packets. Their fields are in network byte order: compare with bswap_16(constant), and load 32-bit fields
// that you calculate with through load_be32 of headrace.h. Nothing is padded: sizes are those on the wire.
#ifndef PACKET_HEADERS_H
#define PACKET_HEADERS_H

#define ETH_ALEN 6

struct eth_header {
  unsigned char dest_mac[ETH_ALEN];
  unsigned char src_mac[ETH_ALEN];
  unsigned short type;
};

// Behind the type ETH_TYPE_VLAN
struct vlan_header {
  unsigned short tci;
  unsigned short type;
};

struct arp_header {
  unsigned short hardware;
  unsigned short type;
  unsigned char hardware_length;
  unsigned char protocol_length;
  unsigned short operation;
  unsigned char sender_mac[ETH_ALEN];
  unsigned char sender_ip[4];
  unsigned char target_mac[ETH_ALEN];
  unsigned char target_ip[4];
};

struct ipv4_header {
  unsigned char version_ihl;
  unsigned char dscp_ecn;
  unsigned short total_length;
  unsigned short id;
  unsigned short flags_fragment_offset;
  unsigned char ttl;
  unsigned char protocol;
  unsigned short hdr_sum;
  unsigned long src_ip;
  unsigned long dest_ip;
};

struct ipv6_header {
  unsigned long version_class_flow;
  unsigned short payload_length;
  unsigned char next_header;
  unsigned char hop_limit;
  unsigned char src_ip[16];
  unsigned char dest_ip[16];
};

struct icmp_header {
  unsigned char type;
  unsigned char code;
  unsigned short checksum;
  unsigned short id;
  unsigned short sequence;
};

struct tcp_header {
  unsigned short src_port;
  unsigned short dest_port;
  unsigned long seq;
  unsigned long ack;
  unsigned short flags;
  unsigned short window;
  unsigned short checksum;
  unsigned short urgent_ptr;
};

struct udp_header {
  unsigned short src_port;
  unsigned short dest_port;
  unsigned short length;
  unsigned short checksum;
};

#define ETH_HEADER_SIZE  sizeof(struct eth_header)
#define VLAN_HEADER_SIZE sizeof(struct vlan_header)
#define ARP_HEADER_SIZE  sizeof(struct arp_header)
#define IPV4_HEADER_SIZE sizeof(struct ipv4_header)
#define IPV6_HEADER_SIZE sizeof(struct ipv6_header)
#define ICMP_HEADER_SIZE sizeof(struct icmp_header)
#define TCP_HEADER_SIZE  sizeof(struct tcp_header)
#define UDP_HEADER_SIZE  sizeof(struct udp_header)

// Types and protocols as they lie in a packet, read by the core
#define ETH_TYPE_IPV4 0x0008
#define ETH_TYPE_ARP  0x0608
#define ETH_TYPE_VLAN 0x0081
#define ETH_TYPE_IPV6 0xDD86
#define IP_PROTO_ICMP 1
#define IP_PROTO_TCP  6
#define IP_PROTO_UDP  17

#endif
