"""Writes the container images: OCI layouts in archives, whose bytes depend only on their files and SOURCE_DATE_EPOCH.

  oci.py --version VERSION --architecture ARCHITECTURE --out FOLDER LAYER …

Each LAYER is a folder. The images of the daemon and of the console have the same layers and differ in their configuration. An archive also has
the manifest.json of `docker save`, so that every version of docker can load it.
"""
import argparse
import gzip
import hashlib
import io
import json
import os
import pathlib
import stat
import tarfile
import time

USER = 10001
# The mode of each folder that belongs to the daemon's user, and the folders that every user may write to.
OWNED = {"var/lib/headgate": 0o700, "run/headgate": 0o2750}
OPEN = {"tmp", "var/tmp"}

SECOND = 1_000_000_000
IMAGES = {
    "headgate": {
        "title": "Headgate",
        "description": "Takes events from local programs, stores them, and delivers them past barriers",
        "config": {
            "Cmd": ["/usr/bin/headgated", "--config", "/etc/headgate/headgate.json", "--data", "/var/lib/headgate",
                    "--socket", "/run/headgate/headgate.sock"],
            "Volumes": {"/run/headgate": {}, "/var/lib/headgate": {}},
            "Healthcheck": {"Test": ["CMD", "/usr/bin/headgate", "status"], "Interval": 30 * SECOND, "Timeout": 10 * SECOND,
                            "StartPeriod": 60 * SECOND, "Retries": 3},
        },
    },
    "headgate-console": {
        "title": "Headgate console",
        "description": "Shows one Headgate daemon in a browser, and serves its metrics",
        "config": {"Cmd": ["/usr/bin/headgate-console"], "Volumes": {"/run/headgate": {}}},
    },
}


def entry(path, name, when):
    """Returns the tar entry of one file, with an owner and a time that do not depend on the build."""
    info = tarfile.TarInfo(name)
    status = path.lstat()
    mode = stat.S_IMODE(status.st_mode) & ~0o6000
    info.mtime = when
    info.mode = OWNED.get(name, 0o1777 if name in OPEN else mode)
    info.uid = info.gid = USER if name in OWNED else 0
    if path.is_symlink():
        info.type, info.linkname, info.mode = tarfile.SYMTYPE, os.readlink(path), 0o777
    elif path.is_dir():
        info.type = tarfile.DIRTYPE
    elif stat.S_ISREG(status.st_mode):
        info.size = status.st_size
    else:
        raise ValueError(f"{path} is neither a file, a folder nor a symbolic link")
    return info


def layer(folder, when):
    """Returns the uncompressed tar of a folder, in the order of its names."""
    data = io.BytesIO()
    paths = sorted(folder.rglob("*"), key=lambda path: path.relative_to(folder).parts)
    with tarfile.open(fileobj=data, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in paths:
            info = entry(path, path.relative_to(folder).as_posix(), when)
            if info.isreg():
                with path.open("rb") as file:
                    tar.addfile(info, file)
            else:
                tar.addfile(info)
    return data.getvalue()


def encoded(value):
    return json.dumps(value, indent=1, sort_keys=True).encode()


class Blobs:
    """The parts of an image by their SHA-256 digests."""

    def __init__(self):
        self.all = {}

    def add(self, data, media_type):
        digest = hashlib.sha256(data).hexdigest()
        self.all[digest] = data
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data)}


def packed(layers):
    """Returns the compressed layers, each with the digest of its uncompressed tar."""
    return [(hashlib.sha256(data).hexdigest(), gzip.compress(data, 6, mtime=0)) for data in layers]


def image(name, version, architecture, layers, when):
    """Returns the members of the archive of one image by name. `layers` is the result of `packed`."""
    facts, blobs = IMAGES[name], Blobs()
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(when))
    labels = {"title": facts["title"], "description": facts["description"], "version": version, "created": created}
    labels = {f"org.opencontainers.image.{key}": value for key, value in labels.items()}
    config = {
        "created": created,
        "architecture": architecture,
        "os": "linux",
        "config": {"User": f"{USER}:{USER}", "Env": ["PATH=/usr/bin", "LANG=C.UTF-8", "HEADGATE_SOCKET=/run/headgate/headgate.sock"],
                   "WorkingDir": "/", "StopSignal": "SIGTERM", "Labels": labels, **facts["config"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}" for digest, _ in layers]},
        "history": [{"created": created, "created_by": "Tools/image"} for _ in layers],
    }
    parts = [blobs.add(data, "application/vnd.oci.image.layer.v1.tar+gzip") for _, data in layers]
    described = blobs.add(encoded(config), "application/vnd.oci.image.config.v1+json")
    manifest = blobs.add(encoded({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": described, "layers": parts, "annotations": labels,
    }), "application/vnd.oci.image.manifest.v1+json")
    manifest["annotations"] = {"org.opencontainers.image.ref.name": version, "io.containerd.image.name": f"docker.io/library/{name}:{version}"}
    manifest["platform"] = {"architecture": architecture, "os": "linux"}

    def blob(descriptor):
        return "blobs/" + descriptor["digest"].replace(":", "/")

    members = {"oci-layout": encoded({"imageLayoutVersion": "1.0.0"}),
               "index.json": encoded({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [manifest]}),
               "manifest.json": encoded([{"Config": blob(described), "RepoTags": [f"{name}:{version}"], "Layers": [blob(part) for part in parts]}])}
    members.update({f"blobs/sha256/{digest}": data for digest, data in blobs.all.items()})
    return members


def write(path, members, when):
    """Writes an archive with these members, and the folders that they are in."""
    folders = {parent.as_posix() for name in members for parent in pathlib.PurePosixPath(name).parents} - {"."}
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for name in sorted(folders | members.keys()):
            info = tarfile.TarInfo(name)
            info.mtime, info.mode = when, 0o755 if name in folders else 0o644
            info.type = tarfile.DIRTYPE if name in folders else tarfile.REGTYPE
            info.size = len(members.get(name, b""))
            tar.addfile(info, io.BytesIO(members.get(name, b"")))


def main():
    parser = argparse.ArgumentParser()
    for option in ("--version", "--architecture", "--out"):
        parser.add_argument(option, required=True)
    parser.add_argument("layers", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    when = int(os.environ["SOURCE_DATE_EPOCH"])
    layers = packed(layer(folder, when) for folder in options.layers)
    for name in IMAGES:
        path = pathlib.Path(options.out) / f"{name}-{options.version}-{options.architecture}.tar"
        write(path, image(name, options.version, options.architecture, layers, when), when)


if __name__ == "__main__":
    main()
