"""Looks at all that passes on a cable until its input ends; says whether some words were among it: sniff.py WORDS."""

import select
import socket
import sys

EVERYTHING = 3
words, found = sys.argv[1].encode(), False
cable = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(EVERYTHING))
print("ready", flush=True)
while sys.stdin not in (ready := select.select([cable, sys.stdin], [], [])[0]):
    found = words in cable.recv(1 << 16) or found
print("found" if found else "not found")
