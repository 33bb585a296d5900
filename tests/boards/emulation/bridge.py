"""Puts one emulated board on a pseudo-terminal, for programs that speak to a board over a serial port.

    bridge.py CHIP ELF SEED LINK SOCKET

LINK becomes a link to the pseudo-terminal. A connection to SOCKET says one word: `power` switches the board off and on,
`reset` presses its button; the connection closes when the board is ready again. `violations` is answered by what the board
did that the chip's specification forbids, as JSON.

Time on the board is virtual. Nothing that it sends leaves before this machine's clock has caught up, so replies may be late,
where emulation is slow, and are never early.
"""

import json
import os
import pty
import select
import socket
import sys
import time
import tty

from board import EmulatedBoard
from cortex import PIN

# Microseconds of virtual time that are run at once.
STEP = 2_000
# The longest that a board may take to boot, in microseconds.
BOOT = 60_000_000


class Bridge:
    def __init__(self, chip, elf, seed, link, control):
        self.chip = EmulatedBoard(chip, elf, int(seed)).chip
        self.line, self.port = pty.openpty()
        tty.setraw(self.port)
        self.control = socket.socket(socket.AF_UNIX)
        self.control.bind(control)
        self.control.listen()
        self.start()
        os.symlink(os.ttyname(self.port), link)

    def start(self):
        if not self.chip.start(BOOT):
            sys.exit("the board does not boot in time")
        self.written = len(self.chip.sent)
        self.follow_clock()

    def follow_clock(self):
        """From here on virtual time and this machine's clock go together."""
        self.began, self.real = self.chip.now, time.monotonic()

    def ahead(self):
        """Seconds by which virtual time is ahead of the clock."""
        virtual = (self.chip.now - self.began) / self.chip.MICROSECOND / 1e6
        return virtual - (time.monotonic() - self.real)

    def act(self):
        connection, _ = self.control.accept()
        with connection:
            what = connection.makefile().readline().strip()
            if what == "violations":
                connection.sendall(json.dumps(self.chip.violations).encode())
                return
            if what == "reset":
                self.chip.reset(PIN, 0)
            elif what == "power":
                self.chip.power_up()
            else:
                raise ValueError(f"{what!r} is no word of this socket")
            self.start()

    def serve(self):
        while True:
            ready, _, _ = select.select([self.line, self.control], [], [], max(0.0, self.ahead()))
            if self.control in ready:
                self.act()
                continue
            if self.line in ready:
                if self.ahead() < 0:
                    # Idle time that emulation could not keep up with is gone: the request comes now.
                    self.follow_clock()
                self.chip.send(os.read(self.line, 4096), 0)
            if self.ahead() > 0:
                continue
            if self.written < len(self.chip.sent):
                os.write(self.line, bytes(self.chip.sent[self.written:]))
                self.written = len(self.chip.sent)
            self.chip.run(STEP)


if __name__ == "__main__":
    Bridge(*sys.argv[1:]).serve()
