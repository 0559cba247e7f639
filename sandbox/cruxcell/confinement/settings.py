"""What the daemon decides about the confinement of a zygote."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence  # noqa: F401


class Settings:
    """What the daemon decides about a zygote's confinement."""

    def __init__(
        self,
        *,
        uid=65534,
        gid=65534,
        readable=(),
        keep_fds=(0, 1, 2),
        want_namespaces=True,
        empty_dir="/",
        require=(),
        allow_degraded=(),
        parent=0,
        scratch=False,
    ):
        # type: (int, int, Sequence[str], Sequence[int], bool, str, Sequence[str], Sequence[str], int, bool) -> None
        """Plain values.

        Args:
            uid: user to become when started as root; not 0.
            gid: group to become when started as root; not 0.
            readable: absolute paths below which workers may read; each must exist.
            keep_fds: descriptors that stay open; all others are closed.
            want_namespaces: False leaves the namespaces alone.
            empty_dir: absolute path of an empty directory, where the zygote lives from now on.
            require: names of optional layers that must hold.
            allow_degraded: names of layers that may be missing.
            parent: number of the process whose death ends the zygote; 0 does not check that it still lives.
            scratch: its workers have a scratch folder each. Then it is in a user namespace of its own, keeps the
                capability to mount there, and leaves Landlock to its workers, as Landlock refuses mounting.
        """
        self.uid = uid
        self.gid = gid
        self.readable = list(readable)
        self.keep_fds = sorted(set(keep_fds))
        self.want_namespaces = want_namespaces
        self.empty_dir = empty_dir
        self.require = frozenset(require)
        self.allow_degraded = frozenset(allow_degraded)
        self.parent = parent
        self.scratch = scratch
