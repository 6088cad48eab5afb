"""Universities in the proportions that the benchmark publishes, from a seed: the same seed, the same triples.

Y. Guo, Z. Pan, J. Heflin: LUBM: A Benchmark for OWL Knowledge Base Systems (2005), appendix C, has the proportions. The
data are not those of the benchmark's own generator, whose answers depend on its random numbers.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

ONTOLOGY = Path(__file__).with_name("ontology.ttl")
UB = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#"
_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"

_FACULTY = {
    "FullProfessor": ((7, 10), (15, 20)),
    "AssociateProfessor": ((10, 14), (10, 18)),
    "AssistantProfessor": ((8, 11), (5, 10)),
    "Lecturer": ((5, 7), (0, 5)),
}
"""Of each kind, how many a department has, and how many publications each of them."""

_UNIVERSITIES = 1000
"""From so many somebody may have a degree."""


def universities(count: int, seed: int = 0, departments: tuple[int, int] = (15, 25)) -> Iterator[str]:
    """N-Triples of so many universities, a line each."""
    for number in range(count):
        chance = random.Random(f"{seed}/{number}")
        university = f"<http://www.University{number}.edu>"
        yield _is(university, "University")
        yield _says(university, "name", f'"University{number}"')
        for department in range(chance.randint(*departments)):
            yield from _Department(chance, number, department).lines()


class _Department:
    def __init__(self, chance: random.Random, university: int, number: int) -> None:
        self._chance = chance
        self._university = f"<http://www.University{university}.edu>"
        self._host = f"www.Department{number}.University{university}.edu"
        self._iri = f"<http://{self._host}>"
        self._number = number

    def lines(self) -> Iterator[str]:
        chance = self._chance
        yield _is(self._iri, "Department")
        yield _says(self._iri, "name", f'"Department{self._number}"')
        yield _says(self._iri, "subOrganizationOf", self._university)
        faculty = [
            (kind, self._called(kind, number))
            for kind, (least_most, _) in _FACULTY.items()
            for number in range(chance.randint(*least_most))
        ]
        professors = [iri for kind, iri in faculty if kind != "Lecturer"]
        courses: dict[str, list[str]] = {"Course": [], "GraduateCourse": []}
        for kind, iri in faculty:
            yield from self._member(iri, kind, "worksFor")
            for degree in ("undergraduateDegreeFrom", "mastersDegreeFrom", "doctoralDegreeFrom"):
                yield from self._degree(iri, degree)
            yield _says(iri, "researchInterest", f'"Research{chance.randrange(30)}"')
            for level, known in courses.items():
                for _ in range(chance.randint(1, 2)):
                    course = self._called(level, len(known))
                    known.append(course)
                    yield _is(course, level)
                    yield _says(course, "name", f'"{level}{len(known) - 1}"')
                    yield _says(iri, "teacherOf", course)
        yield _says(self._called("FullProfessor", 0), "headOf", self._iri)
        undergraduates = sum(chance.randint(8, 14) for _ in faculty)
        many = sum(chance.randint(3, 4) for _ in faculty)
        graduates = [self._called("GraduateStudent", number) for number in range(many)]
        for number in range(undergraduates):
            iri = self._called("UndergraduateStudent", number)
            yield from self._member(iri, "UndergraduateStudent", "memberOf")
            for course in chance.sample(courses["Course"], chance.randint(2, 4)):
                yield _says(iri, "takesCourse", course)
            if chance.random() < 1 / 5:
                yield _says(iri, "advisor", chance.choice(professors))
        yield from self._graduates(graduates, professors, courses)
        yield from self._publications(faculty, graduates)
        for number in range(chance.randint(10, 20)):
            group = self._called("ResearchGroup", number)
            yield _is(group, "ResearchGroup")
            yield _says(group, "subOrganizationOf", self._iri)

    def _graduates(self, graduates: list[str], professors: list[str], courses: dict[str, list[str]]) -> Iterator[str]:
        chance = self._chance
        for iri in graduates:
            yield from self._member(iri, "GraduateStudent", "memberOf")
            yield from self._degree(iri, "undergraduateDegreeFrom")
            yield _says(iri, "advisor", chance.choice(professors))
            for course in chance.sample(courses["GraduateCourse"], chance.randint(1, 3)):
                yield _says(iri, "takesCourse", course)
        assistants = chance.sample(graduates, round(len(graduates) * chance.uniform(1 / 5, 1 / 4)))
        taught = chance.sample(courses["Course"], min(len(assistants), len(courses["Course"])))
        for iri, course in zip(assistants, taught, strict=False):
            yield _is(iri, "TeachingAssistant")
            yield _says(iri, "teachingAssistantOf", course)
        for iri in chance.sample(graduates, round(len(graduates) * chance.uniform(1 / 4, 1 / 3))):
            yield _is(iri, "ResearchAssistant")

    def _publications(self, faculty: list[tuple[str, str]], graduates: list[str]) -> Iterator[str]:
        chance = self._chance
        authors: dict[str, list[str]] = {}
        for kind, iri in faculty:
            for number in range(chance.randint(*_FACULTY[kind][1])):
                publication = f"{iri[:-1]}/Publication{number}>"
                authors[publication] = [iri]
        for iri in graduates:
            for publication in chance.sample(list(authors), chance.randint(0, 5)):
                authors[publication].append(iri)
        for publication, names in authors.items():
            yield _is(publication, "Publication")
            yield _says(publication, "name", f'"{publication.rpartition("/")[2][:-1]}"')
            for name in names:
                yield _says(publication, "publicationAuthor", name)

    def _member(self, iri: str, kind: str, how: str) -> Iterator[str]:
        name = iri.rpartition("/")[2][:-1]
        yield _is(iri, kind)
        yield _says(iri, "name", f'"{name}"')
        yield _says(iri, how, self._iri)
        yield _says(iri, "emailAddress", f'"{name}@{self._host.removeprefix("www.")}"')
        yield _says(iri, "telephone", '"xxx-xxx-xxxx"')

    def _degree(self, iri: str, degree: str) -> Iterator[str]:
        university = f"<http://www.University{self._chance.randrange(_UNIVERSITIES)}.edu>"
        yield _says(iri, degree, university)
        yield _is(university, "University")

    def _called(self, kind: str, number: int) -> str:
        return f"<http://{self._host}/{kind}{number}>"


def _is(iri: str, kind: str) -> str:
    return f"{iri} {_TYPE} <{UB}{kind}> .\n"


def _says(iri: str, name: str, value: str) -> str:
    return f"{iri} <{UB}{name}> {value} .\n"
