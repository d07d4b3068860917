"""OpenDRIVE files made by others: does each load, and do TrafficManager's cars and the stack drive on it?"""
