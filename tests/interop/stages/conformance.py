"""The official conformance suite, for both protocol versions."""

import json
import os
import re
import shutil
from collections import Counter
from pathlib import Path

from harness import connector, install, process
from harness.tally import Failed, Tally

VERSIONS = ("2025-11-25", "2026-07-28")
BASELINE = install.INTEROP / "expected-failures.yaml"
RESULTS = install.TARGET / "conformance"
SUITE_SECONDS = 600


async def run(tally: Tally, binary: Path) -> None:
    """Runs the suite against a build with the fixture tools."""
    async with connector.serving(binary) as running:
        for version in VERSIONS:
            results = RESULTS / version
            shutil.rmtree(results, ignore_errors=True)
            command = _command(running.url, version, results)
            status, printed = await process.output_of(command, SUITE_SECONDS, _path())
            results.with_suffix(".txt").write_text(printed)
            _count_scenarios(tally, version, results, printed)
            with tally.check(
                f"conformance {version}: nothing fails or passes against expected-failures.yaml"
            ):
                if status != 0:
                    raise Failed(printed[printed.rfind("Total:") :])


def _command(url: str, version: str, results: Path) -> list[str | Path]:
    suite = install.node_modules() / ".bin" / "conformance"
    scenarios = ["--suite", "all", "--spec-version", version]
    return [
        suite,
        "server",
        "--url",
        url,
        *scenarios,
        "--expected-failures",
        BASELINE,
        "--output-dir",
        results,
    ]


def _path() -> dict[str, str]:
    # The suite is a script for the `node` of the path, and needs a newer one than many machines have.
    return {"PATH": f"{install.node().parent}{os.pathsep}{os.environ['PATH']}"}


def _count_scenarios(tally: Tally, version: str, results: Path, printed: str) -> None:
    """Counts each scenario by the suite's own verdict. One that is expected to fail is told, not counted."""
    verdict = printed[printed.rfind("Total:") :]
    expected = re.findall(r"~ (\S+)", verdict)
    unexpected = re.findall(r"✗ (\S+)", verdict)
    for file in sorted(results.glob("*/checks.json"), key=lambda file: file.stat().st_mtime_ns):
        # The folder is called server-<scenario>-<a time of six parts>.
        scenario = file.parent.name.removeprefix("server-").rsplit("-", 6)[0]
        statuses = Counter(check["status"].lower() for check in json.loads(file.read_text()))
        counts = ", ".join(f"{count} {status}" for status, count in sorted(statuses.items()))
        name = f"conformance {version} {scenario}: {counts}"
        if scenario in expected:
            print(f"absent  {name}", flush=True)
        else:
            failed = [entry for entry in unexpected if entry.split(":")[0] == scenario]
            tally.note(name, f"unexpected: {failed}" if failed else None)
