"""Where a chip's peripherals lie: hands each access to the block of registers at its address."""

from bisect import bisect_right
from functools import partial


class Nothing:
    """Stands where no block is: it ignores everything."""

    def read(self, _):
        return 0

    def write(self, _, __):
        pass


class Bus:
    def __init__(self, chip, windows):
        """`windows` are the ranges of addresses at which the processor reaches peripherals."""
        self.chip = chip
        for window in windows:
            chip.uc.mmio_map(window.start, len(window), partial(self.load, window.start), None,
                             partial(self.store, window.start), None)

    def fill(self, rows):
        """Puts blocks in place of those that were there. A row is the first address, the number of bytes and the block;
        and, where the block counts its registers from another address than the first, that address."""
        self.rows = sorted((row if len(row) > 3 else (*row, row[0]) for row in rows), key=lambda row: row[0])
        self.starts = [row[0] for row in self.rows]

    def locate(self, address, size):
        """The block at an address, and which register of it that is."""
        if (size, address % 4) != (4, 0):
            self.chip.violate(f"{size} bytes at {address:#x} accessed")
        start, length, block, origin = self.rows[bisect_right(self.starts, address) - 1]
        if start <= address < start + length:
            self.chip.check_access(address, block)
            return block, address - origin
        self.chip.violate(f"{address:#x} accessed, which is not modelled")
        return Nothing(), 0

    def load(self, start, _, place, size, __):
        if self.chip.unmeasured:
            self.chip.now += self.chip.MICROSECOND // 2
        self.chip.catch_up()
        block, register = self.locate(start + place, size)
        return block.read(register) % 2**32

    def store(self, start, _, place, size, value, __):
        self.chip.catch_up()
        block, register = self.locate(start + place, size)
        block.write(register, value)
        self.chip.catch_up()
