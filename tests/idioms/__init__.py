"""Programs as people write them, one an idiom: each right and wrong, as a call, a script and a program with input."""
