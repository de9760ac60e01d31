"""Encodes and decodes JSON for requests and replies.

The functions are bound when this module is loaded, so that programs which patch `json` do not
change them.
"""

import json


def _number(digits):
    """Converts the digits of an integer. One with more digits than `int` converts becomes a float, as
    in JavaScript.
    """
    try:
        return int(digits)
    except ValueError:
        return float(digits)


_scan = json.JSONDecoder().scan_once
# Scans texts with such an integer. It calls Python code for each integer, so others take longer.
_scan_long = json.JSONDecoder(parse_int=_number).scan_once
_join = "".join
# Ids of the containers that are being encoded, by which the encoder finds a cycle. They remain when
# the encoder raises.
_under_way = {}


def _refuse(value):
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


# The encoder that json.dumps creates at each call with these settings.
_encode = json.encoder.c_make_encoder(
    _under_way,
    _refuse,
    json.encoder.encode_basestring,
    None,  # No indent.
    ":",
    ",",
    False,  # Keys stay in their order,
    False,  # keys that JSON does not have are refused,
    False,  # and so are NaN and the infinities.
)


def decoded(text):
    """Decodes JSON text of the host, which has no whitespace around it. `JSONDecoder.decode` looks
    for that with two regular expressions.
    """
    try:
        value, end = _scan(text, 0)
    except ValueError:
        value, end = _scan_long(text, 0)
    if end != len(text):
        raise ValueError("Expected one JSON value")
    return value


def encoded(value):
    """Returns compact JSON text, not limited to ASCII. Raises the same errors as `json.dumps`."""
    try:
        return _join(_encode(value, 0))
    except BaseException:
        _under_way.clear()
        raise


def utf8(text):
    """Encodes text in UTF-8. A lone surrogate becomes its escape sequence in JSON."""
    return text.encode("utf-8", "backslashreplace")


def cut(text, units_max):
    """Cuts a text to `units_max` UTF-16 units, in which the host counts."""
    if len(text) * 2 <= units_max:
        return text
    return text.encode("utf-16-le", "surrogatepass")[: units_max * 2].decode(
        "utf-16-le", "surrogatepass"
    )
