"""Write ringlet(7) from docs/options.md: an image's command line.

    options_page.py docs/options.md VERSION >ringlet.7
"""

import re
import sys

INTRO = """.TH RINGLET 7 "" "Ringlet {version}"
.SH NAME
ringlet \\- the command line of an image
.SH SYNOPSIS
\\fIkey\\fR=\\fIvalue\\fR ... [\\fB\\-\\-\\fR \\fIargument\\fR ...]
"""
OUTRO = """.SH CONSOLE
COM1, 115200 8N1, one event a line. A line that begins with \\fBready:\\fR says that the address is usable and the program listens. The last line is
\\fBexit: \\fIn\\fR.
.SH EXIT STATUS
The program's; 2 for a bad value of an option, 70 for a crash, 71 when the machine gives too little to start.
.SH SEE ALSO
.BR ringlet-run (1),
.BR ringlet-cc (1)
"""


def roff(text):
    """Markdown's inline marks as fonts; what roff would take for its own is escaped."""
    text = text.replace("\\", "\\\\").replace("-", "\\-")
    text = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", text)
    return "\\&" + text if text[:1] in (".", "'") else text


def table_row(line):
    """An option: its key, what is allowed, the default, what it means."""
    key, allowed, default, meaning = [cell.strip() for cell in line.strip("| ").split(" | ", 3)]
    return f".TP\n{roff(key)}\n{roff(meaning)}\nAllowed: {roff(allowed)}. Default: {roff(default)}.\n"


def page(text):
    for line in text.splitlines():
        if line.startswith("## "):
            yield f".SH {line[3:].upper()}\n"
        elif line.startswith("# ") or line.startswith("<!--"):
            yield ".SH DESCRIPTION\n" if line.startswith("# ") else ""
        elif line.startswith("| `"):
            yield table_row(line)
        elif line.startswith("|") or not line:
            yield ""
        else:
            yield f"{roff(line)}\n.PP\n"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        sys.stdout.write(INTRO.format(version=sys.argv[2]) + "".join(page(file.read())) + OUTRO)


if __name__ == "__main__":
    main()
