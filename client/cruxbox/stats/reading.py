"""How to read each section of the report, for somebody who has no manual."""

HOW_TO_READ = {
    "scores": (
        "pass@k is the chance that at least one of k samples passes, averaged over tasks. The bar around a point "
        "is where the score would lie had other tasks of the same kind been picked. Two overlapping bars do not "
        "mean that two models are alike: they saw the same tasks, and the next section compares them on these. "
        "Noise from tasks is the deviation behind the bar; noise from samples is what asking the same model again "
        "would change."
    ),
    "differences": (
        "Each model minus the baseline, task by task, so that the difficulty of the tasks cancels out. Green is "
        "significantly better and red significantly worse, with the number of comparisons accounted for (Holm); "
        "grey cannot be told apart. Where two models are close, the second figure gives "
        "the chance that a benchmark with so many tasks shows them the other way round."
    ),
    "behaviour": (
        "A model that is sure gives the same answer every time: it solves a task always or never. Tasks solved "
        "now and then (0.1 < p < 0.9, the functional diversity) are where more samples, or a better choice among "
        "them, would help. Distinct answers count different texts, right or wrong."
    ),
    "agreement": (
        "Correlation: 1 means that two models find the same tasks hard, 0 that they have nothing in common. "
        "Conditional failure: how well the model of the column does on the tasks that the model of the line never "
        "solves, relative to how well it does on all; 1 means that their failures are unrelated, 0 that they are "
        "shared."
    ),
    "difficulty": (
        "Each task's pass@1, averaged over the models. Much at the left end: room to grow. Much at the right end: "
        "the benchmark is being used up."
    ),
    "methods": (
        "Tasks whose program calls a method, for methods that at least five tasks call. A task counts for every "
        "method it calls, so this says where failures sit, not what causes them; few tasks make a wide guess."
    ),
    "lengths": (
        "The tasks in four equal parts, from the shortest to the longest program, or from the fewest to the most "
        "steps of execution."
    ),
    "across": (
        "Each point is a model, on the samples that every file of both tasks has. The dotted line is where both tasks "
        "go equally well. The difference is paired by sample; r is the correlation of a model's p on the two "
        "tasks. Names without room in the figure are in the table."
    ),
    "samples": (
        "First each sample's p on both tasks, averaged over the models. Then, for a few models, how many samples have "
        "which p on the two tasks, to the nearest tenth: with ten generations, how many of them pass."
    ),
    "external": (
        "Each point is a model, its colour the family. A family of fewer than three models has no correlation. Pearson "
        "asks whether the points lie on a line, Spearman whether both benchmarks rank the models alike."
    ),
}
