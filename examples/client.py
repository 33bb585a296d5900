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
import re
import secrets
import sys

import serial

PENDING = "equipoise.pending"

# Of each reply the number of words that have a place, and the keys that may follow; None where nothing may.
FORMS = {
    "HELLO": (5, "stored key left trial file restart image flash".split()),
    "STATUS": (1, "trial file design n better results assigned resolved capacity phase looks next-look kits replaced".split()),
    "ARM": (3, None),
    "KIT": (3, None),
    "OK": (2, []),
}


def crc(text):
    """CRC-16/CCITT-FALSE."""
    value = 0xFFFF
    for byte in text.encode():
        value ^= byte << 8
        for _ in range(8):
            value = (value << 1) ^ (0x1021 if value & 0x8000 else 0)
    return f"{value & 0xFFFF:04X}"


def fields(words):
    """The `key=value` words of a reply. Those of a newer device, whose keys are unknown, are left out.

    None for a line that is no reply: a word of another form, or a known key twice, out of order or behind an unknown one.
    """
    if words[0] == "HELLO" and len(words) > 2 and words[1:3] != ["equipoise", "3"]:
        return {}  # Another protocol: the caller says so.
    places, known = FORMS[words[0]]
    if len(words) < places or (known is None and len(words) > places):
        return None
    found, left = {}, iter(known or [])
    for word in words[places:]:
        key, _, value = word.partition("=")
        if not re.fullmatch("[a-z][a-z0-9-]*", key) or not value:
            return None
        if key in left:  # Takes every key up to this one; an unknown one takes all.
            found[key] = value
        elif key in known:
            return None
    return found


def ask(port, request, *answers):
    """Sends the same line until one of the answers, or a refusal, comes with a right checksum: its words and fields.

    `ERR checksum`, `ERR length` and `ERR syntax` mean that noise changed the line on its way: it is sent again. Another
    refusal names the request it answers; one of an earlier request is not ours.
    """
    verb, *rest = request.split()
    ours = f"re={verb}:{rest[0]}" if verb in ("ASSIGN", "REPLACE", "OUTCOME", "LOST") else f"re={verb}"
    for _ in range(5):
        port.write(f"\n{request}*{crc(request)}\n".encode())
        while line := port.readline().decode("ascii", "replace").strip():
            body, _, check = line.rpartition("*")
            if not check or crc(body) != check.upper():
                continue
            if body.startswith(("ERR checksum", "ERR length", "ERR syntax")):
                break
            words = body.split()
            if words[:1] == ["ERR"]:
                if words[2:3] != [ours]:
                    continue
                return words, {}
            if any(words[:len(answer)] == answer for answer in answers) and (found := fields(words)) is not None:
                return words, found
    sys.exit(f"no answer to {request}; run again to repeat it")


def send(port, trial, request):
    """Sends a request that changes the trial: on disk before it is sent, off it when it is answered."""
    with open(PENDING, "w", encoding="ascii") as file:
        file.write(f"{trial}\n{request}")
        file.flush()
        os.fsync(file.fileno())
    patient = request.split()[1]
    answer, _ = ask(port, request, ["ARM", patient], ["KIT", patient], ["OK", patient])
    os.remove(PENDING)
    # Words of a newer device are not printed.
    print(*(answer if answer[0] == "ERR" else answer[:FORMS[answer[0]][0]]))
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
    hello, held = ask(port, "HELLO", ["HELLO"])
    if hello[:3] != ["HELLO", "equipoise", "3"] or hello[4] != "running":
        sys.exit(f"no running trial of protocol 3: {' '.join(hello)}")
    trial = f"trial={held['trial']}"
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
    _, status = ask(port, "STATUS", ["STATUS"])
    patient = int(status["assigned"]) + 1
    given = send(port, trial, f"ASSIGN {patient} {feature} {secrets.token_hex(4)}")
    if given[0] in ("ARM", "KIT") and outcome is not None:
        send(port, trial, f"OUTCOME {patient} {outcome}")


main(*sys.argv[1:])
