"""A trainer of TRL's with a Reward. `make test-trl` has TRL."""

from __future__ import annotations

import json

import pytest
from cruxbox.rewards import Reward

PROBLEM = {"test": "def check(candidate):\n    assert candidate(4) == 8", "entry_point": "double"}
RIGHT, WRONG = "```python\ndef double(x):\n    return 2 * x\n```", "```python\ndef double(x):\n    return x\n```"


def test_a_trainer_learns_of_rewards_and_leaves_out_what_has_none(server, tmp_path, monkeypatch):
    trl = pytest.importorskip("trl", reason="TRL is not installed here; `make test-trl` installs it")
    datasets, torch = pytest.importorskip("datasets"), pytest.importorskip("torch")
    rows = [{"prompt": "double", "problem": json.dumps(PROBLEM)}] * 4
    written = [RIGHT, WRONG, RIGHT, WRONG]
    trainer = trl.GRPOTrainer(
        model=small_model(),
        processing_class=small_tokenizer(),
        reward_funcs=Reward(server),
        train_dataset=datasets.Dataset.from_list(rows),
        args=trl.GRPOConfig(
            output_dir=str(tmp_path),
            per_device_train_batch_size=4,
            num_generations=4,
            max_completion_length=4,
            max_steps=1,
            logging_steps=1,
            use_cpu=True,
            report_to=[],
        ),
    )
    # what such a model writes is no program
    trainer.train()
    logged = trainer.state.log_history[0]
    assert (logged["rewards/Reward/mean"], logged["cruxbox/unknown"]) == (0.0, 0.0)
    inputs = [{**row, "prompt": "double"} for row in rows]
    found = trainer._calculate_rewards(inputs, ["double"] * 4, written, [[1]] * 4)
    assert found[:, 0].tolist() == [1.0, 0.0, 1.0, 0.0]
    inputs[1] = {**inputs[1], "problem": "{}"}
    with pytest.warns(UserWarning, match="its completions have no reward"):
        found = trainer._calculate_rewards(inputs, ["double"] * 4, written, [[1]] * 4)
    assert torch.isnan(found[:, 0]).tolist() == [False, True, False, False]


def small_model():
    """A transformer of a few thousand weights."""
    transformers = pytest.importorskip("transformers")
    return transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=16, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2
        )
    )


def small_tokenizer():
    """A word or two, and letters."""
    transformers, tokenizers = pytest.importorskip("transformers"), pytest.importorskip("tokenizers")
    words = {word: at for at, word in enumerate(["<pad>", "</s>", "double", *"abcdefghijklm"])}
    raw = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="a"))
    raw.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=raw, pad_token="<pad>", eos_token="</s>")
