"""Tests OpenDRIVE maps by other authors: does each load, and do TrafficManager's cars and the stack drive on it?"""
