"""The scenario types as scripts: for a place on a route, each function gives the actors and events of one type."""
