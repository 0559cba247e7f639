"""Which job runs next, on which zygote, in whose company."""
