"""Measurements: each published number has a command here that makes it."""
