# expect: ^Script (crashed its guest|execution timed out)
def transformEvent(event, metadata):
    value = 3
    while True:
        value *= value
