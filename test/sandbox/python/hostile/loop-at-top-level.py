# expect: ^Script execution timed out\.$
while True:
    pass
