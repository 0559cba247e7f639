"""What a confined worker tries: each attempt is a function that does one thing, named after it.

It gets `facts`, what the test prepared: canary (a readable file outside), folder (a writable folder outside), tcp, udp
(ports of sentinels), socket_path, abstract (unix sentinels), victim (a process of the same user outside). Runs on
every runtime from 3.8 on.
"""

import attempts_kernel
import attempts_ordinary
import attempts_outside

ATTEMPTS = {
    name: thing
    for module in (attempts_outside, attempts_kernel, attempts_ordinary)
    for name, thing in vars(module).items()
    if getattr(thing, "__module__", "") == module.__name__ and not name.startswith("_")
}


def outcome(name, facts):
    """Runs an attempt and says what it came to: "done" or its result, or the error's type and number."""
    try:
        return str(ATTEMPTS[name](facts) or "done")
    except OSError as error:
        return f"OSError {error.errno}"
    except BaseException as error:
        return f"{type(error).__name__} {error}"
