# expect: "walked":[1-9]
def transformEvent(event, metadata):
    seen = []
    try:
        raise ValueError
    except ValueError as error:
        frame = error.__traceback__.tb_frame
    while frame is not None:
        for value in list(frame.f_globals.values()) + list(frame.f_locals.values()):
            try:
                seen.append(repr(value))
            except Exception:
                pass
        frame = frame.f_back
    return {"walked": len(seen), "seen": seen[:2_000]}
