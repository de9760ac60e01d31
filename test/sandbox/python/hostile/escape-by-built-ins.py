# expect: "denied":\["open","eval","exec","compile","input","breakpoint","exit","help"\]
def transformEvent(event, metadata):
    denied = []
    for name in "open eval exec compile input breakpoint exit help".split():
        if name not in __builtins__:
            denied.append(name)
    return {"denied": denied}
