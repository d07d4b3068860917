"""Fits and evaluates the classifiers of traffic light states."""
