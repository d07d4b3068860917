"""Takes labelled pictures on a CARLA server that is already running."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from av_core.errors import WorldError
from av_stack.adaptation.plan import towns_of
from av_stack.dataset import DatasetSpec, is_made, write_episode
from av_stack.world.carla.capture.shots import capture
from av_stack.world.carla.client import LOAD_TIMEOUT_S, Session
from av_stack.world.carla.other_clients import check_is_free
from av_stack.world.carla.weather import named_weathers
from av_stack.world.spec import Address

Tell = Callable[[int, int], None]


class Collector:
    """Takes pictures on the server at `address`. Raises WorldError if no server of version 0.9.16 answers there."""

    def __init__(self, address: Address) -> None:
        self._session = Session(address)
        self._session.client.set_timeout(LOAD_TIMEOUT_S)
        self.server_version = self._session.server_version

    def towns(self) -> list[str]:
        """The server's towns, as `towns_of` lists them. Raises WorldError if there are none."""
        with self._session.answering("listing its maps"):
            towns = towns_of(list(self._session.client.get_available_maps()))
        if not towns:
            raise WorldError(f"the CARLA server at {self._session.address} has no town")
        return towns

    def write(self, specs: list[DatasetSpec], out: Path, tell: Tell) -> None:
        """Write the missing episodes of the data set in `out`; `tell(done, all)` is called after each episode.

        Raises WorldError if the server stops, or if another program drives on it.
        """
        todo = [(spec.split, episode) for spec in specs for episode in spec.episodes()]
        missing = [(split, episode) for split, episode in todo if not is_made(out, split, episode)]
        tell(len(todo) - len(missing), len(todo))
        if missing:
            with self._session.answering("looking for other programs"):
                check_is_free(self._session.client.get_world(), self._session.address)
        for done, (split, episode) in enumerate(missing, len(todo) - len(missing) + 1):
            with (
                self._session.answering(f"taking pictures in {episode.map_name}"),
                closing(capture(self._session.client, episode, named_weathers())) as shots,
            ):
                write_episode(out, split, episode, shots)
            tell(done, len(todo))
