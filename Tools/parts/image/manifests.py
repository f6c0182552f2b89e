"""Checks the manifests in a folder: volumes and ConfigMaps exist, containers have no unnecessary rights, and images have this version.

  manifests.py FOLDER

If kubernetes-validate (PyPI), docker-compose or nginx is installed, it also validates the Kubernetes objects, the compose file or the
configuration of nginx.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import yaml

from oci import USER

try:
    import kubernetes_validate
except ImportError:
    kubernetes_validate = None

ROOT = pathlib.Path(__file__).resolve().parents[3]
VERSION = re.search(r"Version (\d+\.\d+\.\d+)", (ROOT / "README.md").read_text(encoding="utf-8"))[1]


def images(containers):
    return [container for container in containers if "headgate" in container["image"]]


def faults_of_image(where, image):
    if not image.endswith(f":{VERSION}"):
        yield f"{where}: {image} is not of version {VERSION}"


def faults_of_pod(where, pod, config_maps):
    """Yields the faults of the containers and volumes of a pod."""
    containers = pod.get("initContainers", []) + pod["containers"]
    for container in images(containers):
        context = {**pod.get("securityContext", {}), **container["securityContext"]}
        yield from faults_of_image(f"{where}: {container['name']}", container["image"])
        if not (context.get("runAsNonRoot") and context.get("readOnlyRootFilesystem") and context["capabilities"] == {"drop": ["ALL"]}):
            yield f"{where}: {container['name']} has rights that it does not need"
        if (context["runAsUser"], context["runAsGroup"]) != (USER, USER):
            yield f"{where}: {container['name']} does not run as the user of the image, {USER}"
    for volume in pod.get("volumes", []):
        if "configMap" in volume and volume["configMap"]["name"] not in config_maps:
            yield f"{where}: there is no ConfigMap {volume['configMap']['name']}"


def faults_of_mounts(where, pod, claims):
    volumes = {volume["name"] for volume in pod.get("volumes", [])} | claims
    for container in pod.get("initContainers", []) + pod["containers"]:
        for mount in container.get("volumeMounts", []):
            if mount["name"] not in volumes:
                yield f"{where}: {container['name']} mounts {mount['name']}, which is no volume"


def faults_of_proxy(name, text):
    """Yields the errors that nginx reports about a server's configuration."""
    nginx = shutil.which("nginx", path="/usr/sbin:/usr/bin")
    if not nginx:
        return
    with tempfile.TemporaryDirectory() as folder:
        whole = pathlib.Path(folder, "nginx.conf")
        whole.write_text(f"pid {folder}/pid; events {{}} http {{ access_log off; {text} }}", encoding="utf-8")
        run = subprocess.run([nginx, "-t", "-q", "-e", "stderr", "-c", whole], capture_output=True, text=True)
        if run.returncode:
            yield f"{name}: {run.stderr}"


def faults_of_objects(name, objects):
    config_maps = {value["metadata"]["name"]: value["data"] for value in objects if value["kind"] == "ConfigMap"}
    for data in config_maps.values():
        if "headgate.json" in data:
            json.loads(data["headgate.json"])
        if "default.conf" in data:
            yield from faults_of_proxy(name, data["default.conf"])
    for value in objects:
        where = f"{name}: {value['kind']} {value['metadata']['name']}"
        if kubernetes_validate:
            try:
                kubernetes_validate.validate(value, "1.29", strict=True)
            except Exception as error:  # pylint: disable=broad-except
                yield f"{where}: {error}"
        if "template" in value.get("spec", {}):
            pod = value["spec"]["template"]["spec"]
            claims = {claim["metadata"]["name"] for claim in value["spec"].get("volumeClaimTemplates", [])}
            yield from faults_of_pod(where, pod, config_maps)
            yield from faults_of_mounts(where, pod, claims)


def faults_of_compose(path, value):
    for name, service in value["services"].items():
        if "headgate" not in service["image"]:
            continue
        yield from faults_of_image(f"{path.name}: {name}", service["image"])
        if not service["read_only"] or service["cap_drop"] != ["ALL"]:
            yield f"{path.name}: {name} has rights that it does not need"
    for name, service in value["services"].items():
        if "user" in service and str(USER) not in service.get("group_add", []):
            yield f"{path.name}: {name} does not have the group of the socket, {USER}"
    if shutil.which("docker-compose"):
        run = subprocess.run(["docker-compose", "-f", path, "config", "-q"], capture_output=True, text=True)
        if run.returncode:
            yield f"{path.name}: {run.stderr}"


def main():
    faults = []
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.yaml")):
        objects = [value for value in yaml.safe_load_all(path.read_text(encoding="utf-8")) if value]
        is_compose = "services" in objects[0]
        faults += faults_of_compose(path, objects[0]) if is_compose else faults_of_objects(path.name, objects)
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
