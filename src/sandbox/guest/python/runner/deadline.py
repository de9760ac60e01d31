"""The soft time limit: `clock.ts` raises SIGINT when the time is up, until it is heard."""

import signal

# Whether time is limited, and whether it was up since `start`.
_running = False
expired = False


class Expired(BaseException):
    """The time is up. User code that catches it meets the next one 10 ms later."""


def start():
    global _running, expired
    expired = False
    _running = True


def stop():
    global _running
    _running = False


def take_over():
    """Makes SIGINT ours, for good."""
    signal.signal(signal.SIGINT, _expire)


def _expire(number, frame):
    global expired
    if _running:
        expired = True
        raise Expired
