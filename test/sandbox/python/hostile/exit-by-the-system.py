# expect: ^Script crashed its guest
import typing


def transformEvent(event, metadata):
    typing.sys.modules["posix"]._exit(0)
