"""The meanings of results and options, as a list in the docstrings; in the code they stand beside the types."""

from __future__ import annotations

import ast
from importlib import import_module
from typing import Any

import griffe


class DeclaredMembers(griffe.Extension):
    """Shows each class of results with the type of each member and, below the docstring, its meaning."""

    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:
        """Take `Annotated[TYPE, MEANING]` apart."""
        meanings = []
        for name, member in cls.attributes.items():
            annotation = member.annotation
            shared = cls.module.members.get(str(annotation))
            if isinstance(shared, griffe.Attribute):
                annotation = shared.value
            if isinstance(annotation, griffe.ExprSubscript) and annotation.canonical_name == "Annotated":
                kind, said = annotation.slice.elements
                member.annotation = kind
                meaning = said.arguments[0] if isinstance(said, griffe.ExprCall) else said
                written = ast.parse(str(meaning), mode="eval").body
                parts = written.values if isinstance(written, ast.JoinedStr) else [written]
                text = "".join(_written(part, cls.module.path) for part in parts)
                meanings.append(f"    {name}: {text}")
        if meanings and cls.docstring:
            cls.docstring.value = "\n".join([cls.docstring.value, "", "Attributes:", *meanings])


def _written(part: ast.expr, module: str) -> str:
    if isinstance(part, ast.FormattedValue) and isinstance(part.value, ast.Name):
        return str(getattr(import_module(module), part.value.id))
    return str(part.value) if isinstance(part, ast.Constant) else "…"
