"""Serves one emulated board to a test: a command in JSON on each line of standard input, its answer on standard output.

    send {hex, after}    puts bytes on the line, `after` microseconds from now
    line {limit}         runs until a line has been sent, at most `limit` microseconds
    run {time}           runs for so many microseconds
    cut {operation, erase}  lets the power fail in the flash operation, or in the erase, so many after this moment
    power {}             switches the board off and on: flash stays, RAM holds anything
    reset {cause, others}  resets by the `pin` or by `software`; other reasons may be reported too
    noise {on, stuck}    stops the random generator, or makes it give the same byte for ever
    slow {time}          makes the next flash operation take so many microseconds
    set {name, value}    changes a property of the chip that only its own tests know
    start {limit}        runs until the firmware is ready for its first request, at most `limit` microseconds
    word {symbol}        a word of RAM
    store {hex}          fills the journal
    state {}             everything that was observed

An answer with `cut` says that the power has failed.
"""

import importlib
import json
import os
import sys

from cortex import PIN, SOFTWARE, PowerCut


class EmulatedBoard:
    def __init__(self, chip, elf, seed):
        sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", chip))
        self.chip = importlib.import_module("chip").Chip(elf, seed)
        self.given = 0

    def send(self, hex, after):
        self.chip.send(bytes.fromhex(hex), after)
        return {}

    def line(self, limit):
        sent = self.chip.sent
        self.chip.run(limit, lambda: sent.find(b"\n", self.given) >= 0)
        end = sent.find(b"\n", self.given)
        if end < 0:
            return {"line": None}
        text = sent[self.given:end].decode("latin-1")
        began = self.chip.sent_times[self.given]
        self.given = end + 1
        return {"line": text, "began": began / self.chip.MICROSECOND}

    def run(self, time):
        self.chip.run(time)
        return {}

    def cut(self, operation, erase):
        if erase:
            self.chip.cut_erase = len(self.chip.erased_at) + operation
        else:
            self.chip.cut_operation = self.chip.operations + operation
        return {}

    def power(self):
        self.given = len(self.chip.sent)
        self.chip.power_up()
        return {}

    def reset(self, cause, others):
        self.chip.reset({"pin": PIN, "software": SOFTWARE}[cause], others)
        return {}

    def noise(self, on, stuck):
        self.chip.noise, self.chip.stuck_noise = on, stuck
        return {}

    def slow(self, time):
        self.chip.next_flash_time = time * self.chip.MICROSECOND
        return {}

    def set(self, name, value):
        if not hasattr(self.chip, name):
            raise ValueError(f"the chip has no property {name}")
        setattr(self.chip, name, value)
        return {}

    def start(self, limit):
        return {"ready": self.chip.start(limit)}

    def word(self, symbol):
        return {"word": self.chip.load_word(symbol)}

    def store(self, hex):
        self.chip.store_journal(bytes.fromhex(hex))
        return {}

    def state(self):
        chip, unit = self.chip, self.chip.MICROSECOND
        return {"now": chip.now / unit, "wire_free": chip.wire_free / unit, "lit": chip.seen(),
                "violations": chip.violations, "operations": chip.operations, "erases": chip.erases,
                "erased_at": [moment / unit for moment in chip.erased_at], "overruns": chip.overruns,
                "resets": chip.resets}


def main():
    board = EmulatedBoard(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    for request in sys.stdin:
        request = json.loads(request)
        try:
            answer = getattr(board, request.pop("do"))(**request)
        except PowerCut:
            answer = {"cut": True}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
