#!/usr/bin/env python3
"""Opens reports in headless Chromium and fails on a console error, a page error, a network request, or a plot without a
text alternative. Needs the Python package playwright and a Chromium (`apt-get install chromium`, or playwright's own).

    tools/check_report.py runs/x/report.html [more...] [--screenshots DIR]

Screenshots are taken light and dark at 1280 and 390 px, to be looked at. Exit codes: 0 fine, 1 not, 77 no browser here.
"""
import argparse
import pathlib
import shutil
import sys

SKIPPED = 77


def check(browser, path, screenshots):
    problems = []
    for scheme in ("light", "dark"):
        for width in (1280, 390):
            page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
            page.on("console", lambda m: problems.append(f"console: {m.text}") if m.type in ("error", "warning") else None)
            page.on("pageerror", lambda e: problems.append(f"page error: {e}"))
            page.on("dialog", lambda d: (problems.append(f"dialog: {d.message}"), d.dismiss()))
            page.on("request", lambda r: problems.append(f"request: {r.url}") if not r.url.startswith(("file:", "data:")) else None)
            page.goto(path.resolve().as_uri())
            page.wait_for_load_state("load")
            overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            if overflow > 0:
                problems.append(f"{width} px: the page is {overflow} px wider than the window")
            silent = page.evaluate("[...document.querySelectorAll('svg.plot')].filter(s => !s.querySelector('title')?.textContent || !s.querySelector('desc')?.textContent).length")
            if silent:
                problems.append(f"{silent} plots have no title or description")
            for drill in page.query_selector_all(".drill"):
                if not drill.query_selector(".detail, .hint"):
                    problems.append("single queries are not shown")
            buttons = page.query_selector_all(".list button")
            for button in buttons[:3]:
                button.click()
            if screenshots:
                screenshots.mkdir(parents=True, exist_ok=True)
                page.screenshot(path=str(screenshots / f"{path.parent.name}-{path.stem}-{scheme}-{width}.png"), full_page=True)
            page.close()
    return sorted(set(problems))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", nargs="+", type=pathlib.Path)
    parser.add_argument("--screenshots", type=pathlib.Path)
    choice = parser.parse_args()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print("playwright is not installed: pip install playwright", file=sys.stderr)
        return SKIPPED
    found = next((p for p in ("chromium", "chromium-browser", "google-chrome") if shutil.which(p)), None)
    failed = False
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=shutil.which(found) if found else None, args=["--no-sandbox"])
        except Exception as error:  # playwright's own errors are of many kinds
            print(f"no Chromium starts here: {str(error).splitlines()[0]}", file=sys.stderr)
            return SKIPPED
        for path in choice.reports:
            for problem in check(browser, path, choice.screenshots):
                print(f"{path}: {problem}")
                failed = True
        browser.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
