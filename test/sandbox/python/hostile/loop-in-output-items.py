# expect: ^Script execution timed out\.$
class Endless(dict):
    def items(self):
        while True:
            pass


def transformEvent(event, metadata):
    return {"inner": Endless(a=1)}
