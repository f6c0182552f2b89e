"""The profiles that a client can be certified for, for all languages. Docs/Clients.md documents them.

The abilities of every client need no name: `track`, `track_many`, `flush`, `status`, any call by its name, and losing or
duplicating no event across restarts and kills of the daemon. A scene or a file of messages names the other abilities it needs.
"""

WORKERS = "workers"  # takes batches, and answers with outcomes
WATCHES = "watches"  # gets the daemon's changes
BOARDS = "boards"  # serves boards
STANDING = "standing"  # barriers and the application's status are set again on each connection
LISTS = "lists"  # converts the daemon's lists to values of its own types, and so detects malformed entries

# Abilities of the language, independent of the client's profile: `run.py --with` names them.
FORKS = "forks"  # a program of the language can fork a process that goes on with the client
EXITS = "exits"  # the language runs code at the end of a program that does not close its client
LATE = "late"  # the client can track in functions that the language calls at the end of a program
SIGNALS = "signals"  # a program of the language can handle signals in the thread that uses the client
SERIAL = "serial"  # a worker handles as many batches at once as its credit, and later ones wait

PROFILES = {
    "tracker": frozenset(),
    "worker": frozenset({WORKERS}),
    "full": frozenset({WORKERS, WATCHES, BOARDS, STANDING, LISTS}),
}
OF_LANGUAGES = (FORKS, EXITS, LATE, SIGNALS, SERIAL)

MESSAGES = {
    "dispatch": {WORKERS},
    "board.run": {BOARDS},
    "changed": {WATCHES},
    "barrier.list": {LISTS},
    "dispatcher.list": {LISTS},
}


def needs(*abilities):
    """Marks a scene that only clients with these abilities must pass."""

    def mark(scene):
        scene.needs = frozenset(abilities)
        return scene

    return mark


class Profile:
    """The requirements for a client."""

    def __init__(self, name, skipped=(), only=(), of_language=()):
        self.name = name
        self.abilities = PROFILES[name] | frozenset(of_language)
        self.skipped = frozenset(skipped)
        self.only = frozenset(only)

    def scenes(self, all_scenes):
        """Returns the scenes that the client must pass."""
        return [scene for scene in all_scenes if self.plays(scene)]

    def plays(self, scene):
        """Returns true if the client must pass the scene."""
        is_chosen = scene.__name__ in self.only if self.only else scene.__name__ not in self.skipped
        return is_chosen and getattr(scene, "needs", frozenset()) <= self.abilities

    def has_messages(self, name):
        """Returns true if the client is tested with the file of golden messages of this name."""
        return MESSAGES.get(name, set()) <= self.abilities and name not in self.skipped

    @property
    def served(self):
        """Returns the arguments for the client's verb `handle`, in order."""
        offered = ((BOARDS, "board:greeter"), (WORKERS, "worker:jobs"), (WATCHES, "watch:dispatchers"))
        return [name for ability, name in offered if ability in self.abilities]
