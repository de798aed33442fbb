"""Hooks of MkDocs: pages that mkdocs.yml does not list, and links that lead out of docs/.

A page that nobody listed stands at the end of its folder's section, so that a new page is found at once. Files
beside docs/ are not part of the site: a link to one becomes its text, or leads to `extra.repository` if it is set.
"""

import re
from pathlib import Path, PurePosixPath
from typing import Any

SECTIONS = {"start": "Start here", "howto": "How-to", "": "Reference", "explain": "Explanation"}  # by folder
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s:]+)\)")


def on_config(config: Any) -> Any:
    """Add the pages that are not listed."""
    config["nav"] = with_all_pages(config["nav"], Path(config["docs_dir"]))
    return config


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """Take links that lead out of docs/ to the repository, or turn them into text."""
    return without_outer_links(markdown, page.file.src_uri, config["extra"].get("repository", ""))


def with_all_pages(nav: list[Any], docs: Path) -> list[Any]:
    """The navigation with all pages of these folders."""
    listed = set(listed_pages(nav))
    sections = {title: pages for one in nav if isinstance(one, dict) for title, pages in one.items()}
    for folder, title in SECTIONS.items():
        pages = sorted(path.relative_to(docs).as_posix() for path in (docs / folder).glob("*.md"))
        sections[title] += [page for page in pages if page not in listed]
    return nav


def listed_pages(nav: Any) -> list[str]:
    """The pages of a navigation, in order."""
    if isinstance(nav, str):
        return [nav]
    inner = nav.values() if isinstance(nav, dict) else nav
    return [page for one in inner for page in listed_pages(one)]


def without_outer_links(markdown: str, page: str, repository: str) -> str:
    def replace(found: re.Match[str]) -> str:
        text, target = found.groups()
        parts = list((PurePosixPath(page).parent / target).parts)
        path: list[str] = []
        for part in parts:
            if part == ".." and path and path[-1] != "..":
                path.pop()
            else:
                path.append(part)
        if path[:1] != [".."]:
            return found[0]
        return f"[{text}]({repository}/{'/'.join(path[1:])})" if repository else text

    return _LINK.sub(replace, markdown)
