# expect: "walked":[1-9]
def transformEvent(event, metadata):
    def walk():
        frame = generator.gi_frame.f_back
        while frame is not None:
            yield repr(frame.f_globals)[:10_000]
            frame = frame.f_back

    generator = walk()
    seen = list(generator)
    return {"walked": len(seen), "seen": seen}
