"""Errors of the server: one line each, for a person to read."""

from __future__ import annotations


class EmbeddedCarlaError(Exception):
    """Base of all errors that the server raises on purpose."""


class MapError(EmbeddedCarlaError):
    """A map cannot be used; the message names the map and what is wrong with it."""


class CommandError(EmbeddedCarlaError):
    """A client's call cannot be carried out; the client sees the message as its RuntimeError."""


class ProtocolError(EmbeddedCarlaError):
    """Bytes on a connection are not the protocol; that connection is closed."""


class StartupError(EmbeddedCarlaError):
    """The server cannot start, for example because its port is in use."""
