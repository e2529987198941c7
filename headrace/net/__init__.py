"""What packets and networks are to a host: filter programs, captures, interfaces.

Uses ``errors`` alone. ``bpf`` is libpcap's compiler and interpreter, ``assembler`` says programs in words, ``pcap`` is
the file format, ``netlink`` the interfaces of this host, ``source`` the links of a command line.
"""
