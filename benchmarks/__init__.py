"""What `make bench` measures, one module each; every module prints one JSON object and runs alone too."""
