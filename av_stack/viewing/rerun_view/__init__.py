"""Shows drives in Rerun (https://rerun.io), the optional extra `view`. Nothing else of the project imports rerun."""
