# expect: ^Script (broke into|crashed) its guest|"patched":true
# spoils: the guest of its workspace
def transformEvent(event, metadata):
    try:
        raise ValueError
    except ValueError as error:
        frame = error.__traceback__.tb_frame.f_back
    while frame is not None:
        for name in list(frame.f_globals):
            if not name.startswith("__") and callable(frame.f_globals[name]):
                frame.f_globals[name] = None
        frame = frame.f_back
    return {"patched": True}
