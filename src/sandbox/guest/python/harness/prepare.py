"""The last steps before the memory snapshot, and the first after it is restored."""

import gc
import random

from . import deadline, worlds
from .answer import answer as answer


def prepare():
    """Everything that a first program would wait for, done before the snapshot."""
    deadline.watch()
    worlds.keep_codes()
    worlds.make_spare()
    gc.collect()
    # The collector need not walk what never goes away.
    gc.freeze()


def restored():
    """A snapshot holds the state of the random generators, the same in every guest."""
    random.seed()
    worlds.reseed_spare()
