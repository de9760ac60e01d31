"""A realm: the standard modules and built-ins that belong to one program.

A program that patches `json` or seeds `random` changes only its own copy. The import system is that
of CPython: entering a realm replaces the content of `sys.modules`.
"""

import builtins
import importlib.util
import sys

from .allowed_modules import ALLOWED, FOUNDATION

# Built-ins that user code does not get: they reach files, the terminal, or unpublished code.
_WITHHELD = frozenset(
    "breakpoint compile copyright credits eval exec exit help input license open quit".split()
)

_standard_import = builtins.__import__
_codes = {}
_entered = None
# Modules of a prepared realm, which the next program takes, or None.
_spare = None


class Realm:
    """The standard modules of one program, imported at their first use, and its built-ins.
    `provided` has more built-ins by name.
    """

    def __init__(self, provided):
        global _spare
        self._modules, _spare = _spare or _foundation(), None
        self.builtins = {
            name: value for name, value in vars(builtins).items() if name not in _WITHHELD
        }
        self.builtins.update(provided)

    def enter(self):
        """Makes imports find the modules of this realm."""
        global _entered
        if _entered is not self:
            if _entered is not None:
                _entered._modules = dict(sys.modules)
            sys.modules.clear()
            sys.modules.update(self._modules)
            _entered = self


def import_standard(name, fromlist):
    """Imports an allowed module into the realm that was entered, as `__import__` does."""
    _refuse_unless_allowed(name)
    if fromlist:
        _standard_import(name)
        package = sys.modules[name]
        if hasattr(package, "__path__"):
            for item in fromlist:
                if item != "*" and not hasattr(package, item):
                    _refuse_unless_allowed(f"{name}.{item}")
    return _standard_import(name, None, None, fromlist)


def _refuse_unless_allowed(name):
    if name not in ALLOWED:
        raise ImportError(f"Import of '{name}' is not allowed.")


class CodeFinder:
    """Loads standard modules from compiled code that the snapshot contains.

    Otherwise each realm would compile them from source: 0.4 s instead of 5 ms for `re`.
    """

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name not in _codes:
            return None
        code, is_package = _codes[name]
        return importlib.util.spec_from_loader(
            name, cls, origin=code.co_filename, is_package=is_package
        )

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        exec(_codes[module.__name__][0], module.__dict__)


def keep_codes():
    """Stores the compiled code of all allowed modules, and of the modules that they import."""
    for name in sorted(ALLOWED):
        _standard_import(name)
    for name, module in list(sys.modules.items()):
        spec = getattr(module, "__spec__", None)
        # An alias (collections.abc) is created by the module that defines it.
        if spec is not None and spec.name == name and name not in FOUNDATION:
            code = spec.loader.get_code(name) if hasattr(spec.loader, "get_code") else None
            if code is not None:
                _codes[name] = (code, hasattr(module, "__path__"))
    sys.meta_path.insert(0, CodeFinder)


def make_spare():
    """Imports all allowed modules into a realm for the first program of a guest."""
    global _spare, _entered
    outside = dict(sys.modules)
    realm = Realm({})
    realm.enter()
    for name in sorted(ALLOWED):
        _standard_import(name)
    _spare = dict(sys.modules)
    sys.modules.clear()
    sys.modules.update(outside)
    _entered = None


def reseed_spare():
    _spare["random"].seed()


def _foundation():
    return {name: sys.modules[name] for name in FOUNDATION if name in sys.modules}
