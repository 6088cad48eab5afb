"""The fourteen queries of the benchmark, by number."""

from __future__ import annotations

_PREFIXES = """PREFIX : <http://swat.cse.lehigh.edu/onto/univ-bench.owl#>
PREFIX dept: <http://www.Department0.University0.edu/>
"""
_UNIVERSITY, _DEPARTMENT = "<http://www.University0.edu>", "<http://www.Department0.University0.edu>"

_PATTERNS = {
    1: "?x a :GraduateStudent ; :takesCourse dept:GraduateCourse0 .",
    2: "?x a :GraduateStudent ; :memberOf ?z ; :undergraduateDegreeFrom ?y . ?y a :University . "
    "?z a :Department ; :subOrganizationOf ?y .",
    3: "?x a :Publication ; :publicationAuthor dept:AssistantProfessor0 .",
    4: f"?x a :Professor ; :worksFor {_DEPARTMENT} ; :name ?n ; :emailAddress ?e ; :telephone ?t .",
    5: f"?x a :Person ; :memberOf {_DEPARTMENT} .",
    6: "?x a :Student .",
    7: "?x a :Student ; :takesCourse ?y . ?y a :Course . dept:AssociateProfessor0 :teacherOf ?y .",
    8: f"?x a :Student ; :memberOf ?y ; :emailAddress ?e . ?y a :Department ; :subOrganizationOf {_UNIVERSITY} .",
    9: "?x a :Student ; :advisor ?y ; :takesCourse ?z . ?y a :Faculty ; :teacherOf ?z . ?z a :Course .",
    10: "?x a :Student ; :takesCourse dept:GraduateCourse0 .",
    11: f"?x a :ResearchGroup ; :subOrganizationOf {_UNIVERSITY} .",
    12: f"?x a :Chair ; :worksFor ?y . ?y a :Department ; :subOrganizationOf {_UNIVERSITY} .",
    13: f"?x a :Person . {_UNIVERSITY} :hasAlumnus ?x .",
    14: "?x a :UndergraduateStudent .",
}

QUERIES: dict[int, str] = {number: f"{_PREFIXES}SELECT * {{ {text} }}" for number, text in _PATTERNS.items()}
