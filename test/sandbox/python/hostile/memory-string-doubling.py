# expect: ^Script (crashed its guest|execution timed out)
def transformEvent(event, metadata):
    text = "x"
    while True:
        text += text
