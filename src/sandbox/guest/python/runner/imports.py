"""What code imports, from its syntax tree."""

import ast


class Import:
    """One imported module name as the code writes it, and where (1-based)."""

    __slots__ = ("name", "line", "column", "relative")

    def __init__(self, name, node, relative=False):
        self.name = name
        self.line = node.lineno
        # Columns of the tree are bytes; an import that is preceded by more than ASCII on its
        # line is not worth the conversion.
        self.column = node.col_offset + 1
        self.relative = relative


def imports_of(tree):
    """Every import statement of a tree, functions' bodies included, in code order."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.extend(Import(alias.name, alias) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.append(Import(node.module or "", node, node.level > 0))
    found.sort(key=lambda item: (item.line, item.column))
    return found
