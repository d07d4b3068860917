"""Web pages of drives and suites, made from their files alone (docs/report.md)."""
