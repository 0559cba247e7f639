"""Results as JSON: dataclasses become objects, arrays lists, and what is not a number null (JSON has no NaN)."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def to_json(value: Any) -> Any:
    """A result as JSON values.

    Args:
        value: a result of this package: dataclasses, mappings, arrays, lists, texts and numbers.

    Returns:
        The same as plain lists, dicts, strings, numbers and None, in the order of its fields. NaN and infinity are
        None.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return to_json(value.tolist())
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
