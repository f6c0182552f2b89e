#!/usr/bin/env python3
"""Tests the logging handler of the Python client with a real daemon, which is killed and restarted.

    logged.py HEADGATED PACKAGE      PACKAGE: the folder that contains `headgate`
"""

import json
import subprocess
import sys

from certification import SETTINGS, Caller, expect
from examples import calls
from fake_daemon import PATIENCE, Broken
from real_daemon import BreakingPath, RealDaemon

RECORDS = 2_000
PROGRAM = """
import json, logging, sys
sys.path.insert(0, sys.argv[1])
import headgate.logs
options = headgate.Options(backoff_base=0.01, backoff_cap=0.2)
handler = headgate.logs.Handler("certified", "1.0", socket_path=sys.argv[2], flush_timeout=60, options=options)
logging.basicConfig(level=logging.INFO, handlers=[handler])
for n in range(int(sys.argv[3])):
    logging.info("tick %d", n, extra={"n": n})
logging.shutdown()
print(json.dumps(handler.dropped))
"""


def main(executable, package):
    with RealDaemon(executable, SETTINGS) as daemon:
        with calls(daemon) as program:
            Caller(program).result("dispatcher.pause", id="collect")
        path = BreakingPath(daemon, RECORDS // 4)
        command = [sys.executable, "-c", PROGRAM, package, path.path, str(RECORDS)]
        end = subprocess.run(command, capture_output=True, text=True, timeout=3 * PATIENCE)
        path.close()
        expect("exit code and output of the program", (0, "{}\n", ""), (end.returncode, end.stdout, end.stderr))
        expect("the daemon was killed in the middle", True, path.has_broken)
        with calls(daemon) as program:
            Caller(program).result("dispatcher.resume", id="collect")
            Caller(program).result("flush", wait=True)
        events = [event["data"] for event in daemon.delivered()]
        expect("the records, each once and in order", list(range(RECORDS)), [event["n"] for event in events])
        expect("the message of the last record", f"tick {RECORDS - 1}", events[-1]["message"])
    print(f"logging: {RECORDS} records over a kill of the daemon")


try:
    main(*sys.argv[1:])
except Broken as error:
    sys.exit(f"logging: {error}")
