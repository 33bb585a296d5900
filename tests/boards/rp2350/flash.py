"""The flash interface of the RP2350, and the flash chip of the Pico 2."""

from block import MICROSECOND, SYSTEM_HZ, Block


class Qmi(Block):
    """The flash interface: reads through the window, and commands in direct mode."""
    REGISTERS = {0x0: 6 << 22, 0xC: 0x40000203, 0x10: 0x000492A8, 0x14: 0xEB}
    # 03h, one line wide, no suffix and no dummy cycles.
    SERIAL = 1 << 12
    FASTEST = 50_000_000

    def __init__(self, chip):
        super().__init__(chip)
        self.received = []

    def check_clock(self, divider):
        if SYSTEM_HZ // (divider or 256) > self.FASTEST:
            self.chip.violate(f"the flash's clock is divided by {divider}")

    def read_time(self):
        """Of a word through the window: command, address and 32 bits."""
        registers = self.registers
        self.check_clock(registers[0xC] & 0xFF)
        if registers[0x10] != self.SERIAL or registers[0x14] != 3:
            self.chip.violate(f"the window reads by {registers[0x14]:#x}, format {registers[0x10]:#x}")
        if registers[0] & 1:
            self.chip.violate("the window is read in direct mode")
        return 64 * (registers[0xC] & 0xFF) + 8

    def read_0(self):
        """Never busy: time has moved on to the end of what was sent."""
        if self.chip.flash.polled:
            self.chip.flash.polled = False
            self.chip.stop("poll")
        return self.registers[0] | 1 << 11 | (not self.received) << 16

    def write_0(self, value):
        before, self.registers[0] = self.registers[0] & 5, value & 0xFFC000CD
        self.check_clock(value >> 22 & 0xFF)
        if value & 5 == 5 and before != 5:
            self.chip.flash.select()
        elif before == 5 and value & 5 != 5:
            self.chip.flash.deselect()

    def write_4(self, value):
        if self.registers[0] & 5 != 5 or value & 0x70000:
            self.chip.violate(f"{value:#x} sent to the flash, DIRECT_CSR {self.registers[0]:#x}")
        self.chip.now += 8 * (self.registers[0] >> 22 & 0xFF)
        byte = self.chip.flash.exchange(value & 0xFF)
        if not value >> 20 & 1:
            self.received.append(byte)
        if len(self.received) > 4:
            self.chip.violate("bytes from the flash are lost")

    def read_8(self):
        if not self.received:
            self.chip.violate("DIRECT_RX read while nothing was received")
            return 0
        return self.received.pop(0)


class FlashChip:
    """The journal's part of a W25Q32: one command from selection to deselection."""
    WRITE_TIME = 37 * MICROSECOND
    ERASE_TIME = 45_000 * MICROSECOND
    ADDRESS = 0x10000000

    def __init__(self, chip):
        self.chip = chip
        self.data = bytearray(b"\xff" * len(chip.journal))
        self.busy_until = 0
        self.enabled = self.polled = False
        self.bytes = None

    def reset(self, power):
        """The chip's reset does not reach the flash; a loss of power ends what it does."""
        self.bytes = None
        self.enabled = False
        if power:
            self.busy_until = 0

    def is_busy(self):
        return self.chip.now < self.busy_until

    def read(self, offset):
        if self.is_busy():
            self.chip.violate("the flash is read while it is busy")
        return self.data[offset:offset + 4]

    def select(self):
        self.bytes = []

    def exchange(self, byte):
        self.bytes.append(byte)
        if self.bytes[0] != 5 or len(self.bytes) == 1:
            return 0xFF
        if not self.is_busy():
            return self.enabled << 1
        # Polled until it is over: the next read of a register jumps to that, or to what comes before.
        self.polled = True
        return 1

    def deselect(self):
        command, data = (self.bytes or [None])[0], self.bytes[1:]
        self.bytes = None
        if command == 5:
            return
        if self.is_busy():
            return self.chip.violate(f"command {command:#x} while the flash is busy")
        if command == 6 and not data:
            self.enabled = True
        elif command == 2 and len(data) == 7 and self.enabled:
            self.program(self.place(data), int.from_bytes(bytes(data[3:]), "little"))
        elif command == 0x20 and len(data) == 3 and self.enabled:
            self.erase(self.place(data))
        else:
            self.chip.violate(f"command {command:#x} with {len(data)} bytes, writing enabled: {self.enabled}")

    def place(self, data):
        """An address of the processor, from the three bytes of a command."""
        self.enabled = False
        return self.ADDRESS + int.from_bytes(bytes(data[:3]), "big")

    def program(self, address, value):
        chip = self.chip
        if address not in chip.journal or address % 4:
            return chip.violate(f"{address:#x} is written")
        offset = address - chip.journal.start
        old = int.from_bytes(self.data[offset:offset + 4], "little")
        chip.check_word(address, old, value)
        done = chip.operate(False)
        new = (old & value).to_bytes(4, "little") if done == 1 else chip.torn_write(old, value, done)
        self.data[offset:offset + 4] = new
        self.begin(self.WRITE_TIME)
        return None

    def erase(self, address):
        chip = self.chip
        if address not in chip.journal or address % chip.PAGE:
            return chip.violate(f"page {address:#x} is erased")
        offset = address - chip.journal.start
        chip.note_erase(address)
        done = chip.operate(True)
        self.data[offset:offset + chip.PAGE] = chip.erased(address, self.data[offset:offset + chip.PAGE], done)
        self.begin(self.ERASE_TIME)
        return None

    def begin(self, time):
        self.busy_until = self.chip.now + self.chip.flash_time(time)
        self.chip.plan("flash", self.busy_until, lambda: None)
