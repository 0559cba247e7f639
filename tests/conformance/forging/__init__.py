"""The forging suite: attacks on the verdict, times every kind of check. None may pass without the right value."""
