"""Real evaluations by Inspect and by the LM Evaluation Harness. `make test-frameworks` has both."""

from __future__ import annotations

import json
import re
from itertools import cycle
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.timeout(300)
DOUBLE = {
    "prompt": "def double(x):\n",
    "test": "def check(candidate):\n    assert candidate(4) == 8\n",
    "entry_point": "double",
}
SUM = {"task_id": 3, "test_list": ["assert total([1, 2]) == 3", "assert total([]) == 0"]}
BROKEN = {**DOUBLE, "test": "def check(candidate:\n"}
CHAT = "Sure:\n```python\ndef {}:\n    return {}\n```"
RIGHT, WRONG = "    return 2 * x\n", "    return x\n"


# ---- Inspect --------------------------------------------------------------------------------------------------------


@pytest.fixture
def inspect(monkeypatch, tmp_path):
    monkeypatch.setenv("INSPECT_LOG_DIR", str(tmp_path))
    return pytest.importorskip("inspect_ai", reason="Inspect is not installed here; `make test-frameworks` installs it")


def evaluated(inspect, cases, scorer):
    """What Inspect says of a model that writes the second part of each case for the problem that is the first."""
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.solver import generate

    samples = [Sample(input=f"sample {at}", metadata=metadata) for at, (metadata, _) in enumerate(cases)]

    def written(messages, *_):
        output = ModelOutput.from_content("mockllm/model", cases[int(messages[-1].text.split()[-1])][1])
        output.usage = ModelUsage()  # else it loads a tokenizer
        return output

    task = inspect.Task(dataset=samples, solver=generate(), scorer=scorer)
    [log] = inspect.eval(task, model=get_model("mockllm/model", custom_outputs=written), display="none")
    assert log.status == "success", log.error
    return log


def test_a_scorer_of_inspect(server, inspect):
    from cruxbox.inspect_ai import passes_tests

    cases = [
        (DOUBLE, CHAT.format("double(x)", "x + x")),
        (DOUBLE, CHAT.format("double(x)", "x * x")),
        ({"problem": json.dumps(SUM), "source": "mine"}, CHAT.format("total(xs)", "sum(xs)")),
        (BROKEN, CHAT.format("double(x)", "x + x")),
    ]
    log = evaluated(inspect, cases, passes_tests(server))
    scores = [sample.scores["passes_tests"] for sample in log.samples]
    assert [score.value for score in scores[:3]] == ["C", "I", "C"]
    assert scores[3].value != scores[3].value  # no number
    assert scores[3].reason == "scoring_failed"
    assert scores[1].explanation.startswith("failed: ")
    assert scores[1].metadata == {"outcome": "FAILED"}
    metrics = {name: metric.value for name, metric in log.results.scores[0].metrics.items()}
    assert metrics["accuracy"] == pytest.approx(2 / 3)  # of three


def test_inspect_finds_the_scorer_by_its_name(server, inspect):
    from inspect_ai import score
    from inspect_ai.scorer import Scorer
    from inspect_ai.util import registry_create

    log = evaluated(inspect, [(DOUBLE, RIGHT), (DOUBLE, WRONG)], None)
    scorer = registry_create("scorer", "cruxbox/passes_tests", target=server)
    assert isinstance(scorer, Scorer)
    again = score(log, scorer)
    assert [sample.scores["passes_tests"].value for sample in again.samples] == ["C", "I"]


# ---- the LM Evaluation Harness --------------------------------------------------------------------------------------


def documented(language: str) -> str:
    """The block of the documentation that is a task's file."""
    text = (ROOT / "docs" / "frameworks.md").read_text()
    section = text[text.index("## LM Evaluation Harness") :]
    found = re.search(rf"```{language}\n(.*?)```", section, re.DOTALL)
    assert found
    return found[1]


def test_a_task_of_the_harness(server, tmp_path, monkeypatch):
    pytest.importorskip("lm_eval", reason="lm_eval is not installed here; `make test-frameworks` installs it")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    from lm_eval import simple_evaluate
    from lm_eval.api.model import LM
    from lm_eval.tasks import TaskManager

    rows = [{**DOUBLE, "task_id": f"doubles/{at}", "prompt": f"# {at}\n{DOUBLE['prompt']}"} for at in range(3)]
    rows[2]["test"] = BROKEN["test"]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "utils.py").write_text(documented("python").replace("dns:///cruxboxd:50051", server))
    source = f"json\ndataset_kwargs: {{data_files: {{test: {tmp_path / 'rows.jsonl'}}}}}"
    (tmp_path / "task.yaml").write_text(documented("yaml").replace("openai/openai_humaneval", source))

    class Writes(LM):
        """Right answers, but for five of the second document's ten."""

        def __init__(self):
            super().__init__()
            self._second = cycle([RIGHT, WRONG])

        def generate_until(self, requests):
            return [next(self._second) if "# 1" in one.args[0] else RIGHT for one in requests]

        loglikelihood = loglikelihood_rolling = None

    manager = TaskManager(include_path=str(tmp_path), include_defaults=False)
    found = simple_evaluate(Writes(), tasks=["humaneval_judged"], task_manager=manager, bootstrap_iters=0)
    results = found["results"]["humaneval_judged"]
    assert (results["pass@1,judged"], results["pass@10,judged"]) == (0.75, 1.0)
