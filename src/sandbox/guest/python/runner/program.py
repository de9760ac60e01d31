"""A program: the user's transformation and libraries, loaded with standard modules of their own."""

import ast
import sys
import types

from .allowed_modules import ALLOWED
from .deadline import Expired
from .user_errors import (
    MAIN_FILE,
    Sources,
    library_file,
    load_fault,
    placed_fault,
    plain_fault,
    syntax_fault,
)
from .imports import imports_of
from .host_calls import geolocation
from .user_functions import credential_reader
from .realms import Realm, import_standard

ENTRY_POINTS = ("transformEvent", "transformBatch")


class LoadFailure(Exception):
    """Raised for code that cannot be loaded. `fault` is the reason, with the fields of `UserError`.
    """

    def __init__(self, fault):
        self.fault = fault


class Program:
    """One program, loaded into a realm of its own. `libraries` is code by import name."""

    def __init__(self, name, code, libraries, credentials, log):
        self.sources = Sources(name, code, libraries)
        self._code = code
        self._library_codes = libraries
        self._libraries = {}
        self._main_only = {
            "getCredential": credential_reader(credentials),
            "geolocation": geolocation,
        }
        self._realm = Realm({"__import__": self._import, "log": log})

    def enter(self):
        self._realm.enter()

    def load(self):
        """Runs the transformation's module and finds its only entry point. Raises LoadFailure."""
        self.enter()
        module = self._module("transformation", self._main_only)
        self._run(module, MAIN_FILE, self._code)
        names = vars(module)
        found = [name for name in ENTRY_POINTS if callable(names.get(name))]
        if len(found) != 1:
            functions = (
                name
                for name, value in names.items()
                if isinstance(value, types.FunctionType) and value.__module__ == module.__name__
            )
            shown = ",".join(found or functions)
            message = f"Error: Expected one of {','.join(ENTRY_POINTS)}. Found {shown}"
            raise LoadFailure(plain_fault(message))
        self.entry_point = found[0]
        self.transform = names[found[0]]

    def load_library(self, import_name):
        """Returns the module of a library, which runs when it is imported for the first time."""
        module = self._libraries.get(import_name)
        if module is None:
            self.enter()
            module = self._module(f"libraries.{import_name}", {})
            # Stored before the library runs, because libraries may import each other.
            self._libraries[import_name] = module
            try:
                self._run(module, library_file(import_name), self._library_codes[import_name])
            except BaseException:
                del self._libraries[import_name]
                raise
        return module

    def _module(self, name, provided):
        module = types.ModuleType(name)
        module.__dict__.update(provided, __builtins__=self._realm.builtins)
        # dataclasses and typing look up the names in annotations here.
        sys.modules[name] = module
        return module

    def _run(self, module, file, text):
        code = self._compile(file, text)
        try:
            exec(code, module.__dict__)
        except (LoadFailure, Expired):
            raise
        except BaseException as error:
            raise LoadFailure(load_fault(error, self.sources)) from None

    def _compile(self, file, text):
        try:
            tree = ast.parse(text, file)
            code = compile(tree, file, "exec", dont_inherit=True)
        except Exception as error:
            raise LoadFailure(syntax_fault(error, file, self.sources)) from None
        for item in imports_of(tree):
            if item.relative:
                message = "Relative imports are not allowed."
            elif item.name in ALLOWED or item.name in self._library_codes:
                continue
            else:
                message = f"Import of '{item.name}' is not allowed."
            place = (file, item.line, item.column)
            raise LoadFailure(placed_fault("ImportError", message, *place, self.sources))
        return code

    def _import(self, name, globals=None, locals=None, fromlist=(), level=0):
        if level:
            raise ImportError("Relative imports are not allowed.")
        if name not in self._library_codes:
            return import_standard(name, fromlist or ())
        library = self.load_library(name)
        for item in fromlist or ():
            if item != "*" and not hasattr(library, item):
                raise ImportError(f"cannot import name '{item}' from '{name}'")
        return library
