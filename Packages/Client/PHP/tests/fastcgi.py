"""Runs PHP's FastCGI process manager with one process, and plays its web server."""

import os
import shutil
import socket
import struct
import subprocess
import tempfile
import threading

PATIENCE = 60
BEGIN_REQUEST, END_REQUEST, PARAMS, STDIN, STDOUT, STDERR = 1, 3, 4, 5, 6, 7
RESPONDER = 1


def executable():
    """Returns the name of the process manager's program, in which Debian has PHP's version."""
    version = subprocess.run(["php", "-r", "echo PHP_MAJOR_VERSION, '.', PHP_MINOR_VERSION;"], capture_output=True, text=True)
    folders = os.environ["PATH"] + ":/usr/sbin"
    return shutil.which(f"php-fpm{version.stdout}", path=folders) or shutil.which("php-fpm", path=folders)


class ProcessManager:
    """Serves the scripts of a folder of its own, without PHP's extensions unless the scripts need them."""

    def __init__(self, environment, has_extensions=False):
        self.folder = tempfile.mkdtemp(prefix="headgate-")
        self.path = os.path.join(self.folder, "fpm.sock")
        self.log = os.path.join(self.folder, "fpm.log")
        settings = os.path.join(self.folder, "fpm.conf")
        lines = ["[global]", "error_log = /proc/self/fd/2", "daemonize = no", "[www]", f"listen = {self.path}"]
        lines += ["pm = static", "pm.max_children = 1", "clear_env = no", "catch_workers_output = yes"]
        lines += ["php_admin_value[error_log] = " + self.log, "php_admin_flag[log_errors] = on"]
        if os.getuid() == 0:
            lines += ["user = root", "group = root"]
        with open(settings, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        command = [executable(), "--fpm-config", settings, "--nodaemonize"]
        command += [] if has_extensions else ["--no-php-ini"]
        command += ["--allow-to-run-as-root"] if os.getuid() == 0 else []
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})
        self.said = []
        watchdog = threading.Timer(PATIENCE, self.process.kill)
        watchdog.start()
        for line in self.process.stderr:
            self.said.append(line)
            if "ready to handle connections" in line:
                break
        else:
            raise AssertionError(f"PHP did not start: {''.join(self.said)}")
        watchdog.cancel()
        self.reader = threading.Thread(target=self.process.stderr.read, daemon=True)
        self.reader.start()

    def script(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def get(self, script, **query):
        """Returns the page of a script as soon as a visitor has all of it."""
        with socket.socket(socket.AF_UNIX) as stream:
            stream.settimeout(PATIENCE)
            stream.connect(self.path)
            params = {
                "SCRIPT_FILENAME": script, "REQUEST_METHOD": "GET",
                "QUERY_STRING": "&".join(f"{name}={value}" for name, value in query.items()),
            }  # fmt: skip
            packed = b"".join(
                struct.pack(">II", len(name) | 1 << 31, len(value) | 1 << 31) + name.encode() + value.encode()
                for name, value in params.items()
            )
            stream.sendall(
                record(BEGIN_REQUEST, struct.pack(">HB5x", RESPONDER, 0))
                + record(PARAMS, packed) + record(PARAMS, b"") + record(STDIN, b"")
            )  # fmt: skip
            return read_page(stream.makefile("rb"))

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.reader.join()
        self.process.stderr.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def record(kind, content):
    return struct.pack(">BBHHBx", 1, kind, 1, len(content), 0) + content


def read_page(stream):
    page = b""
    while True:
        _, kind, _, length, padding = struct.unpack(">BBHHBx", stream.read(8))
        content = stream.read(length)
        stream.read(padding)
        if kind == STDOUT:
            page += content
        if kind == END_REQUEST:
            return page.split(b"\r\n\r\n", 1)[1].decode()
