"""Labelled pictures of populated towns, to train and evaluate the detector."""
