"""Measures recording and replay: lossless codecs, what recording costs the loop, and the speed of a replay."""
