"""The cards as interfaces of Wireshark: ``program`` is what it calls, ``install`` puts that where Wireshark looks."""
