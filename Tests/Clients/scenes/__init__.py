"""Kinds of errors that were found in one client and are tested in all. Each file has the scenes of one kind."""

from . import away, borders, endings, handlers, limits, odd_answers, oversize, permanent, processes, renewals, resources, stopping
from .playing import play_all

CLASSES = {
    "permanent faults": permanent,
    "the daemon away": away,
    "the end of the program": endings,
    "fork and signals": processes,
    "what the system refuses": resources,
    "numbers and text": borders,
    "refused renewals": renewals,
    "oversize answers": oversize,
    "ends of handlers": handlers,
    "an orderly stop": stopping,
    "lowered limits": limits,
    "odd answers": odd_answers,
}


def _check(module):
    return lambda command, profile: play_all(module.SCENES, command, profile)


CHECKS = [(name, _check(module)) for name, module in CLASSES.items()]
