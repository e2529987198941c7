"""The RPU card: ``rules`` reads the blocklists and rule files that users have, ``tables`` makes of them what the
accelerators of its units load."""
