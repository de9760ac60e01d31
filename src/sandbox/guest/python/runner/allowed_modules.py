"""Names of the modules that user code may import. The list serves compatibility, not security."""

# RudderStack's list without the modules that are not in the standard library (dateutil, requests),
# and other modules that only compute and cost little.
ALLOWED = frozenset(
    """
    __future__ _strptime abc array ast base64 binascii bisect calendar cmath collections
    collections.abc colorsys contextlib copy csv dataclasses datetime decimal difflib enum
    fractions functools hashlib heapq hmac html html.entities ipaddress itertools json
    json.decoder json.encoder math numbers operator pprint quopri random re secrets statistics
    string struct textwrap time types typing unicodedata urllib urllib.parse uuid zlib
    """.split()
)

# Modules that all programs share: the interpreter's own, without which no import works.
FOUNDATION = frozenset(
    """
    sys builtins _frozen_importlib _frozen_importlib_external _imp zipimport marshal importlib
    importlib._bootstrap importlib._bootstrap_external importlib.machinery importlib.util
    importlib._abc _thread _weakref _warnings _io io abc _abc codecs _codecs encodings
    encodings.aliases encodings.utf_8 encodings.ascii encodings.latin_1 encodings.idna posix os
    os.path posixpath genericpath stat _stat errno _signal
    """.split()
)
