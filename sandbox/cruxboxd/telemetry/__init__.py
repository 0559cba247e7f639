"""Figures and logs for operators."""
