"""Random worlds for the planner: any road users at any place, sense or nonsense, on the project's own maps."""
