"""The daemon tries itself: before it serves, and while it does."""
