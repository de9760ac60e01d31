# expect: ^Script (crashed its guest|execution timed out)|Error|"ran"
def transformEvent(event, metadata):
    def victim():
        pass

    code = victim.__code__
    # An instruction stream that underflows the stack and jumps outside of itself.
    broken = code.replace(co_code=bytes([32, 0] * 64 + [77, 255] * 64), co_stacksize=1)
    victim.__code__ = broken
    return {"ran": repr(victim())}
