"""Mails among the documents of a store: how their paths end, and what tells two of them apart."""

from __future__ import annotations

import re

# The files that are one mail each, also in mailboxes and mails, and those of a maildir; behind a slash.
MAILS = r"\.(?:eml|emlx|msg)(?:\.(?:gz|zst|bz2|xz))?$|/(?:cur|new)/[0-9]{6,}\.[^/]+$"
# Two mails with the first of these are one, and so are two with the others and the subject.
HEAD = ("message_id", "from", "to", "cc", "date")
_MAILS = re.compile(MAILS, re.IGNORECASE)


def is_mail(source: str) -> bool:
    """True for the path of a mail: `letter.eml`, a mail in a mailbox, a file of a maildir."""
    return _MAILS.search(f"/{source}") is not None
