# expect: ^Script execution timed out\.$
# spoils: the guest of its workspace
import typing


def trace(frame, event, argument):
    while True:
        pass


def transformEvent(event, metadata):
    typing.sys.settrace(trace)
    return event
