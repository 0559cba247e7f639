"""Problem sets with tests as their authors publish them, read into one shape: HumanEval, MBPP, EvalPlus."""
