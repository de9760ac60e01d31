# expect: ^Output of one event is larger than \d+ characters$
def transformEvent(event, metadata):
    return {"text": "x" * (20 << 20)}
