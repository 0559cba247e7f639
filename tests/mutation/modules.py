"""Which tests pin which trusted module, the cheapest first, and which changes need none."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Of these packages every module is changed, unless `LEFT_OUT` says why not.
PACKAGES = [
    "cruxboxd/judging",
    "cruxboxd/scheduling",
    "cruxboxd/tenancy",
    "cruxcell/analysis",
    "cruxcell/jobs",
    "cruxcell/jobs/separated",
    "cruxcell/jobs/separated/crossing",
    "cruxcell/jobs/separated/exchange",
    "cruxcell/jobs/separated/proxies",
    "cruxcell/jobs/separated/rules",
    "cruxcell/jobs/separated/state",
    "cruxcell/protocol",
    "cruxcell/values",
]
_FORGED = "daemon/test_forged_reports.py"
_CALLS, _AGAIN = "daemon/test_calls.py", "daemon/test_calls_again.py"
_JUDGING = ["daemon/test_judging.py", "daemon/test_judging_scripts.py"]
_FLEET = ["daemon/test_fleet.py", "daemon/test_zygotes_of_a_fleet.py"]
_REPORT = ["daemon/test_report.py", "daemon/test_report_records.py"]
_CHARGING = ["daemon/test_charging.py", "daemon/test_charging_results.py"]
_PROGRAMS = ["daemon/test_programs.py", "daemon/test_programs_as_scripts.py", "daemon/test_checkers.py"]
_TEMPLATE = ["daemon/test_template.py", "daemon/test_template_ends.py -k 'not outlives and not go_on'"]
_PLACING, _STALLS = "daemon/test_scheduling.py", "daemon/test_stalls.py"
_HANDING = "daemon/test_handing_out.py"
_SLOTS = "daemon/test_slots.py -k 'gets_one or ahead or a_cpu'"
_SCRIPTS = ["daemon/test_scripts_judged.py", "daemon/test_programs_judged.py"]
_WORKERS = "daemon/test_workers_used.py"
_AUDIT = "daemon/test_audit.py -k 'not verdicts and not never_differ'"
_BUNDLES = "daemon/test_bundles.py -m 'not kernel'"
_SERIES = ["daemon/test_series_judged.py", "daemon/test_series.py"]
_ROWS = "daemon/test_replay.py -m 'not kernel'"
_IN_DAEMONS = ["daemon/test_suites.py", "daemon/test_doctest_and_pytest.py"]  # suites
_SUITES = ["cell/test_suite_results.py", *_IN_DAEMONS]
_SEALS = ["daemon/test_seals.py -k 'not each_kind'", "daemon/test_seals_of_texts.py"]
_RULE = ["cell/test_hermetic.py", "cell/test_hermetic_everywhere.py -k 'not says_the_same and not lets_pass'"]
_VALUES = ["cell/test_values.py", "cell/test_canonical_bounds.py"]
_CONTAINERS = ["cell/test_containers.py", "cell/test_containers_read.py"]
_PLAIN = [*_CONTAINERS, "cell/test_plain.py", "cell/test_arrays.py"]
_VIEWS = ["cell/test_views.py", "cell/test_views_read.py"]
_TABLES = ["cell/test_tables.py", "cell/test_tables_read.py"]
_LENDING = ["cell/test_separated_lending.py", "cell/test_separated_lent_places.py"]
_TEXTS = [
    "cell/test_separated_texts.py", "cell/test_separated_texts_by_libraries.py",
    "cell/test_separated_configurations.py",
]  # fmt: skip
_SHARED_NAMES = "cell/test_separated_shared_names.py"
_OBJECTS = [f"cell/test_separated_{each}.py" for each in ("objects", "objects_read", "errors_cross")]
_ANSWERS, _ASKS = "cell/test_separated_exchange.py", "cell/test_separated_candidate_asks.py"
_SCRIPT_RUNS = "cell/test_separated_script_runs.py"
_ERRORS, _LOOKING = "cell/test_separated_errors.py", "cell/test_separated_looking.py"
_AWAITING = ["cell/test_separated_awaiting.py", "cell/test_separated_lent_awaiting.py"]
_FILES = [f"cell/test_separated_{each}.py" for each in ("files", "files_passed", "modes")]
_QUEUE = [f"daemon/test_{each}.py" for each in ("fair_queue", "put_aside", "what_verdicts_wait_for")]
_PROXIES = [f"cell/test_proxies_{each}.py" for each in ("of_objects", "of_classes", "of_values", "in_steps")]
TWIN = "mutation/pairs.py"  # cases of separated scripts without a daemon
_PAIRS = [
    TWIN, "daemon/test_separated.py -k as_it_stands", "daemon/test_separated_raw.py",
    "daemon/test_separated.py -k 'not as_it_stands'", "idioms/test_idioms.py",
]  # fmt: skip

# A module below sandbox/ -> what pytest is given, below tests/, in the order in which it is asked.
TESTS = {
    "cruxboxd/zygotes/report.py": [*_REPORT, *_SCRIPTS, *_CHARGING, _BUNDLES],
    "cruxboxd/zygotes/report_parser.py": [*_REPORT, *_SCRIPTS, *_CHARGING, _BUNDLES],
    "cruxboxd/zygotes/seals.py": ["daemon/test_unsealing.py", *_SEALS],
    "cruxboxd/zygotes/jobs.py": ["daemon/test_jobs.py", _CALLS, _AGAIN, _BUNDLES, *_SEALS, _WORKERS],
    "cruxboxd/zygotes/template.py": [
        "daemon/test_templates_played.py", *_TEMPLATE,
    ],
    "cruxboxd/zygotes/outputs.py": ["daemon/test_outputs.py", "daemon/test_files_of_checks.py"],
    "cruxboxd/zygotes/launch.py": ["daemon/test_launch.py", "daemon/test_templates_played.py"],
    "cruxboxd/zygotes/looks.py": ["daemon/test_needs_scratch.py"],
    "cruxboxd/zygotes/pipe_writer.py": ["daemon/test_large_texts.py"],
    "cruxboxd/zygotes/company.py": ["daemon/test_company.py", "daemon/test_jobs.py", _CALLS, _AGAIN, _BUNDLES, _AUDIT],
    "cruxboxd/judging/charging.py": [*_CHARGING, *_SEALS],
    "cruxboxd/judging/outcomes.py": ["daemon/test_verdict.py", "daemon/test_requests.py", *_CHARGING],
    "cruxboxd/judging/comparing.py": ["daemon/test_comparing.py", "daemon/test_verdict.py", *_PROGRAMS],
    "cruxboxd/judging/audit.py": ["daemon/test_differences.py", _AUDIT],
    "cruxboxd/judging/calls.py": [_CALLS, _AGAIN, *_JUDGING, _AUDIT, _WORKERS, _FORGED, "daemon/test_behaviour.py"],
    "cruxboxd/judging/judge.py": [
        *_JUDGING, "daemon/test_ways_of_scripts.py", *_SERIES, _WORKERS, _AUDIT, _FORGED, "daemon/test_behaviour.py",
    ],
    "cruxboxd/judging/texts.py": [*_JUDGING, *_SCRIPTS, "daemon/test_large_texts.py", _WORKERS],
    "cruxboxd/judging/scripts.py": [
        *_SCRIPTS, *_JUDGING, _WORKERS, *_IN_DAEMONS, _FORGED, "daemon/test_hang_ups.py",
    ],
    "cruxboxd/judging/shared_streams.py": ["daemon/test_stdio.py", "daemon/test_shared_streams.py"],
    "cruxboxd/judging/by_calls.py": [*_SERIES, _ROWS, _AUDIT],
    "cruxboxd/judging/rows.py": [_ROWS, "daemon/test_replay.py"],
    "cruxboxd/judging/series.py": [*_SERIES, _AUDIT],
    "cruxboxd/judging/asserted.py": [*_SERIES, _ROWS],
    "cruxboxd/judging/streams.py": [
        "daemon/test_outputs_judged.py", *_SCRIPTS, "daemon/test_stdio.py", *_PROGRAMS, _WORKERS,
    ],
    "cruxboxd/judging/expected.py": ["daemon/test_expected.py", "fuzz/test_fuzz_bytes.py", _WORKERS],
    "cruxboxd/judging/cuts.py": ["daemon/test_cuts.py"],
    "cruxboxd/judging/known_scripts.py": ["daemon/test_known_scripts.py"],
    "cruxboxd/judging/literals.py": ["fuzz/test_fuzz_literals.py"],
    "cruxboxd/judging/tasks.py": ["daemon/test_checks.py", "daemon/test_requests.py", *_PROGRAMS],
    "cruxboxd/scheduling/bundles.py": [_BUNDLES, "daemon/test_bundles.py -m kernel"],
    "cruxboxd/scheduling/fair_queue.py": [*_QUEUE, _HANDING],
    "cruxboxd/scheduling/scheduler.py": [
        _PLACING, _STALLS, "daemon/test_holding.py", *_FLEET, _HANDING, "daemon/test_fairness.py",
        "daemon/test_memory_share.py", "daemon/test_accounting_of_workers.py",
    ],
    "cruxboxd/scheduling/fleet.py": [
        _SLOTS, *reversed(_FLEET), _PLACING, _STALLS, _HANDING, "daemon/test_memory_share.py",
        "daemon/test_accounting_of_workers.py",
    ],
    "cruxboxd/scheduling/loading.py": ["daemon/test_loading.py"],
    "cruxboxd/scheduling/memory_share.py": ["daemon/test_scheduling.py"],
    "cruxboxd/scheduling/taken.py": [_SLOTS, _PLACING, "daemon/test_memory_share.py"],
    "cruxboxd/scheduling/holding.py": ["daemon/test_holding.py", *_QUEUE],
    "cruxboxd/scheduling/lines.py": [*_QUEUE, _HANDING],
    "cruxboxd/scheduling/slow_share.py": ["daemon/test_fair_queue.py"],
    "cruxboxd/scheduling/starvation.py": [*_FLEET, _PLACING, "daemon/test_hang_ups.py"],
    "cruxboxd/tenancy/admission.py": [
        "daemon/test_admission.py", "daemon/test_arriving.py -k leaves_free", "fuzz/test_fuzz_admission.py",
    ],
    "cruxboxd/tenancy/identity.py": ["daemon/test_tenants_file.py", "daemon/test_identity.py"],
    "cruxboxd/tenancy/starts.py": [
        "daemon/test_places.py", "daemon/test_refused_strangers.py -k without_a_bound", "daemon/test_starts.py"
    ],
    "cruxboxd/tenancy/tenants.py": ["daemon/test_tenants_file.py"],
    "cruxboxd/rpc/certificates.py": ["daemon/test_certificates.py", "daemon/test_identity.py"],
    "cruxboxd/rpc/strangers.py": ["daemon/test_refused_strangers.py", "daemon/test_identity.py -k few_calls"],
    "cruxboxd/rpc/codec.py": ["daemon/test_requests.py", "fuzz/test_fuzz_requests.py"],
    "cruxboxd/rpc/checks.py": ["daemon/test_checks.py", "daemon/test_requests.py"],
    "cruxboxd/rpc/outline.py": ["daemon/test_outline.py", "fuzz/test_fuzz_requests.py"],
    "cruxcell/template.py": [
        "cell/test_template_parts.py", *_TEMPLATE,
        "cell/test_confine.py",
    ],
    "cruxcell/own_names.py": ["cell/test_own_names.py", "daemon/test_behaviour.py"],
    "cruxcell/analysis/annotations.py": [*_RULE, "cell/test_hermetic_streams.py"],
    "cruxcell/analysis/compiled.py": ["cell/test_compiled.py", "cell/test_series_job.py"],
    "cruxcell/analysis/plain_looks.py": ["cell/test_rows_split.py", "daemon/test_replay.py"],
    "cruxcell/analysis/rows.py": ["cell/test_rows_split.py", "daemon/test_replay.py"],
    "cruxcell/analysis/series.py": ["cell/test_series_split.py", *_SERIES],
    "cruxcell/analysis/formats.py": ["cell/test_formats.py", *_RULE],
    "cruxcell/analysis/hermetic.py": [
        *_RULE, "cell/test_unknown.py", "cell/test_hermetic_streams.py", "cell/test_rules_of_code.py",
        *_RULE,
    ],
    "cruxcell/analysis/hermetic_streams.py": ["cell/test_hermetic_streams.py"],
    "cruxcell/analysis/unknown.py": ["cell/test_unknown.py"],
    "cruxcell/analysis/operations.py": [*_RULE, "cell/test_rules_of_code.py"],
    "cruxcell/analysis/parsing.py": ["cell/test_texts.py", *_RULE, "daemon/test_sharing.py"],
    "cruxcell/analysis/vacuous.py": ["cell/test_texts.py"],
    "cruxcell/analysis/given_tests.py": ["cell/test_given_tests.py"],
    "cruxcell/jobs/bundles.py": ["cell/test_calls_job.py", "cell/test_series_job.py", "daemon/test_sharing.py"],
    "cruxcell/jobs/replay.py": ["cell/test_series_job.py", "cell/test_rows_split.py", "daemon/test_replay.py"],
    "cruxcell/jobs/series.py": ["cell/test_series_job.py", *_SERIES, "daemon/test_replay.py"],
    "cruxcell/jobs/calls.py": ["cell/test_calls_job.py", "daemon/test_sharing.py", "daemon/test_together.py", _FORGED],
    "cruxcell/jobs/checker_guard.py": ["cell/test_calls_job.py", "daemon/test_checks.py", *_PROGRAMS],
    "cruxcell/jobs/streams.py": ["cell/test_streams_job.py", "daemon/test_shared_streams.py"],
    "cruxcell/jobs/expressions.py": ["cell/test_expressions_job.py", "daemon/test_sharing.py", _WORKERS],
    "cruxcell/jobs/separated/exchange/alongside.py": ["cell/test_separated_alongside.py", _ASKS, _ANSWERS, *_PAIRS],
    "cruxcell/jobs/separated/proxies/asking.py": [*_PROXIES, *_OBJECTS, *_PAIRS],
    "cruxcell/jobs/separated/proxies/flags.py": [*reversed(_PROXIES), *_PAIRS],
    "cruxcell/jobs/separated/proxies/members.py": ["cell/test_separated_members.py", *_PROXIES, *_PAIRS],
    "cruxcell/jobs/separated/proxies/counting.py": ["cell/test_separated_counting.py", *_PROXIES, *_PAIRS],
    "cruxcell/jobs/separated/proxies/awaiting.py": [*_AWAITING, *_PAIRS],
    "cruxcell/jobs/separated/proxies/loops.py": [*_AWAITING, *_PAIRS],
    "cruxcell/jobs/separated/state/borrowing.py": [
        "cell/test_separated_borrowing.py",
        *_LENDING,
        *_PAIRS,
    ],
    "cruxcell/jobs/separated/candidate.py": ["cell/test_separated_server.py", *_PAIRS],
    "cruxcell/jobs/separated/crossing/by_name.py": [*_OBJECTS, _SHARED_NAMES, *_PAIRS],
    "cruxcell/jobs/separated/crossing/classes.py": [
        "cell/test_separated_classes.py", _SHARED_NAMES, *_OBJECTS, *_PAIRS,
    ],
    "cruxcell/jobs/separated/state/decimals.py": [*_LENDING, *_PAIRS],
    "cruxcell/jobs/separated/proxies/deriving.py": ["cell/test_separated_deriving.py", *_PROXIES, *_PAIRS],
    "cruxcell/jobs/separated/proxies/doubts.py": ["cell/test_separated_doubts.py", *_PAIRS],
    "cruxcell/jobs/separated/proxies/notes.py": [
        "cell/test_separated_notes.py", "cell/test_separated_notes_again.py", "cell/test_separated_equality.py",
        "cell/test_separated_parts.py", *_PAIRS,
    ],
    "cruxcell/jobs/separated/proxies/equality.py": [
        "cell/test_separated_equality.py", "cell/test_separated_item_by_item.py", "cell/test_separated_notes.py",
        "cell/test_separated_parts.py", *_PROXIES, *_PAIRS,
    ],
    "cruxcell/jobs/separated/crossing/exceptions.py": [_ERRORS, "cell/test_separated_classes.py", *_OBJECTS, *_PAIRS],
    "cruxcell/jobs/separated/proxies/shared_names.py": [
        _SHARED_NAMES, "cell/test_separated_classes.py", "cell/test_separated_libraries.py", *_OBJECTS, *_PAIRS,
    ],
    "cruxcell/jobs/separated/proxies/compared_tables.py": ["cell/test_separated_compared_tables.py", *_PAIRS],
    "cruxcell/jobs/separated/rules/configurations.py": [*_TEXTS, *_PAIRS],
    "cruxcell/jobs/separated/rules/databases.py": ["cell/test_separated_databases.py", *_PAIRS],
    "cruxcell/jobs/separated/rules/by_libraries.py": ["cell/test_separated_by_libraries.py", *_PAIRS],
    "cruxcell/jobs/separated/rules/truths.py": ["cell/test_separated_truths.py", *_PAIRS],
    "cruxcell/jobs/separated/rules/memory.py": ["cell/test_separated_memory.py", *_PAIRS],
    "cruxcell/jobs/separated/rules/docstrings.py": ["cell/test_separated_doctests.py", *_PAIRS],
    "cruxcell/jobs/separated/proxies/libraries.py": ["cell/test_separated_libraries.py", *_PAIRS],
    "cruxcell/jobs/separated/proxies/library_values.py": [
        "cell/test_separated_library_values.py", "cell/test_separated_notes.py", *_PAIRS,
    ],
    "cruxcell/jobs/separated/proxies/looking.py": [_LOOKING, *_PAIRS],
    "cruxcell/jobs/separated/state/measured.py": ["cell/test_separated_measured.py", *_PAIRS],
    "cruxcell/jobs/separated/state/running_threads.py": ["cell/test_separated_running_threads.py", *_PAIRS],
    "cruxcell/jobs/separated/state/traced.py": ["cell/test_separated_traced.py", *_PAIRS],
    "cruxcell/jobs/separated/state/waits.py": ["cell/test_separated_waits.py", *_PAIRS],
    "cruxcell/jobs/separated/state/mocks.py": [*_PROXIES, *_PAIRS],
    "cruxcell/jobs/separated/state/lending.py": [*_LENDING, *_PAIRS],
    "cruxcell/jobs/separated/state/context_variables.py": ["cell/test_separated_context_variables.py", *_PAIRS],
    "cruxcell/jobs/separated/state/library_settings.py": ["cell/test_separated_library_settings.py", *_PAIRS],
    "cruxcell/jobs/separated/state/search_path.py": ["cell/test_separated_search_path.py", *_PAIRS],
    "cruxcell/jobs/separated/state/patched_places.py": [*_LENDING, *_PAIRS],
    "cruxcell/jobs/separated/state/seeds.py": ["cell/test_separated_seeds.py", *_LENDING, *_PAIRS],
    "cruxcell/jobs/separated/state/figures.py": ["cell/test_separated_figures.py", *_PAIRS],
    "cruxcell/jobs/separated/state/files.py": [*_FILES, *_PAIRS],
    "cruxcell/jobs/separated/state/folders.py": ["cell/test_separated_folders.py", *_FILES, *_PAIRS],
    "cruxcell/jobs/separated/state/changed_times.py": ["cell/test_separated_changed_times.py", *_PAIRS],
    "cruxcell/jobs/separated/state/listening.py": ["cell/test_separated_listening.py", *_PAIRS],
    "cruxcell/jobs/separated/proxies/item_by_item.py": ["cell/test_separated_item_by_item.py", *_PAIRS],
    "cruxcell/jobs/separated/proxies/matching.py": [
        "cell/test_separated_matching.py", "cell/test_separated_equality.py", "cell/test_separated_parts.py", *_PAIRS,
    ],
    "cruxcell/jobs/separated/proxies/readings.py": ["cell/test_separated_equality.py", *_PAIRS],
    "cruxcell/jobs/separated/exchange/link.py": ["cell/test_link.py", "cell/test_link_asking.py", *_PAIRS],
    "cruxcell/jobs/separated/crossing/numbered.py": ["cell/test_separated_numbered.py", *_OBJECTS, *_PAIRS],
    "cruxcell/jobs/separated/crossing/told_states.py": [
        "cell/test_separated_told_states.py", "cell/test_separated_parts.py", *_PAIRS,
    ],
    "cruxcell/jobs/separated/crossing/objects.py": [*_OBJECTS, "cell/test_separated_imported_first.py", *_PAIRS],
    "cruxcell/jobs/separated/proxies/marks.py": [
        "cell/test_separated_marks.py", "cell/test_separated_permissions.py", *_PAIRS,
    ],
    "cruxcell/jobs/separated/proxies/operations.py": [
        "cell/test_separated_permissions.py", _ASKS, *_PAIRS,
    ],
    "cruxcell/jobs/separated/proxies/placing.py": [
        *reversed(_PROXIES), *_OBJECTS, "cell/test_separated_equality.py", *_PAIRS,
    ],
    "cruxcell/jobs/separated/rules/program_names.py": ["cell/test_separated_names.py", *_PAIRS],
    "cruxcell/jobs/separated/proxies/copies.py": ["cell/test_separated_copies.py", *_PAIRS],
    "cruxcell/jobs/separated/rules/pickles.py": ["cell/test_separated_pickles.py", *_PAIRS],
    "cruxcell/jobs/separated/proxies/proxy_classes.py": [
        *_PROXIES, *_OBJECTS, "cell/test_separated_equality.py", *_PAIRS,
    ],
    "cruxcell/jobs/separated/proxies/special_methods.py": [
        *_PROXIES, *_OBJECTS, "cell/test_separated_equality.py", *_PAIRS,
    ],
    "cruxcell/jobs/separated/proxies/metaclasses.py": ["cell/test_separated_metaclasses.py", *_PAIRS],
    "cruxcell/jobs/separated/state/redirected.py": [
        "cell/test_separated_redirected.py", "cell/test_separated_alongside.py", *_PAIRS,
    ],
    "cruxcell/jobs/separated/proxies/remote.py": [
        "cell/test_separated_remote.py", "cell/test_separated_deriving.py", "cell/test_separated_metaclasses.py",
        *_PROXIES, *_OBJECTS, *_PAIRS,
    ],
    "cruxcell/jobs/separated/proxies/facts.py": [
        *_PROXIES, "cell/test_separated_equality.py", "cell/test_separated_notes.py", *_OBJECTS, *_PAIRS,
    ],
    "cruxcell/jobs/separated/proxies/told.py": ["cell/test_separated_remote.py", *_PROXIES, *_OBJECTS, *_PAIRS],
    "cruxcell/jobs/separated/proxies/runs.py": [*reversed(_PROXIES), _SCRIPT_RUNS, _ERRORS, *_PAIRS],
    "cruxcell/jobs/separated/proxies/signatures.py": [_LOOKING, *_PAIRS],
    "cruxcell/jobs/separated/rules/script.py": ["cell/test_separated_scripts.py", *_PAIRS],
    "cruxcell/jobs/separated/rules/own_code.py": [
        "cell/test_separated_own_code.py", *_TEXTS, *_PAIRS,
    ],
    "cruxcell/jobs/separated/rules/made_code.py": [*_TEXTS, *_PAIRS],
    "cruxcell/jobs/separated/rules/texts.py": [*_TEXTS, *_PAIRS],
    "cruxcell/jobs/separated/test.py": [_SCRIPT_RUNS, _ANSWERS, *_PAIRS],
    "cruxcell/jobs/separated/exchange/permissions.py": [
        "cell/test_separated_asked_of_the_test.py",
        _ASKS, "cell/test_separated_by_libraries.py", _SCRIPT_RUNS, "cell/test_separated_names.py", *_PAIRS,
    ],
    "cruxcell/jobs/separated/followed.py": [
        "cell/test_separated_followed.py", "cell/test_separated_measured.py",
        "cell/test_separated_running_threads.py", "cell/test_separated_seeds.py", *_PAIRS,
    ],
    "cruxcell/jobs/separated/script_link.py": [
        _ANSWERS, _ASKS, _SCRIPT_RUNS, "cell/test_separated_names.py", *_PAIRS,
    ],
    "cruxcell/jobs/separated/rules/submodules.py": ["cell/test_separated_submodules.py", *_PAIRS],
    "cruxcell/jobs/separated/exchange/leaving.py": [_ANSWERS, "daemon/test_refused_suites.py"],
    "cruxcell/jobs/separated/exchange/refills.py": [_ANSWERS, _ASKS, *_PAIRS],
    "cruxcell/jobs/separated/exchange/steady.py": [_ANSWERS, _ASKS, *_PAIRS],
    "cruxcell/jobs/separated/exchange/line.py": ["cell/test_line.py", "cell/test_partners.py", *_PAIRS],
    "cruxcell/jobs/separated/exchange/one_thread.py": ["cell/test_link.py", *_PAIRS],
    "cruxcell/jobs/separated/exchange/partners.py": [
        "cell/test_partners_alone.py", "cell/test_partners.py", *_PAIRS,
    ],
    "cruxcell/jobs/kept.py": _SUITES,
    "cruxcell/jobs/pytest_suite.py": _SUITES,
    "cruxcell/jobs/suite_base.py": ["cell/test_leaving.py", *_SUITES],
    "cruxcell/jobs/program_module.py": ["cell/test_module_names.py", "daemon/test_program_module.py"],
    "cruxcell/jobs/suites.py": _SUITES,
    "cruxcell/jobs/unittest_suite.py": _SUITES,
    "cruxcell/protocol/frames.py": [
        "cell/test_frames.py", "cell/test_link.py", "cell/test_frames_native.py", TWIN,
    ],
    "cruxcell/protocol/records.py": ["cell/test_records.py", *_REPORT, "daemon/test_used.py"],
    "cruxcell/values/arrays.py": ["cell/test_arrays.py", *_PLAIN[:3], *_PAIRS],
    "cruxcell/values/calendars.py": ["cell/test_calendars.py"],
    "cruxcell/values/generics.py": ["cell/test_generics.py"],
    "cruxcell/values/cells.py": ["cell/test_cells.py", *_TABLES, *_PAIRS],
    "cruxcell/values/owned.py": [*reversed(_VIEWS), *_PAIRS],
    "cruxcell/values/views.py": [*_VIEWS, *_PAIRS],
    "cruxcell/values/canonical.py": [*_VALUES, "fuzz/test_fuzz_values.py"],
    "cruxcell/values/equals.py": [*_VALUES, "fuzz/test_fuzz_values.py"],
    "cruxcell/values/containers.py": [
        *_PLAIN, *_VIEWS, "fuzz/test_fuzz_bytes.py", "cell/test_room.py", "cell/test_unchanged.py", *_PAIRS,
    ],
    "cruxcell/values/dicts.py": [*_PLAIN, *_PAIRS],
    "cruxcell/values/made_tables.py": [*_TABLES, "cell/test_tables_of_all_kinds.py"],
    "cruxcell/values/reader.py": [*_PLAIN, "fuzz/test_fuzz_bytes.py", *_PAIRS],
    "cruxcell/values/formulas.py": ["cell/test_formulas.py"],
    "cruxcell/values/images.py": ["cell/test_images.py"],
    "cruxcell/values/sets.py": ["cell/test_sets.py", *_PLAIN, *_PAIRS],
    "cruxcell/values/sparse.py": ["cell/test_sparse.py"],
    "cruxcell/values/stdlib.py": [*_PLAIN, *_PAIRS],
    "cruxcell/values/tables.py": [*_TABLES, "cell/test_tables_of_all_kinds.py"],
    "cruxcell/values/trees.py": ["cell/test_plain.py", "daemon/test_replay.py"],
    "cruxcell/values/transfer.py": ["cell/test_plain.py", *_CONTAINERS, "fuzz/test_fuzz_bytes.py"],
    "cruxcell/values/writer.py": [*_PLAIN, *_PAIRS],
}  # fmt: skip

# Modules of those packages that are not changed, and why.
LEFT_OUT = {
    "cruxboxd/judging/jobs.py": "hands on what it is given",
    "cruxboxd/tenancy/refusal.py": "how a refusal travels; decides nothing",
    "cruxcell/analysis/bytecode.py": "notes for filters; decides no verdict",
    "cruxcell/analysis/determinism.py": "notes for filters; decides no verdict",
    "cruxcell/analysis/operands.py": "notes for filters; decides no verdict",
    "cruxcell/analysis/syntax.py": "notes for filters; decides no verdict",
    "cruxcell/analysis/unused_parameters.py": "notes for filters; decides no verdict",
    "cruxcell/builtin_like.py": "in place of a function of the program or script; the daemon believes none of it",
    "cruxcell/jobs/audit_guard.py": "guards scripts that are IN_PROCESS, where nothing is promised",
    "cruxcell/jobs/capture.py": "runs in the candidate's process; the daemon believes none of it",
    "cruxcell/jobs/context.py": "runs in the candidate's process; the daemon believes none of it",
    "cruxcell/jobs/devices.py": "in place of a function of the program or script; the daemon believes none of it",
    "cruxcell/jobs/disk_figures.py": "runs in the candidate's process; the daemon believes none of it",
    "cruxcell/jobs/probe.py": "the daemon's own checks of its confinement",
    "cruxcell/jobs/program_end.py": "runs in the candidate's process; the daemon believes none of it",
    "cruxcell/jobs/programs.py": "runs in the candidate's process; the daemon believes none of it",
    "cruxcell/jobs/stack_limit.py": "runs in the candidate's process; the daemon believes none of it",
    "cruxcell/jobs/stand_ins.py": "runs in the candidate's process; the daemon believes none of it",
    "cruxcell/jobs/thread_pools.py": "runs in the candidate's process; the daemon believes none of it",
    "cruxcell/jobs/trace_events.py": "runs in the candidate's process; the daemon believes none of it",
    "cruxcell/protocol/header.py": "writes the native helper's header from the constants",
    "cruxcell/protocol/messages.py": "constants",
    "cruxcell/protocol/payloads.py": "constants",
}


def harmless() -> set[str]:
    """The changes that `harmless.txt` names: `module: change`, each followed by the reason on an indented line."""
    lines = Path(__file__).with_name("harmless.txt").read_text().splitlines()
    return {line for line in lines if line and not line.startswith((" ", "#"))}
