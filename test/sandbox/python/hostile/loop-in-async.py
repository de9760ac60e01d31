# expect: ^Script execution timed out\.$
async def nothing():
    pass


async def transformEvent(event, metadata):
    while True:
        await nothing()
