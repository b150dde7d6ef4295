"""Hits in their shapes: JSON, records, a terminal's table, CSV, Prometheus text and an HTML page.

Each module has one shape; ``words`` has the times and the sentences that several of them use.
"""
