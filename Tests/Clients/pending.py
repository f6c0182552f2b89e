"""Scenes that a language's client does not pass yet.

`run.py` skips them for the client of that `--name`, and prints how many there are; `run.py --pending` plays only these.
In the end every list is empty: whoever makes a client pass a scene removes the scene's name here.
"""

PENDING = {
    "Swift": """
        a_board_is_refused a_change_is_not_answered a_change_is_refused a_renewal_is_refused a_status_is_refused
        a_second_registration_is_not_answered a_second_registration_is_refused a_subscription_is_refused
        a_watch_is_refused an_error_is_long an_output_is_long boards_end changes_are_not_repeated ends_by_closing
        given_up_calls_make_room gives_up_the_first_connect has_too_long_a_path is_gone_with_work_in_hand
        is_not_held_by_closing is_told_once is_too_long_now keeps_so_many_bytes lies_below_a_file
        max_depth_is_lowered max_line_bytes_is_lowered must_not_connect outcomes_are_long stops_under_a_board
        stops_under_a_worker tells_of_a_loss tries_without_waiting waits_for_an_answer waits_for_room workers_end
        learns_lower_limits keeps_a_barrier_closed has_long_timeouts has_no_descriptor_for_a_while gives_odd_batches
        runs_boards_oddly
    """.split(),
}


def of(name):
    """Returns the pending scenes of a client; "C, sanitized" has those of "C"."""
    return PENDING.get(name, PENDING.get(name.split(",")[0], ()))
