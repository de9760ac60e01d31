"""The time limit of user code. Once it is reached, `cpu-clock.ts` sends SIGINT repeatedly."""

import signal

# Whether the time is limited now.
_running = False
# Whether the time was used up in the last call of `limited`.
expired = False


class Expired(BaseException):
    """Raised in user code when its time is used up, and again 10 ms later if the code catches it.
    """


def limited(step):
    """Calls `step`, which runs user code, and stops it when its time is used up. Returns whether
    that happened. User code may have caught Expired, so `step` may have returned all the same.

    On a busy machine the next signal may arrive at any instruction after the one that stopped
    `step`. Therefore a signal that arrives in this function itself has no effect.
    """
    global _running, expired
    expired = False
    _running = True
    try:
        step()
    except Expired:
        pass
    finally:
        _running = False
    return expired


def take_over():
    """Installs this module's handler of SIGINT permanently."""
    signal.signal(signal.SIGINT, _expire)


def _expire(number, frame):
    global expired
    if not _running:
        return
    # A signal can also interrupt this handler.
    while frame.f_code is _expire.__code__:
        frame = frame.f_back
    if frame.f_code is not limited.__code__:
        expired = True
        raise Expired
