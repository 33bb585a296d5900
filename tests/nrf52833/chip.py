"""A micro:bit v2 in software: the Unicorn engine runs the Cortex-M4F's instructions, this file models the rest of the
nRF52833 as its product specification describes it.

Time is counted in cycles of 64 MHz. Instructions run in slices of SLICE; within a slice time moves only where the
processor stands still for flash. Interrupts are taken between slices, a few microseconds late at most. A sleep or a
poll for the end of a byte jumps to the next event.

What the specification forbids (a third write of a word, a register that does not exist ..) is added to
`Chip.violations`; tests require that list to be empty.
"""

import heapq
import random
import struct

from unicorn import Uc, UcError, arm_const as arm
from unicorn import UC_ARCH_ARM, UC_HOOK_CODE, UC_HOOK_INTR, UC_HOOK_MEM_WRITE
from unicorn import UC_MODE_MCLASS, UC_MODE_THUMB, UC_PROT_ALL, UC_PROT_EXEC, UC_PROT_READ

from peripherals import Clock, Gpio, Nvmc, Rng, Timer, Uart, Watchdog

MICROSECOND = 64
SLICE = 256
# While an interrupt waits for the processor to unmask it.
SHORT_SLICE = 4
CYCLES_PER_INSTRUCTION = 1.5

FLASH_SIZE = 512 * 1024
PAGE = 4096
RAM = 0x20000000
RAM_SIZE = 128 * 1024
WRITE_TIME = 41 * MICROSECOND
ERASE_TIME = 85_000 * MICROSECOND
WRITES_PER_ERASE = 2

# Pins of port 0; ports and pins.
LED_ROWS = (21, 22, 15, 24, 19)
LED_COLUMNS = ((0, 28), (0, 11), (0, 31), (1, 5), (0, 30))

# Bits of RESETREAS.
PIN, DOG, SOFTWARE, LOCKUP = 1, 2, 4, 8

HARD_FAULT = 3
FIRST_IRQ = 16
EXCEPTION_EXIT = 8
BASIC_FRAME = [arm.UC_ARM_REG_R0, arm.UC_ARM_REG_R1, arm.UC_ARM_REG_R2, arm.UC_ARM_REG_R3, arm.UC_ARM_REG_R12,
               arm.UC_ARM_REG_LR]
FLOAT_FRAME = [arm.UC_ARM_REG_S0 + i for i in range(16)] + [arm.UC_ARM_REG_FPSCR]
FPCA = 4  # in CONTROL: floating point registers are in use


class PowerCut(Exception):
    """The supply failed."""


class Image:
    """The loadable bytes and the symbols of an ELF file."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        if data[:6] != b"\x7fELF\x01\x01":
            raise ValueError(f"{path} is not a 32-bit little-endian ELF file")
        program, section = struct.unpack_from("<2I", data, 28)
        program_size, program_count, section_size, section_count = struct.unpack_from("<4H", data, 42)
        self.segments = []
        for i in range(program_count):
            kind, offset, _, address, size = struct.unpack_from("<5I", data, program + i * program_size)
            if kind == 1 and size:
                self.segments.append((address, data[offset:offset + size]))
        sections = [struct.unpack_from("<10I", data, section + i * section_size) for i in range(section_count)]
        self.symbols = {}
        for _, kind, _, _, offset, size, link, *_ in sections:
            if kind == 2:
                names = sections[link][4]
                for at in range(offset, offset + size, 16):
                    name, value = struct.unpack_from("<2I", data, at)
                    self.symbols[data[names + name:data.index(0, names + name)].decode()] = value


class Chip:
    def __init__(self, path, seed):
        image = Image(path)
        self.symbols = image.symbols
        self.journal = range(self.symbols["_journal_start"], self.symbols["_journal_end"])
        self.chance = random.Random(seed)
        self.now = 0
        self.violations = []
        self.operations = 0
        self.cut_operation = self.cut_erase = None
        self.writes = bytearray(FLASH_SIZE // 4)
        self.erases = [0] * (len(self.journal) // PAGE)
        self.erased_at = []
        self.resets = []
        self.wire = []
        self.wire_free = 0
        self.sent = bytearray()
        self.sent_times = []
        self.overruns = 0
        self.unheard = 0
        self.overwrite = False
        self.next_flash_time = None
        self.noise = True
        self.stuck_noise = None
        self.lit = set()

        self.uc = Uc(UC_ARCH_ARM, UC_MODE_THUMB | UC_MODE_MCLASS)
        self.uc.ctl_set_cpu_model(arm.UC_CPU_ARM_CORTEX_M4)
        self.uc.mem_map(0, self.journal.start, UC_PROT_READ | UC_PROT_EXEC)
        self.uc.mem_map(self.journal.start, FLASH_SIZE - self.journal.start, UC_PROT_ALL)
        self.uc.mem_write(0, b"\xff" * FLASH_SIZE)
        self.uc.mem_map(RAM, RAM_SIZE)
        for address, data in image.segments:
            self.uc.mem_write(address, data)
        self.image = bytes(self.uc.mem_read(0, self.journal.start))
        for base, size in ((0x40000000, 0x20000), (0x50000000, 0x1000)):
            self.uc.mmio_map(base, size, self.bus_read, base, self.bus_write, base)
        self.uc.mmio_map(0xE000E000, 0x1000, self.system_read, None, self.system_write, None)
        self.uc.hook_add(UC_HOOK_INTR, self.on_exception)
        self.uc.hook_add(UC_HOOK_MEM_WRITE, self.on_flash_write, None, self.journal.start, FLASH_SIZE - 1)
        for address in range(0, len(self.image), 2):
            if self.image[address:address + 2] == b"\x30\xbf":
                self.uc.hook_add(UC_HOOK_CODE, self.on_sleep, None, address, address)
        self.power_up()

    # Power and resets.

    def power_up(self):
        """The supply comes on: RAM holds anything."""
        self.uc.mem_write(RAM, self.chance.randbytes(RAM_SIZE))
        self.cut_operation = self.cut_erase = None
        self.wire.clear()
        self.reset_reasons = 0
        self.reset(0)

    def reset(self, cause):
        """Starts the processor. A reset by software or a lock-up does not stop a running watchdog."""
        self.resets.append(cause)
        self.reset_reasons |= cause
        self.pending_reset = None
        self.timetable, self.planned, self.plans = [], {}, 0
        self.lines = 0
        kept = self.watchdog if cause in (SOFTWARE, LOCKUP) else None
        self.clock, self.uart, self.timer, self.rng = Clock(self), Uart(self), Timer(self), Rng(self)
        self.nvmc, self.ports = Nvmc(self), (Gpio(self), Gpio(self))
        self.watchdog = kept or Watchdog(self)
        if kept:
            kept.plan_bite()
        self.blocks = {0x40000: self.clock, 0x40002: self.uart, 0x40008: self.timer, 0x4000D: self.rng,
                       0x40010: self.watchdog, 0x4001E: self.nvmc}
        self.enabled = self.latched = self.active = self.coprocessors = 0
        self.asleep = False
        stack, self.pc = struct.unpack("<2I", self.image[:8])
        for register, value in ((arm.UC_ARM_REG_CONTROL, 0), (arm.UC_ARM_REG_PRIMASK, 0),
                                (arm.UC_ARM_REG_XPSR, 1 << 24), (arm.UC_ARM_REG_SP, stack)):
            self.uc.reg_write(register, value)
        self.uart.plan_arrival()

    def violate(self, what):
        pc = self.uc.reg_read(arm.UC_ARM_REG_PC)
        self.violations.append(f"at {self.now / 64e6:.6f} s, pc {pc:#x}: {what}")

    # The timetable: one planned moment a name.

    def plan(self, name, moment, action):
        """Replaces what was planned under this name."""
        self.planned[name] = self.plans = self.plans + 1
        heapq.heappush(self.timetable, (moment, self.plans, name, action))

    def next_moment(self):
        while self.timetable and self.planned.get(self.timetable[0][2]) != self.timetable[0][1]:
            heapq.heappop(self.timetable)
        return self.timetable[0][0] if self.timetable else None

    def catch_up(self):
        """Lets everything happen that is planned up to now, each thing at its own moment."""
        if self.timetable and self.timetable[0][0] > self.now:
            return self.latch()
        until = self.now
        while (moment := self.next_moment()) is not None and moment <= until:
            _, _, name, action = heapq.heappop(self.timetable)
            del self.planned[name]
            self.now = moment
            action()
        self.now = until
        self.latch()

    def latch(self):
        """An interrupt waits from the moment its line rises, and again if the line is still high after its handler."""
        self.latched |= self.lines & ~(1 << self.active >> FIRST_IRQ)

    # Bus.

    def find(self, address, size):
        if size != 4 or address % 4:
            self.violate(f"{size} bytes at {address:#x} accessed")
        if address >> 12 == 0x50000:
            second = address & 0xFFF >= 0x800
            return self.ports[second], (address & 0xFFF) - 0x300 * second
        if address >> 12 not in self.blocks:
            self.violate(f"{address:#x} accessed, which is not modelled")
        return self.blocks.get(address >> 12), address & 0xFFF

    def bus_read(self, _, offset, size, base):
        self.catch_up()
        block, offset = self.find(base + offset, size)
        return block.read(offset) & 0xFFFFFFFF if block else 0

    def bus_write(self, _, offset, size, value, base):
        self.catch_up()
        block, offset = self.find(base + offset, size)
        if block:
            block.write(offset, value)
        self.catch_up()

    def system_read(self, _, offset, size, __):
        if 0x100 <= offset < 0x200:
            return self.enabled >> (offset & 0x7F) * 8 & 0xFFFFFFFF
        if offset == 0xD88:
            return self.coprocessors
        if offset not in (0xD04, 0xD0C):
            self.violate(f"system register {offset:#x} read")
        return 0

    def system_write(self, _, offset, size, value, __):
        bits = value << (offset & 0x7F) * 8
        if 0x100 <= offset < 0x180:
            self.enabled |= bits
        elif 0x180 <= offset < 0x200:
            self.enabled &= ~bits
        elif 0x280 <= offset < 0x300:
            self.latched &= ~bits
        elif offset == 0xD88:
            self.coprocessors = value
        elif offset == 0xD0C and value >> 16 == 0x05FA and value & 4:
            self.pending_reset = SOFTWARE
            self.stop("reset")
        else:
            self.violate(f"{value:#x} written to system register {offset:#x}")

    # Flash.

    def on_flash_write(self, _, __, address, size, value, ___):
        """Called before the engine stores the value."""
        old = int.from_bytes(self.uc.mem_read(address & ~3, 4), "little")
        value &= 0xFFFFFFFF
        if size != 4 or address % 4 or self.nvmc.registers[0x504] != 1:
            self.violate(f"{size} bytes written to flash at {address:#x}, CONFIG {self.nvmc.registers[0x504]}")
        if value & ~old:
            self.violate(f"flash word {address:#x}: {old:#x} cannot become {value:#x}")
        self.writes[address // 4] += 1
        if self.writes[address // 4] > WRITES_PER_ERASE:
            self.violate(f"flash word {address:#x} written {self.writes[address // 4]} times since its erase")
        done = self.stand_still(WRITE_TIME)
        if done < 1:
            # Some of the bits that should become 0 have.
            kept = sum(1 << bit for bit in range(32) if self.chance.random() > done)
            self.torn_word = (address, (old & (value | kept)).to_bytes(4, "little"))

    def erase_page(self, address):
        if self.nvmc.registers[0x504] != 2 or address % PAGE or address not in self.journal:
            self.violate(f"page {address:#x} erased, CONFIG {self.nvmc.registers[0x504]}")
            return
        self.erases[(address - self.journal.start) // PAGE] += 1
        self.erased_at.append(self.now)
        old = self.uc.mem_read(address, PAGE)
        done = self.stand_still(ERASE_TIME)
        new = b"\xff" * PAGE
        if done < 1:
            way = self.chance.randrange(4)
            if way == 0:  # each bit by chance
                ones = int.from_bytes(self.chance.randbytes(PAGE), "little")
                new = (int.from_bytes(old, "little") | ones).to_bytes(PAGE, "little")
            elif way == 1:  # the front of the page only
                done_bytes = int(done * PAGE)
                new = b"\xff" * done_bytes + bytes(old[done_bytes:])
            elif way == 2:  # bits that are between 0 and 1 read as anything
                new = self.chance.randbytes(PAGE)
            else:  # not begun
                new = bytes(old)
        else:
            first = address // 4
            self.writes[first:first + PAGE // 4] = bytes(PAGE // 4)
        self.uc.mem_write(address, new)

    def stand_still(self, time):
        """The processor waits for the flash. How much of the operation came to pass; less than 1 in a power cut."""
        self.operations += 1
        in_erase = time == ERASE_TIME and len(self.erased_at) == self.cut_erase
        if in_erase or self.operations == self.cut_operation:
            self.stop("cut")
            return self.chance.random()
        self.now += time if self.next_flash_time is None else self.next_flash_time
        self.next_flash_time = None
        self.catch_up()
        return 1

    # Processor.

    def stop(self, reason):
        if self.stopped is None:
            self.stopped = reason
        self.uc.emu_stop()

    def on_sleep(self, *_):
        self.stop("sleep")

    def on_exception(self, _, number, __):
        self.stop("return" if number == EXCEPTION_EXIT else "fault")

    def step(self, limit):
        """One slice, one sleep or one exception."""
        self.catch_up()
        if self.pending_reset is not None:
            return self.reset(self.pending_reset)
        ready = self.latched & self.enabled
        count = SLICE
        if ready:
            self.asleep = False
            masked = self.uc.reg_read(arm.UC_ARM_REG_PRIMASK) & 1
            count = SHORT_SLICE if masked else SLICE
            if not masked and not self.active:
                irq = (ready & -ready).bit_length() - 1
                self.latched &= ~(1 << irq)
                self.enter(irq + FIRST_IRQ)
                if self.pending_reset is not None:
                    return None
        if self.asleep:
            moment = self.next_moment()
            self.now = limit if moment is None else max(self.now, min(limit, moment))
            return None
        return self.execute(count)

    def execute(self, count):
        self.stopped, self.torn_word = None, None
        try:
            self.uc.emu_start(self.pc | 1, 0xFFFFFFFF, count=count)
        except UcError:
            self.stopped = self.stopped or "fault"
        self.pc = self.uc.reg_read(arm.UC_ARM_REG_PC)
        reason = self.stopped
        self.now += int(count * CYCLES_PER_INSTRUCTION / (1 if reason is None else 2))
        if reason == "poll":
            moment = self.next_moment()
            if moment is not None:
                self.now = max(self.now, moment)
        elif reason == "sleep":
            self.pc += 2
            self.asleep = True
        elif reason == "return":
            self.leave()
        elif reason == "fault":
            self.enter(HARD_FAULT)
        elif reason == "cut":
            if self.torn_word:
                self.uc.mem_write(*self.torn_word)
            raise PowerCut

    def enter(self, number):
        """Exception entry. A fault in a fault handler, or a stack that ends, locks the processor up."""
        read, write = self.uc.reg_read, self.uc.reg_write
        stack, control = read(arm.UC_ARM_REG_SP), read(arm.UC_ARM_REG_CONTROL)
        words = list(self.uc.reg_read_batch(BASIC_FRAME))
        words += [self.pc & ~1, read(arm.UC_ARM_REG_XPSR) & ~(1 << 9) | (stack & 4) << 7]
        if control & FPCA:
            if self.coprocessors >> 20 & 0xF != 0xF:
                self.violate("floating point used before it was enabled")
            words += list(self.uc.reg_read_batch(FLOAT_FRAME)) + [0]
        frame = (stack - 4 * len(words)) & ~7
        if self.active == HARD_FAULT or not RAM <= frame <= RAM + RAM_SIZE - 4 * len(words):
            self.pending_reset = LOCKUP
            return
        self.uc.mem_write(frame, struct.pack(f"<{len(words)}I", *(word & 0xFFFFFFFF for word in words)))
        write(arm.UC_ARM_REG_SP, frame)
        write(arm.UC_ARM_REG_LR, 0xFFFFFFE9 if control & FPCA else 0xFFFFFFF9)
        write(arm.UC_ARM_REG_CONTROL, control & ~FPCA)
        write(arm.UC_ARM_REG_XPSR, 1 << 24 | number)
        self.active, self.asleep = number, False
        self.pc, = struct.unpack_from("<I", self.image, 4 * number)

    def leave(self):
        """Exception return."""
        write = self.uc.reg_write
        floats = not self.pc & 0x10
        frame, count = self.uc.reg_read(arm.UC_ARM_REG_SP), 26 if floats else 8
        words = struct.unpack(f"<{count}I", self.uc.mem_read(frame, 4 * count))
        self.uc.reg_write_batch(list(zip(BASIC_FRAME, words)))
        if floats:
            self.uc.reg_write_batch(list(zip(FLOAT_FRAME, words[8:])))
        control = self.uc.reg_read(arm.UC_ARM_REG_CONTROL)
        write(arm.UC_ARM_REG_CONTROL, control | FPCA if floats else control & ~FPCA)
        write(arm.UC_ARM_REG_SP, frame + 4 * count + (words[7] >> 7 & 4))
        write(arm.UC_ARM_REG_XPSR, words[7] & ~(1 << 9))
        self.pc, self.active = words[6], 0

    # The world outside.

    def run(self, microseconds, until=lambda: False):
        limit = self.now + int(microseconds * MICROSECOND)
        while self.now < limit and not until():
            self.step(limit)

    def send(self, data, after):
        """Puts bytes on the line, `after` microseconds from now or behind those that are on it already."""
        self.wire_free = max(self.wire_free, self.now + int(after * MICROSECOND))
        for byte in data:
            self.wire.append((self.wire_free, byte))
            self.wire_free += self.uart.BYTE_TIME
        self.uart.plan_arrival()

    def load_word(self, symbol):
        return int.from_bytes(self.uc.mem_read(self.symbols[symbol], 4), "little")

    def store_word(self, symbol, value):
        self.uc.mem_write(self.symbols[symbol], value.to_bytes(4, "little"))

    def look_at_leds(self):
        """Notes which LEDs are lit: a row driven high and a column driven low."""
        high, low = zip(*((port.registers[0x514] & port.registers[0x504],
                           port.registers[0x514] & ~port.registers[0x504]) for port in self.ports))
        for y, row in enumerate(LED_ROWS):
            if high[0] >> row & 1:
                for x, (port, column) in enumerate(LED_COLUMNS):
                    if low[port] >> column & 1:
                        self.lit.add((x, y))
