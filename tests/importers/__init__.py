"""Imports: each kind, and the rules that a proof compares with."""
