"""Tests of oci.py: the same files give the same bytes, and the digests in an image are correct."""
import gzip
import hashlib
import io
import json
import os
import pathlib
import tarfile
import tempfile
import unittest

import oci

WHEN = 1_700_000_000


class Images(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)

    def root_with(self, names, name="root", when=1):
        root = self.root / name
        for path in names:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(path, encoding="utf-8")
            os.utime(root / path, (when, when))
        (root / "var/lib/headgate").mkdir(parents=True, exist_ok=True)
        return root

    def entries(self, root):
        with tarfile.open(fileobj=io.BytesIO(oci.layer(root, WHEN))) as tar:
            return {entry.name: entry for entry in tar}

    def test_same_bytes(self):
        first = self.root_with(["usr/bin/a", "usr/bin-b", "etc/c"], "first")
        second = self.root_with(["etc/c", "usr/bin-b", "usr/bin/a"], "second", when=2)
        self.assertEqual(oci.layer(first, WHEN), oci.layer(second, WHEN))

    def test_owner_and_mode(self):
        root = self.root_with(["usr/bin/a"])
        (root / "usr/bin/a").chmod(0o4755)
        (root / "tmp").mkdir()
        found = self.entries(root)
        self.assertEqual((found["usr/bin/a"].uid, found["usr/bin/a"].mode, found["usr/bin/a"].mtime), (0, 0o755, WHEN))
        self.assertEqual((found["var/lib/headgate"].uid, found["var/lib/headgate"].mode), (oci.USER, 0o700))
        self.assertEqual(found["tmp"].mode, 0o1777)

    def test_links_and_devices(self):
        root = self.root_with([])
        (root / "lib").symlink_to("usr/lib")
        self.assertEqual(self.entries(root)["lib"].linkname, "usr/lib")
        os.mkfifo(root / "pipe")
        with self.assertRaises(ValueError):
            oci.layer(root, WHEN)

    def test_digests(self):
        data = oci.layer(self.root_with(["usr/bin/a"]), WHEN)
        members = oci.image("headgate", "1.2.3", "amd64", oci.packed([data]), WHEN)
        for name, content in members.items():
            if name.startswith("blobs/"):
                self.assertEqual(name, "blobs/sha256/" + hashlib.sha256(content).hexdigest())
        described = json.loads(members["index.json"])["manifests"][0]
        manifest = json.loads(members["blobs/" + described["digest"].replace(":", "/")])
        for part in [described, manifest["config"], *manifest["layers"]]:
            self.assertEqual(part["size"], len(members["blobs/" + part["digest"].replace(":", "/")]))
        config = json.loads(members["blobs/" + manifest["config"]["digest"].replace(":", "/")])
        layer = members["blobs/" + manifest["layers"][0]["digest"].replace(":", "/")]
        self.assertEqual(gzip.decompress(layer), data)
        self.assertEqual(config["rootfs"]["diff_ids"], ["sha256:" + hashlib.sha256(data).hexdigest()])
        self.assertEqual(config["config"]["User"], "10001:10001")
        self.assertEqual(config["config"]["StopSignal"], "SIGTERM")

    def test_docker_reads_the_same_blobs(self):
        members = oci.image("headgate-console", "1.2.3", "arm64", oci.packed([b"x" * 1024]), WHEN)
        saved = json.loads(members["manifest.json"])[0]
        self.assertEqual(saved["RepoTags"], ["headgate-console:1.2.3"])
        self.assertTrue({saved["Config"], *saved["Layers"]} <= members.keys())

    def test_archives(self):
        members = oci.image("headgate", "1.2.3", "amd64", oci.packed([b"x"]), WHEN)
        for name in ("a", "b"):
            oci.write(self.root / name, members, WHEN)
        self.assertEqual((self.root / "a").read_bytes(), (self.root / "b").read_bytes())
        with tarfile.open(self.root / "a") as tar:
            self.assertEqual({entry.name for entry in tar if entry.isreg()}, set(members))


if __name__ == "__main__":
    unittest.main()
