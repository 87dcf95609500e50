"""Seeded scenarios: a configuration over the whole language, and the commands of a user. Most are valid.

A seed always gives the same scenario: every choice comes from one random generator that the seed starts. A family is
a letter: `g` covers the usual language and commands, and `x`, the wide family, adds the other commands, flags and
files. The scenarios of a family never change. Additions form a new family.
"""
from .steps import Steps
from .wide import Wide


def generator(number, family="g"):
    """The generator of a scenario, not yet run."""
    return Steps(f"differ-{number}") if family == "g" else Wide(f"wide-{number}")


def scenario(number, family="g"):
    """The scenario of a number."""
    return generator(number, family).scenario()
