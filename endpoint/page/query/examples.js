// Queries to begin with. Those over a stream are written for a stream that the endpoint has.

const SOSA = "PREFIX sosa: <http://www.w3.org/ns/sosa/>";

/** Queries and updates of the endpoint's own store. */
export const ONE_SHOT = [
  {
    title: "Some triples",
    text: `SELECT ?s ?p ?o
WHERE {
  ?s ?p ?o
}
LIMIT 100
`,
  },
  {
    title: "Classes and their members",
    text: `SELECT ?class (COUNT(?s) AS ?members)
WHERE {
  ?s a ?class
}
GROUP BY ?class
ORDER BY DESC(?members)
`,
  },
  {
    title: "Insert data",
    text: `PREFIX ex: <http://example.org/>
PREFIX sosa: <http://www.w3.org/ns/sosa/>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>

INSERT DATA {
  ex:thermometer a sosa:Sensor ;
    rdfs:label "Thermometer"@en, "Thermomètre"@fr ;
    sosa:isHostedBy ex:kitchen .
  ex:kitchen rdfs:label "Kitchen"@en .
}
`,
  },
  {
    title: "Construct a graph",
    text: `PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>

CONSTRUCT {
  ?s rdfs:label ?label
}
WHERE {
  ?s rdfs:label ?label
}
LIMIT 100
`,
  },
];

/** Continuous queries over the stream with this name and IRI. */
export function over({ name, iri }) {
  const id = name.replace(/[^A-Za-z0-9_-]/g, "_");
  const registered = /^[A-Za-z_]/.test(id) ? id : `_${id}`;
  return [
    {
      title: "How much arrives",
      text: `# Every 2 seconds: how many triples came in the last 10.
SELECT (COUNT(*) AS ?triples) (COUNT(DISTINCT ?s) AS ?subjects)
FROM NAMED WINDOW <urn:window:recent>
  ON STREAM <${iri}> [RANGE 10s STEP 2s]
WHERE {
  WINDOW <urn:window:recent> { ?s ?p ?o }
}
`,
    },
    {
      title: "What arrives",
      text: `# The triples of the last 5 seconds, in the default graph (as C-SPARQL writes it).
SELECT ?s ?p ?o
FROM STREAM <${iri}> [RANGE 5s STEP 1s]
WHERE {
  ?s ?p ?o
}
ORDER BY ?s ?p ?o
`,
    },
    {
      title: "Averages by sensor",
      text: `${SOSA}

SELECT ?sensor (AVG(?value) AS ?mean) (MAX(?value) AS ?highest) (COUNT(?value) AS ?n)
FROM NAMED WINDOW <urn:window:minute>
  ON STREAM <${iri}> [RANGE 1m STEP 5s]
WHERE {
  WINDOW <urn:window:minute> {
    ?observation sosa:madeBySensor ?sensor ;
                 sosa:hasSimpleResult ?value .
  }
}
GROUP BY ?sensor
ORDER BY ?sensor
`,
    },
    {
      title: "New since the last time (ISTREAM)",
      text: `${SOSA}

# Only the solutions that the evaluation before did not have.
SELECT ISTREAM ?observation ?sensor ?value
FROM NAMED WINDOW <urn:window:recent>
  ON STREAM <${iri}> [RANGE 10s STEP 1s]
WHERE {
  WINDOW <urn:window:recent> {
    ?observation sosa:madeBySensor ?sensor ;
                 sosa:hasSimpleResult ?value .
  }
}
`,
    },
    {
      title: "Construct a graph",
      text: `CONSTRUCT { ?s ?p ?o }
FROM STREAM <${iri}> [RANGE 5s STEP 5s]
WHERE {
  ?s ?p ?o
}
`,
    },
    {
      title: "Register a standing query",
      text: `# It goes on when this page is closed, and others can follow it.
REGISTER QUERY count_${registered} AS
SELECT (COUNT(*) AS ?triples)
FROM NAMED WINDOW <urn:window:recent>
  ON STREAM <${iri}> [RANGE 10s STEP 2s]
WHERE {
  WINDOW <urn:window:recent> { ?s ?p ?o }
}
`,
    },
  ];
}
