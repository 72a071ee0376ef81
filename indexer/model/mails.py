"""Mails among the documents of a store."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

# The files that are one mail each, also in mailboxes and mails, and those of a maildir; behind a slash.
MAILS = r"\.(?:eml|emlx|msg)(?:\.(?:gz|zst|bz2|xz))?$|/(?:cur|new)/[0-9]{6,}\.[^/]+$"
# Two mails with the first of these are one, and so are two with the others and the subject.
HEAD = ("message_id", "from", "to", "cc", "date")
_MAILS = re.compile(MAILS, re.IGNORECASE)


def is_mail(source: str) -> bool:
    """True for the path of a mail: `letter.eml`, a mail in a mailbox, a file of a maildir."""
    return _MAILS.search(f"/{source}") is not None


def mail_head(source: str, title: str, metadata: Mapping[str, Any]) -> dict[str, str]:
    """The subject of a mail, its Message-ID, sender, recipients and date; empty for other documents."""
    if not is_mail(source):
        return {}
    return {"subject": title, **{name: str(metadata[name]) for name in HEAD if name in metadata}}


def may_be_one_mail(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """False for the headers of two mails with different Message-IDs that also differ in sender, recipients, date or
    subject.
    """
    if not (one and other):
        return True
    if one.get("message_id") and one.get("message_id") == other.get("message_id"):
        return True
    return all(one.get(name) == other.get(name) for name in ("subject", *HEAD[1:]))
