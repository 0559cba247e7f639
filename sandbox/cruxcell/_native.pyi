NAME: str
SOURCE: str

def syscall(number: int, /, *args: int | bytes | bytearray | None) -> int: ...
def enter(rlimits: bytes, bpf: bytes, parent: int, /) -> None: ...
def run(code: object, globals: dict[str, object], limit: int, fd: int, report: bytes, /) -> object: ...
def steps() -> int: ...
def canon(value: object, budget: int, /) -> tuple[bytes, bool] | None: ...
def report_value(
    fd: int,
    index: int,
    steps: int,
    cpu_ns: int,
    wall_ns: int,
    value: object,
    budget: int,
    text_limit: int,
    stdout: bytes,
    stderr: bytes,
    /,
) -> bool: ...
