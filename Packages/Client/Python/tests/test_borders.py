"""Tests of the Python client's edge cases: limits of Python and the system, signals, forks, and the end of the program."""

import collections.abc
import copy
import datetime
import decimal
import errno
import gc
import logging
import multiprocessing
import os
import pathlib
import pickle
import signal
import socket
import subprocess
import sys
import threading
import unittest
import unittest.mock
import uuid
import warnings
import weakref

from support import PATIENCE, DaemonTests, headgate

import headgate.logs  # noqa: E402

DIGITS = "7" * 5_000


def track_soon(path, count):
    """Tracks an event in another process."""
    client = headgate.Client("job", socket_path=path)
    for _ in range(count):
        client.track_soon({"event": "x"})


class ValueTests(DaemonTests):
    def test_long_integers_keep_their_digits(self):
        client = self.client()
        end = self.in_background(client.status)
        connection = self.daemon.greet()
        request = connection.request("status")
        connection.write(f'{{"jsonrpc":"2.0","id":{request["id"]},"result":{{"n":{DIGITS}, "m":-{DIGITS}, "k":1.5}}}}\n')
        status = end()
        self.assertEqual(status, {"n": decimal.Decimal(DIGITS), "m": decimal.Decimal("-" + DIGITS), "k": 1.5})
        # The client can write the number that it read.
        line = headgate._line({"n": status["n"], "text": "headgate-0"})
        self.assertEqual(line.decode(), f'{{"n":{DIGITS},"text":"headgate-0"}}\n')

    def test_an_unreadable_answer_affects_one_call(self):
        client = self.client()
        work = lambda batch: None
        connection, _ = self.begin(lambda: client.subscribe("jobs", work), "dispatcher.subscribe")
        deep = "[" * 100_000 + "]" * 100_000
        connection.write(f'{{"jsonrpc":"2.0","id":"d","method":"dispatch","params":{{"dispatcher":"jobs","x":{deep}}}}}\n')
        self.assertEqual(connection.read()["error"]["code"], -32603)
        end = self.in_background(client.status)
        request = connection.request("status")
        connection.write(f'{{"jsonrpc":"2.0","id":{request["id"]},"result":{{"x":{deep}}}}}\n')
        self.assertEqual(end().reason, "bad_answer")
        connection.tell({"id": 2, "method": "dispatch", "params": {"dispatcher": "jobs", "batch": "b", "events": []}})
        self.assertEqual(connection.read()["result"], {})

    def test_an_id_with_half_a_pair_has_its_outcome(self):
        client = self.client()
        work = lambda batch: {event["id"]: "dead" for event in batch.events}
        connection, _ = self.begin(lambda: client.subscribe("jobs", work), "dispatcher.subscribe")
        events = '[{"id":"i\\ud800","event":"x"},{"id":"j","event":"x"}]'
        params = f'{{"dispatcher":"jobs","batch":"b","attempt":1,"events":{events}}}'
        connection.write(f'{{"jsonrpc":"2.0","id":7,"method":"dispatch","params":{params}}}\n')
        self.assertEqual(connection.read()["result"], {"outcomes": {"i\ud800": "dead", "j": "dead"}})

    def test_values_of_the_standard_library(self):
        client = self.client()
        zone = datetime.timezone(datetime.timedelta(hours=2))
        moment = datetime.datetime(2026, 3, 1, 12, 30, tzinfo=zone)
        data = {
            "price": decimal.Decimal("0.10"), "long": decimal.Decimal("1E+3"), "at": moment, "day": moment.date(),
            "id": uuid.UUID(int=7), "list": (1, decimal.Decimal("-0.0")),
        }  # fmt: skip
        client.track_soon({"event": "x", "data": data, "time": moment})
        connection = self.daemon.accept()
        message = connection.request("hello")
        connection.answer(message, {"server": {"name": "fake"}, "protocol": 1, "session": "1"})
        request = connection.request("track")
        self.assertEqual(request["params"]["time"], "2026-03-01T12:30:00+02:00")
        self.assertEqual(request["params"]["data"], {
            "price": 0.1, "long": 1000, "at": "2026-03-01T12:30:00+02:00", "day": "2026-03-01",
            "id": "00000000-0000-0000-0000-000000000007", "list": [1, 0.0],
        })  # fmt: skip
        line = headgate._line(data).decode()
        self.assertIn('"price":0.10,"long":1E+3,', line)
        self.assertIn('"list":[1,-0.0]', line)
        connection.acknowledge(request)

    def test_a_time_without_a_zone_is_local(self):
        moment = datetime.datetime(2026, 3, 1, 12, 30)
        text = headgate._with_id({"event": "x", "time": moment})["time"]
        self.assertEqual(datetime.datetime.fromisoformat(text), moment.astimezone())

    def test_an_offset_with_seconds_becomes_utc(self):
        zone = datetime.timezone(datetime.timedelta(minutes=53, seconds=28))
        moment = datetime.datetime(1850, 3, 1, 12, 30, tzinfo=zone)
        self.assertEqual(headgate._with_id({"event": "x", "time": moment})["time"], "1850-03-01T11:36:32+00:00")

    def test_data_that_changes_later(self):
        """The event has the data as of the call: later changes do not matter."""
        client = self.client()

        class Changing(dict):
            def values(self):
                raise RuntimeError("dictionary changed size during iteration")

        data = Changing(n=0)
        receipt = client.track_soon({"event": "x", "data": data})
        data["n"] = 1
        connection = self.daemon.greet()
        request = connection.request("track")
        self.assertEqual(request["params"]["data"], {"n": 0})
        connection.acknowledge(request)
        self.assertEqual(receipt.result(PATIENCE).id, request["params"]["id"])

    def test_data_that_use_the_client(self):
        client = self.client()

        class Logging(collections.abc.Mapping):
            def __getitem__(self, name):
                return 1

            def __iter__(self):
                client.track("inner")
                return iter(["n"])

            def __len__(self):
                return 1

        end = self.in_background(lambda: client.track("outer", Logging()))
        connection = self.daemon.greet()
        for name in ("inner", "outer"):
            request = connection.request("track")
            self.assertEqual(request["params"]["event"], name)
            connection.acknowledge(request)
        self.assertIsInstance(end(), headgate.Receipt)

    def test_outputs_that_use_the_client(self):
        client = self.client()

        class Failing(collections.abc.Mapping):
            def __getitem__(self, name):
                return 1

            def __iter__(self):
                client.track("inner")
                raise LookupError("as was asked")

            def __len__(self):
                return 1

        connection, _ = self.begin(lambda: client.serve_board("greeter", lambda _: Failing()), "board.serve")
        params = {"board": "greeter", "activation": "1", "input": None, "mainboard": None, "as_barrier": False}
        connection.tell({"id": 7, "method": "board.run", "params": params})
        connection.acknowledge(connection.request("track"))
        self.assertEqual(connection.read()["error"]["code"], -32603)

    def test_renewals_have_the_original_params(self):
        client = self.client()
        scopes, barrier, topics = ["a"], {"board": "login"}, ["dispatchers"]
        first, _ = self.begin(lambda: client.register_barrier("consent", "closed", scopes=scopes), "barrier.register")
        for method, work in (
            ("board.serve", lambda: client.serve_board("greeter", lambda _: None, barrier=barrier)),
            ("watch", lambda: client.watch(topics)),
        ):
            end = self.in_background(work)
            first.answer(first.request(method), {"watch": "w"} if method == "watch" else {})
            end()
        scopes.append("b")
        barrier["board"] = "other"
        topics.append("nonsense")
        first.close()
        second = self.daemon.greet()
        asked = [second.request(method)["params"] for method in ("barrier.register", "board.serve", "watch")]
        self.assertEqual([asked[0]["scopes"], asked[1]["barrier"], asked[2]["topics"]], [["a"], {"board": "login"}, ["dispatchers"]])

    def test_errors_go_to_other_processes(self):
        error = headgate.HeadgateError(-32602, "wrong", None, "events[1].event", {"path": "events[1].event"})
        for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
            self.assertEqual(vars(again), vars(error))
            self.assertEqual(str(again), "wrong")

    def test_deadlines_of_any_length(self):
        client = self.client()
        for deadline in (float(1 << 40), float("inf"), 1e300):
            end = self.in_background(lambda: client.ping(deadline=deadline))
            connection = self.daemon.connections[0] if self.daemon.connections else self.daemon.greet()
            connection.answer(connection.request("ping"), {})
            self.assertIsNone(end())
        self.assertEqual(self.in_background(lambda: client.drain(float("inf")))(), None)
        with self.assertRaises(ValueError):
            client.ping(deadline=float("nan"))

    def test_timeouts_without_an_end(self):
        client = self.client(connect_timeout=None, greeting_timeout=None, close_timeout=None)
        receipt = client.track_soon({"event": "x"})
        connection = self.daemon.greet()
        end = self.in_background(client.close)
        connection.acknowledge(connection.request("track"))
        self.assertIsNone(end())
        self.assertEqual(receipt.result().seq, 1)


class SystemTests(DaemonTests):
    """An error of the system ends no thread, and leaves no caller waiting."""

    def test_no_descriptor_is_left_at_a_reconnect(self):
        client = self.client()
        connection, _ = self.begin(client.ping, "ping")
        refused = threading.Event()
        real = socket.socket

        def refuse_once(*arguments, **named):
            if threading.current_thread().name == "headgate-client" and not refused.is_set():
                refused.set()
                raise OSError(errno.EMFILE, "Too many open files")
            return real(*arguments, **named)

        with unittest.mock.patch("socket.socket", refuse_once):
            connection.close()
            end = self.in_background(client.ping)
            second = self.daemon.accept()
            self.assertTrue(refused.is_set())
        second.hello()
        second.answer(second.request("ping"), {})
        self.assertIsNone(end())

    def test_a_call_that_cannot_begin_is_not_made(self):
        client = self.client()
        with unittest.mock.patch("socket.socketpair", side_effect=OSError(errno.EMFILE, "Too many open files")):
            with self.assertRaises(headgate.HeadgateError) as caught:
                client.track_soon({"event": "lost"})
        self.assertEqual(caught.exception.reason, "cannot_connect")
        with unittest.mock.patch("threading.Thread.start", side_effect=RuntimeError("can't start new thread")):
            with self.assertRaises(headgate.HeadgateError):
                client.track_soon({"event": "lost"})
        client.track_soon({"event": "kept"})
        connection = self.daemon.greet()
        request = connection.request("track")
        self.assertEqual(request["params"]["event"], "kept")
        connection.acknowledge(request)

    def test_a_fault_of_the_client_fails_waiting_calls(self):
        client = self.client()
        connection, _ = self.begin(client.ping, "ping")
        with unittest.mock.patch.object(headgate._Connection, "_answered", side_effect=ZeroDivisionError("a bug")):
            ends = [self.in_background(client.ping), self.in_background(lambda: client.drain(float("inf")))]
            connection.answer(connection.request("ping"), {})
            self.assertEqual(ends[0]().reason, "disconnected")
            ends[1]()
        end = self.in_background(client.ping)
        second = self.daemon.greet()
        second.answer(second.request("ping"), {})
        self.assertIsNone(end())

    def test_a_callback_cannot_end_the_thread(self):
        client = self.client(on_state=lambda state, error: sys.exit("no"))
        receipt = client.track_soon({"event": "x"})
        receipt.add_done_callback(lambda _: sys.exit("no"))
        connection = self.daemon.greet()
        connection.acknowledge(connection.request("track"))
        end = self.in_background(client.ping)
        connection.answer(connection.request("ping"), {})
        self.assertIsNone(end())


class ProgramTests(DaemonTests):
    def program(self, script, **streams):
        """Starts a script in a process of its own."""
        folder = pathlib.Path(headgate.__file__).parents[1]
        environment = {**os.environ, "PYTHONPATH": str(folder)}
        return subprocess.Popen([sys.executable, "-c", script], env=environment, text=True, **streams)

    def test_a_write_to_a_daemon_that_is_gone_ends_no_program(self):
        """Even if the program has reset SIGPIPE to the system's default."""
        script = f"""if True:
            import headgate, signal
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            real = headgate._Connection._write

            def write(connection):
                if b'"track"' in connection._output:
                    headgate._Connection._write = real
                    input("about to write\\n")
                real(connection)

            headgate._Connection._write = write
            print(headgate.Client("pipe", socket_path={self.daemon.path!r}).track("x").seq)
        """
        with self.program(script, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
            first = self.daemon.greet()
            self.assertEqual(program.stdout.readline(), "about to write\n")
            first.close()
            program.stdin.write("\n")
            program.stdin.flush()
            self.assertTrue(self.daemon.is_called_before(program.stdout), "the program has ended")
            second = self.daemon.greet()
            second.acknowledge(second.request("track"), seq=7)
            self.assertEqual((program.stdout.read(), program.wait(PATIENCE)), ("7\n", 0))

    def test_an_end_without_a_daemon_waits_once(self):
        """The end of the client, `flush` and `close` of the handler wait `flush_timeout` together."""
        for last in ("", "logging.shutdown()"):
            script = f"""if True:
                import atexit, time
                atexit.register(lambda: print(time.monotonic() - began))
                import headgate.logs, logging
                handler = headgate.logs.Handler("end", socket_path={self.daemon.path + ".none"!r}, flush_timeout=2.0)
                logging.getLogger().addHandler(handler)
                logging.warning("x")
                began = time.monotonic()
                {last}
            """
            with self.program(script, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as program:
                waited = float(program.communicate(timeout=PATIENCE)[0])
            self.assertGreaterEqual(waited, 2)
            self.assertLess(waited, 4)

    def test_a_signal_may_log_while_an_id_is_made(self):
        """A signal handler may call the client at any point of the interrupted thread."""
        client = self.client()
        handler = headgate.logs.Handler(client=client)
        record = logging.makeLogRecord({"msg": "in the middle"})
        ids, real = [], headgate.secrets.randbits

        def interrupted(bits):
            if not ids:
                ids.append(None)
                signal.raise_signal(signal.SIGUSR1)
            return real(bits)

        before = signal.signal(signal.SIGUSR1, lambda *_: (handler.emit(record), ids.append(headgate.new_id())))
        self.addCleanup(signal.signal, signal.SIGUSR1, before)
        with unittest.mock.patch("secrets.randbits", interrupted):
            ids.append(headgate.new_id())
        self.assertLess(ids[1], ids[2])
        with handler._dropped._lock:
            signal.raise_signal(signal.SIGUSR1)
        connection = self.daemon.greet()
        names = [connection.request("track") for _ in range(2)]
        self.assertEqual([request["params"]["data"]["message"] for request in names], ["in the middle"] * 2)

    def test_a_job_of_multiprocessing_waits_for_its_events(self):
        for method in ("fork", "spawn"):
            job = multiprocessing.get_context(method).Process(target=track_soon, args=(self.daemon.path, 50))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # newer Pythons warn of a fork with threads
                job.start()
            connection = self.daemon.greet()
            for request in connection.requests("track", 50):
                connection.acknowledge(request)
            job.join(PATIENCE)
            self.assertEqual(job.exitcode, 0)

    def test_events_are_waited_for_after_the_end_has_begun(self):
        """A function that was registered before the module was imported runs after the client's own end."""
        script = f"""if True:
            import atexit, time

            def track():
                real = time.monotonic
                time.monotonic = lambda: real() + 60  # other functions took a minute
                for _ in range(20):
                    client.track_soon({{"event": "x"}})

            atexit.register(track)
            import headgate
            client = headgate.Client("end", socket_path={self.daemon.path!r})
            client.track("first")  # Python 3.12 starts no threads while the program ends
        """
        program = self.program(script)
        connection = self.daemon.greet()
        for _ in range(1 + 20):
            connection.acknowledge(connection.request("track"))
        self.assertEqual(program.wait(PATIENCE), 0)

    def test_a_client_without_references_ends(self):
        def leave():
            client = headgate.Client("test", socket_path=self.daemon.path, options=self.options())
            client.track_soon({"event": "x"})
            return weakref.ref(client), client._connection

        client, connection = leave()
        gc.collect()
        self.assertIsNone(client())
        daemon = self.daemon.greet()
        request = daemon.request("track")
        self.assertTrue(connection._thread.is_alive())
        daemon.acknowledge(request)
        daemon.expect_end()
        connection._thread.join(PATIENCE)
        self.assertEqual((connection._thread.is_alive(), connection._wake_out, connection._socket), (False, None, None))

    def test_a_client_that_serves_lives_on(self):
        def serve():
            client = headgate.Client("test", socket_path=self.daemon.path, options=self.options())
            self.addCleanup(client.close)
            client.serve_board("b", lambda activation: activation.input)
            return None

        connection, _ = self.begin(serve, "board.serve")
        gc.collect()
        connection.tell({"id": 1, "method": "board.run", "params": {"board": "b", "activation": "1", "input": 7}})
        self.assertEqual(connection.read()["result"], {"done": True, "output": 7})

    def test_a_board_may_choose_its_barrier(self):
        client = self.client()
        choose = lambda input: {"board": "login"} if input["total"] else None
        serve = lambda: client.serve_board("till", lambda activation: None, barrier=choose)
        end = self.in_background(serve)
        connection = self.daemon.greet()
        request = connection.request("board.serve")
        self.assertEqual(request["params"], {"board": "till", "barrier": "ask"})
        connection.answer(request, {})
        self.assertIsNone(end())
        for number, (total, barrier) in enumerate(((7, {"board": "login"}), (0, None))):
            params = {"board": "till", "input": {"total": total}, "mainboard": "m"}
            connection.tell({"id": number, "method": "board.barrier", "params": params})
            self.assertEqual(connection.read()["result"], {"barrier": barrier})

    def test_leaving_a_block_lets_a_handler_finish(self):
        begun, go_on, left = threading.Event(), threading.Event(), threading.Event()

        def work(batch):
            begun.set()
            self.assertTrue(go_on.wait(PATIENCE))
            return {batch.batch: "dead"}

        def run():
            with headgate.Client("test", socket_path=self.daemon.path) as client:
                client.subscribe("jobs", work)
                begun.wait(PATIENCE)
            left.set()

        end = self.in_background(run)
        connection = self.daemon.greet()
        connection.answer(connection.request("dispatcher.subscribe"), {})
        for batch in ("a", "b"):
            params = {"dispatcher": "jobs", "batch": batch, "attempt": 1, "events": []}
            connection.tell({"id": batch, "method": "dispatch", "params": params})
        self.assertTrue(begun.wait(PATIENCE))
        connection.expect_silence()
        self.assertFalse(left.is_set())
        go_on.set()
        self.assertEqual(connection.read()["result"], {"outcomes": {"a": "dead"}})
        connection.expect_end()  # the next batch is not begun: the daemon gives it to another worker
        self.assertIsNone(end())

    def test_a_handler_may_close_its_client(self):
        client = self.client(close_timeout=PATIENCE)
        connection, _ = self.begin(lambda: client.subscribe("jobs", lambda batch: client.close()), "dispatcher.subscribe")
        connection.tell({"id": 1, "method": "dispatch", "params": {"dispatcher": "jobs", "batch": "b", "events": []}})
        connection.expect_end()

    def test_close_reports_events_that_are_left(self):
        client = self.client()
        receipts = [client.track_soon({"event": "x"}) for _ in range(3)]
        self.daemon.greet().requests("track", 3)
        with self.assertLogs("headgate", "WARNING") as logged:
            client.close()
        self.assertIn("3 events are not known to be stored", logged.output[0])
        self.assertEqual([receipt.exception().reason for receipt in receipts], ["closed"] * 3)

    def test_a_try_does_not_wait(self):
        client = self.client(max_unanswered=1)
        first = client.try_track({"event": "x"})
        with self.assertRaises(headgate.HeadgateError) as caught:
            client.try_track({"event": "y"})
        self.assertEqual((caught.exception.code, caught.exception.reason), (0, "buffer_full"))
        connection = self.daemon.greet()
        connection.acknowledge(connection.request("track"), seq=7)
        self.assertEqual(first.result(PATIENCE).seq, 7)
        client.close()
        with self.assertRaises(headgate.HeadgateError) as caught:
            client.try_track({"event": "y"})
        self.assertEqual(caught.exception.reason, "closed")


class GivenUpTests(DaemonTests):
    """After a call is cancelled, the daemon and the client agree on what is registered."""

    def begin_barrier(self, client, **more):
        return self.begin(lambda: client.register_barrier("c", "closed", **more), "barrier.register")[0]

    def give_up(self, client, connection, call):
        """Begins a call, and cancels it when the daemon has received it. Returns the request."""
        client._connection.begin(call)
        request = connection.request(call.method)
        client._connection.abandon(call)
        return request

    def ping(self, client, connection):
        """Makes sure that the client has read all earlier answers."""
        end = self.in_background(client.ping)
        connection.answer(connection.request("ping"), {})
        self.assertIsNone(end())

    def test_a_change_that_is_granted_late_counts(self):
        for is_late in (True, False):
            client = self.client()
            first = self.begin_barrier(client)
            change = client._change({"id": "c", "state": "open"}, None)
            request = self.give_up(client, first, change)
            if is_late:
                first.answer(request, {})
                self.ping(client, first)
            first.close()
            second = self.daemon.greet()
            state = "open" if is_late else "closed"
            self.assertEqual(second.request("barrier.register")["params"], {"id": "c", "state": state})
            client.close()

    def test_a_cancelled_second_registration_is_undone(self):
        client = self.client()
        first = self.begin_barrier(client)
        request = self.give_up(client, first, client._registration({"id": "c", "state": "open"}, None))
        again = first.request("barrier.register")
        self.assertEqual(again["params"], {"id": "c", "state": "closed"})
        first.answer(request, {})
        first.answer(again, {})
        self.ping(client, first)
        first.close()
        second = self.daemon.greet()
        self.assertEqual(second.request("barrier.register")["params"], {"id": "c", "state": "closed"})

    def test_a_cancelled_first_registration_is_removed(self):
        client = self.client()
        first, _ = self.begin(client.ping, "ping")
        self.give_up(client, first, client._registration({"id": "c", "state": "closed"}, None))
        self.assertEqual(first.request("barrier.unregister")["params"], {"id": "c"})

    def test_one_that_stays_is_removed_on_the_next_connection(self):
        client = self.client()
        first, _ = self.begin(client.ping, "ping")
        registration = {"id": "c", "state": "closed", "on_disconnect": "keep"}
        self.give_up(client, first, client._registration(registration, None))
        first.request("barrier.unregister")
        first.close()
        second = self.daemon.greet()
        over, away = second.request("barrier.register"), second.request("barrier.unregister")
        self.assertEqual((over["params"]["scopes"], away["params"]), ([], {"id": "c"}))
        second.answer(over, {})
        second.answer(away, {})


if __name__ == "__main__":
    unittest.main()
