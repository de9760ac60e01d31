"""The soft time limit. The guest's clock raises SIGINT when the time is up; see `clock.ts`."""

import signal

expired = False


class Expired(BaseException):
    """The time is up. User code can catch it, and then meets the next one within microseconds."""


def start():
    global expired
    expired = False


def watch():
    """Takes SIGINT over, for good. Before the snapshot."""
    signal.signal(signal.SIGINT, _expire)


def _expire(number, frame):
    global expired
    expired = True
    raise Expired
