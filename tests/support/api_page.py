"""Generates the tables of docs/api.md from the OpenAPI document."""

from __future__ import annotations

import re
from typing import Any

from glossator.serve.problems import error_table

MARK = re.compile(r"<!-- (fields|errors): (.*?) -->\n(.*?)<!-- end -->", re.DOTALL)
Schema = dict[str, Any]


def fill_tables(page: str, document: Schema) -> str:
    """The page with every table regenerated."""

    def table(found: re.Match[str]) -> str:
        content = errors() if found[1] == "errors" else fields(document, found[2])
        return f"<!-- {found[1]}: {found[2]} -->\n{content}<!-- end -->"

    return MARK.sub(table, page)


def errors() -> str:
    """Every error: status, code and cause."""
    rows = [f"| {status} | `{code}` | {cause} |" for status, code, cause in error_table()]
    return "\n".join(["| status | code | when |", "|---|---|---|", *rows]) + "\n"


def fields(document: Schema, wanted: str) -> str:
    """The fields of a request (`POST /ask request`) or of a response (`POST /ask 200`)."""
    method, path, which = wanted.split()
    operation = document["paths"][path][method.lower()]
    body = operation["requestBody"] if which == "request" else operation["responses"][which]
    schema = _resolved(document, body["content"]["application/json"]["schema"])
    rows = ["| field | type | default | meaning |", "|---|---|---|---|", *_rows(document, schema, "")]
    return "\n".join(rows) + "\n"


def _rows(document: Schema, schema: Schema, above: str) -> list[str]:
    rows = []
    for name, value in schema.get("properties", {}).items():
        needed = name in schema.get("required", ())
        default = "" if needed or value.get("default") is None else f"`{value['default']}`".replace("True", "true")
        kind, inner = _kind(document, value)
        default = "required" if needed and above == "" else default.replace("`False`", "`false`")
        rows.append(f"| `{above}{name}` | {kind} | {default} | {value.get('description', '')} |")
        for each in inner:
            rows += _rows(document, each, f"{above}{name}{'[]' if 'list' in kind else ''}.")
    return list(dict.fromkeys(rows))  # the alternatives of a field may have fields in common


def _kind(document: Schema, value: Schema) -> tuple[str, list[Schema]]:
    if "anyOf" in value:
        found = [_kind(document, each) for each in value["anyOf"]]
        return " or ".join(dict.fromkeys(kind for kind, _ in found)), [each for _, inner in found for each in inner]
    if "$ref" in value:
        schema = _resolved(document, value)
        return (_enum(schema["enum"]), []) if "enum" in schema else ("object", [schema])
    if "enum" in value or "const" in value:
        return _enum(value.get("enum", [value.get("const")])), []
    if value.get("type") == "array":
        kind, inner = _kind(document, value.get("items", {}))
        return f"list of {kind}", inner
    return value.get("type", "any") + _limits(value), []


def _enum(values: list[Any]) -> str:
    return " / ".join(f"`{value}`" for value in values)


def _limits(value: Schema) -> str:
    low, high = value.get("minLength", value.get("minimum")), value.get("maxLength", value.get("maximum"))
    unit = " characters" if "maxLength" in value or "minLength" in value else ""
    notes = [value["format"]] if "format" in value else []
    if low is not None and high is not None:
        notes.append(f"{_plain(low)} to {_plain(high)}{unit}")
    elif high is not None:
        notes.append(f"up to {_plain(high)}{unit}")
    elif low is not None:
        notes.append(f"from {_plain(low)}{unit}")
    return f" ({', '.join(notes)})" if notes else ""


def _plain(number: float) -> str:
    return f"{int(number):,}" if number == int(number) else f"{number:,}"


def _resolved(document: Schema, schema: Schema) -> Schema:
    if "$ref" not in schema:
        return schema
    found: Schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return found
