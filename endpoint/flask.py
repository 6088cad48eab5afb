"""The endpoint as a Flask extension: the ASGI application, on a blueprint (docs/embedding.md, "Flask").

    endpoint = SparqlStreams(app, url_prefix="/sparql-streams")

There is one implementation of the protocol: the application runs in an event loop in a thread of the worker
process, and the blueprint's one view passes each request on to it (``endpoint/wsgi/bridge.py``).
"""

from __future__ import annotations

import dataclasses
import logging
import os
from http import HTTPMethod
from typing import TYPE_CHECKING, Any

import rdflib
from flask import Blueprint, Flask, Response, current_app, has_app_context, request
from starlette.applications import Starlette
from werkzeug.routing import PathConverter

from endpoint.app import create_app
from endpoint.backend import Backend
from endpoint.graphs.store import GraphStore
from endpoint.services import services_of
from endpoint.settings import PREFIX, Settings
from endpoint.wsgi.bridge import WsgiBridge, WsgiResponse, wsgi_problem
from endpoint.wsgi.loop import ApplicationLoop
from protocol.errors import ProtocolError, Unavailable

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

NAME = "sparql_streams"
"""Of the blueprint, and of the entry in ``app.extensions``."""

METHODS = (*HTTPMethod, "QUERY")
"""All that Flask passes on to the endpoint, which knows which of them are for what."""

FLASK_PORT = 5000
"""Where ``flask run`` listens, if nobody says otherwise."""

_NOT_STARTED = (
    "the endpoint cannot be started in this process, the server's log says why; of several worker processes only one "
    "can own the data directory: serve the application from one process with threads"
)
"""For a request: what the data directory is called is nobody's business there."""

logger = logging.getLogger(__name__)


class SparqlStreams:
    """The extension. ``SparqlStreams(app, …)``, or ``init_app(app, …)`` later, for as many applications as there are.

    Options are the fields of ``Settings``. One that is not given is taken from Flask's configuration
    (``app.config["SPARQL_STREAMS_DATA"]``), then from the environment, then its default. ``base_url`` defaults to
    Flask's ``SERVER_NAME``, or else ``http://127.0.0.1:5000``, followed by the prefix.

    The endpoint starts with the first request that a worker process has for it, or with ``start``.
    """

    def __init__(
        self,
        app: Flask | None = None,
        *,
        url_prefix: str = "/sparql-streams",
        backend: Backend | None = None,
        **options: Any,
    ) -> None:
        self._url_prefix = url_prefix
        self._backend = backend
        self._options = options
        self._app = app
        if app is not None:
            self.init_app(app)

    def init_app(
        self, app: Flask, *, url_prefix: str | None = None, backend: Backend | None = None, **options: Any
    ) -> None:
        """Mount an endpoint of its own in this application; what is given here comes before what was given before.

        Raises ValueError, which names the setting, for a wrong one; RuntimeError if there is an endpoint already.
        """
        if NAME in app.extensions:
            raise RuntimeError(f"the application {app.name!r} has a SPARQL endpoint already")
        prefix = _prefix(self._url_prefix if url_prefix is None else url_prefix)
        settings = _settings(app, prefix, {**self._options, **options})
        mounted = MountedEndpoint(prefix, settings, self._backend if backend is None else backend)
        app.url_map.converters[_CONVERTER] = _AnyPath
        blueprint = Blueprint(NAME, __name__, url_prefix=prefix or None)
        rules: dict[str, Any] = {"methods": METHODS, "provide_automatic_options": False, "merge_slashes": False}
        blueprint.add_url_rule("/", "serve", mounted.serve, **rules)
        blueprint.add_url_rule(f"/<{_CONVERTER}:path>", "serve", mounted.serve, **rules)
        mounted.blueprint = blueprint
        app.register_blueprint(blueprint)
        app.extensions[NAME] = mounted

    @property
    def mounted(self) -> MountedEndpoint:
        """The endpoint of the current application, or of the one this extension was made with."""
        app = current_app if has_app_context() else self._app
        mounted = app.extensions.get(NAME) if app is not None else None
        if not isinstance(mounted, MountedEndpoint):
            raise RuntimeError("no application with a SPARQL endpoint: init_app one, and push its context")
        return mounted

    @property
    def settings(self) -> Settings:
        return self.mounted.settings

    @property
    def blueprint(self) -> Blueprint:
        """For exemptions (from CSRF protection, say); ``request.blueprint`` is its name."""
        return self.mounted.blueprint

    @property
    def store(self) -> GraphStore:
        """The endpoint's graphs, in this process; starts the endpoint."""
        return self.mounted.store

    @property
    def dataset(self) -> rdflib.Dataset:
        """The endpoint's graphs as an rdflib Dataset, to be read; starts the endpoint.

        Changes belong to SPARQL Update and the Graph Store Protocol: continuous queries hear of those.
        """
        return self.mounted.dataset

    def start(self) -> None:
        """Start the endpoint in this process now. Raises why it cannot be started. Not before a server forks."""
        self.mounted.start()

    def stop(self) -> None:
        """Stop the endpoint of this process for good; the exit of the process does so by itself."""
        self.mounted.stop()


class MountedEndpoint:
    """One endpoint in one Flask application: ``app.extensions["sparql_streams"]``."""

    blueprint: Blueprint

    def __init__(self, prefix: str, settings: Settings, backend: Backend | None) -> None:
        self.prefix = prefix
        self.settings = settings
        self.asgi: Starlette = create_app(settings, backend=backend)
        self._running = ApplicationLoop(self.asgi)
        self._bridge = WsgiBridge(self._running)

    @property
    def store(self) -> GraphStore:
        self.start()
        return services_of(self.asgi).store

    @property
    def dataset(self) -> rdflib.Dataset:
        return self.store.dataset

    def start(self) -> None:
        """Nothing the second time. Raises why it cannot be started."""
        self._running.start()

    def stop(self) -> None:
        """Nothing the second time."""
        self._running.stop()

    def serve(self, path: str = "") -> Response:
        """The view: everything below the prefix, whatever the method."""
        begun = self._respond(request.environ)
        response = Response(begun.body, begun.status, begun.headers, direct_passthrough=True)
        if not any(name.lower() == "content-type" for name, _ in begun.headers):
            response.headers.pop("Content-Type", None)  # Flask's default
        return response

    def _respond(self, environ: WSGIEnvironment) -> WsgiResponse:
        try:
            self._require_one_process(environ)
            self._running.start()
        except Unavailable as error:
            return wsgi_problem(error.problem())
        except (OSError, ValueError, ProtocolError) as error:
            # What a start refuses says itself what would be right; each request tries again, and a line each is enough.
            logger.error("the endpoint cannot be started: %s", error)
            return wsgi_problem(Unavailable(_NOT_STARTED).problem())
        except Exception:
            logger.exception("the endpoint cannot be started")
            return wsgi_problem(Unavailable(_NOT_STARTED).problem())
        prefix = self.prefix.encode().decode("latin-1")
        below = {
            **environ,
            "SCRIPT_NAME": environ.get("SCRIPT_NAME", "") + prefix,
            "PATH_INFO": environ.get("PATH_INFO", "")[len(prefix) :],
        }
        return self._bridge.respond(below)

    def _require_one_process(self, environ: WSGIEnvironment) -> None:
        if environ.get("wsgi.multiprocess") and self.settings.data is None:
            raise Unavailable(
                "the application is served by several worker processes, each of which would have graphs and streams of "
                "its own: serve it from one process with threads, or name a data directory, which one of them will own"
            )


_CONVERTER = "sparql_streams_path"


class _AnyPath(PathConverter):
    """The rest of a path, whatever is in it: what it means is the endpoint's to say."""

    regex = r"[\s\S]*"
    part_isolating = False


def _prefix(text: str) -> str:
    prefix = text.rstrip("/")
    if prefix and (not prefix.startswith("/") or "//" in prefix or any(one in prefix for one in '%?#<> "')):
        raise ValueError(f"url_prefix: {text!r} is not a path such as /sparql-streams")
    return prefix


def _settings(app: Flask, prefix: str, options: dict[str, Any]) -> Settings:
    given = {
        field.name: app.config[PREFIX + field.name.upper()]
        for field in dataclasses.fields(Settings)
        if app.config.get(PREFIX + field.name.upper()) is not None
    } | options
    if not (given.get("base_url") or os.environ.get(f"{PREFIX}BASE_URL")):
        given["base_url"] = _base_url(app, prefix)
    return Settings.from_environment(**given)


def _base_url(app: Flask, prefix: str) -> str:
    host = app.config.get("SERVER_NAME") or f"127.0.0.1:{FLASK_PORT}"
    root = (app.config.get("APPLICATION_ROOT") or "/").rstrip("/")
    return f"{app.config.get('PREFERRED_URL_SCHEME') or 'http'}://{host}{root}{prefix}"
