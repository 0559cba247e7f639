"""Building a benchmark: sampling rows, writing prompts, reading completions, renaming variables.

Standard library only; running a program is left to the caller's sandbox client.

    rows                    rows of a data set, in and out
    sampling                draws a benchmark from filtered rows
    recipe, methods, shots  prompts that ask for functions: the 69 methods, worked examples
    prompts, prompt_set     prompts that ask for an input or output; the TOML files that say how
    completions             raw completions, as serving engines write them
    extraction              from a raw completion to a generation
    calls                   the call that a row is about
    anonymize               renames variables; `scopes` finds them, `edits` replaces them
    finetune                fine-tuning texts without what a benchmark asks
    running                 what only running a program can tell
    toml_file               reads a TOML file
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
