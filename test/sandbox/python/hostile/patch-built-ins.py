# expect: ^\[\{"n":1,
def refuse(*arguments, **named):
    raise RuntimeError


for name in list(__builtins__):
    if name not in ("__import__", "None", "True", "False"):
        __builtins__[name] = refuse


def transformEvent(event, metadata):
    return event
