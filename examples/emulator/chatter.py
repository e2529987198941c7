"""Talks to one other node of an emulation after the other, by UDP, at rates of its own choice: chatter.py NODES"""

import contextlib
import os
import random
import socket
import sys
import time

PORT = 4000
BYTES = 1000

nodes, own = int(sys.argv[1]), int(os.environ["HEADRACE_NUMBER"])
rng = random.Random(own)
link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
link.bind(("", PORT))
link.setblocking(False)
while True:
    other = rng.choice([number for number in range(1, nodes + 1) if number != own])
    pause_s = BYTES * 8 / rng.uniform(50e3, 500e3)
    end = time.monotonic() + rng.uniform(5, 20)
    while time.monotonic() < end:
        with contextlib.suppress(OSError):  # no route there at the moment, or a full queue
            link.sendto(bytes(BYTES), (f"10.0.0.{other}", PORT))
        with contextlib.suppress(BlockingIOError):
            while link.recv(2048):
                pass
        time.sleep(pause_s)
    time.sleep(rng.uniform(0, 15))
