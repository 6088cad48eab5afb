"""A FastAPI application with an endpoint in it, which its own pages ask in the process."""

from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient

from endpoint import Settings, create_app

endpoint = create_app(Settings(base_url="http://localhost:9000/rdf"))
app = FastAPI(lifespan=lambda _: endpoint.router.lifespan_context(endpoint))
app.mount("/rdf", endpoint)
client = AsyncClient(transport=ASGITransport(endpoint), base_url="http://localhost:9000")


@app.get("/warm")
async def warm() -> list[dict[str, str]]:
    """The rooms that are warm, by the latest answer of the standing query."""
    latest = await client.get("/queries/warm/results", headers={"Accept": "application/sparql-results+json"})
    if latest.status_code == 404:  # no such query, or it has no answer yet
        return []
    solutions = latest.raise_for_status().json()["results"]["bindings"]
    return [{name: term["value"] for name, term in solution.items()} for solution in solutions]
