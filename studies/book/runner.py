"""Run studies, write their results, pages and pictures, and say what could not be run and how long the others took."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Mapping
from pathlib import Path

from threadpoolctl import threadpool_limits

from studies.book.data_folder import DataFolder, MissingDataError
from studies.book.page import TEMPLATES, render
from studies.book.record import Record
from studies.book.study import Run, load

__all__ = ["DOCS", "run_studies", "write_page"]

DOCS = Path(__file__).parents[2] / "docs" / "studies"


def run_studies(
    names: list[str], folder: Path | None, output: Path, *, quick: bool, seed: int, given: Mapping[str, str]
) -> int:
    """Run some studies one after the other; return how many of them failed.

    Missing data are named and are no failure.
    """
    data = DataFolder(folder)
    done: dict[str, float] = {}
    missing: list[str] = []
    failed: list[str] = []
    start = time.perf_counter()
    try:
        for name in names:
            began, spent = time.perf_counter(), cpu_seconds()
            print(f"{name} …", flush=True)
            try:
                record = run_one(name, data, output, quick=quick, seed=seed, given=given)
            except MissingDataError as error:
                missing.append(f"{name}: {error}")
                print(f"  not run: {error}", flush=True)
                continue
            except Exception:
                failed.append(name)
                traceback.print_exc()
                continue
            done[name] = cpu_seconds() - spent
            missing += [f"{name}, in part: {one}" for one in record.skipped]
            print(
                f"  {time.perf_counter() - began:.0f} s, {done[name]:.0f} s of CPU: {output / f'{name}.md'}", flush=True
            )
    finally:
        data.close()
    print(f"\nCPU seconds of {len(done)} studies out of {len(names)}:")
    for name, seconds in sorted(done.items(), key=lambda one: -one[1]):
        print(f"  {seconds:8.1f}  {name}")
    print(f"  {sum(done.values()):8.1f}  in all; {(time.perf_counter() - start) / 60:.1f} minutes passed; in {output}")
    for title, lines in (("Could not be run", missing), ("Failed", failed)):
        if lines:
            print(f"{title}:\n" + "\n".join(f"  {line}" for line in lines))
    return len(failed)


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of those that it has started and that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def run_one(name: str, data: DataFolder, output: Path, *, quick: bool, seed: int, given: Mapping[str, str]) -> Record:
    """Run one study and write its result, its page and its pictures."""
    study = load(name)
    settings = study.chosen(quick=quick, given=given)
    for source in study.data:
        data[source]
    run = Run(data, settings, seed)
    with threadpool_limits(1):
        tables = study.protocol(run)
    record = Record.of(
        name,
        tables,
        settings=settings,
        seed=seed,
        quick=quick,
        skipped=run.skipped,
        published=study.published,
        packages=tuple(run.packages),
    )
    record.write(output / "results" / f"{name}.json")
    write_page(record, output)
    return record


def write_page(record: Record, output: Path) -> None:
    """Write the page and the pictures of a recorded result."""
    study = load(record.study)
    if (TEMPLATES / f"{record.study}.md.j2").exists():
        (output / f"{record.study}.md").write_text(render(record, study), encoding="utf-8")
    if study.draw is not None:
        pictures = output / "pictures"
        pictures.mkdir(parents=True, exist_ok=True)
        study.draw(record.tables, pictures)
