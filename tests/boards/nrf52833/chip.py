"""A micro:bit v2 in software: the processor of `cortex.py`, a Cortex-M4F at 64 MHz, and the rest of the nRF52833 as its
product specification describes it."""

import struct

from unicorn import arm_const as arm
from unicorn import UC_HOOK_MEM_WRITE, UC_PROT_ALL, UC_PROT_EXEC, UC_PROT_READ

from bus import Bus
from cortex import LOCKUP, SOFTWARE, Cortex
from peripherals import Gpio, Nvmc, Power, Rng, Timer, Uart, Watchdog

FLASH_SIZE = 512 * 1024
WRITE_TIME = 41
ERASE_TIME = 85_000

# Pins of port 0; ports and pins.
LED_ROWS = (21, 22, 15, 24, 19)
LED_COLUMNS = ((0, 28), (0, 11), (0, 31), (1, 5), (0, 30))


class Chip(Cortex):
    MICROSECOND = 64
    MODEL = arm.UC_CPU_ARM_CORTEX_M4
    RAM = 0x20000000
    RAM_SIZE = 128 * 1024
    PAGE = 4096

    def map_memory(self):
        self.overwrite = False
        self.lit = set()
        self.uc.mem_map(0, self.journal.start, UC_PROT_READ | UC_PROT_EXEC)
        self.uc.mem_map(self.journal.start, FLASH_SIZE - self.journal.start, UC_PROT_ALL)
        self.uc.mem_write(0, b"\xff" * FLASH_SIZE)
        for address, _, data in self.image.segments:
            self.uc.mem_write(address, data)
        self.bus = Bus(self, (range(0x40000000, 0x40020000), range(0x50000000, 0x50001000)))
        self.uc.hook_add(UC_HOOK_MEM_WRITE, self.on_flash_write, None, self.journal.start, FLASH_SIZE - 1)

    def reset(self, cause, others=0):
        """Starts the processor. A reset by software or a lock-up does not stop a running watchdog. A reset by the
        pin may set other bits of RESETREAS too (anomaly 136)."""
        self.resets.append(cause)
        before = self.power.RESETREAS.value if cause else 0
        self.clear_timetable()
        self.power, self.uart, self.timer, self.rng = Power(self), Uart(self), Timer(self), Rng(self)
        self.nvmc, self.ports = Nvmc(self), (Gpio(self), Gpio(self))
        self.power.RESETREAS.value = before | cause | others
        if cause in (SOFTWARE, LOCKUP):
            self.watchdog.go_on()
        else:
            self.watchdog = Watchdog(self)
        self.bus.fill(self.rows())
        self.start_processor(self.vector(0), self.vector(1))
        self.plan_delivery()

    def vector(self, number):
        return struct.unpack("<I", self.uc.mem_read(4 * number, 4))[0]

    def rows(self):
        """The table of the bus, in the order of the product specification. The ports share 4 KB: the base of port 1
        lies between the registers of port 0, its registers behind them."""
        peripherals = ((0, self.power), (2, self.uart), (8, self.timer), (13, self.rng), (16, self.watchdog),
                       (30, self.nvmc))
        port_0, port_1 = self.ports
        return [(0x40000000 + 4096 * number, 4096, block) for number, block in peripherals] + [
            (0x50000000, 0x800, port_0), (0x50000800, 0x800, port_1, 0x50000300)]

    # Flash: the processor stands still while it is busy.

    def on_flash_write(self, _, __, address, size, value, ___):
        """Called before the engine stores the value."""
        old = int.from_bytes(self.uc.mem_read(address & ~3, 4), "little")
        value &= 0xFFFFFFFF
        config = self.nvmc.CONFIG.value
        if (size, address % 4, config) != (4, 0, Nvmc.WRITE):
            self.violate(f"{size} bytes written to flash at {address:#x}, CONFIG {config}")
        self.check_word(address, old, value)
        done = self.stand_still(WRITE_TIME, False)
        if done < 1:
            self.torn_word = (address, self.torn_write(old, value, done))

    def erase_page(self, address):
        config = self.nvmc.CONFIG.value
        if config != Nvmc.ERASE or address % self.PAGE or address not in self.journal:
            self.violate(f"page {address:#x} erased, CONFIG {config}")
            return
        self.note_erase(address)
        old = self.uc.mem_read(address, self.PAGE)
        done = self.stand_still(ERASE_TIME, True)
        self.uc.mem_write(address, self.erased(address, old, done))

    def stand_still(self, microseconds, erase):
        done = self.operate(erase)
        if done == 1:
            self.now += self.flash_time(microseconds * self.MICROSECOND)
            self.catch_up()
        return done

    def store_journal(self, data):
        self.uc.mem_write(self.journal.start, data)

    # LEDs.

    def look_at_leds(self):
        """Notes the LEDs through which current flows: from a row that is high to a column that is low."""
        rows = self.ports[0].high()
        for y, row in enumerate(LED_ROWS):
            if rows >> row & 1:
                for x, (port, column) in enumerate(LED_COLUMNS):
                    if self.ports[port].low() >> column & 1:
                        self.lit.add((x, y))

    def seen(self):
        """The LEDs that were lit since the last call, as 5 * y + x."""
        lit, self.lit = sorted(5 * y + x for x, y in self.lit), set()
        return lit
