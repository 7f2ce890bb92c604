"""Every link of the documents leads somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE_BLOCK = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
CODE = re.compile(CODE_BLOCK.pattern + r"|`[^`\n]*`", re.DOTALL | re.MULTILINE)


def read(document: Path) -> str:
    return document.read_text(encoding="utf-8")


def anchors(document: Path) -> set[str]:
    """As GitHub makes them from the headings."""
    headings = re.findall(r"^#+ (.+)$", CODE_BLOCK.sub("", read(document)), re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return {heading.strip().replace(" ", "-") for heading in plain}


def is_broken(link: str, document: Path, root: Path) -> bool:
    name, _, anchor = link.partition("#")
    target = (document.parent / name).resolve() if name else document
    if not target.is_relative_to(root) or not target.exists():
        return True
    return bool(anchor) and anchor not in anchors(target)


def broken_links(document: Path, root: Path = ROOT) -> list[str]:
    links = LINK.findall(CODE.sub("", read(document)))
    relative = [link for link in links if not link.startswith("https://")]
    return [link for link in relative if is_broken(link, document, root)]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_every_link_leads_to_a_file_and_an_anchor_that_exist(document: Path) -> None:
    assert broken_links(document) == []


def test_a_missing_file_a_missing_anchor_and_a_file_elsewhere_are_broken_links(
    tmp_path: Path,
) -> None:
    page, other = tmp_path / "docs" / "page.md", tmp_path / "other.md"
    page.parent.mkdir()
    other.write_text("# What is shown?\n", encoding="utf-8")
    good = "[a](../other.md#what-is-shown) [b](#here) [c](https://example.org) `[d](gone.md)`"
    bad = "[e](gone.md) [f](../other.md#gone) [g](#gone) [h](../../elsewhere.md)"
    page.write_text(f"## Here\n{good}\n{bad}\n", encoding="utf-8")
    (tmp_path.parent / "elsewhere.md").touch()
    assert broken_links(page, tmp_path) == [
        "gone.md",
        "../other.md#gone",
        "#gone",
        "../../elsewhere.md",
    ]


def test_every_document_of_docs_can_be_reached_from_the_readme() -> None:
    linked = {link.partition("#")[0] for link in LINK.findall(read(ROOT / "README.md"))}
    pages = {f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")}
    assert pages <= linked
