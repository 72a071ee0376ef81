"""Pairs of the kinds that were read by eye in documentation packages, in words of the tests' own."""

# ruff: noqa: E501 - documents are written as they stand

from __future__ import annotations

import pytest

from indexer.clustering.relations import Permitted
from indexer.relations.comparing import relate
from indexer.relations.wording import Wording

API = """{name}

Request Function

xcb_cookie_t {name}(xcb_connection_t *conn, {kind} {argument});

Parameters

conn: The connection to the server. {argument}: what the request is about.

Description

Sends the request to the server. The answer is read by a call to {name}_reply, which waits until it has come. Errors are put
into the queue of events, unless the checked form of the function is called, in which case they are handed to the caller.

Return value

A cookie. This function never fails by itself; what goes wrong is told by the event loop."""

COPYRIGHT = """Upstream-Name: {name}
Source: {source}

Files: *
Copyright: {holder}
License: {licence}

Everyone who has a copy may use, change and pass on these files, as long as this notice stands in every one of them. There is no
warranty of any kind. Neither the holders nor those who helped are liable for what comes of it, in whatever way it came about.
The names of the holders may not be used to praise what is made of these files without being asked in writing before that.
"""

MANUAL = """NAME
       {name} - {what}

SYNOPSIS
       #include <strings.h>
       char *{name}(char *to, const char *from{count});

DESCRIPTION
       The function copies the string that from points to into the place that to points to. The strings may not overlap, and
       the place must be large enough to take the copy. Programmers should beware of places that are too small for it.

RETURN VALUE
       A pointer to the place to.

CONFORMING TO
       C89, C99, POSIX.1-2001."""

VERSION = """The module answers requests for directories with a list of what they hold. Status: {status}. The list has a line for each file
with its name, its size and the time of its last change, sorted as the reader asks for, directories first. {more}Where an index is
there, the module stays silent and leaves the request to the next one that is in charge of it, as the order of modules has it."""


def of(**said: str) -> str:
    return COPYRIGHT.format(
        **{"name": "libfoo", "source": "https://foo.example.org", "holder": "1998-2004 Ada Moore", "licence": "MIT"}
        | said
    )


FORMS = {
    "pages of sibling functions, generated": (
        API.format(name="xcb_free_pixmap", kind="xcb_pixmap_t", argument="pixmap"),
        API.format(name="xcb_free_colormap", kind="xcb_colormap_t", argument="cmap"),
    ),
    "pages that differ in the name alone": (
        API.format(name="xcb_dri2_create_drawable", kind="uint32_t", argument="drawable"),
        API.format(name="xcb_dri2_destroy_drawable", kind="uint32_t", argument="drawable"),
    ),
    "licences with another holder": (of(), of(holder="1998-2004 Ada Monroe")),
    "licences with other years": (of(), of(holder="1998-2014 Ada Moore")),
    "copyright files of other packages": (of(), of(name="libbar", source="https://bar.example.org")),
    "other licences": (of(), of(licence="Expat")),
    "manual pages of sibling functions": (
        MANUAL.format(name="strcopy", what="copy a string", count=""),
        MANUAL.format(name="strncopy", what="copy a string", count=", size_t count"),
    ),
    "manual pages that differ in the name alone": (
        MANUAL.format(name="strcopy", what="copy a string", count=""),
        MANUAL.format(name="strdupe", what="copy a string", count=""),
    ),
    "what is in one module and in a module of that": (
        f"Struct Guard in gate::sync\n\n{VERSION.format(status='Base', more='')}",
        f"Struct Guard in gate::sync::lenient\n\n{VERSION.format(status='Base', more='')}",
    ),
    "a status that changed": (
        VERSION.format(status="Experimental", more=""),
        VERSION.format(status="Extension", more=""),
    ),
}
# What goes, what stays in its place, and the relation.
COPIES = {
    "a copyright file with a line more": (of(), of() + "\nThanks go to all who sent patches and reports.", "edited"),
    "another packager's line breaks": (of().replace(" in ", "\n in "), of(), "identical"),
    "a manual page in other lines": (
        MANUAL.format(name="strcopy", what="copy a string", count=""),
        MANUAL.format(name="strcopy", what="copy a string", count="").replace("over-\n", "over").replace("       ", ""),
        "identical",
    ),
    "words that were written together": (
        VERSION.format(status="Base", more="The answer is one of code points alone. "),
        VERSION.format(status="Base", more="The answer is one of codepoints alone. "),
        "reflowed",
    ),
    "a later edition that says more": (
        VERSION.format(status="Base", more=""),
        VERSION.format(status="Base", more="Since the last release icons can be shown in front of the names. "),
        "edited",
    ),
    "a mistyped word that was mended": (
        VERSION.format(status="Base", more="").replace("requests for directories", "requests for direcories"),
        VERSION.format(status="Base", more="A file that is hidden is left out. "),
        "edited",
    ),
}


@pytest.mark.parametrize(("left", "right"), FORMS.values(), ids=FORMS)
def test_what_reads_alike_and_says_something_else_stays(left: str, right: str) -> None:
    for one, other in ((left, right), (right, left)):
        found = relate(Wording(one), Wording(other))
        assert found.word == "form", found
        assert Permitted().reason_to_keep(found, "") is not None


@pytest.mark.parametrize(("goes", "stays", "word"), COPIES.values(), ids=COPIES)
def test_what_the_other_says_too_goes(goes: str, stays: str, word: str) -> None:
    found = relate(Wording(goes), Wording(stays))
    assert found.word == word, found
    assert Permitted().reason_to_keep(found, "") is None
