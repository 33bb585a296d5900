"""A Cortex-M processor in software: the Unicorn engine runs its instructions; interrupts, sleep, time and power are
modelled here. The chips (`tests/boards/nrf52833/chip.py`, `tests/boards/rp2350/chip.py`) add memory and peripherals.

Time is counted in cycles. Instructions run in slices; within a slice time moves only where a peripheral lets
it move. Interrupts are taken between slices, a few microseconds late at most. A sleep or a poll for the end of
something jumps to the next event.

Until the firmware is ready nobody compares moments, and a start is not measured: the engine, which counts instructions
one by one, runs three times as fast without. Then time passes in flash, in sleep and in accesses to peripherals; an
interrupt is taken when the processor sleeps or unmasks it, and the noise of the nRF comes at once.

What a chip's specification forbids (a third write of a word, a register that does not exist ..) is added to
`violations`; tests require that list to be empty.
"""

import ctypes
import heapq
import random
import signal
import struct

from unicorn import Uc, UcError, arm_const as arm
from unicorn import UC_ARCH_ARM, UC_HOOK_CODE, UC_HOOK_INTR, UC_HOOK_MEM_WRITE, UC_MODE_MCLASS, UC_MODE_THUMB

# Instructions of a slice, for each cycle of a microsecond: a slice takes 6 microseconds on every chip.
SLICE = 4
# While an interrupt waits for the processor to unmask it.
SHORT_SLICE = 4
CYCLES_PER_INSTRUCTION = 1.5
WRITES_PER_ERASE = 2
# Seconds of ours after which a start that never sleeps has failed: the process ends, and so does its test.
START_PATIENCE = 300

# Causes of a reset; 0 is power.
PIN, DOG, SOFTWARE, LOCKUP = 1, 2, 4, 8

# The processor's own registers, by offset. A bank of them has a bit for each interrupt.
ICSR, AIRCR, CPACR = 0xD04, 0xD0C, 0xD88
AIRCR_KEY, RESET_REQUEST = 0x05FA, 1 << 2
BANK = 128
ENABLE, DISABLE, FORGET = 0x100 // BANK, 0x180 // BANK, 0x280 // BANK

HARD_FAULT = 3
FIRST_IRQ = 16
EXCEPTION_EXIT = 8
# What an exception saves on the stack, upwards: R0 to R3, R12, LR, where to go on, the status word; and, where floating
# point is in use, S0 to S15, its status and a word that is left free.
FRAME, FLOAT_FRAME = struct.Struct("<8I"), struct.Struct("<25I4x")
PLACE = slice(6, 8)
SAVED = [getattr(arm, f"UC_ARM_REG_{name}") for name in ("R0", "R1", "R2", "R3", "R12", "LR")]
FLOAT_SAVED = SAVED + [getattr(arm, f"UC_ARM_REG_S{number}") for number in range(16)] + [arm.UC_ARM_REG_FPSCR]
PADDED = 1 << 9  # in a saved status word: the frame was moved down by a word, to a multiple of 8
THUMB = 1 << 24  # in the status word
FLOATING = 1 << 2  # in CONTROL: floating point registers are in use
SHORT = 1 << 4  # in the address by which a handler returns: a frame without floating point


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
    """A chip gives MICROSECOND (cycles), MODEL, RAM, RAM_SIZE, PAGE, `uart`, and `map_memory`, `reset` and `vector`."""

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
        self.next_flash_time = None
        self.noise = True
        self.stuck_noise = None
        self.slice = SLICE * self.MICROSECOND
        self.ready = self.unmeasured = False
        # Where the engine puts the program counter after every slice.
        self.place = ctypes.c_uint32()
        self.at_place = ctypes.byref(self.place)

        self.uc = Uc(UC_ARCH_ARM, UC_MODE_THUMB | UC_MODE_MCLASS)
        self.uc.ctl_set_cpu_model(self.MODEL)
        self.uc.mem_map(self.RAM, self.RAM_SIZE)
        self.uc.mmio_map(0xE000E000, 0x1000, self.system_read, None, self.system_write, None)
        self.uc.hook_add(UC_HOOK_INTR, self.on_exception)
        stamp = self.symbols["STAMP_READY"]
        self.uc.hook_add(UC_HOOK_MEM_WRITE, self.on_stamp, None, stamp, stamp + 3)
        self.map_memory()
        for _, runs, data in self.image.segments:
            for at in range(0, len(data), 2):
                hook = {b"\x30\xbf": self.on_sleep, b"\xfe\xe7": self.on_hang,
                        b"\x62\xb6": self.on_unmask}.get(data[at:at + 2])
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
        self.set_registers(CONTROL=0, PRIMASK=0, XPSR=THUMB, SP=stack)

    def get_register(self, name):
        return self.uc.reg_read(getattr(arm, f"UC_ARM_REG_{name}"))

    def set_registers(self, **values):
        for name, value in values.items():
            self.uc.reg_write(getattr(arm, f"UC_ARM_REG_{name}"), value)

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
        bank, place = divmod(offset, BANK)
        if bank in (ENABLE, DISABLE):
            return (self.enabled >> 8 * place) % 2**32
        if offset == CPACR:
            return self.coprocessors
        if offset not in (ICSR, AIRCR):
            self.violate(f"system register {offset:#x} read")
        return 0

    def system_write(self, _, offset, size, value, __):
        bank, place = divmod(offset, BANK)
        chosen = value << 8 * place
        if bank == ENABLE:
            self.enabled = self.enabled | chosen
        elif bank == DISABLE:
            self.enabled = self.enabled & ~chosen
        elif bank == FORGET:
            self.latched = self.latched & ~chosen
        elif offset == CPACR:
            self.coprocessors = value
        elif offset == AIRCR and (value >> 16, value & RESET_REQUEST) == (AIRCR_KEY, RESET_REQUEST):
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

    def on_unmask(self, *_):
        """Interrupts are about to be unmasked. In a start one that waits is taken here, else at the end of a slice."""
        if self.unmeasured and self.latched & self.enabled:
            self.stop("unmask")

    def on_hang(self, *_):
        """A jump to itself: only an interrupt or a reset ends it."""
        self.stop("poll")

    def on_stamp(self, _, __, ___, ____, value, _____):
        """The firmware is ready for requests, unless this is its start-up code, which clears the word."""
        self.ready = value != 0

    def on_exception(self, _, number, __):
        self.stop("return" if number == EXCEPTION_EXIT else "fault")

    def step(self, limit):
        """One slice, one sleep or one exception."""
        self.catch_up()
        if self.pending_reset is not None:
            return self.reset(self.pending_reset)
        ready = self.latched & self.enabled
        count = self.slice
        if ready:
            self.asleep = False
            masked = self.uc.reg_read(arm.UC_ARM_REG_PRIMASK) & 1
            if masked:
                count = SHORT_SLICE
            if not masked and not self.active:
                self.interrupt(ready)
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
            self.uc.emu_start(self.pc | 1, 0xFFFFFFFF, count=0 if self.unmeasured else count)
        except UcError:
            self.stopped = self.stopped or "fault"
        # What `reg_read` does, in a fifth of its time.
        self.uc._do_reg_read(arm.UC_ARM_REG_PC, self.at_place)
        self.pc = self.place.value
        reason = self.stopped
        self.now += int(count * CYCLES_PER_INSTRUCTION / (1 if reason is None else 2))
        if reason == "poll":
            moment = self.next_moment()
            if moment is not None:
                self.now = max(self.now, moment)
        elif reason == "unmask":
            self.pc += 2
            self.uc.reg_write(arm.UC_ARM_REG_PRIMASK, 0)
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

    def interrupt(self, ready):
        """Takes one of the interrupts that wait. All have the same priority: the lowest number goes first."""
        first = next(number for number in range(ready.bit_length()) if ready >> number & 1)
        self.latched ^= 1 << first
        self.enter(FIRST_IRQ + first)

    def enter(self, number):
        """Exception entry. A fault in a fault handler, or a stack that ends, locks the processor up; where the
        processor has a limit of its stack, the latter does not."""
        floats = bool(self.get_register("CONTROL") & FLOATING)
        if floats and self.coprocessors >> 20 & 0xF != 0xF:
            self.violate("floating point used before it was enabled")
        layout = FLOAT_FRAME if floats else FRAME
        top = self.get_register("SP") - layout.size
        bottom, limit = top // 8 * 8, self.stack_limit()
        if self.active == HARD_FAULT or (limit is None and bottom < self.RAM):
            return self.lock_up()
        if limit is None or bottom >= limit:
            words = list(self.uc.reg_read_batch(FLOAT_SAVED if floats else SAVED))
            status = self.get_register("XPSR") & ~PADDED
            words[PLACE.start:PLACE.start] = self.pc & ~1, status | (PADDED if bottom < top else 0)
            self.uc.mem_write(bottom, layout.pack(*(word % 2**32 for word in words)))
        else:
            # Nothing is stored below the limit; the handler begins with an empty stack.
            bottom = limit
        back = 0xFFFFFFE9 | (0 if floats else SHORT)
        self.set_registers(SP=bottom, LR=back, CONTROL=self.get_register("CONTROL") & ~FLOATING, XPSR=THUMB | number)
        self.pc, self.active, self.asleep = self.vector(number), number, False

    def stack_limit(self):
        """The lowest address of the stack, if the processor knows one."""
        return None

    def check_access(self, address, block):
        """Called before a block of registers is accessed: a chip may forbid it."""

    def lock_up(self):
        self.pending_reset = LOCKUP

    def leave(self):
        """Exception return. The address that the handler jumped to tells which frame lies on the stack."""
        floats, bottom = not self.pc & SHORT, self.get_register("SP")
        layout = FLOAT_FRAME if floats else FRAME
        words = list(layout.unpack(self.uc.mem_read(bottom, layout.size)))
        self.pc, status = words[PLACE]
        del words[PLACE]
        self.uc.reg_write_batch(list(zip(FLOAT_SAVED, words)))
        control = self.get_register("CONTROL") & ~FLOATING
        padding = 4 if status & PADDED else 0
        self.set_registers(CONTROL=control | (FLOATING if floats else 0), SP=bottom + layout.size + padding,
                           XPSR=status & ~PADDED)
        self.active = 0

    # The world outside.

    def run(self, time, is_over=None):
        """Runs for so many microseconds, or until something is over."""
        end = self.now + int(time * self.MICROSECOND)
        while end > self.now and not (is_over and is_over()):
            self.step(end)

    def start(self, time):
        """Runs until the firmware is ready for requests, at most for so many microseconds. Whether it is."""
        self.ready = False
        self.measure(False)
        signal.alarm(START_PATIENCE)
        try:
            self.run(time, lambda: self.ready)
        finally:
            signal.alarm(0)
            self.measure(True)
        return self.ready

    def measure(self, measured):
        """Whether instructions are counted, which is a part of the code that the engine has translated."""
        self.unmeasured = not measured
        self.uc.ctl_flush_tb()

    def send(self, data, after):
        """Puts bytes on the line, `after` microseconds from now or behind those that are on it already."""
        self.wire_free = max(self.wire_free, self.now + int(after * self.MICROSECOND))
        for byte in data:
            self.wire.append((self.wire_free, byte))
            self.wire_free += self.uart.BYTE_TIME
        self.plan_delivery()

    def plan_delivery(self):
        """The first byte on the line reaches the UART at its end."""
        if self.wire:
            self.plan("delivery", max(self.now, self.wire[0][0] + self.uart.BYTE_TIME), self.deliver)

    def deliver(self):
        begun, byte = self.wire.pop(0)
        self.plan_delivery()
        self.uart.receive(begun, byte)

    def load_word(self, symbol):
        return int.from_bytes(self.uc.mem_read(self.symbols[symbol], 4), "little")
