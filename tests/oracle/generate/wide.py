"""The wide family."""
from .steps import Steps


class Wide(Steps):
    """Scenarios with every command, flag and kind of file."""
