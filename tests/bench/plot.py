"""Draw the ratios of bench.json, and write the table of docs/PERFORMANCE.md.

    plot.py bench.json --svg docs/performance.svg --table docs/PERFORMANCE.md

The picture has one bar a figure on a logarithmic axis: 1 is the Linux guest. It is readable on a light page and on a dark one.
The table replaces what stands between the two marks in the page.
"""

import argparse
import html
import json
import math
import pathlib
import re
import statistics

ROW, TOP, LEFT, WIDTH, RIGHT = 22, 54, 300, 420, 70
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1d2530 }
.note { font-size: 11px; fill: #5a6572 }
.bar { fill: #2a6fdb }
.worse { fill: #c2571a }
.grid { stroke: #c9d1d9; stroke-width: 1 }
.one { stroke: #1d2530; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .note { fill: #9aa7b4 } .bar { fill: #6ea8fe } .worse { fill: #f0883e }
  .grid { stroke: #39424e } .one { stroke: #e6edf3 }
}
"""
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def ratios(facts):
    return [(figure["name"], figure["ratio"]) for figure in facts["figures"] if figure["ratio"]]


def ticks(low, high):
    """Powers of ten between two exponents, 1 among them."""
    return [10 ** exponent for exponent in range(low, high + 1)]


def picture(facts):
    rows = ratios(facts)
    low = min(0, math.floor(math.log10(min(ratio for _, ratio in rows))))
    high = max(1, math.ceil(math.log10(max(ratio for _, ratio in rows))))
    scale = WIDTH / (high - low)

    def place(ratio):
        return LEFT + (math.log10(ratio) - low) * scale

    height = TOP + ROW * len(rows) + 12
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + RIGHT} {height}" role="img" '
             f'aria-label="How many times better than a Linux guest">', f"<style>{STYLE}</style>",
             '<text x="8" y="20">How many times better than a Linux guest on the same QEMU</text>']
    for tick in ticks(low, high):
        kind = "one" if tick == 1 else "grid"
        parts.append(f'<line class="{kind}" x1="{place(tick):.1f}" x2="{place(tick):.1f}" y1="{TOP - 8}" y2="{height - 8}"/>')
        parts.append(f'<text class="note" x="{place(tick):.1f}" y="{TOP - 13}" text-anchor="middle">{tick:g}</text>')
    for index, (name, ratio) in enumerate(rows):
        y = TOP + ROW * index
        begin, end = sorted((place(1), place(ratio)))
        parts.append(f'<text x="{LEFT - 8}" y="{y + 13}" text-anchor="end">{html.escape(name)}</text>')
        parts.append(f'<rect class="bar{"" if ratio >= 1 else " worse"}" x="{begin:.1f}" y="{y + 3}" '
                     f'width="{max(end - begin, 1):.1f}" height="{ROW - 8}" rx="2"/>')
        parts.append(f'<text class="note" x="{max(end, place(1)) + 5:.1f}" y="{y + 13}">×{number(ratio)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def cell(values):
    if not values:
        return "–"
    middle = number(statistics.median(values))
    return middle if len(values) == 1 else f"{middle} ({number(min(values))}–{number(max(values))})"


def table(facts):
    lines = [f"Machine: {facts['machine']}, host kernel {facts['host']}, {facts['qemu']}, `-accel tcg -smp 1 -m 256`, tap. Reference: "
             f"Debian's kernel {facts['reference']}. {facts['seconds']} s a measurement, guests in the order "
             f"{', '.join(facts['order'])}. Command: `make bench`.", "",
             "| what | unit | Ringlet | Linux | better |", "| --- | --- | --- | --- | --- |"]
    for figure in facts["figures"]:
        ratio = f"×{number(figure['ratio'])}" if figure["ratio"] else "–"
        lines.append(f"| {figure['name']} | {figure['unit']} | {cell(figure['values']['ringlet'])} | "
                     f"{cell(figure['values']['linux'])} | {ratio} |")
    return "\n".join(lines)


def replace_table(page, text):
    pattern = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.S)
    if not pattern.search(page):
        raise SystemExit(f"the page has no {BEGIN} … {END}")
    return pattern.sub(lambda _: f"{BEGIN}\n{text}\n{END}", page)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("json", type=pathlib.Path)
    parser.add_argument("--svg", type=pathlib.Path)
    parser.add_argument("--table", type=pathlib.Path)
    args = parser.parse_args()
    facts = json.loads(args.json.read_text())
    if args.svg:
        args.svg.write_text(picture(facts))
    if args.table:
        args.table.write_text(replace_table(args.table.read_text(), table(facts)))


if __name__ == "__main__":
    main()
