# expect: ^RuntimeError: |"kept"
class Changing(dict):
    def items(self):
        for key in range(3):
            yield f"k{key}", key
            self.clear()


def transformEvent(event, metadata):
    return {"kept": Changing(a=1)}
