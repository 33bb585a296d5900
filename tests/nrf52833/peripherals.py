"""The peripherals of the nRF52833 that the firmware uses.

A peripheral lists its tasks, events and registers by offset. `task_OFFSET`, `read_OFFSET` and `write_OFFSET`, with the
offset in hex, give one of them an effect; without one a register holds what was written.
"""

MICROSECOND = 64
LFCLK_HZ = 32_768
HFCLK_HZ = 64_000_000


class Peripheral:
    IRQ = None
    TASKS = ()
    EVENTS = ()
    REGISTERS = {}
    INTENSET, INTENCLR = 0x304, 0x308

    def __init__(self, chip):
        self.chip = chip
        self.events = dict.fromkeys(self.EVENTS, 0)
        self.registers = dict(self.REGISTERS)
        self.interrupts = 0

    def name(self):
        return type(self).__name__

    def happen(self, event):
        self.events[event] = 1
        self.update_line()

    def update_line(self):
        """The interrupt line is high while an event is set whose interrupt is on."""
        if self.IRQ is not None:
            high = any(self.interrupts >> (event - 0x100) // 4 & 1 for event, on in self.events.items() if on)
            bit = 1 << self.IRQ
            self.chip.lines = self.chip.lines | bit if high else self.chip.lines & ~bit

    def effect(self, kind, offset):
        return getattr(self, f"{kind}_{offset:x}", None)

    def read(self, offset):
        effect = self.effect("read", offset)
        if effect:
            return effect()
        if offset in self.events:
            return self.events[offset]
        if offset in (self.INTENSET, self.INTENCLR) and self.events:
            return self.interrupts
        if offset not in self.registers:
            self.chip.violate(f"{self.name()}: unknown register {offset:#x} read")
        return self.registers.get(offset, 0)

    def write(self, offset, value):
        effect = self.effect("write", offset)
        if effect:
            effect(value)
        elif offset in self.TASKS:
            if value != 1:
                self.chip.violate(f"{self.name()}: task {offset:#x} written with {value:#x}")
            self.effect("task", offset)()
        elif offset in self.events:
            if value:
                self.chip.violate(f"{self.name()}: event {offset:#x} written with {value:#x}")
            self.events[offset] = 0
            self.update_line()
        elif offset == self.INTENSET and self.events:
            self.interrupts |= value
            self.update_line()
        elif offset == self.INTENCLR and self.events:
            self.interrupts &= ~value
            self.update_line()
        elif offset in self.registers:
            self.registers[offset] = value
        else:
            self.chip.violate(f"{self.name()}: {value:#x} written to unknown register {offset:#x}")


class Clock(Peripheral):
    """CLOCK and POWER, which share a block."""
    TASKS, EVENTS, REGISTERS = (0x0,), (0x100,), {0x400: 0}
    START_TIME = 360 * MICROSECOND

    def task_0(self):
        self.chip.plan("crystal", self.chip.now + self.START_TIME, self.started)

    def started(self):
        self.happen(0x100)

    def read_400(self):
        return self.chip.reset_reasons

    def write_400(self, value):
        self.chip.reset_reasons &= ~value


class Uart(Peripheral):
    """Six bytes deep. When a seventh comes, the newest is lost, or with `Chip.overwrite` the last one held."""
    IRQ = 2
    TASKS, EVENTS = (0x0, 0x8), (0x108, 0x11C, 0x124)
    REGISTERS = {0x480: 0, 0x500: 0, 0x50C: 0xFFFFFFFF, 0x514: 0xFFFFFFFF, 0x518: 0, 0x51C: 0, 0x524: 0x04000000,
                 0x56C: 0}
    DEPTH = 6
    BYTE_TIME = 10 * HFCLK_HZ // 115_200
    RXDRDY, TXDRDY, ERROR = 0x108, 0x11C, 0x124
    OVERRUN, FRAMING = 1, 4

    def __init__(self, chip):
        super().__init__(chip)
        self.held = []
        self.listening_since = None
        self.can_send = False
        self.sending = False

    def check_setup(self):
        """115200 8N1 on P0.06, an output, and P1.08, an input."""
        registers, (p0, p1) = self.registers, self.chip.ports
        right = [registers[0x500] == 4, registers[0x524] == 0x01D7E000, registers[0x56C] == 0,
                 registers[0x50C] == 6, registers[0x514] == 1 << 5 | 8,
                 p0.registers[0x514] >> 6 & 1, p0.registers[0x504] >> 6 & 1,
                 not p1.registers[0x514] >> 8 & 1, not p1.registers[0x700 + 4 * 8] >> 1 & 1]
        if not all(right):
            self.chip.violate(f"the UART is started with a wrong setup: {right}")

    def task_0(self):
        self.check_setup()
        self.listening_since = self.chip.now

    def task_8(self):
        self.check_setup()
        self.can_send = True

    def plan_arrival(self):
        if self.chip.wire:
            self.chip.plan("arrival", max(self.chip.now, self.chip.wire[0][0] + self.BYTE_TIME), self.arrive)

    def arrive(self):
        begun, byte = self.chip.wire.pop(0)
        self.plan_arrival()
        if self.listening_since is None:
            self.chip.unheard += 1
        elif len(self.held) == self.DEPTH:
            self.chip.overruns += 1
            if self.chip.overwrite:
                self.held[-1] = byte
            self.fail(self.OVERRUN)
        else:
            if begun < self.listening_since:
                byte = self.chip.chance.randrange(256)
                self.fail(self.FRAMING)
            self.held.append(byte)
            if len(self.held) == 1:
                self.happen(self.RXDRDY)

    def fail(self, source):
        self.registers[0x480] |= source
        self.happen(self.ERROR)

    def write_480(self, value):
        self.registers[0x480] &= ~value

    def read_518(self):
        if not self.held:
            self.chip.violate("RXD read while nothing is held")
            return 0
        byte = self.held.pop(0)
        if self.held:
            self.happen(self.RXDRDY)
        return byte

    def write_51c(self, value):
        if not self.can_send or self.sending:
            self.chip.violate("TXD written while it cannot be sent")
        self.sending = True
        begun = self.chip.now
        self.chip.plan("sent", begun + self.BYTE_TIME, lambda: self.finish(begun, value & 0xFF))

    def finish(self, begun, byte):
        self.sending = False
        self.happen(self.TXDRDY)
        self.chip.sent.append(byte)
        self.chip.sent_times.append(begun)

    def read_11c(self):
        if self.sending:
            self.chip.stop("poll")
        return self.events[self.TXDRDY]

    def write_50c(self, value):
        self.select(0x50C, value)

    def write_514(self, value):
        self.select(0x514, value)

    def select(self, offset, value):
        if self.registers[0x500]:
            self.chip.violate("pins selected while the UART is enabled")
        self.registers[offset] = value


class Timer(Peripheral):
    """TIMER0, as a timer of 32 bits at 16 MHz."""
    IRQ = 8
    CHANNELS = range(4)
    TASKS = (0x0, 0x4, 0xC, 0x40, 0x44, 0x48, 0x4C)
    EVENTS = (0x140, 0x144, 0x148, 0x14C)
    REGISTERS = {0x504: 0, 0x508: 0, 0x510: 4, 0x540: 0, 0x544: 0, 0x548: 0, 0x54C: 0}
    CYCLES = 4
    ROUND = 1 << 32

    def __init__(self, chip):
        super().__init__(chip)
        self.zero = None
        for channel in self.CHANNELS:
            setattr(self, f"task_{0x40 + 4 * channel:x}", lambda channel=channel: self.capture(channel))
            setattr(self, f"write_{0x540 + 4 * channel:x}", lambda value, channel=channel: self.compare(channel, value))

    def count(self):
        return 0 if self.zero is None else (self.chip.now - self.zero) // self.CYCLES % self.ROUND

    def task_0(self):
        if [self.registers[offset] for offset in (0x504, 0x508, 0x510)] != [0, 3, 0]:
            self.chip.violate("TIMER0 is not set up as 32 bits at 16 MHz")
        self.zero = self.chip.now
        for channel in self.CHANNELS:
            self.plan_match(channel)

    def task_4(self):
        self.zero = None

    def task_c(self):
        if self.zero is not None:
            self.zero = self.chip.now

    def capture(self, channel):
        self.compare(channel, self.count())

    def compare(self, channel, value):
        self.registers[0x540 + 4 * channel] = value
        self.plan_match(channel)

    def plan_match(self, channel):
        """The count has to arrive at the value: one that it has now is met a round later."""
        if self.zero is None:
            return
        ahead = (self.registers[0x540 + 4 * channel] - self.count() - 1) % self.ROUND + 1
        passed = (self.chip.now - self.zero) // self.CYCLES
        moment = self.zero + (passed + ahead) * self.CYCLES
        self.chip.plan(f"compare{channel}", moment, lambda: self.match(channel))

    def match(self, channel):
        self.happen(0x140 + 4 * channel)
        self.plan_match(channel)


class Rng(Peripheral):
    IRQ = 13
    TASKS, EVENTS, REGISTERS = (0x0,), (0x100,), {0x504: 0, 0x508: 0}
    FIRST, NEXT, NEXT_CORRECTED = 128 * MICROSECOND, 30 * MICROSECOND, 120 * MICROSECOND

    def task_0(self):
        self.chip.plan("noise", self.chip.now + self.FIRST, self.give)

    def give(self):
        if self.chip.noise:
            stuck = self.chip.stuck_noise
            self.registers[0x508] = self.chip.chance.randrange(256) if stuck is None else stuck
            self.happen(0x100)

    def write_100(self, _):
        """A value that nobody reads is replaced by the next; only the one after the event was cleared is modelled."""
        self.events[0x100] = 0
        self.update_line()
        corrected = self.registers[0x504] & 1
        self.chip.plan("noise", self.chip.now + (self.NEXT_CORRECTED if corrected else self.NEXT), self.give)


class Watchdog(Peripheral):
    TASKS, EVENTS = (0x0,), (0x100,)
    REGISTERS = {0x504: 0xFFFFFFFF, 0x508: 1, 0x50C: 1}
    FEED = 0x6E524635

    def __init__(self, chip):
        super().__init__(chip)
        self.bites_at = None

    def task_0(self):
        if self.registers[0x508] & 1 == 0 or self.registers[0x50C] & 1 == 0:
            self.chip.violate("the watchdog is started without a reload register")
        if self.bites_at is None:
            self.reload()

    def reload(self):
        self.bites_at = self.chip.now + (self.registers[0x504] + 1) * HFCLK_HZ // LFCLK_HZ
        self.plan_bite()

    def plan_bite(self):
        if self.bites_at is not None:
            self.chip.plan("watchdog", self.bites_at, self.bite)

    def bite(self):
        self.chip.pending_reset = 2
        self.chip.stop("reset")

    def write_600(self, value):
        if value != self.FEED:
            self.chip.violate(f"the watchdog is fed {value:#x}")
        elif self.bites_at is not None:
            self.reload()

    def write(self, offset, value):
        """Its setup is locked while it runs, which it still does after a reset by software."""
        if self.bites_at is None or offset not in (0x504, 0x508, 0x50C):
            super().write(offset, value)


class Nvmc(Peripheral):
    REGISTERS = {0x400: 1, 0x504: 0, 0x508: 0}

    def write_504(self, value):
        if value not in (0, 1, 2):
            self.chip.violate(f"NVMC CONFIG written with {value:#x}")
        self.registers[0x504] = value

    def write_508(self, value):
        self.chip.erase_page(value)


class Gpio(Peripheral):
    """OUT, OUTSET, OUTCLR, DIR, DIRSET, DIRCLR and PIN_CNF of one port."""
    ROWS = 1 << 21 | 1 << 22 | 1 << 15 | 1 << 24 | 1 << 19
    REGISTERS = {0x504: 0, 0x514: 0} | {0x700 + 4 * pin: 2 for pin in range(32)}

    def write(self, offset, value):
        registers = self.registers
        if offset in (0x508, 0x518):
            registers[offset - 4] |= value
        elif offset in (0x50C, 0x51C):
            registers[offset - 8] &= ~value
        else:
            super().write(offset, value)
            if offset >= 0x700:
                bit = 1 << (offset - 0x700) // 4
                registers[0x514] = registers[0x514] & ~bit | (bit if value & 1 else 0)
        if self.chip.ports[0].registers[0x504] & self.ROWS:
            self.chip.look_at_leds()
