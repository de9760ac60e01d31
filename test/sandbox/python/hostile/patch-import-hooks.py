# expect: "hooked":true
# spoils: the guest of its workspace
import typing

sys = typing.sys


class Hook:
    @staticmethod
    def find_spec(name, path=None, target=None):
        raise ImportError("hooked")


def transformEvent(event, metadata):
    sys.meta_path[:] = [Hook]
    sys.path_hooks.clear()
    sys.modules["builtins"].__import__ = None
    return {"hooked": True}
