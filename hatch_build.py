"""Compiles cruxcell's native helper while a wheel is built or cruxbox is installed for editing.

Without a compiler or headers one sentence says so and the wheel is the pure one, which does the same, slower.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class NativeHelper(BuildHookInterface):
    """Hatch finds it by its base class."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Builds into the source tree, where an editable install looks too, and adds that one file to the wheel."""
        if self.target_name != "wheel":
            return
        if not sys.platform.startswith("linux"):
            self.app.display_warning("cruxcell runs on Linux only: built without its native helper.")
            return
        native_build = _load(Path(self.root) / "sandbox" / "cruxboxd" / "zygotes" / "native_build.py")
        try:
            built = native_build.build(Path(sys.executable), native_build.NATIVE)
        except native_build.BuildError as error:
            self.app.display_warning(f"cruxcell is built without its native helper, its pure twin serves: {error}.")
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        build_data["artifacts"].append(str(built.relative_to(self.root)))


def _load(path: Path) -> Any:
    """A module of the source tree by its path: the tree is not installed yet."""
    spec = importlib.util.spec_from_file_location("native_build", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
