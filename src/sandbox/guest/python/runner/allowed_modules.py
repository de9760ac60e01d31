"""Names of modules. What user code may import is a matter of the contract, not of safety."""

# RudderStack's list, but for what is not in the standard library (dateutil, requests), and what
# computes only and costs little.
ALLOWED = frozenset(
    """
    __future__ _strptime abc array ast base64 binascii bisect calendar cmath collections
    collections.abc colorsys contextlib copy csv dataclasses datetime decimal difflib enum
    fractions functools hashlib heapq hmac html html.entities ipaddress itertools json
    json.decoder json.encoder math numbers operator pprint quopri random re secrets statistics
    string struct textwrap time types typing unicodedata urllib urllib.parse uuid zlib
    """.split()
)

# Modules that every realm shares: the interpreter's own, without which there is no import.
FOUNDATION = frozenset(
    """
    sys builtins _frozen_importlib _frozen_importlib_external _imp zipimport marshal importlib
    importlib._bootstrap importlib._bootstrap_external importlib.machinery importlib.util
    importlib._abc _thread _weakref _warnings _io io abc _abc codecs _codecs encodings
    encodings.aliases encodings.utf_8 encodings.ascii encodings.latin_1 encodings.idna posix os
    os.path posixpath genericpath stat _stat errno _signal
    """.split()
)
