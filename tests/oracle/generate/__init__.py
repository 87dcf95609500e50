"""Seeded scenarios: a configuration over the whole language, and what a user does with it. Valid for the most part.

A seed always gives the same scenario: every choice comes from one random generator that the seed starts. A family is
a letter: `g` covers the usual language and commands; `x`, the wide one, adds the rest of the commands, flags and files.
The scenarios of a family never change; what is new gets a family of its own.
"""
from .steps import Steps
from .wide import Wide


def generator(number, family="g"):
    """The generator of a scenario, not yet run."""
    return Steps(f"differ-{number}") if family == "g" else Wide(f"wide-{number}")


def scenario(number, family="g"):
    """The scenario of a number."""
    return generator(number, family).scenario()
