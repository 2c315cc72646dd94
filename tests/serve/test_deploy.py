"""The commands in the deployment files are real: every one of them parses, and serves."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
import typer
import yaml

from thisthat.cli import app
from thisthat.serve.settings import Settings

DEPLOY = Path(__file__).parents[2] / "deploy"


def parsed(words: list[str]) -> dict[str, Any]:
    """The options of a ``thisthat`` command line. Raises for unknown ones."""
    group: Any = typer.main.get_command(app)
    command = group.commands[words[0]]
    return dict(command.make_context(words[0], list(words[1:])).params)


def docker_words(instruction: str) -> list[str]:
    text = (DEPLOY / "Dockerfile").read_text()
    found = re.search(rf"^{instruction} (\[.*\])$", text, re.MULTILINE)
    assert found is not None
    words: list[str] = json.loads(found[1])
    return words


def documents(name: str) -> list[Any]:
    return list(yaml.safe_load_all((DEPLOY / name).read_text()))


def unit() -> dict[str, str]:
    lines = (DEPLOY / "thisthat.service").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


def test_the_image_serves_on_the_port_it_checks() -> None:
    entry = docker_words("ENTRYPOINT")
    assert entry == ["thisthat", "serve"]
    options = parsed([*entry[1:], *docker_words("CMD")])
    assert options["host"] == "0.0.0.0"
    text = (DEPLOY / "Dockerfile").read_text()
    assert f"EXPOSE {options['port']}" in text
    assert f"127.0.0.1:{options['port']}/readyz" in text
    assert "RUN thisthat pull" in text
    parsed(["pull"])
    for name in re.findall(r"^COPY ([^-].*) \S+$", text, re.MULTILINE):
        for each in name.split():
            assert (DEPLOY.parent / each).exists(), each


def test_compose_runs_the_same_command() -> None:
    (compose,) = documents("compose.yaml")
    service = compose["services"]["thisthat"]
    options = parsed(["serve", *service["command"]])
    assert service["ports"] == [f"127.0.0.1:{options['port']}:{options['port']}"]
    assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).exists()
    assert int(service["stop_grace_period"].removesuffix("s")) > Settings().drain_seconds


def test_every_deployment_drops_what_it_does_not_need() -> None:
    (compose,) = documents("compose.yaml")
    service = compose["services"]["thisthat"]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    deployment, _ = documents("kubernetes.yaml")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    lines = unit()
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert lines["ProtectSystem"] == "strict"
    limits = service["mem_limit"], container["resources"]["limits"]["memory"], lines["MemoryMax"]
    assert limits == ("2g", "2Gi", "2G")
    assert service["pids_limit"] == int(lines["TasksMax"])
    assert "USER thisthat" in (DEPLOY / "Dockerfile").read_text()


def test_the_unit_starts_the_server_and_lets_it_drain(tmp_path: Path) -> None:
    lines = unit()
    words = shlex.split(lines["ExecStart"])
    assert words[0].endswith("/bin/thisthat")
    options = parsed(words[1:])
    assert options["host"] == "127.0.0.1"
    assert str(options["keys"]).endswith("/keys")
    parsed(shlex.split(lines["ExecStartPre"])[1:])
    assert int(lines["TimeoutStopSec"]) > Settings().drain_seconds


def test_kubernetes_probes_what_is_there() -> None:
    deployment, service = documents("kubernetes.yaml")
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    options = parsed(["serve", *container["args"]])
    assert container["ports"] == [{"name": "http", "containerPort": options["port"]}]
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert service["spec"]["ports"][0]["targetPort"] == "http"
    assert pod["terminationGracePeriodSeconds"] > Settings().drain_seconds


def test_what_a_start_may_have_to_write_is_on_a_volume() -> None:
    found = re.search(r"THISTHAT_HOME=(\S+)", (DEPLOY / "Dockerfile").read_text())
    assert found is not None
    (compose,) = documents("compose.yaml")
    service = compose["services"]["thisthat"]
    assert service["read_only"] is True
    assert f"cache:{found[1]}" in service["volumes"]
    assert "cache" in compose["volumes"]
    deployment, _ = documents("kubernetes.yaml")
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert {"name": "cache", "mountPath": found[1]} in container["volumeMounts"]
    (copying,) = pod["initContainers"]
    assert copying["command"][-2:] == [
        f"{found[1]}/.",
        copying["volumeMounts"][0]["mountPath"] + "/",
    ]


def test_the_command_of_the_image_serves_the_default_checkpoint() -> None:
    words = [*docker_words("ENTRYPOINT")[1:], *docker_words("CMD")]
    words[words.index("--port") + 1] = "0"
    run = (sys.executable, "-m", "thisthat", *words)
    with subprocess.Popen(run, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said: dict[str, Any] = {}
        for line in process.stderr:
            said |= json.loads(line)
            if said["message"] == "ready":
                break
        port = said["address"].rpartition(":")[2]
        assert httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=20).status_code == 200
        process.terminate()
        process.stderr.read()
    assert process.returncode == 0


@pytest.mark.parametrize("name", ["compose.yaml", "kubernetes.yaml"])
def test_the_yaml_is_tidy(name: str) -> None:
    linter = pytest.importorskip("yamllint.linter")
    config = pytest.importorskip("yamllint.config")
    rules = config.YamlLintConfig("extends: default\nrules: {line-length: {max: 100}}")
    problems = list(linter.run((DEPLOY / name).read_text(), rules))
    assert not problems, problems


def test_ray_serves_what_the_file_says(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray")
    from thisthat.scale.replicas import run

    made: dict[str, Any] = {}

    def application(plan: Any, **size: Any) -> None:
        made.update(size, plan=plan)

    monkeypatch.setattr(run, "application", application)
    [config] = documents("ray.yaml")
    [asked] = config["applications"]
    assert asked["import_path"] == f"{run.__name__}:build"
    run.build(asked["args"])
    plan = made.pop("plan")
    assert made == {"replicas": 2, "fronts": 1, "cpus": 4, "gpus": 0.0}
    assert plan.settings == Settings(
        allowed_hosts=("*",),
        keys_file=Path("/etc/thisthat/keys"),
        admin_keys_file=Path("/etc/thisthat/admin-keys"),
    )
    assert (plan.opening, plan.log_sync) == ({"threads": 4}, True)
