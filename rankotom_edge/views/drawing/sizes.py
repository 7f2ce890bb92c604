"""The sizes of text, margins and cards, which grow with the window."""

COLUMNS, LINES = 640, 480  # the window at which the unit is 1 and text is 12 pixels high


class Sizes:
    """In pixels."""

    def __init__(self, unit: float) -> None:
        self._unit = unit
        self.text, self.title, self.row = self.px(12), self.px(15), self.px(16)
        self.pad, self.gap, self.radius = self.px(10), self.px(8), self.px(7)
        self.card_width = self.px(208)  # at least
        self.head = self.px(40)  # of a card: the headline and the line beneath it

    def px(self, length: float) -> int:
        return max(1, round(length * self._unit))
