"""Filter expressions as people write them; each compiles for Ethernet with libpcap 1.10.3 and without a name server."""

# The two examples of the FFShark paper: Listing 1 and Table III.
TCP_SOURCE_100 = "tcp src port 100"
HTTP_WITH_DATA = "tcp port 80 and (((ip[2:2] - ((ip[0]&0xf)<<2)) - ((tcp[12]&0xf0)>>2)) != 0)"

_EVERYTHING_AND_SIZE = """

len > 0
less 64
less 128
greater 1500
greater 9000
len >= 60 and len <= 64
len = 60
len > 262143
len & 1 = 1
len % 4 = 0
len / 100 = 1
len * 2 > 200
len - 14 < 46
len << 1 > 3000
len >> 4 = 4
len ^ 60 = 0
len | 3 = 63
"""

_LINK = """
ether host 02:00:00:00:00:01
ether src 02:00:00:00:00:02
ether dst 02:00:00:00:00:03
ether broadcast
ether multicast
broadcast
multicast
not broadcast and not multicast
ether[0] & 1 = 0 and ip[16] >= 224
ether proto 0x88cc
ether proto 0x0800
ether proto \\arp
ether proto \\ip6
ether[12:2] > 1500
ether[12:2] <= 1500
ether[6:4] = 0x02000000
ether dst 01:80:c2:00:00:00
ether src host 02:00:00:00:00:01 and not ether dst host ff:ff:ff:ff:ff:ff
arp
rarp
arp host 10.0.0.1
arp dst net 10.0.0.0/8
arp[6:2] = 1
arp[6:2] == 2 and arp src host 192.168.1.1
ether[20:2] == 1
stp
llc
llc i
llc s
llc u
llc rr
llc ui
iso
clnp
esis
isis
netbeui
ipx
atalk
aarp
lat
moprc
mopdl
decnet
"""

_TAGS = """
vlan
vlan 10
vlan 10 and ip
vlan and vlan
vlan 100 and vlan 200
vlan 100 and vlan 200 and tcp port 80
vlan and icmp
vlan and ip6
(vlan and ip) or ip
not vlan
ether[14:2] & 0xfff = 10
tcp or (vlan and tcp)
vlan and (arp or udp port 53)
mpls
mpls 1000
mpls 1000 and mpls 2000
mpls and ip
mpls 100 and host 10.0.0.1
mpls and mpls and tcp
pppoed
pppoes
pppoes and ip
pppoes 17 and tcp
pppoes and ip6
vlan 30 and pppoes and udp
"""

_NETWORK = """
ip
ip6
not ip
ip or ip6
ip host 10.0.0.1
host 10.0.0.1
host 10.0.0.1 or host 10.0.0.2
src host 192.168.1.1
dst host 192.168.1.255
src host 10.0.0.1 and dst host 10.0.0.2
host 10.0.0.1 and not host 10.0.0.2
not host 10.0.0.1 and not host 10.0.0.2
net 10
net 10.0.0.0/8
net 192.168.1.0 mask 255.255.255.0
src net 172.16.0.0/12
dst net 192.168.0.0/16
net 10.0.0.0/31
net 0.0.0.0/0
src net 10.0.0.0/8 and not dst net 10.0.0.0/8
ip multicast
ip broadcast
ip6 multicast
ip6 host 2001:db8::1
host 2001:db8::2
ip6 net 2001:db8::/32
src net 2001:db8:1::/48
dst host ff02::1
ip6 src host fe80::1 and ip6 dst net ff00::/8
ip proto 1
ip proto 6
ip proto 89
ip proto 47 or ip proto 50
ip6 proto 17
ip6 proto 58
ip6 proto 44
proto 17
proto 132
ip protochain 6
ip protochain 17
ip6 protochain 6
ip6 protochain 17
ip6 protochain 58
protochain 6
ip6 protochain 6 and ip6 host 2001:db8::1
ip[0] & 0xf != 5
ip[0] & 0xf0 = 0x40
ip[0] = 0x45
ip[6:2] & 0x1fff != 0
ip[6:2] & 0x2000 != 0
ip[6] & 0x40 != 0
ip[8] < 5
ip[8] >= 64 and ip[8] <= 128
ip[1] & 0xfc = 0xb8
ip[2:2] > 576
ip[2:2] - ((ip[0] & 0xf) << 2) = 8
ip[2:2] / 2 > 300
ip[2:2] * 2 > 2000
ip[2:2] % 8 = 0
ip[12:4] = 0x0a000001
ip[16:4] & 0xff000000 = 0xe0000000
ip[4:2] ^ ip[2:2] = 0
-ip[8] < 0xffffff00
ip[0] + ip[1] + ip[2] > 100
ip[ip[0] & 0xf] = 0
ip6[6] = 17
ip6[0:4] & 0xfffff != 0
ip6[7] = 255
ip6[40:2] = 53
ip6[4:2] > 1000
"""

_TRANSPORT = """
tcp
udp
icmp
icmp6
sctp
igmp
igrp
pim
vrrp
carp
ah
esp
tcp port 80
tcp src port 443
tcp dst port 22
port 53
udp port 53
src port 53
dst port 53
udp src port 67 and udp dst port 68
udp port 67 or udp port 68
sctp port 36412
portrange 1-1023
tcp portrange 20-25
udp dst portrange 33434-33534
src portrange 49152-65535
not port 22
tcp port 80 or tcp port 443 or tcp port 8080
tcp and not port 80 and not port 443
tcp[tcpflags] & (tcp-syn|tcp-fin) != 0
tcp[tcpflags] & tcp-syn != 0 and tcp[tcpflags] & tcp-ack = 0
tcp[tcpflags] == tcp-ack
tcp[tcpflags] & (tcp-rst|tcp-push|tcp-urg) != 0
tcp[13] = 0x12
tcp[13] & 8 != 0
tcp[0:2] > 1023
tcp[2:2] = 80
tcp[14:2] < 1000
tcp[12] & 0xf0 > 0x50
tcp[(tcp[12] & 0xf0) >> 2:4] = 0x47455420
tcp[((tcp[12:1] & 0xf0) >> 2):4] = 0x48545450
tcp[4:4] & 0xff = 0
tcp[20:4] >> 24 = 0x16
udp[4:2] > 512
udp[8:2] & 0x8000 != 0
udp[10] & 0x80 = 0
udp[6:2] = 0
udp port 4789 and udp[8] & 8 != 0
icmp[icmptype] = icmp-echo
icmp[icmptype] == icmp-echoreply or icmp[icmptype] == icmp-unreach
icmp[icmptype] != icmp-echo and icmp[icmptype] != icmp-echoreply
icmp[icmpcode] = 1
icmp6[icmp6type] = icmp6-echo
icmp6[icmp6type] == icmp6-neighborsolicit or icmp6[icmp6type] == icmp6-neighboradvert
icmp6[0] = 134
host 10.0.0.1 and (port 80 or 443)
host 10.0.0.1 and tcp and port 80
src host 10.0.0.1 and (tcp port 80 or udp port 53)
ip host 10.0.0.1 and not (tcp port 22 or icmp)
tcp and host 2001:db8::1
ip6 and tcp dst port 80
ip and (tcp or udp) and greater 200 and not net 192.168.1.0/24
(tcp or udp) and not (portrange 0-1023)
(src net 10.0.0.0/8 and dst net 192.168.0.0/16) or (src net 192.168.0.0/16 and dst net 10.0.0.0/8)
geneve
geneve 0x10 and ip
geneve and tcp port 80
"""

EXPRESSIONS: tuple[str, ...] = (
    TCP_SOURCE_100,
    HTTP_WITH_DATA,
    "",
    *(
        line
        for group in (_EVERYTHING_AND_SIZE, _LINK, _TAGS, _NETWORK, _TRANSPORT)
        for line in group.splitlines()
        if line
    ),
)
