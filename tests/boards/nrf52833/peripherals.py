"""The peripherals of the nRF52833 that the firmware uses, with the names and numbers of its product specification.
Times are in cycles of the processor."""

from collections import deque
from math import inf

from cortex import DOG
from registers import Block, Event, Peripheral, ReadOnly, Register, Task, WriteOnly

CPU_HZ = 64_000_000
MICROSECOND = CPU_HZ // 1_000_000


class Gpio(Block):
    """One of the two ports."""
    OUTPUT, BUFFER_OFF = 1 << 0, 1 << 1  # in PIN_CNF

    OUT = Register(0x504)
    OUTSET = Register(0x508, sets="OUT")
    OUTCLR = Register(0x50C, clears="OUT")
    DIR = Register(0x514)
    DIRSET = Register(0x518, sets="DIR")
    DIRCLR = Register(0x51C, clears="DIR")

    @Register(0x700, reset=BUFFER_OFF, count=32)
    def PIN_CNF(self, pin, value):
        (self.DIRSET if value & self.OUTPUT else self.DIRCLR).write(1 << pin)

    def write(self, offset, value):
        super().write(offset, value)
        self.chip.look_at_leds()

    def high(self):
        """The pins that the port drives high, a bit each."""
        return self.DIR.value & self.OUT.value

    def low(self):
        return self.DIR.value & ~self.OUT.value

    def can_read(self, pin):
        return not (self.DIR.value >> pin & 1 or self.PIN_CNF[pin].value & self.BUFFER_OFF)


class Nvmc(Block):
    READ, WRITE, ERASE = range(3)  # CONFIG

    @ReadOnly(0x400)
    def READY(self):
        """Always: the processor stands still while the flash is busy."""
        return 1

    @Register(0x504)
    def CONFIG(self, mode):
        if mode not in (self.READ, self.WRITE, self.ERASE):
            self.violate(f"CONFIG has no mode {mode:#x}")

    @WriteOnly(0x508)
    def ERASEPAGE(self, address):
        self.chip.erase_page(address)


class Power(Peripheral):
    """CLOCK and POWER have one base address. Their interrupt is left out."""
    CRYSTAL_START = 360 * MICROSECOND

    HFCLKSTARTED = Event(0x100)
    RESETREAS = Register(0x400, clears="RESETREAS")

    @Task(0x000)
    def HFCLKSTART(self):
        self.chip.plan("crystal", self.chip.now + self.CRYSTAL_START, self.HFCLKSTARTED.set)


class Watchdog(Peripheral):
    LFCLK_HZ = 32_768
    RELOAD = 0x6E524635

    TIMEOUT = Event(0x100)
    CRV = Register(0x504, reset=0xFFFFFFFF)
    RREN = Register(0x508, reset=1)
    CONFIG = Register(0x50C, reset=1)

    def __init__(self, chip):
        super().__init__(chip)
        self.deadline = None

    @Task(0x000)
    def START(self):
        """From here on its setup is locked, until a reset that it does not survive (`Chip.reset`)."""
        if not self.RREN.value & self.CONFIG.value & 1:
            self.violate("RR[0] is off, or the count stops in sleep")
        if self.deadline is None:
            for setup in (self.CRV, self.RREN, self.CONFIG):
                setup.locked = True
            self.restart()

    @WriteOnly(0x600)
    def RR0(self, value):
        if value != self.RELOAD:
            self.violate(f"{value:#x} does not reload it")
        elif self.deadline is not None:
            self.restart()

    def restart(self):
        self.deadline = self.chip.now + (self.CRV.value + 1) * CPU_HZ // self.LFCLK_HZ
        self.go_on()

    def go_on(self):
        """Also after a reset that it survives, which has emptied the timetable."""
        if self.deadline is not None:
            self.chip.plan("watchdog", self.deadline, self.expire)

    def expire(self):
        self.chip.pending_reset = DOG
        self.chip.stop("reset")


class Timer(Peripheral):
    """TIMER0. It counts as the firmware sets it up, and START checks that it does."""
    IRQ = 8
    CHANNELS = 4
    STEP = CPU_HZ // 16_000_000
    ROUND = 1 << 32

    COMPARE = Event(0x140, count=CHANNELS)
    MODE = Register(0x504)
    BITMODE = Register(0x508)
    PRESCALER = Register(0x510, reset=4)

    def __init__(self, chip):
        super().__init__(chip)
        self.zero = None  # the moment of count 0; None while stopped

    @Register(0x540, count=CHANNELS)
    def CC(self, channel, _):
        self.plan_match(channel)

    @Task(0x000)
    def START(self):
        self.require(MODE=0, BITMODE=3, PRESCALER=0)
        self.count_from_now()

    @Task(0x004)
    def STOP(self):
        self.zero = None

    @Task(0x00C)
    def CLEAR(self):
        if self.zero is not None:
            self.count_from_now()

    @Task(0x040, count=CHANNELS)
    def CAPTURE(self, channel):
        self.CC[channel].write(self.steps() % self.ROUND)

    def count_from_now(self):
        self.zero = self.chip.now
        for channel in range(self.CHANNELS):
            self.plan_match(channel)

    def steps(self):
        return 0 if self.zero is None else (self.chip.now - self.zero) // self.STEP

    def plan_match(self, channel):
        """The event comes when the count steps to the value: a round later for the value that it has now."""
        if self.zero is not None:
            steps = self.steps()
            ahead = (self.CC[channel].value - steps) % self.ROUND or self.ROUND
            moment = self.zero + (steps + ahead) * self.STEP
            self.chip.plan(f"channel {channel}", moment, lambda: self.match(channel))

    def match(self, channel):
        if self.zero is not None:
            self.COMPARE[channel].set()
            self.plan_match(channel)


class Rng(Peripheral):
    """A byte comes some time after START, and the next some time after software has cleared the event. (The chip does
    not wait for that, but replaces a byte that nobody has taken.)"""
    IRQ = 13
    DERCEN = 1 << 0  # in CONFIG: bias correction
    FIRST, NEXT, NEXT_CORRECTED = 128 * MICROSECOND, 30 * MICROSECOND, 120 * MICROSECOND

    CONFIG = Register(0x504)

    def __init__(self, chip):
        super().__init__(chip)
        self.byte = 0

    @Task(0x000)
    def START(self):
        self.collect(self.FIRST)

    @Event(0x100)
    def VALRDY(self):
        self.collect(self.NEXT_CORRECTED if self.CONFIG.value & self.DERCEN else self.NEXT)

    @ReadOnly(0x508)
    def VALUE(self):
        return self.byte

    def collect(self, time):
        if self.chip.unmeasured and self.chip.noise:
            time = 0
        self.chip.plan("noise", self.chip.now + time, self.finish)

    def finish(self):
        if self.chip.noise:
            stuck = self.chip.stuck_noise
            self.byte = self.chip.chance.randrange(256) if stuck is None else stuck
            self.VALRDY.set()


class Uart(Peripheral):
    """UART0 on the pins towards the USB interface chip."""
    IRQ = 2
    TXD_PIN, RXD_PIN = 6, 8  # of P0 and of P1
    FIFO_SIZE = 6
    BYTE_TIME = 10 * CPU_HZ // 115_200
    OVERRUN, FRAMING = 1 << 0, 1 << 2  # in ERRORSRC
    DISCONNECTED = 0xFFFFFFFF

    RXDRDY = Event(0x108)
    TXDRDY = Event(0x11C, polled=True)
    ERROR = Event(0x124)
    ERRORSRC = Register(0x480, clears="ERRORSRC")
    ENABLE = Register(0x500)
    BAUDRATE = Register(0x524, reset=0x04000000)
    CONFIG = Register(0x56C)

    def __init__(self, chip):
        super().__init__(chip)
        self.waiting = deque()
        # Since when it receives, and from when on it can send one more byte.
        self.receives_from = self.sends_from = inf

    @Register(0x50C, reset=DISCONNECTED)
    def PSEL_TXD(self, _):
        self.require(ENABLE=0)

    @Register(0x514, reset=DISCONNECTED)
    def PSEL_RXD(self, _):
        self.require(ENABLE=0)

    @Task(0x000)
    def STARTRX(self):
        self.require_setup()
        self.receives_from = self.chip.now

    @Task(0x008)
    def STARTTX(self):
        self.require_setup()
        if self.sends_from == inf:
            self.sends_from = self.chip.now

    def require_setup(self):
        """115200 8N1, without flow control."""
        self.require(ENABLE=4, BAUDRATE=0x01D7E000, CONFIG=0, PSEL_TXD=self.TXD_PIN, PSEL_RXD=1 << 5 | self.RXD_PIN)
        txd_port, rxd_port = self.chip.ports
        if not txd_port.high() >> self.TXD_PIN & 1:
            self.violate("the pin of TXD is not an output that is high")
        if not rxd_port.can_read(self.RXD_PIN):
            self.violate("the pin of RXD is not an input")

    # Receiver.

    def receive(self, begun, byte):
        """A byte has come over the line."""
        if len(self.waiting) == self.FIFO_SIZE:
            self.overrun(byte)
        elif begun >= self.receives_from:
            self.keep(byte)
        elif self.receives_from < inf:
            # STARTRX came after its start bit, and another bit was taken for that.
            self.fail(self.FRAMING)
            self.keep(self.chip.chance.randrange(256))

    def keep(self, byte):
        self.waiting.append(byte)
        if len(self.waiting) == 1:
            self.RXDRDY.set()

    def overrun(self, byte):
        """The byte is lost, or with `Chip.overwrite` the one before it."""
        self.chip.overruns += 1
        self.fail(self.OVERRUN)
        if self.chip.overwrite:
            self.waiting[-1] = byte

    def fail(self, source):
        self.ERRORSRC.value |= source
        self.ERROR.set()

    @ReadOnly(0x518)
    def RXD(self):
        if not self.waiting:
            self.violate("RXD is read, and no byte is there")
            return 0
        byte = self.waiting.popleft()
        if self.waiting:
            # Once more for the byte that is now in front.
            self.RXDRDY.set()
        return byte

    # Transmitter.

    @WriteOnly(0x51C)
    def TXD(self, value):
        begun = self.chip.now
        if begun < self.sends_from:
            self.violate("TXD is written before STARTTX, or before the last byte has been sent")
        else:
            self.sends_from = begun + self.BYTE_TIME
            self.chip.plan("sent", self.sends_from, lambda: self.finish(begun, value & 0xFF))

    def finish(self, begun, byte):
        self.chip.sent.append(byte)
        self.chip.sent_times.append(begun)
        self.TXDRDY.set()
