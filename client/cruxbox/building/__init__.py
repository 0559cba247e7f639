"""Building a benchmark: sampling rows, writing prompts, reading completions, renaming variables.

Standard library only; running a program is left to the caller's sandbox client.
"""

from cruxbox.building.anonymize import Anonymized, AnonymizeError, anonymize
from cruxbox.building.extraction import extract_candidate, extract_input, extract_output
from cruxbox.building.methods import METHODS, methods_used
from cruxbox.building.prompts import Style, input_prompt, output_prompt
from cruxbox.building.recipe import candidate_prompts
from cruxbox.building.rows import BadRow, Row, read_rows, row_source, write_records
from cruxbox.building.sampling import select
from cruxbox.errors import DataError

__all__ = [
    "METHODS",
    "AnonymizeError",
    "Anonymized",
    "BadRow",
    "DataError",
    "Row",
    "Style",
    "anonymize",
    "candidate_prompts",
    "extract_candidate",
    "extract_input",
    "extract_output",
    "input_prompt",
    "methods_used",
    "output_prompt",
    "read_rows",
    "row_source",
    "select",
    "write_records",
]
