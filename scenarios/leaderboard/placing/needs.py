"""What a type of scenario needs of the road, as data, and what a found place offers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from scenarios.leaderboard.placing.ways import Way
from scenarios.leaderboard.routes import Interval, Location

Value = float | str | Interval | Location
"""The value of a scenario's parameter."""


ROOM = "room for the route before and behind"


class Beside(str, Enum):
    """What has to lie beside the ego's lane; the value says it in words."""

    FREE_LANE = "a lane of the ego's direction beside the ego's"
    QUEUE_LANE = "another lane of the ego's direction beside the ego's"
    ONCOMING = "an oncoming lane beside the ego's"
    PARKING = "a parking lane or a shoulder of 2 m beside the ego's lane"
    PAVEMENT = "a pavement beside the ego's lane"


class Turn(str, Enum):
    LEFT = "left turn"
    RIGHT = "right turn"
    STRAIGHT = "way straight on"


class Control(str, Enum):
    """Right of way on the ego's approach."""

    LIGHTS = "lights"
    NO_LIGHTS = "no lights"
    STOP_SIGN = "a stop sign and no lights"


class Stream(str, Enum):
    """The traffic that the ego meets at a junction; the value says where it comes from."""

    OPPOSITE = "an oncoming stream to cross"
    FROM_LEFT = "a stream from the left into its lane"
    OPPOSITE_TURN = "an oncoming stream that turns right into its lane"
    ACROSS = "a stream from the left to cross and one from the right into its lane"
    ANY_ARM = "another arm whose traffic crosses its way"
    BICYCLES = "a bicycle lane across its way"


@dataclass(frozen=True, slots=True)
class StretchNeeds:
    """A stretch of road without junctions.

    * `distances_m`: distances from the trigger to the obstacle to try, in this order; the first that fits is taken.
      Empty for a type without this parameter; its distance is `at_m`.
    * `clear_m`: start and end, relative to the obstacle, of the stretch that must be free of junctions and must have
      all of `beside`.
    * `before_m`, `after_m`: least length of the route before the trigger and after the obstacle.
    * `bend_deg`: least change of heading from the trigger to the obstacle; 0 demands a nearly straight road.
    * `limit_max_kmh`: highest allowed speed limit, for types whose cars are parked, which happens in towns.
    * `is_behind`: `distances_m` count backwards along the route, to the place where a vehicle starts behind the ego.
    * `has_sign`: a sign stands at the trigger, outside the lanes on the obstacle's side. No oncoming lane may be there.
    """

    clear_m: tuple[float, float]
    distances_m: tuple[float, ...] = ()
    at_m: float = 0.0
    beside: tuple[Beside, ...] = ()
    before_m: float = 30.0
    after_m: float = 80.0
    bend_deg: float = 0.0
    limit_max_kmh: float = math.inf
    is_behind: bool = False
    has_sign: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """What is needed, in the order in which it is checked."""
        course = f"a bend of {self.bend_deg:.0f} degrees" if self.bend_deg else "a nearly straight course"
        clear_m = self.clear_m[1] - self.clear_m[0]
        limit = f"a speed limit of at most {self.limit_max_kmh:.0f} km/h" if math.isfinite(self.limit_max_kmh) else ""
        beside = tuple(beside.value for beside in self.beside)
        return (*beside, f"{clear_m:.0f} m without a junction", limit, course, ROOM)


@dataclass(frozen=True, slots=True)
class ChangeNeeds:
    """Lanes side by side between which the ego changes: `lanes` of them, over `clear_m` without a junction."""

    lanes: int
    clear_m: float

    @property
    def words(self) -> tuple[str, ...]:
        """What is needed, in the order in which it is checked."""
        return f"{self.lanes} lanes of the ego's direction", f"{self.clear_m:.0f} m to change between them", ROOM


@dataclass(frozen=True, slots=True)
class JunctionNeeds:
    """A junction where at least three roads lead in.

    * `trigger_m`: distance from the trigger to the junction.
    * `after_m`: length of the route behind the junction.
    * `arms`: number of roads that lead in; None for three or more.
    * `limit_kmh`: least speed limit of the stream's road.
    * `pavement_before`, `pavement_after`: whether there must be a pavement on the right of the ego's lane, before or
      behind the junction.
    * `has_flow_points`: the type has the start and the end of the stream as parameters.
    """

    turns: tuple[Turn, ...]
    control: Control | None = None
    stream: Stream | None = None
    arms: int | None = None
    trigger_m: float = 30.0
    after_m: float = 70.0
    limit_kmh: float = 0.0
    pavement_before: bool = False
    pavement_after: bool = False
    has_flow_points: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """What is needed, in the order in which it is checked."""
        return (
            f"{self.arms or 'three or more'} roads that lead in",
            f"a {' or '.join(turn.value for turn in self.turns)}",
            self.control.value if self.control is not None else "",
            self.stream.value if self.stream is not None else "",
            f"a speed limit of {self.limit_kmh:.0f} km/h or more" if self.limit_kmh else "",
            f"a pavement on the right {'before' if self.pavement_before else 'behind'} it",
            ROOM,
        )


class Merge(str, Enum):
    """How lanes of different roads come together or part."""

    INTO_LANE = "an entry that leads into a lane with traffic"
    OWN_LANE = "an entry with a lane of its own beside the traffic"
    CUT_IN = "a slip road whose lane comes beside the ego's"
    EXIT = "an exit beyond a lane with traffic"


@dataclass(frozen=True, slots=True)
class MergeNeeds:
    """A place where lanes come together or part, on roads with a speed limit of at least `limit_kmh`."""

    merge: Merge
    limit_kmh: float

    @property
    def words(self) -> tuple[str, ...]:
        """What is needed, in the order in which it is checked."""
        return self.merge.value, f"a speed limit of {self.limit_kmh:.0f} km/h or more", ROOM


Needs = StretchNeeds | ChangeNeeds | JunctionNeeds | MergeNeeds


@dataclass(frozen=True, slots=True)
class Candidate:
    """A place that fulfils all needs of a type: the ego's path, the trigger's distance on it, the type's parameters."""

    way: Way
    trigger_m: float
    values: tuple[tuple[str, Value], ...] = ()


@dataclass(frozen=True, slots=True)
class Missing:
    """The first need that a place fails, as its index in the `words` of the type's needs."""

    number: int


Option = Candidate | Missing
