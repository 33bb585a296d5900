#!/usr/bin/env python3
"""A terminal in forty lines: enrols a patient and hands over an outcome, with retries and checksums.

usage: client.py PORT FEATURE [OUTCOME]

Written from the description of the serial line alone; needs pyserial.
"""
import secrets
import sys

import serial


def crc(text):
    """CRC-16/CCITT-FALSE."""
    value = 0xFFFF
    for byte in text.encode():
        value ^= byte << 8
        for _ in range(8):
            value = (value << 1) ^ (0x1021 if value & 0x8000 else 0)
    return f"{value & 0xFFFF:04X}"


def ask(port, request):
    """Sends the same line until a reply with a right checksum comes; every request may be repeated."""
    for _ in range(5):
        port.write(f"\n{request}*{crc(request)}\n".encode())
        body, _, check = port.readline().decode("ascii", "replace").strip().rpartition("*")
        if check and crc(body) == check and not body.startswith(("ERR checksum", "ERR length")):
            return body
    sys.exit(f"no answer to {request.split()[0]}")


def main(path, feature, outcome=None):
    port = serial.Serial(path, 115200, timeout=2)
    hello = ask(port, "HELLO").split()
    if hello[:3] != ["HELLO", "equipoise", "1"] or hello[4] != "running":
        sys.exit(f"not ready: {' '.join(hello)}")
    status = dict(word.split("=") for word in ask(port, "STATUS").split()[1:])
    patient = int(status["assigned"]) + 1
    arm = ask(port, f"ASSIGN {patient} {feature} {secrets.token_hex(4)}")
    print(arm)
    if arm.startswith("ARM") and outcome is not None:
        print(ask(port, f"OUTCOME {patient} {outcome}"))


main(*sys.argv[1:])
