# expect: ^Script execution timed out\.$
# spoils: the guest of its workspace
import typing

signals = typing.sys.modules["_signal"]


def transformEvent(event, metadata):
    signals.signal(signals.SIGINT, signals.SIG_IGN)
    while True:
        pass
