# expect: "parsed":\d|^Script crashed its guest
import ast


def transformEvent(event, metadata):
    parsed = 0
    for text in ("(" * 5_000, "-" * 50_000 + "1", "1" + "+1" * 20_000, "[" * 150 + "]" * 150):
        try:
            ast.literal_eval(text)
            parsed += 1
        except (SyntaxError, MemoryError, RecursionError, ValueError):
            pass
    return {"parsed": parsed}
