"""All cases, by number."""

from __future__ import annotations

from conformance.case import Case
from conformance.cases import (
    a_resources,
    b_compiling,
    c_files,
    d_network,
    e_processes,
    f_kernel,
    g_leaks,
    h_forging,
    i_results,
    j_protocol,
    k_determinism,
    l_fail_closed,
)

SECTIONS = (
    a_resources,
    b_compiling,
    c_files,
    d_network,
    e_processes,
    f_kernel,
    g_leaks,
    h_forging,
    i_results,
    j_protocol,
    k_determinism,
    l_fail_closed,
)
ALL: tuple[Case, ...] = tuple(one for section in SECTIONS for one in section.CASES)
