"""All that the daemon and its processes say to each other: with `values`, all of the cell that the daemon imports."""
