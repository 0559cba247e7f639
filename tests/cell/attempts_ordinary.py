"""What every honest program may do, and facts that a worker can tell about itself."""

import os
import sys
import threading
import time


def import_python_module(facts):
    import colorsys

    return colorsys.__name__


def import_extension_module(facts):
    sys.modules.pop("_decimal", None)
    import decimal

    return decimal.Decimal(1) + 1


def import_module_that_asks_the_system(facts):
    import uuid

    return uuid.__name__


def read_standard_library(facts):
    with open(os.__file__) as file:
        return bool(file.read())


def list_standard_library(facts):
    return "os.py" in os.listdir(os.path.dirname(os.__file__))


def sleep(facts):
    time.sleep(0.001)


def clocks(facts):
    return all(getattr(time, name)() > 0 for name in ("time", "monotonic", "perf_counter", "process_time"))


def lock(facts):
    return threading.Lock().acquire()


def random_bytes(facts):
    return len(os.urandom(8))


def handler(facts):
    import signal

    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def memory(facts):
    return len(bytearray(32 << 20))


def too_much_memory(facts):
    return len(bytearray(1 << 40))


def identity(facts):
    return f"{os.getuid()} {os.getgid()}"


def descriptors(facts):
    return ",".join(str(number) for number in range(64) if _is_open(number))


def _is_open(number):
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def environment(facts):
    return repr(dict(os.environ))
