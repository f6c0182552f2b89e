"""Tests of the client for asyncio in its own process."""

import asyncio
import gc
import threading
import unittest

from support import PATIENCE, DaemonTests, headgate

import headgate.aio  # noqa: E402


class AioTests(DaemonTests):
    def run_client(self, work, **options):
        """Runs a coroutine function with a client in a loop of its own, while this thread plays the daemon. Returns a function
        that waits for its end."""

        async def main():
            client = headgate.aio.Client(
                "test", "1.0", socket_path=self.daemon.path, options=self.options(**options)
            )
            try:
                return await work(client)
            finally:
                await client.close()

        return self.in_background(lambda: asyncio.run(main()))

    def test_cancelled_call_is_not_written(self):
        """A cancelled call that is not written is never sent."""

        async def work(client):
            calls = [asyncio.create_task(client.track(name)) for name in ("taken back", "kept")]
            await asyncio.sleep(0)
            calls[0].cancel()
            with self.assertRaises(asyncio.CancelledError):
                await calls[0]
            receipt = await calls[1]
            return receipt.seq

        end = self.run_client(work)
        connection = self.daemon.accept()
        hello = connection.request("hello")
        connection.answer(hello, {})
        message = connection.request("track")
        # A call that was written before its cancellation has been sent; only its answer is not waited for.
        if message["params"]["event"] == "taken back":
            message = connection.request("track")
        self.assertEqual(message["params"]["event"], "kept")
        connection.acknowledge(message, seq=7)
        self.assertEqual(end(), 7)

    def test_cancelled_before_the_greeting(self):
        is_cancelled = threading.Event()

        async def work(client):
            first = asyncio.create_task(client.track("taken back"))
            soon = await client.track_soon({"event": "taken back, too"})
            kept = await client.track_soon({"event": "kept"})
            first.cancel()
            soon.cancel()
            await asyncio.wait([first])
            is_cancelled.set()
            return (await kept).seq

        end = self.run_client(work)
        connection = self.daemon.accept()
        hello = connection.request("hello")
        self.assertTrue(is_cancelled.wait(PATIENCE))
        connection.answer(hello, {})
        message = connection.request("track")
        self.assertEqual(message["params"]["event"], "kept")
        connection.acknowledge(message, seq=7)
        self.assertEqual(end(), 7)

    def test_timeout(self):
        async def work(client):
            await client.ping()
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(client.ping(), 0.01)
            with self.assertRaises(headgate.HeadgateError) as caught:
                await client.ping(deadline=0.01)
            return caught.exception.reason

        end = self.run_client(work)
        connection = self.daemon.greet()
        connection.answer(connection.request("ping"), {})
        self.assertEqual(end(), "timed_out")

    def test_room_in_the_order_of_the_calls(self):
        """Callers that wait for room get it in order, even when earlier ones are cancelled."""

        async def work(client):
            tasks = []
            for n in range(12):
                deadline = PATIENCE if n % 2 else None
                tasks.append(asyncio.create_task(client.track("x", {"n": n}, deadline=deadline)))
                await asyncio.sleep(0)
            tasks[5].cancel()
            tasks[2].cancel()
            with self.assertRaises(headgate.HeadgateError) as caught:
                await client.track("late", deadline=0.01)
            self.assertEqual(caught.exception.reason, "buffer_full")
            waits.set()
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
            return [type(outcome).__name__ for outcome in outcomes]

        waits = threading.Event()
        end = self.run_client(work, max_unanswered=2)
        connection = self.daemon.greet()
        self.assertTrue(waits.wait(PATIENCE))
        order = []
        for _ in range(10):
            request = connection.request("track")
            order.append(request["params"]["data"]["n"])
            connection.acknowledge(request)
        wanted = [n for n in range(12) if n not in (2, 5)]
        self.assertEqual(order, wanted)
        outcomes = end()
        self.assertEqual([outcomes[2], outcomes[5]], ["CancelledError"] * 2)
        self.assertEqual([outcomes[n] for n in wanted], ["Receipt"] * 10)

    def test_block_waits_for_its_answers(self):
        async def track():
            async with headgate.aio.Client("test", socket_path=self.daemon.path) as client:
                receipts = [await client.track_soon({"event": "x"}) for _ in range(3)]
            return [receipt.done() for receipt in receipts]

        end = self.in_background(lambda: asyncio.run(track()))
        connection = self.daemon.greet()
        for request in connection.requests("track", 3):
            connection.acknowledge(request)
        self.assertEqual(end(), [True] * 3)

    def test_close_ends_calls(self):
        async def work(client):
            await client.ping()
            call = asyncio.create_task(client.ping())
            watch = asyncio.create_task(client.watch())
            await asyncio.sleep(0)
            await client.close()
            outcomes = await asyncio.gather(call, watch, return_exceptions=True)
            return [outcome.reason for outcome in outcomes]

        end = self.run_client(work)
        connection = self.daemon.greet()
        connection.answer(connection.request("ping"), {})
        self.assertEqual(end(), ["closed", "closed"])

    def test_worker_in_tasks(self):
        """The handlers of batches run concurrently, and may call the client."""

        async def work(client):
            both = asyncio.Barrier(2) if hasattr(asyncio, "Barrier") else None

            async def deliver(batch):
                if both is not None:
                    await both.wait()
                await client.track("done", id=batch.batch)
                return {"1": "retry"}

            await client.subscribe("jobs", deliver, credit=2)
            await asyncio.get_running_loop().run_in_executor(None, is_over.wait, PATIENCE)
            await client.unsubscribe("jobs")

        is_over = threading.Event()
        end = self.run_client(work)
        connection = self.daemon.greet()
        request = connection.request("dispatcher.subscribe")
        self.assertEqual(request["params"], {"id": "jobs", "credit": 2})
        connection.answer(request, {})
        for id in ("a", "b"):
            params = {"dispatcher": "jobs", "batch": id, "events": []}
            connection.tell({"id": id, "method": "dispatch", "params": params})
        for request in connection.requests("track", 2):
            connection.acknowledge(request)
        answers = [connection.read() for _ in range(2)]
        self.assertEqual({answer["id"] for answer in answers}, {"a", "b"})
        self.assertEqual([answer["result"] for answer in answers], [{"outcomes": {"1": "retry"}}] * 2)
        is_over.set()
        connection.answer(connection.request("dispatcher.unsubscribe"), {})
        self.assertIsNone(end())

    def dispatch(self, connection, *batches):
        for batch in batches:
            params = {"dispatcher": "jobs", "batch": batch, "events": []}
            connection.tell({"id": batch, "method": "dispatch", "params": params})

    def test_leaving_a_block_lets_a_handler_finish(self):
        begun, go_on = threading.Event(), threading.Event()

        async def run():
            async def deliver(batch):
                begun.set()
                await asyncio.get_running_loop().run_in_executor(None, go_on.wait, PATIENCE)
                return {batch.batch: "dead"}

            async with headgate.aio.Client("test", socket_path=self.daemon.path) as client:
                await client.subscribe("jobs", deliver)
                await asyncio.get_running_loop().run_in_executor(None, begun.wait, PATIENCE)

        end = self.in_background(lambda: asyncio.run(run()))
        connection = self.daemon.greet()
        connection.answer(connection.request("dispatcher.subscribe"), {})
        self.dispatch(connection, "a")
        self.assertTrue(begun.wait(PATIENCE))
        connection.expect_silence()
        go_on.set()
        self.assertEqual(connection.read()["result"], {"outcomes": {"a": "dead"}})
        connection.expect_end()
        self.assertIsNone(end())

    def test_a_handler_may_close_its_client(self):
        async def work(client):
            ended = asyncio.Event()

            async def deliver(batch):
                await client.close()
                ended.set()

            await client.subscribe("jobs", deliver)
            await ended.wait()
            return "closed"

        end = self.run_client(work, close_timeout=PATIENCE)
        connection = self.daemon.greet()
        connection.answer(connection.request("dispatcher.subscribe"), {})
        self.dispatch(connection, "a")
        connection.expect_end()
        self.assertEqual(end(), "closed")

    def test_a_handler_whose_loop_is_closed_is_an_error(self):
        clients = []

        async def begin():
            async def deliver(batch):
                return None

            client = headgate.aio.Client("test", socket_path=self.daemon.path, options=self.options())
            clients.append(client)
            await client.subscribe("jobs", deliver)

        end = self.in_background(lambda: asyncio.run(begin()))
        connection = self.daemon.greet()
        connection.answer(connection.request("dispatcher.subscribe"), {})
        end()
        self.dispatch(connection, "a")
        self.assertEqual(connection.read()["error"]["code"], -32603)
        clients[0]._core.close()

    def test_a_try_does_not_wait(self):
        async def work(client):
            first = client.try_track({"event": "x"})
            with self.assertRaises(headgate.HeadgateError) as caught:
                client.try_track({"event": "y"})
            is_refused.set()
            return caught.exception.reason, (await first).seq

        is_refused = threading.Event()
        end = self.run_client(work, max_unanswered=1)
        connection = self.daemon.greet()
        self.assertTrue(is_refused.wait(PATIENCE))
        connection.acknowledge(connection.request("track"), seq=7)
        self.assertEqual(end(), ("buffer_full", 7))

    def test_subscription_that_is_cancelled(self):
        """A cancelled service is ended at the daemon, and may be begun again."""
        is_asked = threading.Event()

        async def work(client):
            async def deliver(batch):
                return None

            first = asyncio.create_task(client.subscribe("jobs", deliver))
            await asyncio.get_running_loop().run_in_executor(None, is_asked.wait, PATIENCE)
            first.cancel()
            await asyncio.wait([first])
            await client.subscribe("jobs", deliver)
            with self.assertRaises(headgate.HeadgateError) as caught:
                await client.subscribe("jobs", deliver)
            return first.cancelled(), caught.exception.reason

        end = self.run_client(work)
        connection = self.daemon.greet()
        first = connection.request("dispatcher.subscribe")
        is_asked.set()
        last = connection.request("dispatcher.unsubscribe")
        again = connection.request("dispatcher.subscribe")
        for request in (first, last, again):
            connection.answer(request, {})
        self.assertEqual(end(), (True, "misuse"))

    def test_service_ended_while_it_begins_again(self):
        """The daemon handles requests in order, so the service has ended there."""

        async def run(activation):
            return None

        async def deliver(batch):
            return None

        services = [
            ("board.serve", lambda client: client.serve_board("b", run), "board.unserve", lambda client: client.unserve_board("b")),
            ("dispatcher.subscribe", lambda client: client.subscribe("w", deliver), "dispatcher.unsubscribe",
             lambda client: client.unsubscribe("w")),
            ("barrier.register", lambda client: client.register_barrier("c", "closed"), "barrier.unregister",
             lambda client: client.unregister_barrier("c")),
        ]  # fmt: skip
        for begin, serve, end_it, unserve in services:
            for is_refused in (False, True):
                with self.subTest(method=begin, is_refused=is_refused):
                    self.play_second_thoughts(begin, serve, end_it, unserve, is_refused)

    def play_second_thoughts(self, begin, serve, end_it, unserve, is_refused):
        is_asked = threading.Event()

        async def work(client):
            await serve(client)
            await asyncio.get_running_loop().run_in_executor(None, is_asked.wait, PATIENCE)
            await unserve(client)
            await client.ping()

        end = self.run_client(work)
        first = self.daemon.greet()
        first.answer(first.request(begin), {})
        first.close()
        second = self.answer_second_thoughts(begin, end_it, is_refused, is_asked.set)
        second.answer(second.request("ping"), {})
        self.assertIsNone(end())

    def test_barrier_that_stays_is_removed_on_the_next_connection(self):
        """A barrier that outlives its connection is removed even after the deadline."""
        is_gone, is_back = threading.Event(), threading.Event()

        async def work(client):
            await client.register_barrier("b", "closed", on_disconnect="close")
            await asyncio.get_running_loop().run_in_executor(None, is_gone.wait, PATIENCE)
            with self.assertRaises(headgate.HeadgateError) as caught:
                await client.unregister_barrier("b", deadline=0.01)
            self.daemon.listen()
            is_back.set()
            await client.unregister_barrier("b")
            return caught.exception.reason

        end = self.run_client(work)
        first = self.daemon.greet()
        first.answer(first.request("barrier.register"), {})
        self.daemon.stop_listening()
        first.close()
        is_gone.set()
        self.assertTrue(is_back.wait(PATIENCE))
        second = self.daemon.greet()
        registration = second.request("barrier.register")
        self.assertEqual(registration["params"], {"id": "b", "state": "open", "scopes": []})
        second.request("barrier.unregister")
        second.answer(registration, {})
        self.assertEqual(end(), "timed_out")

    def test_board_cancelled_at_its_deadline(self):
        is_asked = threading.Event()

        async def work(client):
            async def run(activation):
                return None

            await client.ping()
            deadline = 0.01
            while not connections[0].has_message():
                deadline *= 2
                with self.assertRaises(headgate.HeadgateError) as caught:
                    await client.serve_board("b", run, deadline=deadline)
                self.assertEqual(caught.exception.reason, "timed_out")
            is_asked.set()
            await client.serve_board("b", run)

        end = self.run_client(work)
        connections = [self.daemon.greet()]
        connections[0].answer(connections[0].request("ping"), {})
        self.assertTrue(is_asked.wait(PATIENCE))
        for request in [connections[0].request(name) for name in ("board.serve", "board.unserve", "board.serve")]:
            connections[0].answer(request, {})
        self.assertIsNone(end())

    def test_watch(self):
        async def work(client):
            heard = []
            async with await client.watch(["clients"]) as watch:
                async for news in watch:
                    heard.append(news.kind)
                    if news.kind == "changed":
                        break
                with self.assertRaises(headgate.HeadgateError) as caught:
                    await watch.next(deadline=0.01)
                self.assertEqual(caught.exception.reason, "timed_out")
            await client.ping()  # earlier calls have been sent by then
            return heard, await watch.next()

        end = self.run_client(work)
        connection = self.daemon.greet()
        connection.answer(connection.request("watch"), {"watch": "w"})
        connection.tell({"method": "changed", "params": {"watch": "w", "topic": "clients"}})
        self.assertEqual(connection.request("unwatch")["params"], {"watch": "w"})
        connection.answer(connection.request("ping"), {})
        self.assertEqual(end(), (["began", "changed"], None))

    def test_watch_cancelled_before_it_began(self):
        """A cancelled watch begins when the daemon answers, and is ended then."""

        async def work(client):
            watch = asyncio.create_task(client.watch())
            await asyncio.get_running_loop().run_in_executor(None, asked.wait)
            watch.cancel()
            await asyncio.wait([watch])
            given_up.set()
            await client.ping()
            return watch.cancelled()

        asked, given_up = threading.Event(), threading.Event()
        end = self.run_client(work)
        connection = self.daemon.greet()
        request = connection.request("watch")
        asked.set()
        given_up.wait(PATIENCE)
        ping = connection.request("ping")
        connection.answer(request, {"watch": "w"})
        connection.answer(ping, {})  # the last answer: the client closes then
        self.assertEqual(connection.request("unwatch")["params"], {"watch": "w"})
        self.assertTrue(end())

    def test_listeners_do_not_pile_up(self):
        """A caller that no longer waits for room is forgotten."""

        async def work(client):
            first = await client.track_soon({"event": "x"})
            for _ in range(20):
                with self.assertRaises(headgate.HeadgateError):
                    await client.track("y", deadline=0.001)
            first.cancel()
            return len(client._connection._listeners), len(client._line)

        self.assertEqual(self.run_client(work, max_unanswered=1)(), (0, 0))

    def test_events_left_at_the_end_are_logged_once(self):
        """asyncio logs no traceback for each event that is left. It logs refusals that no code has read."""
        logged = []

        async def work(client):
            asyncio.get_running_loop().set_exception_handler(lambda _, context: logged.append(context["exception"].reason))
            for n in range(3):
                await client.track_soon({"event": "x", "data": {"n": n}})
            await client.ping()

        end = self.run_client(work)
        connection = self.daemon.greet()
        connection.refuse(connection.request("track"), "full")
        connection.requests("track", 2)
        connection.answer(connection.request("ping"), {})
        end()
        gc.collect()
        self.assertEqual(logged, ["full"])


if __name__ == "__main__":
    unittest.main()
