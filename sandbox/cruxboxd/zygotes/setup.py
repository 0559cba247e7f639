"""Which kinds of zygote there are, and how a template for one is started."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from cruxboxd.zygotes.looks import Look, Looks


@dataclass(frozen=True)
class ZygoteKey:
    """Which zygote a job needs: a runtime, how much is imported beforehand, and the hash seed.

    `preloaded` says whether the usual modules of the standard library are; `packages` names those of the operator's.
    `threads` says whether its workers may start threads; its zygote has the modules for that imported. `scratch` says
    whether they have a scratch folder each.
    """

    runtime: str
    preloaded: bool
    hash_seed: str
    packages: tuple[str, ...] = ()
    threads: bool = False
    scratch: bool = False

    @property
    def template(self) -> ZygoteKey:
        """What its template is chosen by. A zygote has scratch folders or not only when it is confined."""
        return replace(self, scratch=False)


class ZygoteKinds:
    """Chooses the kind of zygote for a job by its texts alone. Preloaded imports change the number of steps, so
    the choice must not depend on which zygotes are free.

    Args:
        packages: by runtime, the modules that its zygotes can import beforehand.
        unsealed: runtimes without a native helper: nobody would notice what a check leaves to the next in its worker.
        has_scratch: can workers of this host have a scratch folder?
    """

    def __init__(
        self,
        packages: Mapping[str, tuple[str, ...]] | None = None,
        unsealed: Collection[str] = frozenset(),
        has_scratch: bool = False,
    ) -> None:
        self._packages = packages or {}
        self._unsealed = unsealed
        self.has_scratch = has_scratch
        self._looks = Looks()

    def seals(self, runtime: str) -> bool:
        """May checks of this runtime share a worker?"""
        return runtime not in self._unsealed

    def look(self, runtime: str, text: bytes) -> Look:
        """What this text names, for the choice of a zygote."""
        return self._looks.at(text, self._packages.get(runtime, ()))

    def key(
        self, runtime: str, hash_seed: str, texts: Iterable[bytes], folder: bool = False, is_whole: bool = False
    ) -> ZygoteKey:
        """The key for a job with these texts (a program, calls, scripts).

        `folder` says that it needs a scratch folder whatever its texts are, `is_whole` that the texts are whole
        programs and scripts.
        """
        looks = [self.look(runtime, text) for text in texts]
        scratch = self.has_scratch and (folder or any(look.works_with_files(is_whole) for look in looks))
        if not any(look.imports for look in looks):
            return ZygoteKey(runtime, scratch, hash_seed, scratch=scratch)
        offered = self._packages.get(runtime, ())
        named = tuple([name for name in offered if any(name in look.packages for look in looks)])
        return ZygoteKey(runtime, True, hash_seed, named, any(look.may_thread for look in looks), scratch)


@dataclass(frozen=True)
class ZygoteSetup:
    """How a template is started: interpreter, environment, setup datagram."""

    python: str
    environment: dict[str, str]
    fields: list[bytes]
