"""What shows a drive to people while it runs, and a recording afterwards: a local web page, and Rerun."""
