"""Completions from a model: prompts go in, raw completions come out; any OpenAI-compatible endpoint will do.

Needs the extra `generate` (the `openai` package) to speak to an endpoint; prompts, parameters and the cache do not.

    prompts   the prompts that are sent
    requests  parameters, and the body of a request
    endpoint  one request to an endpoint, and what its failure means
    cache     completions on the disk as soon as they are there
    runner    all prompts: many requests at once, retries
"""

from cruxbox.generation.cache import Cache
from cruxbox.generation.prompts import Prompt, read_prompt_file
from cruxbox.generation.requests import Parameters
from cruxbox.generation.runner import Progress, Result, generate

__all__ = ["Cache", "Parameters", "Progress", "Prompt", "Result", "generate", "read_prompt_file"]
