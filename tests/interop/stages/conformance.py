async def run(*_: object) -> None:
    pass
