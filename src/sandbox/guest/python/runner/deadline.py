"""The time limit of user code. Once it is reached, `cpu-clock.ts` sends SIGINT repeatedly."""

import signal

# Whether the time is limited now.
_running = False
# Whether the time was used up since `start`.
expired = False


class Expired(BaseException):
    """Raised in user code when its time is used up, and again 10 ms later if the code catches it.
    """


def start():
    global _running, expired
    expired = False
    _running = True


def stop():
    global _running
    _running = False


def take_over():
    """Installs this module's handler of SIGINT permanently."""
    signal.signal(signal.SIGINT, _expire)


def _expire(number, frame):
    global expired
    if _running:
        expired = True
        raise Expired
