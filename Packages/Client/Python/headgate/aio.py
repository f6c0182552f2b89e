"""The client of Headgate for asyncio. It makes the same promises as that of `headgate`; methods that wait are coroutines.

    async with headgate.aio.Client("shop", "2.1") as client:
        await client.track("signup", {"plan": "free"})

A cancelled call is not sent if it was not written yet. If it was written, it may have been done; only its answer is not waited
for. The connection has a thread of its own, so a busy loop delays no other client. A client belongs to
the loop on which it is first used.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import datetime
import time
from concurrent.futures import Future
from typing import Any, AsyncIterable, AsyncIterator, Awaitable, Callable, Deque, Dict, Iterable, List, Mapping
from typing import Optional, Sequence, Set, Union

import headgate
from headgate import Activation, Barrier, Batch, DeadLetters, Dispatcher, Event, Flush, HeadgateError, JSONObject
from headgate import ManyReceipt, News, Options, QueuedEvents, Receipt, Refused

__all__ = ["Choose", "Client", "Run", "Watch", "Work"]

Work = Callable[[Batch], Awaitable[Optional[Mapping[str, str]]]]
"""Delivers a batch; see `headgate.Work`."""

Run = Callable[[Activation], Awaitable[Any]]
"""Runs a board; see `headgate.Run`."""


Choose = Callable[[Any], Awaitable[Optional[Mapping[str, Any]]]]
"""Chooses the barrier of one activation by its input; see `headgate.Choose`."""


class Client:
    """A client of the daemon, for one loop; see the module. Failures are those of `headgate.Client`.

    As a context manager it waits at the end of the block until all calls are answered, then closes. After an exception it
    closes at once, which waits no longer than `Options.close_timeout`.
    """

    def __init__(
        self, name: str, version: str = "", *, socket_path: Optional[str] = None, namespace: Optional[str] = None,
        options: Options = Options(),
    ) -> None:  # fmt: skip
        """Makes a client, which connects when it is first called; see `headgate.Client`."""
        self._core = headgate.Client(name, version, socket_path=socket_path, namespace=namespace, options=options)
        self._connection = self._core._connection
        self._line: Deque[asyncio.Future[None]] = collections.deque()

    @property
    def socket_path(self) -> str:
        return self._core.socket_path

    async def close(self) -> None:
        """Takes no more work, waits for tracked events and running handlers, but no longer than
        `Options.close_timeout`, and closes the connection. Other running calls, and later ones, end with `closed`; handlers
        that still run are cancelled."""
        served = [*self._core._workers.values(), *self._core._boards.values()]
        # A handler that closes its client must not wait for itself, nor be cancelled.
        own = sum(isinstance(one, _Tasks) and one.spare(asyncio.current_task()) for one in served)
        await asyncio.get_running_loop().run_in_executor(None, self._core._close, own)

    async def drain(self, deadline: Optional[float] = None) -> None:
        """Waits until all calls are answered: all tracked events are stored then. (`flush` makes dispatchers send pending events.)"""
        await self._until(lambda: self._connection.is_drained, headgate._moment(deadline))

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, kind: Optional[type], *_: object) -> None:
        try:
            if kind is None:
                await self.drain()
        finally:
            await asyncio.shield(self.close())

    # MARK: Tracking

    async def track(
        self, event: str, data: Optional[Mapping[str, Any]] = None, *, id: Optional[str] = None,
        key: Optional[str] = None, time: Union[str, datetime.datetime, None] = None,
        dispatchers: Optional[Sequence[str]] = None,
        ttl_ms: Optional[int] = None, deadline: Optional[float] = None,
    ) -> Receipt:  # fmt: skip
        """Tracks an event, and returns when the daemon has stored it (Behaviour P1). Waits for room first."""
        params = headgate._given(
            event=event, data=data, id=id, key=key, time=time, dispatchers=dispatchers, ttl_ms=ttl_ms
        )
        call = headgate._Call("track", headgate._with_id(params), True, deadline)
        return headgate._receipt(await self._answer(call, await self._begin_in_turn(call)))

    async def track_soon(self, event: Event, deadline: Optional[float] = None) -> asyncio.Future[Receipt]:
        """Tracks an event without waiting for its acknowledgement, which the future gets. Events keep the order of these
        calls. Waits only while too many are unanswered; a deadline that passes meanwhile is `buffer_full`. The event of a
        cancelled future is not sent, if it was not written yet."""
        call = headgate._Call("track", headgate._with_id(dict(event)), True, deadline)
        return self._receipt(call, await self._begin_in_turn(call))

    def try_track(self, event: Event, deadline: Optional[float] = None) -> asyncio.Future[Receipt]:
        """Tracks an event as `track_soon` does, but never waits: raises `buffer_full` while there is no room, or other calls
        wait for room."""
        call = headgate._Call("track", headgate._with_id(dict(event)), True, deadline)
        answer = _listen(call)
        if self._line:
            raise self._connection._full()
        self._connection.begin_if_room(call)
        return self._receipt(call, answer)

    def _receipt(self, call: headgate._Call, answer: asyncio.Future[JSONObject]) -> asyncio.Future[Receipt]:
        receipt: asyncio.Future[Receipt] = asyncio.get_running_loop().create_future()
        answer.add_done_callback(lambda done: _pass_on(done, receipt))
        receipt.add_done_callback(lambda done: self._take_back(call, done))
        return receipt

    def _take_back(self, call: headgate._Call, receipt: asyncio.Future[Receipt]) -> None:
        if receipt.cancelled():
            self._connection.abandon(call)

    async def track_each(
        self, events: Union[Iterable[Event], AsyncIterable[Event]], deadline: Optional[float] = None
    ) -> List[Union[Receipt, HeadgateError]]:
        """Tracks events each on its own, in their order, without waiting in between. Returns the outcome of each, in the
        same order; one that is refused does not hinder the others."""
        receipts: List[asyncio.Future[Receipt]] = []
        try:
            async for event in _each(events):
                receipts.append(await self.track_soon(event, deadline))
            return [await _outcome(receipt) for receipt in receipts]
        except BaseException:
            for receipt in receipts:
                receipt.cancel()
            raise

    async def track_many(self, events: Iterable[Event], deadline: Optional[float] = None) -> ManyReceipt:
        """Tracks events atomically: all are stored, or none. They are sent in one line, whose length the daemon limits."""
        params = {"events": [headgate._with_id(dict(event)) for event in events]}
        call = headgate._Call("track_many", params, True, deadline)
        return headgate._many_receipt(await self._answer(call, await self._begin_in_turn(call)))

    # MARK: Queries and operations

    async def call(
        self, method: str, params: Optional[Mapping[str, Any]] = None, deadline: Optional[float] = None
    ) -> JSONObject:
        """Calls any method; see `headgate.Client.call`."""
        is_repeatable = method in headgate._REPEATABLE
        return await self._wait_for(headgate._Call(method, dict(params or {}), is_repeatable, deadline))

    async def flush(
        self, dispatchers: Optional[Sequence[str]] = None, *, wait: bool = False, timeout_ms: Optional[int] = None,
        flush: Optional[str] = None, deadline: Optional[float] = None,
    ) -> Flush:  # fmt: skip
        """Makes dispatchers send their pending events, through flushable barriers (Behaviour F1). With `wait` the result says how
        the flush ended. `flush` is the flush's id, for `flush_cancel`."""
        params = headgate._given(dispatchers=dispatchers, wait=wait or None, timeout_ms=timeout_ms, flush=flush)
        return headgate._flush(await self.call("flush", params, deadline), wait)

    async def dispatchers(self, deadline: Optional[float] = None) -> List[Dispatcher]:
        """Returns all dispatchers, with their counters and the barriers that block them."""
        result = await self.call("dispatcher.list", None, deadline)
        found: List[Dispatcher] = headgate._member(result, "dispatchers", list)
        return found

    async def pause(
        self, dispatcher: str, reason: Optional[str] = None, flushable: bool = False, deadline: Optional[float] = None
    ) -> None:
        """Pauses a dispatcher by its ManualBarrier. It stays paused across restarts (Behaviour B23)."""
        params = headgate._given(id=dispatcher, reason=reason, flushable=flushable or None)
        await self.call("dispatcher.pause", params, deadline)

    async def resume(self, dispatcher: str, deadline: Optional[float] = None) -> None:
        """Resumes a paused dispatcher."""
        await self.call("dispatcher.resume", {"id": dispatcher}, deadline)

    async def peek(
        self, dispatcher: str, limit: Optional[int] = None, after: Optional[int] = None,
        deadline: Optional[float] = None,
    ) -> QueuedEvents:  # fmt: skip
        """Returns the next pending events of a dispatcher, after a sequence number if one is given."""
        params = headgate._given(dispatcher=dispatcher, limit=limit, after=after)
        page: QueuedEvents = headgate._page(await self.call("queue.peek", params, deadline), "events")
        return page

    async def purge(self, dispatcher: str, before_seq: Optional[int] = None, deadline: Optional[float] = None) -> int:
        """Drops a dispatcher's pending events, up to a sequence number if one is given. Returns their number."""
        params = headgate._given(dispatcher=dispatcher, before_seq=before_seq)
        return int(headgate._member(await self.call("queue.purge", params, deadline), "purged", int))

    async def dead_letters(
        self, dispatcher: Optional[str] = None, limit: Optional[int] = None, after: Any = None,
        deadline: Optional[float] = None,
    ) -> DeadLetters:  # fmt: skip
        """Returns a page of dead letters (Behaviour D10)."""
        params = headgate._given(dispatcher=dispatcher, limit=limit, after=after)
        page: DeadLetters = headgate._page(await self.call("dead_letters.list", params, deadline), "dead_letters")
        return page

    async def requeue_dead_letters(
        self, dispatcher: Optional[str] = None, letters: Optional[Sequence[Any]] = None,
        deadline: Optional[float] = None,
    ) -> int:  # fmt: skip
        """Resends dead letters under their ids. Returns their number."""
        params = headgate._given(dispatcher=dispatcher, letters=letters)
        return int(headgate._member(await self.call("dead_letters.requeue", params, deadline), "count", int))

    async def purge_dead_letters(
        self, dispatcher: Optional[str] = None, letters: Optional[Sequence[Any]] = None,
        deadline: Optional[float] = None,
    ) -> int:  # fmt: skip
        """Deletes dead letters. Returns their number."""
        params = headgate._given(dispatcher=dispatcher, letters=letters)
        return int(headgate._member(await self.call("dead_letters.purge", params, deadline), "count", int))

    async def activate(
        self, board: str, input: Any = None, *, mainboard: Optional[str] = None, timeout_ms: Optional[int] = None,
        wait_ms: Optional[int] = None, deadline: Optional[float] = None,
    ) -> JSONObject:  # fmt: skip
        """Activates a board, and returns its `done` and `output`. Raises `cancelled` if a barrier refuses the activation."""
        params = headgate._given(
            board=board, input=input, mainboard=mainboard, timeout_ms=timeout_ms, wait_ms=wait_ms
        )
        return await self.call("board.activate", params, deadline)

    # written by Tools/protocol: async_calls
    async def ping(self, deadline: Optional[float] = None) -> None:
        """Returns an empty answer, to check the connection."""
        await self.call("ping", None, deadline)

    async def rights(self, deadline: Optional[float] = None) -> JSONObject:
        """Returns the rights of the caller: the groups of methods that it may call, and its namespace."""
        return await self.call("rights", None, deadline)

    async def discover(self, deadline: Optional[float] = None) -> JSONObject:
        """Returns the OpenRPC document of the protocol."""
        return await self.call("rpc.discover", None, deadline)

    async def cancel_flush(self, flush: str, deadline: Optional[float] = None) -> None:
        """Cancels a flush. Events that were not sent stay pending. (`flush`: the flush's id)"""
        await self.call("flush.cancel", {"flush": flush}, deadline)

    async def flushes(self, deadline: Optional[float] = None) -> List[Mapping[str, Any]]:
        """Returns every flush in progress, also flushes of clients that have disconnected."""
        found: List[Mapping[str, Any]] = headgate._member(await self.call("flush.list", None, deadline), "flushes", list)
        return found

    async def status(self, deadline: Optional[float] = None) -> JSONObject:
        """Returns the status of the daemon, its store, dispatchers and barriers."""
        return await self.call("status", None, deadline)

    async def retry(self, id: str, deadline: Optional[float] = None) -> None:
        """Ends a dispatcher's backoff: its next attempt begins now. (`id`: the dispatcher's id)"""
        await self.call("dispatcher.retry", {"id": id}, deadline)

    async def rewind(self, id: str, to: Any, dry_run: bool = False, deadline: Optional[float] = None) -> JSONObject:
        """Rewinds a dispatcher: delivered events that the store retains are sent again, from a given sequence number or
        time on. (`id`: the dispatcher's id; `to`: a sequence number, a time, or a duration back like "-2h"; `dry_run`:
        true: the events are counted, and nothing changes)"""
        return await self.call("dispatcher.rewind", headgate._given(id=id, to=to, dry_run=dry_run or None), deadline)

    async def config(self, layer: Optional[str] = None, deadline: Optional[float] = None) -> JSONObject:
        """Returns the settings in force, or those of one layer, with secrets replaced by ***. (`layer`: the layer to
        return)"""
        return await self.call("config.get", headgate._given(layer=layer), deadline)

    async def set_config(
        self, patch: Mapping[str, Any], persist: bool = False, deadline: Optional[float] = None
    ) -> None:
        """Merges a patch into the programmatic layer; null removes. (`patch`: the patch, in the form of the settings;
        `persist`: true: the change survives a restart)"""
        await self.call("config.set", headgate._given(patch=patch, persist=persist or None), deadline)

    async def reload_config(self, deadline: Optional[float] = None) -> List[str]:
        """Reads the configuration file again. Gives the key paths of the changed settings."""
        found: List[str] = headgate._member(await self.call("config.reload", None, deadline), "changed", list)
        return found

    async def metrics(self, deadline: Optional[float] = None) -> List[Mapping[str, Any]]:
        """Returns all metrics, for monitoring systems."""
        found: List[Mapping[str, Any]] = headgate._member(await self.call("metrics", None, deadline), "metrics", list)
        return found

    async def event_trace(
        self, id: str, namespace: Optional[str] = None, deadline: Optional[float] = None
    ) -> List[Mapping[str, Any]]:
        """Returns the state or outcome of an event for each of its dispatchers. Gives the oldest first. (`id`: the
        event's id; `namespace`: the namespace of the id, as it is stored or as the caller chose it; by default the
        caller's; `*` is any)"""
        found: List[Mapping[str, Any]] = headgate._member(await self.call("event.trace", headgate._given(id=id, namespace=namespace), deadline), "events", list)
        return found

    async def clients(self, deadline: Optional[float] = None) -> List[Mapping[str, Any]]:
        """Returns every connected client, its counters, and why the daemon does not read from it, if so."""
        found: List[Mapping[str, Any]] = headgate._member(await self.call("client.list", None, deadline), "clients", list)
        return found

    async def backup(self, backup: Optional[str] = None, deadline: Optional[float] = None) -> JSONObject:
        """Returns the next piece of a consistent copy of the store, as files of a data directory. A connection makes
        one copy at a time. (`backup`: the id of the copy, to continue it; by default, a new copy begins)"""
        return await self.call("store.backup", headgate._given(backup=backup), deadline)

    async def erase(
        self, when: Any, reason: Optional[str] = None, dry_run: bool = False, deadline: Optional[float] = None
    ) -> JSONObject:
        """Erases stored events for all dispatchers, and dead letters, and removes their bytes from the data directory.
        (`when`: the condition for the events, in the language of load rules; `reason`: the reason, for the log;
        `dry_run`: true: the events are counted, and nothing is erased)"""
        return await self.call("store.erase", headgate._given(when=when, reason=reason, dry_run=dry_run or None), deadline)

    async def rekey(self, deadline: Optional[float] = None) -> JSONObject:
        """Reads the keys of `store.encryption` again, and rewrites the files under other keys with the first of them,
        in the background."""
        return await self.call("store.rekey", None, deadline)
    # end of what Tools/protocol has written

    async def watch(self, topics: Optional[Sequence[str]] = None, deadline: Optional[float] = None) -> Watch:
        """Watches changes in the daemon; None is all topics. Returns when the watch has begun."""
        watch = Watch(self._core, headgate._given(topics=topics))
        watch._inner._standing.deadline = headgate._moment(deadline)
        self._connection.owner = self._core
        await self._wait_for(watch._inner._standing)
        return watch

    async def application_status(self, status: str, deadline: Optional[float] = None) -> None:
        """Announces `foreground`, `background` or `exiting` (Behaviour B26, F5). What was announced last is announced
        again on each connection, but for `exiting`."""
        await self._wait_for(self._core._announcement(status, deadline))

    # MARK: Barriers

    async def barriers(self, deadline: Optional[float] = None) -> List[Barrier]:
        """Returns all barriers, with the dispatchers that they block and the reason (Behaviour B10)."""
        result = await self.call("barrier.list", None, deadline)
        found: List[Barrier] = headgate._member(result, "barriers", list)
        return found

    async def register_barrier(
        self, id: str, state: str, *, scopes: Union[str, Sequence[str], None] = None, flushable: Optional[bool] = None,
        on_disconnect: Optional[str] = None, deadline: Optional[float] = None,
    ) -> None:  # fmt: skip
        """Registers a barrier of this client (Behaviour B29). It is registered again on each connection, in its last state."""
        params = headgate._given(
            id=id, state=state, scopes=scopes, flushable=flushable, on_disconnect=on_disconnect
        )
        await self._wait_for(self._core._registration(params, deadline))

    async def set_barrier(
        self, id: str, state: Optional[str] = None, *, flushable: Optional[bool] = None,
        dispatcher: Optional[str] = None, reason: Optional[str] = None, deadline: Optional[float] = None,
    ) -> None:  # fmt: skip
        """Changes a barrier of this client, for all its scopes or for one dispatcher."""
        change = headgate._given(id=id, state=state, flushable=flushable, dispatcher=dispatcher, reason=reason)
        await self._wait_for(self._core._change(change, deadline))

    async def unregister_barrier(self, id: str, force: bool = False, deadline: Optional[float] = None) -> None:
        """Removes a barrier; with `force` that of another owner as well. A barrier that outlives its connection is
        removed as soon as there is a connection again, even after the deadline."""
        held, ending = self._core._let_go(id)
        if ending is None:
            return await self._leave("barrier.unregister", headgate._given(id=id, force=force or None), held, deadline)
        try:
            with _in_time():
                await asyncio.wait_for(_listen(ending), deadline)
        except HeadgateError as error:
            if not headgate._is_gone(error):
                raise

    # MARK: Workers and boards

    async def subscribe(
        self, dispatcher: str, work: Work, *, credit: int = 1, limit: Optional[int] = None,
        deadline: Optional[float] = None,
    ) -> None:  # fmt: skip
        """Delivers a worker dispatcher's batches (Behaviour K3), up to `credit` at once, each in a task of its own."""
        params = headgate._given(id=dispatcher, credit=credit if credit != 1 else None, limit=limit)

        async def handle(params: JSONObject) -> JSONObject:
            return headgate._outcomes(await work(headgate._batch(params)))

        standing = headgate._subscription(params, deadline)
        await self._serve(self._core._workers, dispatcher, _Tasks(standing, handle))

    async def unsubscribe(self, dispatcher: str, deadline: Optional[float] = None) -> None:
        """Takes no more batches. Returns when the present ones are answered."""
        await self._stop_serving(self._core._workers, dispatcher, deadline)

    async def serve_board(
        self, board: str, run: Run, *, barrier: Union[Mapping[str, Any], Choose, None] = None,
        bypass_gateway: bool = False, deadline: Optional[float] = None,
    ) -> None:  # fmt: skip
        """Serves a board (Behaviour A1), each activation in a task of its own. If `barrier` is a coroutine function,
        it chooses the barrier of each activation."""
        choose = barrier if callable(barrier) else None
        given = "ask" if choose else barrier
        params = headgate._given(board=board, barrier=given, bypass_gateway=bypass_gateway or None)

        async def handle(params: JSONObject) -> JSONObject:
            try:
                return headgate._done(await run(headgate._activation(params)))
            except Refused:
                return {"done": False}

        await self._serve(self._core._boards, board, _Tasks(headgate._serving(params, deadline), handle, choose))

    async def unserve_board(self, board: str, deadline: Optional[float] = None) -> None:
        """Stops serving a board. Returns when the present activations are answered."""
        await self._stop_serving(self._core._boards, board, deadline)

    async def _serve(self, table: Dict[str, headgate._Served], name: str, served: _Tasks) -> None:
        leave = self._core._enter(table, name, served)
        try:
            await self._wait_for(served.standing)
        except BaseException:
            leave()
            raise

    async def _stop_serving(
        self, table: Dict[str, headgate._Served], name: str, deadline: Optional[float]
    ) -> None:  # fmt: skip
        served, held = self._core._retire(table, name)
        try:
            await self._leave(*served.leave, held, deadline)
        finally:
            self._core._part(table, name, served)

    async def _leave(self, method: str, params: JSONObject, held: str, deadline: Optional[float]) -> None:
        call = headgate._leaving(method, params, held, deadline)
        if call is None:
            return
        try:
            await self._wait_for(call)
        except HeadgateError as error:
            if not headgate._is_left(held, error):
                raise

    # MARK: Calls

    async def _wait_for(self, call: headgate._Call) -> JSONObject:
        answer = _listen(call)
        try:
            self._connection.begin(call)
        except BaseException as error:
            if isinstance(call, headgate._Standing):  # handled as a refusal
                call.on_end(error if isinstance(error, HeadgateError) else HeadgateError.local("misuse", str(error)))
            raise
        return await self._answer(call, answer)

    async def _answer(self, call: headgate._Call, answer: asyncio.Future[JSONObject]) -> JSONObject:
        try:
            return await answer
        except asyncio.CancelledError:
            self._connection.abandon(call)
            raise

    async def _begin_in_turn(self, call: headgate._Call) -> asyncio.Future[JSONObject]:
        """Begins a call when there is room, after all calls that waited for room earlier."""
        answer = _listen(call)
        if self._line or not self._connection.has_room:
            await self._wait_in_line(call)
        else:
            self._connection.begin(call)
        return answer

    async def _wait_in_line(self, call: headgate._Call) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._line.append(turn)
        try:
            with _in_time(self._connection._full()):
                if self._line[0] is not turn:
                    await asyncio.wait_for(turn, _left(call.deadline))
                await asyncio.wait_for(self._changes_until(lambda: self._connection.has_room), _left(call.deadline))
            self._connection.begin(call)
        finally:
            self._line.remove(turn)
            if self._line and not self._line[0].done():
                self._line[0].set_result(None)

    async def _until(self, condition: Callable[[], bool], moment: Optional[float]) -> None:
        with _in_time():
            await asyncio.wait_for(self._changes_until(condition), _left(moment))

    async def _changes_until(self, condition: Callable[[], bool]) -> None:
        loop = asyncio.get_running_loop()
        while True:
            changed: asyncio.Future[None] = loop.create_future()

            def tell(changed: asyncio.Future[None] = changed) -> None:
                _soon(loop, lambda: _end(changed))

            with self._connection.lock:
                if condition() or self._connection.is_closed:
                    return
                self._connection.when_changed(tell)
            try:
                await changed
            finally:
                self._connection.forget(tell)


class Watch:
    """An asynchronous iterator of the daemon's changes (`News`), until `close`; see `headgate.Watch`."""

    def __init__(self, core: headgate.Client, params: JSONObject) -> None:
        self._inner = _WatchOfLoop(core, params)

    def __aiter__(self) -> AsyncIterator[News]:
        return self

    async def __anext__(self) -> News:
        news = await self.next()
        if news is None:
            raise StopAsyncIteration
        return news

    async def next(self, deadline: Optional[float] = None) -> Optional[News]:
        """Returns the next item, or None if the watch was closed. Raises the reason of any other end, or `timed_out`."""
        with _in_time():
            return await asyncio.wait_for(self._inner.read(), deadline)

    async def close(self) -> None:
        """Ends the watch."""
        self._inner.close()

    async def __aenter__(self) -> Watch:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class _WatchOfLoop(headgate.Watch):
    """A watch whose reader waits in a loop."""

    def __init__(self, core: headgate.Client, params: JSONObject) -> None:
        super().__init__(core, params)
        self._loop = asyncio.get_running_loop()
        self._has_news = asyncio.Event()

    def _notify(self) -> None:
        super()._notify()
        _soon(self._loop, self._has_news.set)

    async def read(self) -> Optional[News]:
        while True:
            self._has_news.clear()
            with self._lock:
                if self._is_readable:
                    return self._read()
            await self._has_news.wait()


class _Tasks(headgate._Served):
    """A worker's subscription or a served board whose handler runs in tasks of the loop."""

    def __init__(
        self, standing: headgate._Standing, handle: Callable[[JSONObject], Awaitable[JSONObject]],
        choose: Optional[Choose] = None,
    ) -> None:  # fmt: skip
        super().__init__(standing)
        self._handle, self._choose = handle, choose
        self._loop = asyncio.get_running_loop()
        self._running: Set[asyncio.Task[None]] = set()

    def take(self, params: JSONObject, reply: headgate._Reply) -> None:
        self._hand_over(self._handle, params, reply)

    def choose(self, params: JSONObject, reply: headgate._Reply) -> None:
        self._hand_over(self._chosen, params, reply)

    async def _chosen(self, params: JSONObject) -> JSONObject:
        barrier = None if self._choose is None else await self._choose(params.get("input"))
        return {"barrier": None if barrier is None else dict(barrier)}

    def _hand_over(
        self, handle: Callable[[JSONObject], Awaitable[JSONObject]], params: JSONObject, reply: headgate._Reply
    ) -> None:
        if not _soon(self._loop, lambda: self._begin(handle, params, reply)):
            reply.give({"error": {"code": -32603, "message": "the loop of the handler is closed"}})

    def dismiss(self) -> None:
        _soon(self._loop, self._cancel)

    def spare(self, task: Optional[asyncio.Task[Any]]) -> bool:
        """Keeps a task from being cancelled by `close`. Returns true if the task runs a handler of this service."""
        is_own = task in self._running
        self._running.discard(task)  # type: ignore[arg-type]
        return is_own

    def _cancel(self) -> None:
        for task in self._running:
            task.cancel()

    def _begin(
        self, handle: Callable[[JSONObject], Awaitable[JSONObject]], params: JSONObject, reply: headgate._Reply
    ) -> None:
        task = self._loop.create_task(self._run(handle, params, reply))
        self._running.add(task)
        # A task that is cancelled before it has begun does not answer by itself.
        task.add_done_callback(lambda done: self._ended(done, reply))

    def _ended(self, task: asyncio.Task[None], reply: headgate._Reply) -> None:
        self._running.discard(task)
        reply.give(headgate._failure(asyncio.CancelledError("the handler was cancelled")) if task.cancelled() else None)

    async def _run(
        self, handle: Callable[[JSONObject], Awaitable[JSONObject]], params: JSONObject, reply: headgate._Reply
    ) -> None:
        # The daemon repeats the requests of a lost connection.
        if not reply.is_wanted:
            return reply.give(None)
        try:
            reply.give({"result": await handle(params)})
        except BaseException as error:
            # Also catches exceptions that would end the loop: the daemon gets an error as the answer.
            reply.give(headgate._failure(error))
            if isinstance(error, KeyboardInterrupt):
                raise


def _soon(loop: asyncio.AbstractEventLoop, act: Callable[[], object]) -> bool:
    """Calls a function in a loop, from any thread. Returns false if the loop is closed."""
    try:
        loop.call_soon_threadsafe(act)
    except RuntimeError:
        return False
    return True


def _end(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _listen(call: headgate._Call) -> asyncio.Future[JSONObject]:
    """Returns a future of the running loop for the answer to a call."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[JSONObject] = loop.create_future()
    call.future.add_done_callback(lambda done: _soon(loop, lambda: _copy(done, answer)))
    return answer


def _copy(done: Future[JSONObject], answer: asyncio.Future[JSONObject]) -> None:
    if answer.done():
        return
    error = done.exception()
    if error is not None:
        answer.set_exception(error)
    else:
        answer.set_result(done.result())


def _pass_on(done: asyncio.Future[JSONObject], receipt: asyncio.Future[Receipt]) -> None:
    if done.cancelled():
        return
    try:
        result = headgate._receipt(done.result())
    except HeadgateError as error:
        if not receipt.done():
            receipt.set_exception(error)
            if error.code == 0:
                # The client logs how many events are left: asyncio need not log each future that the program drops.
                receipt.exception()
    else:
        if not receipt.done():
            receipt.set_result(result)


async def _outcome(receipt: asyncio.Future[Receipt]) -> Union[Receipt, HeadgateError]:
    try:
        return await receipt
    except HeadgateError as error:
        return error


async def _each(events: Union[Iterable[Event], AsyncIterable[Event]]) -> AsyncIterator[Event]:
    if isinstance(events, AsyncIterable):
        async for event in events:
            yield event
    else:
        for event in events:
            yield event


def _left(moment: Optional[float]) -> Optional[float]:
    """Returns the seconds until a moment, at most those that a loop's timers accept."""
    return None if moment is None else max(0.0, min(moment - time.monotonic(), 365 * 86_400.0))


@contextlib.contextmanager
def _in_time(late: Optional[HeadgateError] = None) -> Any:
    try:
        yield
    except asyncio.TimeoutError:
        raise late or HeadgateError.local("timed_out", "no answer came in time") from None
