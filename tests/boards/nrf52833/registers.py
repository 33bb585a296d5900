"""How the peripherals of the nRF52833 declare their registers: by name and offset, in the class that they belong to.

    BAUDRATE = Register(0x524, reset=0x04000000)

    @Task(0x000)
    def STARTRX(self):
        ...

A declaration that decorates a function takes its name, and the function is what an access brings about. With `count`
it declares that many registers, one word apart: a list, and the function is given the place in it.
"""

from copy import copy


class Member:
    """What lies at one offset. It can be neither read nor written, unless its kind says so."""

    def __init__(self, offset, count=None):
        self.offset, self.count = offset, count
        self.effect = None

    def __call__(self, effect):
        self.effect = effect
        return self

    def __set_name__(self, _, name):
        self.name = name

    def belonging_to(self, block):
        """Copies for one block, entered into its table."""
        if self.count is None:
            return self.copied(block)
        return [self.copied(block, place) for place in range(self.count)]

    def copied(self, block, place=None):
        member = copy(self)
        member.block, member.place = block, ()
        if place is not None:
            member.name, member.offset, member.place = f"{self.name}[{place}]", self.offset + 4 * place, (place,)
        block.members[member.offset] = member
        return member

    def act(self, *values):
        if self.effect:
            return self.effect(self.block, *self.place, *values)
        return None

    def read(self):
        self.block.violate(f"{self.name} cannot be read")
        return 0

    def write(self, value):
        self.block.violate(f"{self.name} cannot be written ({value:#x})")


class ReadOnly(Member):
    """The function gives the value."""

    def read(self):
        return self.act()


class WriteOnly(Member):
    """The function takes the value."""

    def write(self, value):
        self.act(value)


class Task(Member):
    def write(self, value):
        if value != 1:
            self.block.violate(f"task {self.name} is triggered by {value:#x}")
        self.act()


class Event(Member):
    """The function is what follows when software clears the event. One that is `polled` is waited for in a loop: a read
    before it has happened lets time go on to whatever happens next."""

    def __init__(self, offset, count=None, polled=False):
        super().__init__(offset, count)
        self.polled = polled

    def mask(self):
        """Its bit in INTENSET and INTENCLR."""
        return 1 << (self.offset - 0x100) // 4

    def set(self):
        self.block.happened |= self.mask()
        self.block.drive_line()

    def read(self):
        happened = self.block.happened & self.mask() != 0
        if self.polled and not happened:
            self.block.chip.stop("poll")
        return int(happened)

    def write(self, value):
        if value != 0:
            self.block.violate(f"event {self.name} is cleared by {value:#x}")
        self.block.happened &= ~self.mask()
        self.act()


class Register(Member):
    """Holds what was written. One that `sets` or `clears` a register, perhaps itself, does so with the bits that are
    written as ones, and reads as that register. The function follows a write."""

    def __init__(self, offset, reset=0, sets=None, clears=None, count=None):
        super().__init__(offset, count)
        self.value, self.sets, self.clears = reset, sets, clears
        self.locked = False

    def target(self):
        name = self.sets or self.clears
        return getattr(self.block, name) if name else self

    def read(self):
        return self.target().value

    def write(self, value):
        if self.locked:
            return
        if self.sets:
            self.target().value |= value
        elif self.clears:
            self.target().value &= ~value
        else:
            self.value = value
        self.act(value)


class Block:
    def __init__(self, chip):
        self.chip = chip
        self.members = {}
        for name in dir(type(self)):
            declared = getattr(type(self), name)
            if isinstance(declared, Member):
                setattr(self, name, declared.belonging_to(self))

    def violate(self, what):
        self.chip.violate(f"{type(self).__name__}: {what}")

    def require(self, **values):
        """That registers hold these values now."""
        for name, value in values.items():
            held = getattr(self, name).value
            if held != value:
                self.violate(f"{name} is {held:#x}, and has to be {value:#x} here")

    def member(self, offset):
        if offset not in self.members:
            unknown = Member(offset)
            unknown.name = f"offset {offset:#x}"
            return unknown.copied(self)
        return self.members[offset]

    def read(self, offset):
        return self.member(offset).read()

    def write(self, offset, value):
        self.member(offset).write(value)


class Peripheral(Block):
    """A block with events. Its interrupt line is high while an event stands whose interrupt is on."""
    IRQ = None

    INTENSET = Register(0x304, sets="INTENSET")
    INTENCLR = Register(0x308, clears="INTENSET")

    def __init__(self, chip):
        super().__init__(chip)
        self.happened = 0

    def write(self, offset, value):
        super().write(offset, value)
        self.drive_line()

    def drive_line(self):
        if self.IRQ is not None:
            self.chip.lines &= ~(1 << self.IRQ)
            if self.happened & self.INTENSET.value:
                self.chip.lines |= 1 << self.IRQ
