"""A Raspberry Pi Pico 2 in software: the processor of `cortex.py`, a Cortex-M33 at 150 MHz, and the rest of the RP2350
and its flash chip as their data sheets describe them.

The boot program of the chip is not run: the processor starts as that program leaves it, with stack and entry from the
vector table at the start of flash, which must be followed by the block that says that this is an image.
"""

import struct

from unicorn import arm_const as arm
from unicorn import UC_HOOK_BLOCK, UC_HOOK_MEM_READ, UC_PROT_EXEC, UC_PROT_READ

from bus import Bus
from cortex import DOG, PIN, SOFTWARE, Cortex
from flash import FlashChip, Qmi
from peripherals import Sio, Timer, Trng, Uart, Watchdog
from system import Clocks, IoBank, Pads, Pll, Powman, Psm, Resets, Ticks, Xosc

CACHED = 0x10000000
UNCACHED = 0x1C000000
IMAGE_BLOCK = struct.pack("<5I", 0xFFFFDED3, 0x10210142, 0x000001FF, 0, 0xAB123579)
VTOR = 0xD08


class Chip(Cortex):
    MICROSECOND = 150
    MODEL = arm.UC_CPU_ARM_CORTEX_M33
    RAM = 0x20000000
    RAM_SIZE = 520 * 1024
    PAGE = 4096

    def map_memory(self):
        self.chip_reset = self.reason = 0
        self.scratch = [0] * 8
        self.locked = False
        # Bytes that the line loses or breaks from now on, as an overrun or a framing error.
        self.lose = self.break_bytes = 0
        # One of so many collections of noise fails the chip's tests.
        self.noise_failures = 40
        self.led = []
        self.flash = FlashChip(self)
        image_end = self.journal.start
        self.uc.mem_map(CACHED, image_end - CACHED, UC_PROT_READ | UC_PROT_EXEC)
        self.uc.mem_write(CACHED, b"\xff" * (image_end - CACHED))
        for address, _, data in self.image.segments:
            self.uc.mem_write(address, data)
        if IMAGE_BLOCK not in bytes(self.uc.mem_read(CACHED, 4096)):
            self.violations.append("the first 4 KB hold no block that says that this is an image")
        # Code in flash runs only until it has been copied to RAM, and constants are in RAM as well.
        self.uc.hook_add(UC_HOOK_BLOCK, self.on_flash_code, None, CACHED, image_end)
        self.uc.hook_add(UC_HOOK_MEM_READ, self.on_flash_read, None, CACHED, image_end)
        self.bus = Bus(self, (range(0x40000000, 0x40110000), range(0xD0000000, 0xD0001000)))
        window = self.journal.start - CACHED + UNCACHED
        self.uc.mmio_map(window, len(self.journal), self.window_read, None, self.window_write, None)

    def reset(self, cause, others=0):
        """Power and the pin reset the whole chip; the watchdog, for which software may ask, leaves its scratch
        registers and CHIP_RESET."""
        self.resets.append(cause)
        if cause in (0, PIN):
            self.chip_reset = (1 << 18 if cause else 1 << 16) | others
            self.reason, self.scratch = 0, [0] * 8
        else:
            self.reason = {DOG: 1, SOFTWARE: 2}[cause]
        self.clear_timetable()
        self.flash.reset(power=cause == 0)
        self.locked = False
        self.resets_block, self.psm = Resets(self), Psm(self)
        self.uart, self.timer, self.watchdog, self.qmi = Uart(self), Timer(self), Watchdog(self), Qmi(self)
        self.clocks, self.xosc, self.pll = Clocks(self), Xosc(self), Pll(self)
        self.ticks, self.io_bank, self.pads, self.sio = Ticks(self), IoBank(self), Pads(self), Sio(self)
        self.bus.fill((start, 4096, block) for start, block in (
            (0x40010000, self.clocks), (0x40018000, self.psm), (0x40020000, self.resets_block),
            (0x40028000, self.io_bank), (0x40038000, self.pads), (0x40048000, self.xosc), (0x40050000, self.pll),
            (0x40070000, self.uart), (0x400B0000, self.timer), (0x400D0000, self.qmi), (0x400D8000, self.watchdog),
            (0x400F0000, Trng(self)), (0x40100000, Powman(self)), (0x40108000, self.ticks), (0xD0000000, self.sio)))
        self.vectors = CACHED
        self.uc.reg_write(arm.UC_ARM_REG_MSP, 0)
        self.start_processor(self.vector(0), self.vector(1))
        self.plan_delivery()

    def vector(self, number):
        return struct.unpack("<I", self.uc.mem_read(self.vectors + 4 * number, 4))[0]

    def stack_limit(self):
        return self.symbols["_stack_end"]

    def lock_up(self):
        """The processor does nothing more, and nothing but the watchdog or the pin ends that."""
        self.locked = True

    def step(self, limit):
        if not self.locked:
            return super().step(limit)
        self.catch_up()
        if self.pending_reset is not None:
            return self.reset(self.pending_reset)
        moment = self.next_moment()
        self.now = limit if moment is None else max(self.now, min(limit, moment))
        return None

    # Bus.

    def check_access(self, address, block):
        if self.resets_block.holds(block):
            self.violate(f"{address:#x} accessed, which is in reset")

    def system_read(self, uc, offset, size, data):
        return self.vectors if offset == VTOR else super().system_read(uc, offset, size, data)

    def system_write(self, uc, offset, size, value, data):
        if offset != VTOR:
            return super().system_write(uc, offset, size, value, data)
        if value % 512:
            self.violate(f"the vector table is at {value:#x}")
        self.vectors = value
        return None

    # Flash.

    def window_read(self, _, offset, size, __):
        if size != 4:
            self.violate(f"{size} bytes of the journal read")
        self.now += self.qmi.read_time()
        return int.from_bytes(self.flash.read(offset), "little")

    def window_write(self, _, offset, size, value, __):
        self.violate("the journal's window written")

    def on_flash_code(self, *_):
        self.check_readable("code ran from flash")

    def on_flash_read(self, *_):
        self.check_readable("the image was read")

    def check_readable(self, what):
        if self.qmi.registers[0] & 1:
            self.violate(f"{what} in direct mode")
        if self.flash.is_busy():
            self.violate(f"{what} while the flash was busy")

    def store_journal(self, data):
        self.flash.data[:] = data

    # LED.

    def seen(self):
        """The LED since the last call: its level at first, then the microseconds of each change."""
        changes, self.led = self.led, []
        return [self.sio.level()] + [int(moment / self.MICROSECOND) for moment in changes]
