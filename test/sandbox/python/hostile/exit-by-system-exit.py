# expect: ^SystemExit: 3
def transformEvent(event, metadata):
    raise SystemExit(3)
