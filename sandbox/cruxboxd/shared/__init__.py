"""What every part of the daemon uses: reporting of events, time slices of the event loop, waiting."""
