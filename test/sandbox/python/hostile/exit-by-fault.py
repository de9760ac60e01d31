# expect: ^Script crashed its guest
import typing


def transformEvent(event, metadata):
    typing.sys.modules["importlib"].import_module("faulthandler")._sigsegv()
