"""JSON across the boundary. Bound here once: programs have their own `json` to patch."""

import json

decoded = json.JSONDecoder().decode

_join = "".join
# Ids of the containers under way, to find a cycle; left over when the encoder raises.
_under_way = {}


def _refuse(value):
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


# What json.dumps makes anew at each call with these settings.
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


def encoded(value):
    """Compact JSON text, not limited to ASCII. Raises what `json.dumps` raises."""
    try:
        return _join(_encode(value, 0))
    except BaseException:
        _under_way.clear()
        raise


def utf8(text):
    """A lone surrogate becomes the escape that JSON has for it."""
    return text.encode("utf-8", "backslashreplace")


def cut(text, units_max):
    """At most so many UTF-16 units, which the host counts in."""
    if len(text) * 2 <= units_max:
        return text
    return text.encode("utf-16-le", "surrogatepass")[: units_max * 2].decode(
        "utf-16-le", "surrogatepass"
    )
