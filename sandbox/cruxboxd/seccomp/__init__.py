"""The system call filter: its table, and the compiler that makes a program of it."""
