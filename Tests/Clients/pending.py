"""Scenes that a language's client does not pass yet.

`run.py` skips them for the client of that `--name`, and prints how many there are; `run.py --pending` plays only these.
In the end every list is empty: whoever makes a client pass a scene removes the scene's name here.
"""

PENDING = {
    "Swift": """
        a_board_is_refused a_renewal_is_refused a_status_is_refused a_subscription_is_refused a_watch_is_refused
        waits_for_an_answer gives_odd_batches runs_boards_oddly
    """.split(),
}


def of(name):
    """Returns the pending scenes of a client; "C, sanitized" has those of "C"."""
    return PENDING.get(name, PENDING.get(name.split(",")[0], ()))
