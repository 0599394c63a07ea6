"""Compose file and manifests: their schemas, and our own rules, each with a twin that breaks it."""

import copy
import re
from collections.abc import Callable
from typing import Any

import kubernetes_validate
import pytest
import yaml
from check_jsonschema.builtin_schemas import get_builtin_schema
from jsonschema import Draft202012Validator

from tests.deploy.rules import (
    closed,
    compose_problems,
    edges,
    kubernetes_problems,
    looks_secret,
    process_problems,
    secrets_in_files,
)
from tests.deploy.stacks import (
    COMPOSE,
    DEPLOY,
    KUBERNETES,
    Document,
    Process,
    compose,
    compose_processes,
    kubernetes_processes,
    manifests,
    pods,
    secret_keys,
    secrets_of,
)

OLDEST, NEWEST = "1.30.0", kubernetes_validate.latest_version()  # releases of Kubernetes

# Who speaks to whom. Everything else is forbidden.
SPOKEN = {
    ("databases", "postgres", 5432),
    ("dashboard", "postgres", 5432),
    ("worker", "postgres", 5432),
    ("desk", "postgres", 5432),
    ("registrar", "dashboard", 4200),
    ("worker", "dashboard", 4200),
    ("desk", "dashboard", 4200),
    ("dask-worker", "dashboard", 4200),
    ("worker", "dask-scheduler", 8786),
    ("dask-worker", "dask-scheduler", 8786),
    ("dask-scheduler", "dask-worker", 8788),
    ("dask-scheduler", "dask-worker", 8789),
    ("dask-worker", "dask-worker", 8788),
}
FRONT = {("outside", "dashboard", 4200), ("outside", "desk", 4201)}
NAMES = {("all", "outside", 53)}


def test_the_compose_file_obeys_the_compose_specification():
    specification = Draft202012Validator(get_builtin_schema("vendor.compose-spec"))
    text = COMPOSE.read_text()
    assert specification.is_valid(yaml.safe_load(text))
    broken = yaml.safe_load(text.replace("read_only: true", "readonly: true"))
    assert "readonly" in next(specification.iter_errors(broken)).message


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_the_manifests_obey_the_schemas_of_kubernetes(version: str):
    for found in manifests():
        kubernetes_validate.validate(found, version, strict=True)


def test_a_word_that_kubernetes_does_not_know_is_found():
    (deployment, *_) = (found for found in manifests() if found["kind"] == "Deployment")
    deployment["spec"]["template"]["spec"]["containers"][0]["readonly"] = True
    with pytest.raises(kubernetes_validate.ValidationError, match="readonly"):
        kubernetes_validate.validate(deployment, NEWEST, strict=True)


def test_the_kustomization_names_every_manifest():
    listed = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())["resources"]
    assert sorted(listed) == sorted(
        path.name for path in KUBERNETES.glob("*.yaml") if path.name != "kustomization.yaml"
    )


@pytest.mark.parametrize(
    "process",
    [*compose_processes(compose()), *kubernetes_processes(manifests())],
    ids=lambda process: process.name,
)
def test_a_process_has_what_it_needs_and_nothing_else(process: Process):
    assert list(process_problems(process)) == []


def _worker(of: str = "dask-worker", **changes: Any) -> Process:
    (worker,) = (one for one in compose_processes(compose()) if one.name == of)
    return Process(**{**vars(worker), **changes})


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        (_worker(image="hallmark:latest"), "hallmark:latest is not pinned"),
        (_worker(image="hallmark"), "hallmark is not pinned"),
        (
            _worker(secrets=_worker().secrets | {"HALLMARK_LEDGER"}),
            "has no business with HALLMARK_LEDGER",
        ),
        (
            _worker(secrets=_worker().secrets | {"HALLMARK_OIDC_CLIENT_SECRET"}),
            "has no business with HALLMARK_OIDC_CLIENT_SECRET",
        ),
        (
            _worker(secrets=_worker().secrets | {"HALLMARK_SIGNING_KEY"}),
            "has no business with HALLMARK_SIGNING_KEY",
        ),
        (_worker(secrets=frozenset()), "lacks dask-key"),
        (
            _worker(environment=_worker().environment | {"PREFECT_API_AUTH_STRING": "x:y"}),
            "the secret PREFECT_API_AUTH_STRING stands in the environment",
        ),
        *(
            (_worker(environment=_worker().environment | {name: "1"}), f"nobody reads {name}")
            for name in ("HALLMARK_HOUSE", "PREFECT_API_ULR", "DASK_DISTRIBUTED__CALM", "FOO")
        ),
        (_worker(environment={}), "DO_NOT_TRACK is not 1"),
        (_worker(environment={}), "Dask does not insist on TLS"),
        (_worker("worker", environment={}), "keeps its runs' log to itself"),
    ],
)
def test_a_process_that_breaks_a_rule_is_found(broken: Process, problem: str):
    assert problem in list(process_problems(broken))


def test_the_compose_file_obeys_our_rules():
    assert list(compose_problems(compose())) == []


Change = Callable[[Document], object]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda one: one.update(user="0:0"), "may be root"),
        (lambda one: one.pop("user"), "may be root"),
        (lambda one: one.pop("read_only"), "its root file system can be written"),
        (lambda one: one.update(cap_add=["NET_ADMIN"]), "keeps capabilities"),
        (lambda one: one.pop("cap_drop"), "keeps capabilities"),
        (lambda one: one.pop("security_opt"), "may gain privileges"),
        (lambda one: one.update(network_mode="host"), "shares the host"),
        (lambda one: one["deploy"]["resources"]["limits"].pop("memory"), "has no limits"),
        (lambda one: one.pop("restart"), "is not started again"),
        (lambda one: one.pop("healthcheck"), "has no health check"),
        (lambda one: one.update(ports=["4201:4201"]), "listens to everybody"),
        (
            lambda one: one["volumes"].append("/given/hallmark_data:/srv/data:ro"),
            "sees the private tables",
        ),
        (
            lambda one: one["volumes"].append("/given/hallmark_data:/srv/data"),
            "may write the private tables",
        ),
    ],
)
def test_a_service_that_breaks_a_rule_is_found(change: Change, problem: str):
    stack = copy.deepcopy(compose())
    change(stack["services"]["desk"])
    assert f"desk: {problem}" in list(compose_problems(stack))


def test_an_inner_network_that_reaches_outside_is_found():
    stack = compose()
    stack["networks"]["back"] = {}
    stack["services"]["dask-worker"]["networks"] = ["front", "back"]
    assert {"back: reaches outside", "dask-worker: is at the front"} <= set(compose_problems(stack))


def test_a_front_that_is_answered_from_outside_is_found():
    stack = compose()
    stack["networks"]["front"] = None
    assert list(compose_problems(stack)) == ["front: is answered from outside"]


def test_the_manifests_obey_our_rules():
    assert list(kubernetes_problems(manifests())) == []


def _in_container(change: Change) -> Change:
    return lambda pod: change(pod["containers"][0])


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda pod: pod["securityContext"].pop("runAsNonRoot"), "may be root"),
        (lambda pod: pod["securityContext"].update(runAsUser=0), "may be root"),
        (lambda pod: pod["securityContext"].pop("seccompProfile"), "may make any system call"),
        (lambda pod: pod.pop("automountServiceAccountToken"), "has a token"),
        (lambda pod: pod.pop("enableServiceLinks"), "is given variables of services"),
        (lambda pod: pod.update(hostNetwork=True), "shares the host"),
        (
            lambda pod: pod["volumes"].append({"name": "x", "hostPath": {"path": "/"}}),
            "mounts the host",
        ),
        (
            lambda pod: pod["volumes"].append(
                {"name": "x", "persistentVolumeClaim": {"claimName": "data", "readOnly": True}}
            ),
            "sees the private tables",
        ),
        (
            lambda pod: pod["volumes"].append(
                {"name": "x", "persistentVolumeClaim": {"claimName": "data"}}
            ),
            "may write the private tables",
        ),
        (
            _in_container(lambda one: one["securityContext"].pop("readOnlyRootFilesystem")),
            "its root file system can be written",
        ),
        (
            _in_container(lambda one: one["securityContext"]["capabilities"].update(add=["ALL"])),
            "keeps capabilities",
        ),
        (
            _in_container(lambda one: one["securityContext"].pop("allowPrivilegeEscalation")),
            "may gain privileges",
        ),
        (_in_container(lambda one: one["resources"]["limits"].pop("memory")), "has no limits"),
        (_in_container(lambda one: one["resources"].pop("requests")), "has no limits"),
        *(
            (_in_container(lambda one, probe=probe: one.pop(probe)), "lacks a probe")
            for probe in ("startupProbe", "readinessProbe", "livenessProbe")
        ),
    ],
)
def test_a_pod_that_breaks_a_rule_is_found(change: Change, problem: str):
    objects = copy.deepcopy(manifests())
    change(dict(pods(objects))["desk"])
    assert f"desk: {problem}" in list(kubernetes_problems(objects))


def test_objects_that_break_a_rule_are_found():
    objects = manifests()
    by_kind = {one["kind"]: one for one in objects}
    by_kind["Namespace"]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] = "baseline"
    by_kind["ServiceAccount"]["automountServiceAccountToken"] = True  # the last one: the desk's
    objects.append({"kind": "Secret", "metadata": {"name": "x"}})
    assert set(kubernetes_problems(objects)) == {
        "namespace: lets any pod in",
        "desk: its account has a token",
        "a Secret stands in the repository",
    }


def test_the_network_has_exactly_the_edges_that_are_stated():
    spoken, heard = edges(manifests())
    assert closed(manifests())
    assert spoken == SPOKEN | NAMES
    assert heard == SPOKEN | FRONT


def test_an_edge_more_or_an_open_network_is_found():
    objects = [one for one in manifests() if one["metadata"]["name"] != "nothing"]
    assert not closed(objects)
    (worker,) = (
        one
        for one in objects
        if one["kind"] == "NetworkPolicy" and one["metadata"]["name"] == "dask-worker"
    )
    worker["spec"]["egress"].append(
        {
            "to": [{"podSelector": {"matchLabels": {"app": "postgres"}}}],
            "ports": [{"protocol": "TCP", "port": 5432}],
        }
    )
    assert edges(objects)[0] - SPOKEN - NAMES == {("dask-worker", "postgres", 5432)}


def test_every_policy_is_about_a_process_that_there_is():
    apps = {name for name, _ in pods(manifests())}
    for policy in (one for one in manifests() if one["kind"] == "NetworkPolicy"):
        labels = policy["spec"]["podSelector"].get("matchLabels", {})
        assert set(labels.values()) <= apps


def test_every_secret_that_is_mounted_is_created_in_the_readme():
    mounted = {secret for _, pod in pods(manifests()) for secret in secrets_of(pod)}
    assert mounted == secret_keys((DEPLOY / "README.md").read_text()).keys()


def test_no_file_holds_a_secret():
    how_a_url_is_written = "README.md: postgresql://user:password@"
    assert set(secrets_in_files()) <= {how_a_url_is_written}


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN " + "PRIVATE KEY-----",
        "HALLMARK_LEDGER: postgresql+psycopg://ledger:" + "hunter2@postgres/ledger",
        "password: correcthorse",
    ],
)
def test_a_secret_in_a_file_is_found(text: str):
    assert looks_secret(text)


def test_both_stacks_have_the_same_processes_with_the_same_secrets():
    keys = secret_keys((DEPLOY / "README.md").read_text())
    optional = keys["hallmark-source"] | keys["hallmark-provider"]
    ours = {one.name: one for one in compose_processes(compose())}
    theirs = {one.name: one for one in kubernetes_processes(manifests())}
    assert ours.keys() == theirs.keys()
    for name, process in ours.items():
        assert process.secrets == theirs[name].secrets - optional
        assert process.image == theirs[name].image
        assert _without_addresses(process) == _without_addresses(theirs[name])


def _without_addresses(process: Process) -> list[str]:
    return [re.sub(r"^(127\.0\.0\.1)?:8787$", ":8787", word) for word in process.command]
