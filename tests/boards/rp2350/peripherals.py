"""LED, timer, UART, noise source and watchdog of the RP2350."""

from block import MICROSECOND, SYSTEM_HZ, Block
from system import Ticks


class Sio(Block):
    REGISTERS = {0x10: 0, 0x30: 0}
    LED = 25

    def level(self):
        """Of the LED, whose pin must be an output of this block and not isolated."""
        chip = self.chip
        function, pad = chip.io_bank.registers[8 * self.LED + 4], chip.pads.registers[4 + 4 * self.LED]
        driven = function & 0x1F == 5 and not pad & 1 << 8 and self.registers[0x30] >> self.LED & 1
        return int(driven and self.registers[0x10] >> self.LED & 1)

    def change(self, offset, value):
        before = self.level()
        self.registers[offset] = value
        if self.level() != before:
            self.chip.led.append(self.chip.now)

    def write_18(self, value):
        self.change(0x10, self.registers[0x10] | value)

    def write_20(self, value):
        self.change(0x10, self.registers[0x10] & ~value)

    def write_38(self, value):
        self.change(0x30, self.registers[0x30] | value)


class Timer(Block):
    """TIMER0 with its first alarm."""
    RESET_BIT = 23
    IRQ = 0
    REGISTERS = {0x10: 0, 0x20: 0, 0x3C: 0, 0x40: 0}
    ROUND = 1 << 32

    def count(self):
        if self.chip.ticks.microseconds(Ticks.TIMER0) != 1:
            self.chip.violate("TIMER0 does not count microseconds")
        return self.chip.now // MICROSECOND % self.ROUND

    def read_28(self):
        return self.count()

    def write_10(self, value):
        """The count has to arrive at the value: one that it has now is met a round later."""
        self.registers[0x10] = value
        self.registers[0x20] |= 1
        ahead = (value - self.count() - 1) % self.ROUND + 1
        self.chip.plan("alarm", (self.chip.now // MICROSECOND + ahead) * MICROSECOND, self.go_off)

    def go_off(self):
        if self.registers[0x20] & 1:
            self.registers[0x20] &= ~1
            self.registers[0x3C] |= 1
            self.update()

    def write_20(self, value):
        self.registers[0x20] &= ~value

    def write_3c(self, value):
        self.registers[0x3C] &= ~value
        self.update()

    def write_40(self, value):
        self.registers[0x40] = value
        self.update()

    def update(self):
        self.set_line(self.IRQ, self.registers[0x3C] & self.registers[0x40] & 1)


class Uart(Block):
    """UART0, a PL011 with its FIFOs off: it holds one byte each way. When one more comes, it is lost."""
    RESET_BIT = 26
    IRQ = 33
    REGISTERS = {0x24: 0, 0x28: 0, 0x2C: 0, 0x30: 0x300, 0x34: 0x12, 0x38: 0}
    DEPTH = 1
    BYTE_TIME = 10 * SYSTEM_HZ // 115_200
    RX, FRAMING, OVERRUN = 1 << 4, 1 << 7, 1 << 10
    ERRORS = 0x780

    def __init__(self, chip):
        super().__init__(chip)
        self.held, self.queue = [], []
        self.raised = 0
        self.sending = False
        self.listening_since = None

    def write_30(self, value):
        """CR: on, with everything else set up: 115200 8N1 without FIFOs, GP0 and GP1."""
        chip, registers = self.chip, self.registers
        pads, functions = chip.pads.registers, chip.io_bank.registers
        right = [value == 0x301, registers[0x24] == 81, registers[0x28] == 24, registers[0x2C] == 0x60,
                 chip.clocks.registers[0x48] == 1 << 11, chip.clocks.runs(),
                 functions[4] & 0x1F == 2, functions[12] & 0x1F == 2,
                 not pads[4] & 0x180, not pads[8] & 0x100, pads[8] & 0x48 == 0x48]
        if not all(right):
            chip.violate(f"the UART is started with a wrong setup: {right}")
        registers[0x30] = value
        self.listening_since = chip.now

    def receive(self, begun, byte):
        chip = self.chip
        if self.listening_since is None or chip.resets_block.holds(self):
            return
        if len(self.held) == self.DEPTH or chip.lose:
            chip.lose = max(0, chip.lose - 1)
            chip.overruns += 1
            return self.raise_bits(self.OVERRUN)
        error = 0
        if begun < self.listening_since or chip.break_bytes:
            chip.break_bytes = max(0, chip.break_bytes - 1)
            byte, error = chip.chance.choice([byte, 10, 32, chip.chance.randrange(256)]), 1
        self.held.append(error << 8 | byte)
        self.raise_bits(self.RX | (self.FRAMING if error else 0))

    def raise_bits(self, bits):
        self.raised |= bits
        self.update()

    def update(self):
        self.set_line(self.IRQ, self.raised & self.registers[0x38])

    def read_0(self):
        if not self.held:
            self.chip.violate("DR read while nothing is held")
            return 0
        byte = self.held.pop(0)
        self.raised &= ~self.RX
        self.update()
        return byte

    def read_3c(self):
        return self.raised

    def write_44(self, value):
        if value & ~self.ERRORS:
            self.chip.violate("interrupts of received bytes are cleared while bytes may be held")
        self.raised &= ~value
        self.update()

    def write_38(self, value):
        self.registers[0x38] = value
        self.update()

    def read_18(self):
        full = len(self.queue) == self.DEPTH
        if full:
            self.chip.stop("poll")
        return (not self.held) << 4 | full << 5 | (len(self.held) == self.DEPTH) << 6 | self.sending << 3

    def write_0(self, value):
        if len(self.queue) == self.DEPTH or not self.registers[0x30] & 1:
            self.chip.violate("DR written while it cannot be sent")
        self.queue.append(value & 0xFF)
        if not self.sending:
            self.send_next()

    def send_next(self):
        self.sending = bool(self.queue)
        if self.sending:
            byte, begun = self.queue.pop(0), self.chip.now
            self.chip.plan("sent", begun + self.BYTE_TIME, lambda: self.finish(begun, byte))

    def finish(self, begun, byte):
        self.chip.sent.append(byte)
        self.chip.sent_times.append(begun)
        self.send_next()


class Trng(Block):
    """Collects 192 bits, or fails one of its tests: then it gives nothing until it is reset."""
    RESET_BIT = 25
    REGISTERS = {0x104: 0, 0x10C: 0, 0x12C: 0, 0x130: 0xFFFF, 0x140: 0} | {0x114 + 4 * i: 0 for i in range(6)}
    VALID, AUTOCORRELATION, EQUAL_BLOCKS = 1, 2, 4
    RESET_TIME = 20
    # Of four samples of the oscillator one bit is left on average.
    SAMPLES = 192 * 4

    def __init__(self, chip):
        super().__init__(chip)
        self.reset_until = 0
        setattr(self, "read_128", self.read_last)

    def write(self, offset, value):
        if self.chip.now >= self.reset_until:
            super().write(offset, value)

    def write_140(self, value):
        self.registers = dict(self.REGISTERS)
        self.reset_until = self.chip.now + self.RESET_TIME
        self.chip.planned.pop("noise", None)

    def write_12c(self, value):
        self.registers[0x12C] = value
        if value & 1:
            self.collect()

    def collect(self):
        if self.registers[0x130] < 20:
            self.chip.violate(f"the oscillator is sampled every {self.registers[0x130]} cycles")
        time = self.SAMPLES * self.registers[0x130] * self.chip.chance.uniform(0.9, 1.2)
        self.chip.plan("noise", self.chip.now + int(time), self.give)

    def give(self):
        chip = self.chip
        if not chip.noise:
            # An oscillator that stands still: 32 equal bits.
            self.registers[0x104] |= 8
        elif chip.noise_failures and chip.chance.randrange(chip.noise_failures) == 0:
            self.registers[0x104] |= chip.chance.choice([self.AUTOCORRELATION, self.EQUAL_BLOCKS])
        else:
            for i in range(6):
                stuck = chip.stuck_noise
                word = chip.chance.getrandbits(32) if stuck is None else stuck * 0x01010101
                self.registers[0x114 + 4 * i] = word
            self.registers[0x104] |= self.VALID

    def read_104(self):
        if not self.registers[0x104]:
            # Polled until something comes, or until a second has passed.
            self.chip.stop("poll")
        return self.registers[0x104]

    def write_108(self, value):
        self.registers[0x104] &= ~(value & ~self.AUTOCORRELATION)

    def read_last(self):
        word = self.registers[0x128]
        for i in range(6):
            self.registers[0x114 + 4 * i] = 0
        if self.registers[0x104] & self.VALID:
            self.chip.violate("the noise is taken before its status is cleared")
        self.collect()
        return word


class Watchdog(Block):
    REGISTERS = {0x0: 0x07000000}
    ENABLE, TRIGGER = 1 << 30, 1 << 31

    def __init__(self, chip):
        super().__init__(chip)
        self.load = 0
        for i in range(8):
            setattr(self, f"read_{0xC + 4 * i:x}", lambda i=i: chip.scratch[i])
            setattr(self, f"write_{0xC + 4 * i:x}", lambda value, i=i: chip.scratch.__setitem__(i, value))

    def read_8(self):
        return self.chip.reason

    def write_0(self, value):
        self.registers[0] = value & ~self.TRIGGER
        if value & self.TRIGGER:
            self.bite(4)
        self.plan_bite()

    def write_4(self, value):
        self.load = value & 0xFFFFFF
        self.plan_bite()

    def plan_bite(self):
        if self.registers[0] & self.ENABLE:
            tick = self.chip.ticks.microseconds(Ticks.WATCHDOG)
            if tick is None:
                return self.chip.violate("the watchdog is started without a tick")
            self.chip.plan("watchdog", self.chip.now + int(self.load * tick * MICROSECOND), lambda: self.bite(2))

    def bite(self, cause):
        if not self.chip.psm.registers[8]:
            self.chip.violate("the watchdog resets nothing")
        self.chip.pending_reset = cause
        self.chip.stop("reset")
