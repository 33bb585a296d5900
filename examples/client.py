#!/usr/bin/env python3
"""A small terminal: enrols a patient and hands over an outcome, with retries and checksums.

usage: client.py PORT FEATURE [OUTCOME]
       client.py PORT replace PATIENT COUNT

In a blinded trial the device answers with a kit number; `replace` asks for another kit of the same arm, COUNT is 1
for the first replacement of this patient, and a repeat gives the same kit.

Written from docs/wire.md alone; needs pyserial. Before a request is sent, it is on disk with the trial's id, in the
file `equipoise.pending` of the current folder. A run that finds one there, because an earlier run died or got no
answer, sends that very line again and does nothing else, and only to a device that holds that trial. So no patient is
assigned twice, and no outcome goes to a patient of another trial.
"""
import os
import secrets
import sys

import serial

PENDING = "equipoise.pending"


def crc(text):
    """CRC-16/CCITT-FALSE."""
    value = 0xFFFF
    for byte in text.encode():
        value ^= byte << 8
        for _ in range(8):
            value = (value << 1) ^ (0x1021 if value & 0x8000 else 0)
    return f"{value & 0xFFFF:04X}"


def ask(port, request, *answers):
    """Sends the same line until one of the answers, or a refusal, comes with a right checksum.

    `ERR checksum`, `ERR length` and `ERR syntax` mean that noise changed the line on its way: it is sent again.
    """
    for _ in range(5):
        port.write(f"\n{request}*{crc(request)}\n".encode())
        while line := port.readline().decode("ascii", "replace").strip():
            body, _, check = line.rpartition("*")
            if not check or crc(body) != check.upper():
                continue
            if body.startswith(("ERR checksum", "ERR length", "ERR syntax")):
                break
            if body.startswith(("ERR ", *answers)):
                return body
    sys.exit(f"no answer to {request}; run again to repeat it")


def send(port, trial, request):
    """Sends a request that changes the trial: on disk before it is sent, off it when it is answered."""
    with open(PENDING, "w", encoding="ascii") as file:
        file.write(f"{trial}\n{request}")
        file.flush()
        os.fsync(file.fileno())
    patient = request.split()[1]
    answer = ask(port, request, f"ARM {patient} ", f"KIT {patient} ", f"OK {patient}")
    os.remove(PENDING)
    print(answer)
    return answer


def check_owner(port):
    """Ends unless the open port belongs to this user or to root. Its path may lead elsewhere by now; not on Windows."""
    if hasattr(os, "geteuid"):
        owner = os.fstat(port.fileno()).st_uid
        if owner not in (0, os.geteuid()):
            sys.exit(f"{port.port} belongs to user {owner}, allowed are you and root; nothing was sent")


def main(path, feature, outcome=None, count=None):
    port = serial.Serial(path, 115200, timeout=2.5)
    check_owner(port)
    hello = ask(port, "HELLO", "HELLO ").split()
    if hello[:3] != ["HELLO", "equipoise", "2"] or hello[4] != "running":
        sys.exit(f"no running trial of protocol 2: {' '.join(hello)}")
    trial = next(word for word in hello if word.startswith("trial="))
    if os.path.exists(PENDING):
        with open(PENDING, encoding="ascii") as file:
            asked, request = file.read().split("\n")
        if asked != trial:
            sys.exit(f"{PENDING} holds {request} of {asked}, the device holds {trial}; nothing was sent")
        print(f"repeating {request}")
        send(port, trial, request)
        return
    if feature == "replace":
        send(port, trial, f"REPLACE {outcome} {count}")
        return
    status = dict(word.split("=") for word in ask(port, "STATUS", "STATUS ").split()[1:])
    patient = int(status["assigned"]) + 1
    given = send(port, trial, f"ASSIGN {patient} {feature} {secrets.token_hex(4)}")
    if given.startswith(("ARM", "KIT")) and outcome is not None:
        send(port, trial, f"OUTCOME {patient} {outcome}")


main(*sys.argv[1:])
