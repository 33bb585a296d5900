"""What all blocks of registers of the RP2350 share.

A block lists its registers by offset. `read_OFFSET` and `write_OFFSET`, with the offset in hex, give one of them an
effect; without one a register holds what was written.
"""

MICROSECOND = 150
SYSTEM_HZ = 150_000_000
CRYSTAL_MHZ = 12


class Block:
    REGISTERS = {}
    RESET_BIT = None

    def __init__(self, chip):
        self.chip = chip
        self.registers = dict(self.REGISTERS)

    def effect(self, kind, offset):
        return getattr(self, f"{kind}_{offset:x}", None)

    def read(self, offset):
        effect = self.effect("read", offset)
        if effect:
            return effect()
        if offset not in self.registers:
            self.chip.violate(f"{type(self).__name__}: unknown register {offset:#x} read")
        return self.registers.get(offset, 0)

    def write(self, offset, value):
        effect = self.effect("write", offset)
        if effect:
            effect(value)
        elif offset in self.registers:
            self.registers[offset] = value
        else:
            self.chip.violate(f"{type(self).__name__}: {value:#x} written to unknown register {offset:#x}")

    def set_line(self, irq, high):
        bit = 1 << irq
        self.chip.lines = self.chip.lines | bit if high else self.chip.lines & ~bit
