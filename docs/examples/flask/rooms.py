"""A Flask application with an endpoint in it: its page has what the endpoint's graphs say, read in the process."""

from flask import Flask

from endpoint.flask import SparqlStreams

app = Flask(__name__)
endpoint = SparqlStreams(app, url_prefix="/rdf", base_url="http://localhost:9000/rdf")


@app.get("/")
def names() -> list[str]:
    found = endpoint.dataset.query("SELECT ?name { ?room <http://example.org/name> ?name } ORDER BY ?name")
    return [str(name) for (name,) in found]
