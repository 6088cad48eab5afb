"""Generated expressions over a few variables and the constants of generated_terms."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.spark_backend.compiler.generated.terms import constants

VARIABLES = ("?a", "?b", "?c", "?A")
variables = st.sampled_from(VARIABLES)

_OF_ONE = (
    *("isIRI", "isLiteral", "isNumeric", "isBlank", "STR", "LANG", "DATATYPE", "STRLEN", "ABS", "CEIL", "FLOOR"),
    *("ROUND", "UCASE", "LCASE", "ENCODE_FOR_URI", "MD5"),
    *("YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS", "TZ", "TIMEZONE"),
    *("xsd:integer", "xsd:boolean", "xsd:decimal", "xsd:double", "xsd:float", "xsd:string", "xsd:dateTime"),
)
_WITH_A_CONSTANT = (
    "CONTAINS({}, 's')",
    "STRSTARTS({}, 't')",
    "STRENDS({}, 's')",
    "STRBEFORE({}, ' ')",
    "STRAFTER({}, 's')",
    "SUBSTR({}, 2)",
    "SUBSTR({}, 1, 1)",
    "REPLACE({}, 's', 'u')",
    "REGEX(STR({}), '^[s-t]', 'i')",
    "LANGMATCHES(LANG({}), 'en')",
    "CONCAT({}, 's')",
    "STRLANG({}, 'en')",
    "STRDT({}, xsd:integer)",
    "IRI({})",
)


def _trees(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    comparisons = st.sampled_from(("=", "!=", "<", "<=", ">", ">="))
    return st.one_of(
        st.builds("({} {} {})".format, children, comparisons, children),
        st.builds("({} {} {})".format, children, st.sampled_from(("+", "-", "*", "/")), children),
        st.builds("({} {} {})".format, children, st.sampled_from(("&&", "||")), children),
        st.builds("(!{})".format, children),
        st.builds("(-{})".format, children),
        st.builds("IF({}, {}, {})".format, children, children, children),
        st.builds("COALESCE({}, {})".format, children, children),
        st.builds("({} {} ({}, {}))".format, children, st.sampled_from(("IN", "NOT IN")), children, children),
        st.builds("{}({})".format, st.sampled_from(_OF_ONE), children),
        st.builds(str.format, st.sampled_from(_WITH_A_CONSTANT), children),
        st.builds("BOUND({})".format, variables),
        st.builds("sameTerm({}, {})".format, variables, st.one_of(variables, constants)),
    )


expressions = st.recursive(st.one_of(variables, variables, constants), _trees, max_leaves=4)
