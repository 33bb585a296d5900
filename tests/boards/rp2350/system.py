"""Resets, clocks, ticks, and the connection of pins."""

from block import CRYSTAL_MHZ, MICROSECOND, SYSTEM_HZ, Block


class Resets(Block):
    """Every block but those of the flash, which the boot program needs, starts in reset."""
    FLASH = 1 << 7 | 1 << 10
    ALL = (1 << 29) - 1
    REGISTERS = {0x0: ALL & ~FLASH}

    def holds(self, block):
        return block.RESET_BIT is not None and self.registers[0] >> block.RESET_BIT & 1

    def write_0(self, value):
        if value & self.FLASH:
            self.chip.violate("the flash's pins are reset")
        self.registers[0] = value

    def read_8(self):
        return self.ALL & ~self.registers[0]


class Xosc(Block):
    REGISTERS = {0x0: 0, 0xC: 0xC4}
    ON = 0xFAB << 12 | 0xAA0

    def __init__(self, chip):
        super().__init__(chip)
        self.stable_at = None

    def write_0(self, value):
        self.registers[0] = value
        self.stable_at = self.chip.now + self.registers[0xC] * 256 * MICROSECOND // CRYSTAL_MHZ

    def is_stable(self):
        return self.registers[0] == self.ON and self.chip.now >= self.stable_at

    def read_4(self):
        if not self.is_stable() and self.stable_at is not None:
            self.chip.now = max(self.chip.now, self.stable_at)
        return self.is_stable() << 31


class Pll(Block):
    RESET_BIT = 14
    REGISTERS = {0x0: 1, 0x4: 0x2D, 0x8: 0, 0xC: 0x77000}

    def is_locked(self):
        return self.registers[4] & 0x21 == 0

    def read_0(self):
        return self.registers[0] & 0x7FFFFFFF | self.is_locked() << 31

    def hertz(self):
        """What it gives; 0 if it gives nothing."""
        registers = self.registers
        if not self.is_locked() or registers[4] & 8:
            return 0
        dividers = (registers[0xC] >> 16 & 7) * (registers[0xC] >> 12 & 7)
        return CRYSTAL_MHZ * 1_000_000 // (registers[0] & 0x3F) * registers[8] // dividers


class Clocks(Block):
    """CLK_REF, CLK_SYS and CLK_PERI. The boot program leaves the first two on the ring oscillator."""
    REGISTERS = {0x30: 0, 0x3C: 0, 0x48: 0}

    def read_38(self):
        return 1 << (self.registers[0x30] & 3)

    def read_44(self):
        return 1 << (self.registers[0x3C] & 1)

    def write_30(self, value):
        if value & 3 == 2 and not self.chip.xosc.is_stable():
            self.chip.violate("the crystal is chosen before it is stable")
        self.registers[0x30] = value

    def write_3c(self, value):
        if self.registers[0x3C] & 1 and value & 0xE0 != self.registers[0x3C] & 0xE0:
            self.chip.violate("the second source of CLK_SYS is changed while it runs from it")
        if value & 1 and (value >> 5 & 7 or self.chip.pll.hertz() != SYSTEM_HZ):
            self.chip.violate(f"CLK_SYS from source {value >> 5 & 7}, PLL at {self.chip.pll.hertz()} Hz")
        self.registers[0x3C] = value

    def runs(self):
        return self.registers[0x30] & 3 == 2 and self.registers[0x3C] & 1


class Ticks(Block):
    """A tick is a number of cycles of CLK_REF."""
    REGISTERS = {offset: 0 for offset in range(0, 72, 4)}
    TIMER0, WATCHDOG = 0x18, 0x30

    def microseconds(self, tick):
        """Of one tick; `None` while it does not run."""
        on = self.registers[tick] & 1 and self.chip.clocks.runs()
        return self.registers[tick + 4] / CRYSTAL_MHZ if on else None


class Psm(Block):
    REGISTERS = {0x0: 0, 0x4: 0, 0x8: 0, 0xC: 0}

    def write_8(self, value):
        if value != 0x01FFFFFF & ~(1 << 2 | 1 << 3):
            self.chip.violate(f"the watchdog is to reset {value:#x}")
        self.registers[8] = value


class Powman(Block):
    def read_2c(self):
        return self.chip.chip_reset


class IoBank(Block):
    RESET_BIT = 6
    REGISTERS = {8 * pin + 4: 0x1F for pin in range(48)}


class Pads(Block):
    RESET_BIT = 9
    REGISTERS = {4 + 4 * pin: 0x116 for pin in range(48)}
