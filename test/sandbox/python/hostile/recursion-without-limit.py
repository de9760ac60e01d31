# expect: ^(Script crashed its guest|RecursionError|Script execution timed out)
# spoils: the guest of its workspace
import typing


def down(n):
    return down(n + 1) + 1


def transformEvent(event, metadata):
    typing.sys.setrecursionlimit(2**31 - 1)
    return {"n": down(0)}
