"""A mutating webhook, as service meshes and platforms have: it changes each pod that is made in one namespace."""

from __future__ import annotations

import base64
import json
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from cluster.kubernetes import Kubectl, Object, run


def added(path: str, value: Any) -> Object:
    """A step of a JSON patch: `value` is put into a pod, at `path` of its spec."""
    return {"op": "add", "path": f"/spec/{path}", "value": value}


@contextmanager
def injected(kubectl: Kubectl, host: str, folder: Path, *steps: Object) -> Iterator[None]:
    """While the block runs, pods that are made in the namespace are changed by a JSON patch.

    `host` : the address of this machine, as the API server sees it; `folder`: for a certificate.
    """
    patch = json.dumps(steps).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = {"uid": review["request"]["uid"], "allowed": True, "patchType": "JSONPatch"}
            answer["patch"] = base64.b64encode(patch).decode()
            body = json.dumps({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": answer}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    certificate, key = folder / "webhook.crt", folder / "webhook.key"
    openssl = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=webhook"]
    subprocess.run(
        [*openssl, "-addext", f"subjectAltName=IP:{host}", "-out", str(certificate), "-keyout", str(key)],
        check=True,
        capture_output=True,
        timeout=60,
    )
    server = ThreadingHTTPServer((host, 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    Thread(target=server.serve_forever, daemon=True).start()
    ca = base64.b64encode(certificate.read_bytes()).decode()
    name = f"inject-{kubectl.namespace}"
    webhook = {
        "name": "inject.tandem.dev",
        "clientConfig": {"url": f"https://{host}:{server.server_port}/", "caBundle": ca},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": kubectl.namespace}},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
    }
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration"}
    kubectl.apply({**kind, "metadata": {"name": name}, "webhooks": [webhook]})
    try:
        yield
    finally:
        run(["kubectl", "delete", "mutatingwebhookconfiguration", name])
        server.shutdown()
        server.server_close()
