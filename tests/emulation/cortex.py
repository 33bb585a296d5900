"""A Cortex-M processor in software: the Unicorn engine runs its instructions; interrupts, sleep, time and power are
modelled here. The chips (`tests/nrf52833/chip.py`, `tests/rp2350/chip.py`) add memory and peripherals.

Time is counted in cycles. Instructions run in slices of SLICE; within a slice time moves only where a peripheral lets
it move. Interrupts are taken between slices, a few microseconds late at most. A sleep or a poll for the end of
something jumps to the next event.

What a chip's specification forbids (a third write of a word, a register that does not exist ..) is added to
`violations`; tests require that list to be empty.
"""

import heapq
import random
import struct

from unicorn import Uc, UcError, arm_const as arm
from unicorn import UC_ARCH_ARM, UC_HOOK_CODE, UC_HOOK_INTR, UC_MODE_MCLASS, UC_MODE_THUMB

SLICE = 256
# While an interrupt waits for the processor to unmask it.
SHORT_SLICE = 4
CYCLES_PER_INSTRUCTION = 1.5
WRITES_PER_ERASE = 2

# Causes of a reset; 0 is power.
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
        # Where it is stored, where it runs, and its bytes.
        self.segments = []
        for i in range(program_count):
            kind, offset, runs, stored, size = struct.unpack_from("<5I", data, program + i * program_size)
            if kind == 1 and size:
                self.segments.append((stored, runs, data[offset:offset + size]))
        sections = [struct.unpack_from("<10I", data, section + i * section_size) for i in range(section_count)]
        self.symbols = {}
        for _, kind, _, _, offset, size, link, *_ in sections:
            if kind == 2:
                names = sections[link][4]
                for at in range(offset, offset + size, 16):
                    name, value = struct.unpack_from("<2I", data, at)
                    self.symbols[data[names + name:data.index(0, names + name)].decode()] = value


class Cortex:
    """A chip gives MICROSECOND (cycles), MODEL, RAM, RAM_SIZE, PAGE, and `map_memory`, `reset` and `vector`."""

    def __init__(self, path, seed):
        self.image = Image(path)
        self.symbols = self.image.symbols
        self.journal = range(self.symbols["_journal_start"], self.symbols["_journal_end"])
        self.chance = random.Random(seed)
        self.now = 0
        self.violations = []
        self.operations = 0
        self.cut_operation = self.cut_erase = None
        self.writes = bytearray(len(self.journal) // 4)
        self.erases = [0] * (len(self.journal) // self.PAGE)
        self.erased_at = []
        self.resets = []
        self.wire = []
        self.wire_free = 0
        self.sent = bytearray()
        self.sent_times = []
        self.overruns = 0
        self.unheard = 0
        self.next_flash_time = None
        self.noise = True
        self.stuck_noise = None

        self.uc = Uc(UC_ARCH_ARM, UC_MODE_THUMB | UC_MODE_MCLASS)
        self.uc.ctl_set_cpu_model(self.MODEL)
        self.uc.mem_map(self.RAM, self.RAM_SIZE)
        self.uc.mmio_map(0xE000E000, 0x1000, self.system_read, None, self.system_write, None)
        self.uc.hook_add(UC_HOOK_INTR, self.on_exception)
        self.map_memory()
        for _, runs, data in self.image.segments:
            for at in range(0, len(data), 2):
                hook = {b"\x30\xbf": self.on_sleep, b"\xfe\xe7": self.on_hang}.get(data[at:at + 2])
                if hook:
                    self.uc.hook_add(UC_HOOK_CODE, hook, None, runs + at, runs + at)
        self.power_up()

    # Power and resets.

    def power_up(self):
        """The supply comes on: RAM holds anything."""
        self.uc.mem_write(self.RAM, self.chance.randbytes(self.RAM_SIZE))
        self.cut_operation = self.cut_erase = None
        self.wire.clear()
        self.reset(0)

    def start_processor(self, stack, pc):
        self.enabled = self.latched = self.active = self.coprocessors = 0
        self.asleep = False
        self.pc = pc
        for register, value in ((arm.UC_ARM_REG_CONTROL, 0), (arm.UC_ARM_REG_PRIMASK, 0),
                                (arm.UC_ARM_REG_XPSR, 1 << 24), (arm.UC_ARM_REG_SP, stack)):
            self.uc.reg_write(register, value)

    def clear_timetable(self):
        self.pending_reset = None
        self.timetable, self.planned, self.plans = [], {}, 0
        self.lines = 0

    def violate(self, what):
        pc = self.uc.reg_read(arm.UC_ARM_REG_PC)
        self.violations.append(f"at {self.now / self.MICROSECOND:.1f} microseconds, pc {pc:#x}: {what}")

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

    # The processor's own registers.

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

    # Flash: one operation on a word or a page.

    def check_word(self, address, old, value):
        """A word is written: bits go from 1 to 0, and it is done at most twice between erases."""
        if value & ~old:
            self.violate(f"flash word {address:#x}: {old:#x} cannot become {value:#x}")
        place = (address - self.journal.start) // 4
        self.writes[place] += 1
        if self.writes[place] > WRITES_PER_ERASE:
            self.violate(f"flash word {address:#x} written {self.writes[place]} times since its erase")

    def torn_write(self, old, value, done):
        """Some of the bits that should become 0 have."""
        kept = sum(1 << bit for bit in range(32) if self.chance.random() > done)
        return (old & (value | kept)).to_bytes(4, "little")

    def note_erase(self, address):
        self.erases[(address - self.journal.start) // self.PAGE] += 1
        self.erased_at.append(self.now)

    def erased(self, address, old, done):
        """What a page holds after an erase of which so much came to pass."""
        size = self.PAGE
        if done == 1:
            first = (address - self.journal.start) // 4
            self.writes[first:first + size // 4] = bytes(size // 4)
            return b"\xff" * size
        way = self.chance.randrange(4)
        if way == 0:  # each bit by chance
            ones = int.from_bytes(self.chance.randbytes(size), "little")
            return (int.from_bytes(old, "little") | ones).to_bytes(size, "little")
        if way == 1:  # the front of the page only
            done_bytes = int(done * size)
            return b"\xff" * done_bytes + bytes(old[done_bytes:])
        if way == 2:  # bits that are between 0 and 1 read as anything
            return self.chance.randbytes(size)
        return bytes(old)  # not begun

    def operate(self, erase):
        """Counts a flash operation. How much of it comes to pass; less than 1 in a power cut."""
        self.operations += 1
        if (erase and len(self.erased_at) == self.cut_erase) or self.operations == self.cut_operation:
            self.stop("cut")
            return self.chance.random()
        return 1

    def flash_time(self, time):
        """How long the operation takes: `time`, unless a test has said otherwise."""
        if self.next_flash_time is not None:
            time, self.next_flash_time = self.next_flash_time, None
        return time

    # Processor.

    def stop(self, reason):
        if self.stopped is None:
            self.stopped = reason
        self.uc.emu_stop()

    def on_sleep(self, *_):
        self.stop("sleep")

    def on_hang(self, *_):
        """A jump to itself: only an interrupt or a reset ends it."""
        self.stop("poll")

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
        """Exception entry. A fault in a fault handler, or a stack that ends, locks the processor up; where the
        processor has a limit of its stack, the latter does not."""
        read, write = self.uc.reg_read, self.uc.reg_write
        stack, control = read(arm.UC_ARM_REG_SP), read(arm.UC_ARM_REG_CONTROL)
        words = list(self.uc.reg_read_batch(BASIC_FRAME))
        words += [self.pc & ~1, read(arm.UC_ARM_REG_XPSR) & ~(1 << 9) | (stack & 4) << 7]
        if control & FPCA:
            if self.coprocessors >> 20 & 0xF != 0xF:
                self.violate("floating point used before it was enabled")
            words += list(self.uc.reg_read_batch(FLOAT_FRAME)) + [0]
        frame = (stack - 4 * len(words)) & ~7
        bottom = self.stack_limit()
        if self.active == HARD_FAULT or (frame < self.RAM and bottom is None):
            return self.lock_up()
        if bottom is not None and frame < bottom:
            # Nothing is stored below the limit; the handler begins with an empty stack.
            frame = bottom
        else:
            self.uc.mem_write(frame, struct.pack(f"<{len(words)}I", *(word & 0xFFFFFFFF for word in words)))
        write(arm.UC_ARM_REG_SP, frame)
        write(arm.UC_ARM_REG_LR, 0xFFFFFFE9 if control & FPCA else 0xFFFFFFF9)
        write(arm.UC_ARM_REG_CONTROL, control & ~FPCA)
        write(arm.UC_ARM_REG_XPSR, 1 << 24 | number)
        self.active, self.asleep = number, False
        self.pc = self.vector(number)

    def stack_limit(self):
        """The lowest address of the stack, if the processor knows one."""
        return None

    def lock_up(self):
        self.pending_reset = LOCKUP

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
        limit = self.now + int(microseconds * self.MICROSECOND)
        while self.now < limit and not until():
            self.step(limit)

    def send(self, data, after):
        """Puts bytes on the line, `after` microseconds from now or behind those that are on it already."""
        self.wire_free = max(self.wire_free, self.now + int(after * self.MICROSECOND))
        for byte in data:
            self.wire.append((self.wire_free, byte))
            self.wire_free += self.uart.BYTE_TIME
        self.uart.plan_arrival()

    def load_word(self, symbol):
        return int.from_bytes(self.uc.mem_read(self.symbols[symbol], 4), "little")

    def store_word(self, symbol, value):
        self.uc.mem_write(self.symbols[symbol], value.to_bytes(4, "little"))
