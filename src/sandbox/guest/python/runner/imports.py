"""Finds the imports of code in its syntax tree."""

import ast


class Import:
    """One import: the module's name as the code writes it, and the line and column (1-based)."""

    __slots__ = ("name", "line", "column", "relative")

    def __init__(self, name, node, relative=False):
        self.name = name
        self.line = node.lineno
        # The tree counts columns in bytes. They are wrong after other characters than ASCII on
        # the same line, which is too rare to convert them.
        self.column = node.col_offset + 1
        self.relative = relative


def imports_of(tree):
    """Returns all imports of a syntax tree, also those inside functions, in code order."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.extend(Import(alias.name, alias) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.append(Import(node.module or "", node, node.level > 0))
    found.sort(key=lambda item: (item.line, item.column))
    return found
