"""Tests of the Python client in its own process. The drivers of Tests/Clients see a program from outside only."""

import decimal
import errno
import os
import threading
import time
import unittest
import unittest.mock
import warnings

from support import PATIENCE, DaemonTests, headgate


SERVICES = {
    ("board.serve", "board.unserve"): (
        lambda client, deadline=None: client.serve_board("b", lambda activation: None, deadline=deadline),
        lambda client: client.unserve_board("b"),
    ),
    ("dispatcher.subscribe", "dispatcher.unsubscribe"): (
        lambda client, deadline=None: client.subscribe("w", lambda batch: None, deadline=deadline),
        lambda client: client.unsubscribe("w"),
    ),
    ("barrier.register", "barrier.unregister"): (
        lambda client: client.register_barrier("c", "closed"), lambda client: client.unregister_barrier("c"),
    ),
}
"""Tests of services that last as long as a connection: how they begin and end at the daemon and in the client."""


class ClientTests(DaemonTests):
    def test_greeting(self):
        client = headgate.Client(
            "shop", "2.1", socket_path=self.daemon.path, namespace="till", options=self.options()
        )  # fmt: skip
        self.addCleanup(client.close)
        client.track_soon({"event": "x"})
        wanted = {"client": {"name": "shop", "version": "2.1"}, "protocol": 1, "namespace": "till"}
        self.assertEqual(self.daemon.accept().hello(), wanted)

    def test_deadline(self):
        client = self.client()
        connection, _ = self.begin(client.ping, "ping")
        end = self.in_background(lambda: client.ping(deadline=0.01))
        self.assertEqual(end().reason, "timed_out")
        end = self.in_background(client.discover)
        request = connection.read()
        if request["method"] == "ping":
            # The call was written; an answer without a waiting caller is no error.
            connection.answer(request, {})
            request = connection.read()
        connection.answer(request, {})
        self.assertEqual(end(), {})

    def test_deadline_without_a_daemon(self):
        self.daemon.stop_listening()
        client, end = self.client(), time.monotonic() + PATIENCE
        while True:
            with self.assertRaises(headgate.HeadgateError) as caught:
                client.ping(deadline=0.05)
            # The deadline may pass before the first attempt to connect, so that the reason is timed_out. A busy machine needs longer.
            if caught.exception.reason != "timed_out" or time.monotonic() > end:
                break
        self.assertEqual((caught.exception.code, caught.exception.reason), (0, "cannot_connect"))

    def test_back_pressure(self):
        client = self.client(max_unanswered=2)
        first = client.track_soon({"event": "x"})
        client.track_soon({"event": "x"})
        connection = self.daemon.greet()
        requests = connection.requests("track", 2)
        with self.assertRaises(headgate.HeadgateError) as caught:
            client.track_soon({"event": "x"}, deadline=0.05)
        self.assertEqual(caught.exception.reason, "buffer_full")
        connection.acknowledge(requests[0], seq=7)
        self.assertEqual(first.result(PATIENCE).seq, 7)
        client.track_soon({"event": "y"}, deadline=PATIENCE)
        self.assertEqual(connection.request("track")["params"]["event"], "y")

    def test_close_ends_calls(self):
        client = self.client()
        end = self.in_background(client.ping)
        self.daemon.greet().request("ping")
        client.close()
        self.assertEqual(end().reason, "closed")
        with self.assertRaises(headgate.HeadgateError) as caught:
            client.ping()
        self.assertEqual(caught.exception.reason, "closed")

    def test_block_waits_for_its_answers(self):
        def track():
            with headgate.Client("test", socket_path=self.daemon.path) as client:
                return [client.track_soon({"event": "x"}) for _ in range(3)]

        end = self.in_background(track)
        connection = self.daemon.greet()
        for request in connection.requests("track", 3):
            connection.acknowledge(request)
        self.assertTrue(all(receipt.done() for receipt in end()))

    def test_callbacks_must_not_wait(self):
        client = self.client()
        caught = []

        def call_again(_):
            for wait in (client.ping, client.drain):
                try:
                    wait()
                except headgate.HeadgateError as error:
                    caught.append(error.reason)

        done = threading.Event()
        receipt = client.track_soon({"event": "x"})
        client.track_soon({"event": "y"})
        receipt.add_done_callback(call_again)
        receipt.add_done_callback(lambda _: done.set())
        connection = self.daemon.greet()
        connection.acknowledge(connection.request("track"))
        self.assertTrue(done.wait(PATIENCE))
        self.assertEqual(caught, ["misuse", "misuse"])

    def test_threads(self):
        """Each thread's events keep their order, and each gets its own answer."""
        client = self.client()
        ends = [
            self.in_background(lambda name=str(n): [client.track(name).id for _ in range(50)]) for n in range(4)
        ]
        connection = self.daemon.greet()
        stored = {str(n): [] for n in range(4)}
        for _ in range(200):
            request = connection.request("track")
            stored[request["params"]["event"]].append(request["params"]["id"])
            connection.acknowledge(request)
        self.assertEqual([end() for end in ends], list(stored.values()))

    def test_no_json(self):
        client = self.client()
        for data in ({"n": float("nan")}, {"n": decimal.Decimal("Infinity")}):
            with self.assertRaises(ValueError):
                client.track("x", data)
        with self.assertRaises(TypeError):
            client.track("x", {"n": object()})

    def test_worker_may_call_the_client(self):
        client = self.client()
        work = lambda batch: client.track("done", id=batch.batch) and None
        connection, _ = self.begin(lambda: client.subscribe("jobs", work), "dispatcher.subscribe")
        connection.tell({"id": 1, "method": "dispatch", "params": {"dispatcher": "jobs", "batch": "b", "events": []}})
        connection.acknowledge(connection.request("track"))
        self.assertEqual(connection.read(), {"jsonrpc": "2.0", "id": 1, "result": {}})
        end = self.in_background(lambda: client.unsubscribe("jobs"))
        connection.answer(connection.request("dispatcher.unsubscribe"), {})
        self.assertIsNone(end())

    def test_answers_of_a_connection_before_are_dropped(self):
        client = self.client()
        go = threading.Event()
        first, _ = self.begin(
            lambda: client.serve_board("slow", lambda activation: go.wait(PATIENCE)), "board.serve"
        )
        first.tell({"id": 1, "method": "board.run", "params": {"board": "slow", "activation": "1"}})
        first.expect_silence()
        first.close()
        second = self.daemon.greet()
        second.answer(second.request("board.serve"), {})
        go.set()
        second.expect_silence()

    def test_slow_watch_begins_again(self):
        client = self.client()
        connection, watch = self.begin(lambda: client.watch(["outcomes"]), "watch", {"watch": "w1"})
        change = {"method": "changed", "params": {"watch": "w1", "topic": "outcomes", "outcomes": []}}
        for _ in range(headgate.Watch.LONGEST_BACKLOG):
            connection.tell(change)
        self.assertEqual(connection.request("unwatch")["params"], {"watch": "w1"})
        connection.answer(connection.request("watch"), {"watch": "w2"})
        self.assertEqual(watch.next(PATIENCE).kind, "began")
        end = self.in_background(watch.close)
        self.assertEqual(connection.request("unwatch")["params"], {"watch": "w2"})
        end()
        self.assertIsNone(watch.next())

    def test_end_of_a_watch_is_not_sent_on_another_connection(self):
        client = self.client(max_unanswered=1)
        first, watch = self.begin(client.watch, "watch", {"watch": "w1"})
        end_ping = self.in_background(client.ping)
        first.request("ping")
        watch.close()  # it waits for the ping
        first.close()
        second = self.daemon.greet()
        second.answer(second.request("ping"), {})
        self.assertIsNone(end_ping())
        end = self.in_background(client.discover)
        second.answer(second.request("rpc.discover"), {})
        self.assertEqual(end(), {})

    def test_end_of_a_board_is_not_sent_on_another_connection(self):
        client = self.client(max_unanswered=1)
        first, _ = self.begin(lambda: client.serve_board("b", lambda activation: None), "board.serve")
        end_ping = self.in_background(client.ping)
        first.request("ping")
        end = self.in_background(lambda: client.unserve_board("b"))  # it waits for the ping
        self.until(lambda: "board.unserve" in [call.method for call in list(client._connection._calls.values())])
        first.close()
        second = self.daemon.greet()
        second.answer(second.request("ping"), {})
        self.assertIsNone(end_ping())
        self.assertIsNone(end())
        second.expect_silence()

    def test_service_ended_while_it_begins_again(self):
        """The daemon handles requests in order, so the service has ended there."""
        for begin, end_it in SERVICES:
            for is_refused in (False, True):
                with self.subTest(method=begin, is_refused=is_refused):
                    self.play_second_thoughts(begin, end_it, is_refused)

    def play_second_thoughts(self, begin, end_it, is_refused):
        client = self.client()
        first, _ = self.begin(lambda: SERVICES[begin, end_it][0](client), begin)
        first.close()
        ends = []
        second = self.answer_second_thoughts(
            begin, end_it, is_refused,
            go_on=lambda: ends.append(self.in_background(lambda: SERVICES[begin, end_it][1](client))),
        )  # fmt: skip
        self.assertIsNone(ends[0]())
        second.expect_silence()
        client.close()

    def test_service_cancelled_at_its_deadline_is_ended(self):
        """A cancelled service is ended at once, so that this does not affect a service that begins after it."""
        for begin, end_it in (("board.serve", "board.unserve"), ("dispatcher.subscribe", "dispatcher.unsubscribe")):
            with self.subTest(method=begin):
                serve = SERVICES[begin, end_it][0]
                client = self.client()
                connection, _ = self.begin(client.ping, "ping")
                # A deadline that passed before the call was written proves nothing, so it is doubled.
                deadline = 0.01
                while not connection.has_message():
                    deadline *= 2
                    with self.assertRaises(headgate.HeadgateError) as caught:
                        serve(client, deadline)
                    self.assertEqual(caught.exception.reason, "timed_out")
                end = self.in_background(lambda: serve(client))
                requests = [connection.request(method) for method in (begin, end_it, begin)]
                for request in requests:
                    connection.answer(request, {})
                self.assertIsNone(end())
                connection.expect_silence()
                client.close()

    def test_first_service_that_is_withdrawn(self):
        client = self.client()
        serving = self.in_background(lambda: client.serve_board("b", lambda activation: None))
        connection = self.daemon.greet()
        first = connection.request("board.serve")
        ending = self.in_background(lambda: client.unserve_board("b"))
        last = connection.request("board.unserve")
        self.assertEqual(serving().reason, "closed")
        with self.assertRaises(headgate.HeadgateError) as caught:
            client.unserve_board("b")
        self.assertEqual(caught.exception.reason, "not_found")
        connection.answer(first, {})
        connection.answer(last, {})
        self.assertIsNone(ending())
        connection.expect_silence()

    def test_barrier_change_that_is_refused_is_not_repeated(self):
        client = self.client()
        first, _ = self.begin(lambda: client.register_barrier("b", "open"), "barrier.register")
        end = self.in_background(lambda: client.set_barrier("b", "closed", dispatcher="nowhere"))
        first.refuse(first.request("barrier.set"), "not_found")
        self.assertEqual(end().reason, "not_found")
        first.close()
        second = self.daemon.greet()
        second.answer(second.request("barrier.register"), {})
        second.expect_silence()

    def register_staying_barrier(self):
        client = self.client()
        register = lambda: client.register_barrier("b", "closed", on_disconnect="keep")
        return client, self.begin(register, "barrier.register")[0]

    def test_barrier_that_stays_is_removed_on_the_next_connection(self):
        """The removal goes on after the deadline. The client first takes the barrier over, which blocks nothing from then on."""
        client, first = self.register_staying_barrier()
        self.daemon.stop_listening()
        first.close()
        self.until(lambda: client._connection._phase == "waiting")
        with self.assertRaises(headgate.HeadgateError) as caught:
            client.unregister_barrier("b", deadline=0.01)
        self.assertEqual(caught.exception.reason, "timed_out")
        self.daemon.listen()
        second = self.daemon.greet()
        registration = second.request("barrier.register")
        self.assertEqual(registration["params"], {"id": "b", "state": "open", "scopes": []})
        self.assertEqual(second.request("barrier.unregister")["params"], {"id": "b"})
        second.answer(registration, {})
        second.expect_silence()
        second.close()
        self.begin(client.ping, "ping")

    def test_barrier_that_stays_is_removed_after_a_lost_connection(self):
        client, first = self.register_staying_barrier()
        end = self.in_background(lambda: client.unregister_barrier("b"))
        self.assertEqual(first.request("barrier.unregister")["params"], {"id": "b"})
        first.close()
        second = self.daemon.greet()
        for _ in range(2):  # the daemon still takes the barrier for that of the first connection
            second.refuse(second.request("barrier.register"), "conflict")
            second.refuse(second.request("barrier.unregister"), "conflict")
        second.answer(second.request("barrier.register"), {})
        second.request("barrier.unregister")
        self.assertIsNone(end())
        second.expect_silence()

    def test_barrier_that_is_registered_again_is_not_removed(self):
        client, first = self.register_staying_barrier()
        self.daemon.stop_listening()
        first.close()
        self.until(lambda: client._connection._phase == "waiting")
        with self.assertRaises(headgate.HeadgateError):
            client.unregister_barrier("b", deadline=0.01)
        end = self.in_background(lambda: client.register_barrier("b", "open", on_disconnect="keep"))
        self.until(lambda: [call.method for call in client._connection._calls.values()] == ["barrier.register"])
        self.daemon.listen()
        second = self.daemon.greet()
        registration = second.request("barrier.register")
        self.assertEqual(registration["params"], {"id": "b", "state": "open", "on_disconnect": "keep"})
        second.answer(registration, {})
        self.assertIsNone(end())
        second.expect_silence()

    def test_application_status_is_announced_again(self):
        client = self.client()
        first, _ = self.begin(lambda: client.application_status("background"), "application.status")
        first.close()
        second = self.daemon.greet()
        self.assertEqual(second.request("application.status")["params"], {"status": "background"})


    def test_fork(self):
        """A forked process has a connection and ids of its own, and leaves the calls and services of its parent alone."""
        client = self.client()
        first, _ = self.begin(lambda: client.subscribe("jobs", lambda batch: None), "dispatcher.subscribe")
        pending = client.track_soon({"event": "parent's"})
        request = first.request("track")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # newer Pythons warn of a fork with threads, which this test checks
            child = os.fork()
        if child == 0:
            status = 1
            try:
                client.drain(0)  # the child has no unanswered calls
                status = 0 if client.track("child's", deadline=PATIENCE).seq == 7 else 2
            finally:
                os._exit(status)
        second = self.daemon.greet()
        childs = second.request("track")
        self.assertEqual(childs["params"]["event"], "child's")
        second.acknowledge(childs, seq=7)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        first.acknowledge(request, seq=8)
        self.assertEqual(pending.result(PATIENCE).seq, 8)
        first.expect_silence()

    def test_fork_of_an_idle_client(self):
        """A client that has not been used has no thread yet; one that is closed stays so."""
        client, closed = self.client(), self.client()
        closed.close()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            child = os.fork()
        if child == 0:
            status = 1
            try:
                client.track("x", deadline=PATIENCE)
                try:
                    closed.ping()
                except headgate.HeadgateError as error:
                    status = 0 if error.reason == "closed" else 2
            finally:
                os._exit(status)
        connection = self.daemon.greet()
        connection.acknowledge(connection.request("track"))
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)

    def reason(self, work):
        with self.assertRaises(headgate.HeadgateError) as caught:
            work()
        return caught.exception.reason

    def test_fork_of_a_watching_client(self):
        """A forked process ends its copy of a watch; the watch itself stays with the parent, and other clients start again."""
        client, others = self.client(), [self.client() for _ in range(4)]
        for other in others:
            self.begin(other.ping, "ping")
        first, watch = self.begin(client.watch, "watch", {"watch": "w1"})
        end = self.in_background(lambda: client.subscribe("jobs", lambda batch: None))
        first.answer(first.request("dispatcher.subscribe"), {})
        end()
        self.assertEqual(watch.next(PATIENCE).kind, "began")

        def work():
            self.assertEqual(self.reason(lambda: watch.next(PATIENCE)), "closed")
            watch.close()
            self.assertEqual(self.reason(lambda: client.unsubscribe("jobs", PATIENCE)), "not_found")
            for one in (client, *others):
                one.track("child's", deadline=PATIENCE)

        expect_success = self.in_child(work)
        for _ in range(5):
            connection = self.daemon.greet()
            connection.acknowledge(connection.request("track"))
        expect_success()
        first.tell({"method": "changed", "params": {"watch": "w1", "topic": "clients"}})
        self.assertEqual(watch.next(PATIENCE).kind, "changed")

    def test_fork_while_a_watch_has_no_connection(self):
        client = self.client()
        first, watch = self.begin(client.watch, "watch", {"watch": "w1"})
        self.daemon.stop_listening()
        first.close()
        self.assertEqual([watch.next(PATIENCE).kind for _ in range(2)], ["began", "interrupted"])
        self.in_child(lambda: self.assertEqual(self.reason(lambda: watch.next(PATIENCE)), "closed"))()

    def test_fork_with_a_fault_in_one_client(self):
        """A client that cannot be reset in a forked process hinders no other client there."""
        clients, real = [self.client() for _ in range(3)], headgate._Connection.begin_anew
        for client in clients:
            self.begin(client.ping, "ping")
        sound = list(clients)

        def fail_once(connection):
            if len(sound) == 3 and (failing := [one for one in sound if one._connection is connection]):
                sound.remove(failing[0])
                raise ZeroDivisionError("a bug")
            real(connection)

        def work():
            for client in sound:
                client.track("child's", deadline=PATIENCE)

        with unittest.mock.patch.object(headgate._Connection, "begin_anew", fail_once):
            expect_success = self.in_child(work)
        for _ in range(2):
            connection = self.daemon.greet()
            connection.acknowledge(connection.request("track"))
        expect_success()

    def test_fork_after_descriptors_were_closed(self):
        client = self.client()
        self.begin(client.ping, "ping")
        with unittest.mock.patch("socket.socket.close", side_effect=OSError(errno.EBADF, "Bad file descriptor")):
            expect_success = self.in_child(lambda: client.track("child's", deadline=PATIENCE))
        connection = self.daemon.greet()
        connection.acknowledge(connection.request("track"))
        expect_success()


class ValueTests(unittest.TestCase):
    def test_socket_place(self):
        """Docs/Decisions/0010 describes the search for the socket."""
        machine, own = "/run/headgate", "/b/headgate"
        for variables, folders, wanted in (
            ({"HEADGATE_SOCKET": "/a", "XDG_RUNTIME_DIR": "/b"}, [own], "/a"),
            ({"HEADGATE_SOCKET": "", "XDG_RUNTIME_DIR": "/b"}, [], own + "/headgate.sock"),
            ({"XDG_RUNTIME_DIR": "/b"}, [machine], machine + "/headgate.sock"),
            ({"XDG_RUNTIME_DIR": "/b"}, [machine, own], own + "/headgate.sock"),
            ({"XDG_RUNTIME_DIR": "b"}, [], machine + "/headgate.sock"),
            ({}, [], machine + "/headgate.sock"),
        ):
            with unittest.mock.patch("os.path.isdir", folders.__contains__):
                self.assertEqual(headgate.default_socket(variables), wanted)

    def test_ids(self):
        ids = [headgate.new_id() for _ in range(10_000)]
        self.assertEqual(ids, sorted(set(ids)))
        for id in ids:
            self.assertRegex(id, "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")


if __name__ == "__main__":
    unittest.main()
