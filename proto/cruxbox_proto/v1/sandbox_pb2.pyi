from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

ASSURANCE_IN_PROCESS: Assurance
ASSURANCE_LITERAL: Assurance
ASSURANCE_SEPARATED: Assurance
ASSURANCE_UNSPECIFIED: Assurance
CLOCK_CPU: Clock
CLOCK_UNSPECIFIED: Clock
CLOCK_WALL: Clock
COMPARE_CASEFOLD: Compare
COMPARE_EXACT: Compare
COMPARE_LINES: Compare
COMPARE_TOKENS: Compare
COMPARE_UNSPECIFIED: Compare
DESCRIPTOR: _descriptor.FileDescriptor
ISOLATION_AUTO: Isolation
ISOLATION_PROCESS: Isolation
ISOLATION_TASK: Isolation
ISOLATION_UNSPECIFIED: Isolation
OUTCOME_CRASHED: Outcome
OUTCOME_EVALUATED: Outcome
OUTCOME_EXECUTED: Outcome
OUTCOME_FAILED: Outcome
OUTCOME_INVALID: Outcome
OUTCOME_MEMORY_LIMIT: Outcome
OUTCOME_OUTPUT_LIMIT: Outcome
OUTCOME_PASSED: Outcome
OUTCOME_RAISED: Outcome
OUTCOME_SANDBOX_ERROR: Outcome
OUTCOME_STEP_LIMIT: Outcome
OUTCOME_TIMED_OUT: Outcome
OUTCOME_UNSPECIFIED: Outcome
OUTCOME_VIOLATION: Outcome
PRIORITY_BULK: Priority
PRIORITY_INTERACTIVE: Priority
PRIORITY_UNSPECIFIED: Priority
STEP_COUNT_EVENTS: StepCount
STEP_COUNT_INSTRUCTIONS: StepCount
STEP_COUNT_UNSPECIFIED: StepCount
TEST_OUTCOME_ERROR: TestOutcome
TEST_OUTCOME_FAILED: TestOutcome
TEST_OUTCOME_PASSED: TestOutcome
TEST_OUTCOME_SKIPPED: TestOutcome
TEST_OUTCOME_UNSPECIFIED: TestOutcome

class CallCheck(_message.Message):
    __slots__ = ["call", "entry_point", "expected"]
    CALL_FIELD_NUMBER: _ClassVar[int]
    ENTRY_POINT_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_FIELD_NUMBER: _ClassVar[int]
    call: str
    entry_point: str
    expected: str
    def __init__(self, call: _Optional[str] = ..., expected: _Optional[str] = ..., entry_point: _Optional[str] = ...) -> None: ...

class Check(_message.Message):
    __slots__ = ["call", "evaluate", "id", "run", "script", "stdio"]
    CALL_FIELD_NUMBER: _ClassVar[int]
    EVALUATE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    SCRIPT_FIELD_NUMBER: _ClassVar[int]
    STDIO_FIELD_NUMBER: _ClassVar[int]
    call: CallCheck
    evaluate: EvaluateCheck
    id: str
    run: RunCheck
    script: ScriptCheck
    stdio: StdioCheck
    def __init__(self, id: _Optional[str] = ..., call: _Optional[_Union[CallCheck, _Mapping]] = ..., stdio: _Optional[_Union[StdioCheck, _Mapping]] = ..., script: _Optional[_Union[ScriptCheck, _Mapping]] = ..., evaluate: _Optional[_Union[EvaluateCheck, _Mapping]] = ..., run: _Optional[_Union[RunCheck, _Mapping]] = ...) -> None: ...

class CheckRequest(_message.Message):
    __slots__ = ["options", "tasks"]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    options: Options
    tasks: _containers.RepeatedCompositeFieldContainer[Task]
    def __init__(self, tasks: _Optional[_Iterable[_Union[Task, _Mapping]]] = ..., options: _Optional[_Union[Options, _Mapping]] = ...) -> None: ...

class CheckResponse(_message.Message):
    __slots__ = ["verdicts"]
    VERDICTS_FIELD_NUMBER: _ClassVar[int]
    verdicts: _containers.RepeatedCompositeFieldContainer[Verdict]
    def __init__(self, verdicts: _Optional[_Iterable[_Union[Verdict, _Mapping]]] = ...) -> None: ...

class EvaluateCheck(_message.Message):
    __slots__ = ["call", "inspect"]
    CALL_FIELD_NUMBER: _ClassVar[int]
    INSPECT_FIELD_NUMBER: _ClassVar[int]
    call: str
    inspect: bool
    def __init__(self, call: _Optional[str] = ..., inspect: bool = ...) -> None: ...

class ExceptionInfo(_message.Message):
    __slots__ = ["line", "message", "type"]
    LINE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    line: int
    message: str
    type: str
    def __init__(self, type: _Optional[str] = ..., message: _Optional[str] = ..., line: _Optional[int] = ...) -> None: ...

class GetServerInfoRequest(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class Layer(_message.Message):
    __slots__ = ["active", "detail", "name", "required"]
    ACTIVE_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    REQUIRED_FIELD_NUMBER: _ClassVar[int]
    active: bool
    detail: str
    name: str
    required: bool
    def __init__(self, name: _Optional[str] = ..., active: bool = ..., required: bool = ..., detail: _Optional[str] = ...) -> None: ...

class Limits(_message.Message):
    __slots__ = ["cpu_ms", "memory_bytes", "output_bytes", "steps", "wall_ms"]
    CPU_MS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_BYTES_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    WALL_MS_FIELD_NUMBER: _ClassVar[int]
    cpu_ms: int
    memory_bytes: int
    output_bytes: int
    steps: int
    wall_ms: int
    def __init__(self, cpu_ms: _Optional[int] = ..., wall_ms: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., steps: _Optional[int] = ..., output_bytes: _Optional[int] = ...) -> None: ...

class Options(_message.Message):
    __slots__ = ["isolation", "limits", "priority", "repeat", "require_assurance", "runtime", "step_count"]
    ISOLATION_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    REPEAT_FIELD_NUMBER: _ClassVar[int]
    REQUIRE_ASSURANCE_FIELD_NUMBER: _ClassVar[int]
    RUNTIME_FIELD_NUMBER: _ClassVar[int]
    STEP_COUNT_FIELD_NUMBER: _ClassVar[int]
    isolation: Isolation
    limits: Limits
    priority: Priority
    repeat: int
    require_assurance: Assurance
    runtime: str
    step_count: StepCount
    def __init__(self, limits: _Optional[_Union[Limits, _Mapping]] = ..., runtime: _Optional[str] = ..., isolation: _Optional[_Union[Isolation, str]] = ..., require_assurance: _Optional[_Union[Assurance, str]] = ..., repeat: _Optional[int] = ..., step_count: _Optional[_Union[StepCount, str]] = ..., priority: _Optional[_Union[Priority, str]] = ...) -> None: ...

class Package(_message.Message):
    __slots__ = ["name", "version"]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: str
    def __init__(self, name: _Optional[str] = ..., version: _Optional[str] = ...) -> None: ...

class RunCheck(_message.Message):
    __slots__ = ["arguments", "env", "files", "read_files", "stdin"]
    class EnvEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class FilesEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: bytes
        def __init__(self, key: _Optional[str] = ..., value: _Optional[bytes] = ...) -> None: ...
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    ENV_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    READ_FILES_FIELD_NUMBER: _ClassVar[int]
    STDIN_FIELD_NUMBER: _ClassVar[int]
    arguments: _containers.RepeatedScalarFieldContainer[str]
    env: _containers.ScalarMap[str, str]
    files: _containers.ScalarMap[str, bytes]
    read_files: _containers.RepeatedScalarFieldContainer[str]
    stdin: str
    def __init__(self, stdin: _Optional[str] = ..., arguments: _Optional[_Iterable[str]] = ..., files: _Optional[_Mapping[str, bytes]] = ..., env: _Optional[_Mapping[str, str]] = ..., read_files: _Optional[_Iterable[str]] = ...) -> None: ...

class Runtime(_message.Message):
    __slots__ = ["helper", "is_default", "name", "packages", "path", "preload", "version"]
    HELPER_FIELD_NUMBER: _ClassVar[int]
    IS_DEFAULT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PACKAGES_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    PRELOAD_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    helper: str
    is_default: bool
    name: str
    packages: _containers.RepeatedCompositeFieldContainer[Package]
    path: str
    preload: _containers.RepeatedScalarFieldContainer[str]
    version: str
    def __init__(self, name: _Optional[str] = ..., version: _Optional[str] = ..., path: _Optional[str] = ..., is_default: bool = ..., packages: _Optional[_Iterable[_Union[Package, _Mapping]]] = ..., preload: _Optional[_Iterable[str]] = ..., helper: _Optional[str] = ...) -> None: ...

class ScriptCheck(_message.Message):
    __slots__ = ["entry_point", "framework", "module", "script"]
    ENTRY_POINT_FIELD_NUMBER: _ClassVar[int]
    FRAMEWORK_FIELD_NUMBER: _ClassVar[int]
    MODULE_FIELD_NUMBER: _ClassVar[int]
    SCRIPT_FIELD_NUMBER: _ClassVar[int]
    entry_point: str
    framework: str
    module: str
    script: str
    def __init__(self, script: _Optional[str] = ..., entry_point: _Optional[str] = ..., framework: _Optional[str] = ..., module: _Optional[str] = ...) -> None: ...

class ServerInfo(_message.Message):
    __slots__ = ["default_limits", "hash_seed", "instance_id", "layers", "max_message_bytes", "maximum_limits", "profile_digest", "runtimes", "version", "workers"]
    DEFAULT_LIMITS_FIELD_NUMBER: _ClassVar[int]
    HASH_SEED_FIELD_NUMBER: _ClassVar[int]
    INSTANCE_ID_FIELD_NUMBER: _ClassVar[int]
    LAYERS_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_LIMITS_FIELD_NUMBER: _ClassVar[int]
    MAX_MESSAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    PROFILE_DIGEST_FIELD_NUMBER: _ClassVar[int]
    RUNTIMES_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    default_limits: Limits
    hash_seed: str
    instance_id: str
    layers: _containers.RepeatedCompositeFieldContainer[Layer]
    max_message_bytes: int
    maximum_limits: Limits
    profile_digest: str
    runtimes: _containers.RepeatedCompositeFieldContainer[Runtime]
    version: str
    workers: int
    def __init__(self, version: _Optional[str] = ..., runtimes: _Optional[_Iterable[_Union[Runtime, _Mapping]]] = ..., default_limits: _Optional[_Union[Limits, _Mapping]] = ..., maximum_limits: _Optional[_Union[Limits, _Mapping]] = ..., layers: _Optional[_Iterable[_Union[Layer, _Mapping]]] = ..., workers: _Optional[int] = ..., profile_digest: _Optional[str] = ..., max_message_bytes: _Optional[int] = ..., instance_id: _Optional[str] = ..., hash_seed: _Optional[str] = ...) -> None: ...

class StdioCheck(_message.Message):
    __slots__ = ["absolute_tolerance", "allow_empty", "arguments", "checker", "compare", "env", "expected_stdout", "files", "relative_tolerance", "stdin"]
    class EnvEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class FilesEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: bytes
        def __init__(self, key: _Optional[str] = ..., value: _Optional[bytes] = ...) -> None: ...
    ABSOLUTE_TOLERANCE_FIELD_NUMBER: _ClassVar[int]
    ALLOW_EMPTY_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    CHECKER_FIELD_NUMBER: _ClassVar[int]
    COMPARE_FIELD_NUMBER: _ClassVar[int]
    ENV_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_STDOUT_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    RELATIVE_TOLERANCE_FIELD_NUMBER: _ClassVar[int]
    STDIN_FIELD_NUMBER: _ClassVar[int]
    absolute_tolerance: float
    allow_empty: bool
    arguments: _containers.RepeatedScalarFieldContainer[str]
    checker: str
    compare: Compare
    env: _containers.ScalarMap[str, str]
    expected_stdout: str
    files: _containers.ScalarMap[str, bytes]
    relative_tolerance: float
    stdin: str
    def __init__(self, stdin: _Optional[str] = ..., expected_stdout: _Optional[str] = ..., allow_empty: bool = ..., compare: _Optional[_Union[Compare, str]] = ..., absolute_tolerance: _Optional[float] = ..., relative_tolerance: _Optional[float] = ..., arguments: _Optional[_Iterable[str]] = ..., files: _Optional[_Mapping[str, bytes]] = ..., env: _Optional[_Mapping[str, str]] = ..., checker: _Optional[str] = ...) -> None: ...

class Task(_message.Message):
    __slots__ = ["checks", "env", "files", "id", "options", "program"]
    class EnvEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class FilesEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: bytes
        def __init__(self, key: _Optional[str] = ..., value: _Optional[bytes] = ...) -> None: ...
    CHECKS_FIELD_NUMBER: _ClassVar[int]
    ENV_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    PROGRAM_FIELD_NUMBER: _ClassVar[int]
    checks: _containers.RepeatedCompositeFieldContainer[Check]
    env: _containers.ScalarMap[str, str]
    files: _containers.ScalarMap[str, bytes]
    id: str
    options: Options
    program: str
    def __init__(self, id: _Optional[str] = ..., program: _Optional[str] = ..., checks: _Optional[_Iterable[_Union[Check, _Mapping]]] = ..., options: _Optional[_Union[Options, _Mapping]] = ..., files: _Optional[_Mapping[str, bytes]] = ..., env: _Optional[_Mapping[str, str]] = ...) -> None: ...

class TestResult(_message.Message):
    __slots__ = ["message", "name", "outcome"]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    message: str
    name: str
    outcome: TestOutcome
    def __init__(self, name: _Optional[str] = ..., outcome: _Optional[_Union[TestOutcome, str]] = ..., message: _Optional[str] = ...) -> None: ...

class Verdict(_message.Message):
    __slots__ = ["assurance", "attempts", "check_id", "clock", "cpu_ns", "degraded", "detail", "exception", "exit_code", "files", "findings", "nondeterministic", "other_value", "outcome", "output_truncated", "peak_memory_bytes", "profile_digest", "queue_ns", "runtime_version", "stderr", "stdout", "steps", "task_id", "tests", "value", "value_truncated", "wall_ns"]
    class FilesEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: bytes
        def __init__(self, key: _Optional[str] = ..., value: _Optional[bytes] = ...) -> None: ...
    ASSURANCE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    CHECK_ID_FIELD_NUMBER: _ClassVar[int]
    CLOCK_FIELD_NUMBER: _ClassVar[int]
    CPU_NS_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    EXCEPTION_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    FINDINGS_FIELD_NUMBER: _ClassVar[int]
    NONDETERMINISTIC_FIELD_NUMBER: _ClassVar[int]
    OTHER_VALUE_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    PEAK_MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    PROFILE_DIGEST_FIELD_NUMBER: _ClassVar[int]
    QUEUE_NS_FIELD_NUMBER: _ClassVar[int]
    RUNTIME_VERSION_FIELD_NUMBER: _ClassVar[int]
    STDERR_FIELD_NUMBER: _ClassVar[int]
    STDOUT_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    TESTS_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    VALUE_TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    WALL_NS_FIELD_NUMBER: _ClassVar[int]
    assurance: Assurance
    attempts: int
    check_id: str
    clock: Clock
    cpu_ns: int
    degraded: _containers.RepeatedScalarFieldContainer[str]
    detail: str
    exception: ExceptionInfo
    exit_code: int
    files: _containers.ScalarMap[str, bytes]
    findings: _containers.RepeatedScalarFieldContainer[str]
    nondeterministic: bool
    other_value: str
    outcome: Outcome
    output_truncated: bool
    peak_memory_bytes: int
    profile_digest: str
    queue_ns: int
    runtime_version: str
    stderr: str
    stdout: str
    steps: int
    task_id: str
    tests: _containers.RepeatedCompositeFieldContainer[TestResult]
    value: str
    value_truncated: bool
    wall_ns: int
    def __init__(self, task_id: _Optional[str] = ..., check_id: _Optional[str] = ..., outcome: _Optional[_Union[Outcome, str]] = ..., assurance: _Optional[_Union[Assurance, str]] = ..., clock: _Optional[_Union[Clock, str]] = ..., detail: _Optional[str] = ..., steps: _Optional[int] = ..., cpu_ns: _Optional[int] = ..., wall_ns: _Optional[int] = ..., queue_ns: _Optional[int] = ..., peak_memory_bytes: _Optional[int] = ..., value: _Optional[str] = ..., value_truncated: bool = ..., exception: _Optional[_Union[ExceptionInfo, _Mapping]] = ..., stdout: _Optional[str] = ..., stderr: _Optional[str] = ..., output_truncated: bool = ..., attempts: _Optional[int] = ..., runtime_version: _Optional[str] = ..., profile_digest: _Optional[str] = ..., degraded: _Optional[_Iterable[str]] = ..., nondeterministic: bool = ..., other_value: _Optional[str] = ..., findings: _Optional[_Iterable[str]] = ..., tests: _Optional[_Iterable[_Union[TestResult, _Mapping]]] = ..., exit_code: _Optional[int] = ..., files: _Optional[_Mapping[str, bytes]] = ...) -> None: ...

class Compare(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class Isolation(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class StepCount(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class Priority(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class Outcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class Assurance(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class Clock(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class TestOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []
