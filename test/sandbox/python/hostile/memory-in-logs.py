# expect: "logged":true
def transformEvent(event, metadata):
    for _ in range(20_000):
        log("x" * 10_000)
    return {"logged": True}
