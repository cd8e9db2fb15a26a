"""A collection of votes: what judges are asked, what they answer, and when it is enough.

The state is what the rows of the store say, read in their order, so that a server that starts again, or one of several,
knows the same. What a judge is asked is signed: the id of a question holds a keyed hash of the judge, the items and the
question. A vote with this id is accepted by any server of the database, once, and nobody can vote on other pairs.
"""

from __future__ import annotations

import hashlib
import hmac
import itertools
import secrets
import sys
from array import array
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from kernelrank.collecting.items import read_collected_items, safe_file
from kernelrank.collecting.outlook import CollectedVotes, Outlook
from kernelrank.collecting.pairs import Design, Pair, PairChoice
from kernelrank.collecting.store import ANSWERS, Item, VoteRow, VoteStore
from kernelrank.errors import InvalidInputError, KernelRankError

AHEAD = 3
"""So many pairs does a judge's page hold: the one that is shown, and those after it."""


class RefusedVoteError(KernelRankError, ValueError):
    """A vote, or another request of a judge, that is refused."""


@dataclass(frozen=True)
class CollectionRules:
    """What a collection asks for.

    Parameters
    ----------
    questions : tuple of str
        What judges are asked about each pair, one after the other.
    design : {"adaptive", "random", "fixed"}
    fixed : tuple of (str, str)
        The pairs of the fixed design, by the names of the items.
    minimum : int
        The votes that every item gets before information counts.
    repeats : float
        The share of pairs that a judge is asked again, with the sides exchanged.
    per_judge : int or None
        The number of pairs of each judge; None for no limit.
    until_top : int or None
        Stop once so many first items are told apart from each other and from the rest.
    until_width : float or None
        Stop once no interval of a score is wider.
    seed : int or None
    """

    questions: tuple[str, ...] = ("Which is better?",)
    design: Design = "adaptive"
    fixed: tuple[tuple[str, str], ...] = ()
    minimum: int = 2
    repeats: float = 0.05
    per_judge: int | None = None
    until_top: int | None = None
    until_width: float | None = None
    seed: int | None = None

    def reached(self, boards: list[dict[str, Any]]) -> str | None:
        """Return the rule of stopping that all boards fulfil, in words, or None."""
        if not boards or any(board["n_without_votes"] or not board["items"] for board in boards):
            return None
        if self.until_top is not None:
            k = self.until_top
            if all(len(board["apart"]) >= min(k, board["n_items"] - 1) and all(board["apart"][:k]) for board in boards):
                return f"the first {k} are told apart"
        if self.until_width is not None and all(board["width"] <= self.until_width for board in boards):
            return f"no interval is wider than {self.until_width:g}"
        return None


@dataclass
class Judge:
    """What is known of a judge; `pairs` are those that the judge has compared, by their keys."""

    number: int
    name: str
    pairs: dict[int, Pair] = field(default_factory=dict)
    asked_again: set[int] = field(default_factory=set)
    hours: Counter[str] = field(default_factory=Counter)
    withdrawn: bool = False

    @property
    def n_votes(self) -> int:
        """The number of votes that are not undone or withdrawn."""
        return self.hours.total()


class Collection:
    """Items, judges and votes of one database, and what to ask next. It is used by one thread at a time.

    Parameters
    ----------
    store : VoteStore
    source : path or None
        The file or folder of the items; None for those in the database.
    rules : CollectionRules
    category : str or None
        The column of the categories in the file of the items.
    """

    def __init__(
        self, store: VoteStore, source: Path | None, rules: CollectionRules, *, category: str | None = None
    ) -> None:
        self.store, self.source, self.rules, self.category = store, source, rules, category
        self.items: list[Item] = []
        self.judges: list[Judge] = []
        self.n_rows = 0
        self.finished: str | None = None
        self.outlook: Outlook | None = None
        self._random = np.random.default_rng(rules.seed)
        self._by_secret: dict[str, Judge] = {}
        self._codes: dict[str, int] = {}
        self._last = 0
        # One entry for each vote: numbers, the hour, and the place of each id. Then the places of repeated votes, and
        # those of the votes that they are compared with.
        names = ("question", "left", "right", "answer", "judge", "repeated", "valid")
        self._columns = {name: array("i") for name in names}
        self._hours: list[str] = []
        self._places: dict[str, int] = {}
        self._repeated: list[int] = []
        self._first: dict[tuple[int, int, int], int] = {}
        store.ask(rules.questions)
        self._secret = store.setting("secret", secrets.token_hex(32)).encode()
        if source is not None:
            store.add_items(read_collected_items(source, category=category))
        self.choice = PairChoice(rules.design, minimum=rules.minimum * len(rules.questions), seed=rules.seed)
        self.read_items()
        if rules.design == "fixed":
            self.choice.fix(self._fixed_pairs())
        self.catch_up()

    # Items

    def read_items(self) -> None:
        """Read the items of the database, of which others may have added some."""
        items = self.store.items()
        if len(items) < 2:
            raise InvalidInputError(
                f"Expected a database with at least two items; {self.store.shown_name} has {len(items)}."
            )
        if len(items) > len(self.items):
            self.items = items
            codes = [self._codes.setdefault(item.category, len(self._codes)) for item in items]
            self.choice.set_items(np.array(codes, dtype=np.int64))

    def add_new_items(self) -> int:
        """Read the file or folder again, and add the items that are new; return how many."""
        if self.source is None:
            return 0
        added = self.store.add_items(read_collected_items(self.source, category=self.category))
        self.read_items()
        return added

    def _fixed_pairs(self) -> list[Pair]:
        numbers = {item.name: number for number, item in enumerate(self.items)}
        for name in (name for names in self.rules.fixed for name in names):
            if name not in numbers:
                raise InvalidInputError(f"--design: expected pairs of items; there is no item {name!r}.")
        return [(numbers[first], numbers[second]) for first, second in self.rules.fixed]

    def media(self, number: int) -> Path | None:
        """Return the file of an item, or None."""
        if self.source is None or not 0 <= number < len(self.items) or self.items[number].kind == "text":
            return None
        folder = self.source if self.source.is_dir() else self.source.parent
        return safe_file(folder, self.items[number].content)

    # Rows of the store

    def catch_up(self) -> None:
        """Read the rows that were added since, by this server or by others."""
        for number, row in self.store.rows(self._last):
            self._last = number
            self._read_judges(row.judge)
            if row.kind == "vote":
                self._read_vote(row)
            elif row.kind == "undo":
                self._discount(self._places[row.target])
            else:
                self.judges[row.judge].withdrawn = True
                for place, judge in enumerate(self._columns["judge"]):
                    if judge == row.judge:
                        self._discount(place)
            self.n_rows += 1

    def _read_judges(self, number: int) -> None:
        if number >= len(self.judges):
            for secret, name in self.store.judges()[len(self.judges) :]:
                judge = Judge(len(self.judges), name)
                self.judges.append(judge)
                self._by_secret[secret] = judge

    def _read_vote(self, row: VoteRow) -> None:
        judge, pair = self.judges[row.judge], (row.left_item, row.right_item)
        if max(pair) >= len(self.items):
            self.read_items()
        place, key = len(self._hours), self.choice.key(pair)
        self._places[row.id] = place
        values = (row.question, *pair, ANSWERS.index(row.answer), row.judge, row.repeated, 1)
        for column, value in zip(self._columns.values(), values, strict=True):
            column.append(value)
        self._hours.append(sys.intern(row.time[:13]))
        judge.hours[self._hours[place]] += 1
        if row.repeated:
            self._repeated.append(place)
            judge.asked_again.add(key)
        else:
            self._first[row.judge, row.question, key] = place
            judge.pairs[key] = pair
            self.choice.voted(pair)
        if judge.withdrawn:  # on another server, a moment before
            self._discount(place)

    def _discount(self, place: int) -> None:
        """Let a vote count no longer."""
        columns = self._columns
        if columns["valid"][place]:
            columns["valid"][place] = 0
            self.judges[columns["judge"][place]].hours[self._hours[place]] -= 1
            if not columns["repeated"][place]:
                self.choice.voted((columns["left"][place], columns["right"][place]), -1)

    def counted(self) -> CollectedVotes:
        """Return a copy of the votes that count, to be fitted elsewhere."""
        columns = {name: np.array(values, dtype=np.int64) for name, values in self._columns.items()}
        rows = (columns["valid"] == 1) & (columns["repeated"] == 0)
        rows &= columns["answer"] < ANSWERS.index("cannot say")
        return CollectedVotes(
            self.choice.category.copy(),
            len(self.rules.questions),
            len(self.judges),
            outcome=np.array([1, -1, 0])[columns["answer"][rows]],
            counts=self.choice.counts.copy(),
            **{name: columns[name][rows] for name in ("question", "left", "right", "judge")},
        )

    def learn(self, outlook: Outlook) -> None:
        """Take the result of a fit; stop if a rule says so."""
        self.outlook = outlook
        self.choice.learn(outlook)
        self.finished = self.rules.reached(outlook.boards)

    # Judges

    def judge(self, secret: str, name: str = "") -> Judge:
        """Return the judge of a secret, who is added if it is new."""
        found = self.known_judge(secret)
        if found is None:
            self._read_judges(self.store.judge(_hashed(secret), name))
            found = self._by_secret[_hashed(secret)]
        return found

    def known_judge(self, secret: str) -> Judge | None:
        """Return the judge of a secret, or None."""
        hashed = _hashed(secret)
        if hashed not in self._by_secret:  # on another server, perhaps
            self._read_judges(len(self.judges))
        return self._by_secret.get(hashed)

    def _sign(self, nonce: str, judge: Judge, question: int, pair: Pair) -> str:
        text = f"{nonce} {judge.number} {question} {pair[0]} {pair[1]}".encode()
        return f"{nonce}.{hmac.new(self._secret, text, hashlib.sha256).hexdigest()[:32]}"

    def _task(self, judge: Judge, question: int, pair: Pair, *, repeated: bool) -> dict[str, Any]:
        nonce = secrets.token_hex(8) + ("r" if repeated else "n")
        left, right = (self._shown_item(number) for number in pair)
        return {"id": self._sign(nonce, judge, question, pair), "question": question, "left": left, "right": right}

    def _shown_item(self, number: int) -> dict[str, Any]:
        item = self.items[number]
        shown = {"text": item.content} if item.kind == "text" else {"file": f"media/{number}"}
        return {"number": number, "kind": item.kind, **shown}

    def tasks(self, judge: Judge, held: list[Pair]) -> list[dict[str, Any]]:
        """Return what a judge is asked after the pairs that the page holds already."""
        if judge.withdrawn or self.finished:
            return []
        limit, keys = self.rules.per_judge, {self.choice.key(pair) for pair in held}
        scale = 1.0
        if self.outlook is not None and judge.number < len(self.outlook.scale):
            scale = float(self.outlook.scale[judge.number])
        tasks: list[dict[str, Any]] = []
        for _ in range(len(keys), AHEAD):
            seen = judge.pairs.keys() | keys
            if limit is not None and len(seen) >= limit:
                break
            repeated_pair = self._repeated_pair(judge, keys)
            pair = repeated_pair or self.choice.choose(seen, scale)
            if pair is None:
                break
            keys.add(self.choice.key(pair))
            if repeated_pair is None and self._random.random() < 0.5:
                pair = pair[::-1]
            for question in range(len(self.rules.questions)):
                tasks.append(self._task(judge, question, pair, repeated=repeated_pair is not None))
        return tasks

    def _repeated_pair(self, judge: Judge, held: set[int]) -> Pair | None:
        """Now and then, return a pair that the judge has compared some time ago, with the sides exchanged."""
        if len(judge.pairs) < 10 or self._random.random() >= self.rules.repeats:
            return None
        place = int(self._random.integers(len(judge.pairs) - 8))
        key, pair = next(itertools.islice(judge.pairs.items(), place, None))
        return None if key in judge.asked_again or key in held else pair[::-1]

    def vote(self, judge: Judge, said: dict[str, Any]) -> bool:
        """Keep a vote, and return once it is on the disk; return whether it is new."""
        row_id, question, pair = said["id"], said["question"], (said["left"], said["right"])
        nonce = row_id.partition(".")[0]
        if not hmac.compare_digest(self._sign(nonce, judge, question, pair).encode(), row_id.encode()):
            raise RefusedVoteError("Expected a vote on a pair that this judge was asked about.")
        if judge.withdrawn:
            raise RefusedVoteError("The votes of this judge are withdrawn.")
        limit, key = self.rules.per_judge, self.choice.key(pair)
        if limit is not None and len(judge.pairs) >= limit and key not in judge.pairs:
            raise RefusedVoteError(f"Expected no more votes: the judge has compared all {limit} pairs.")
        answer, comment = said["answer"], clean(said.get("comment", ""), 2_000)
        milliseconds = min(said.get("milliseconds", 0), 2**31 - 1)
        first = self._first.get((judge.number, question, key))  # another window was asked the same, perhaps
        repeated = int(nonce.endswith("r") or (first is not None and self._columns["valid"][first]))
        row = VoteRow(row_id, "vote", judge.number, question, *pair, answer, repeated, "", comment, milliseconds, now())
        added = self.store.append(row)
        self.catch_up()
        return added == 1

    def undo(self, judge: Judge, target: str) -> dict[str, Any]:
        """Undo a vote of a judge, and return the same question to be answered again."""
        place = self._places.get(target)
        if place is None or self._columns["judge"][place] != judge.number or judge.withdrawn:
            raise RefusedVoteError("Expected a vote of this judge.")
        self.store.append(VoteRow(f"undo {target}", "undo", judge.number, target=target, time=now()))
        self.catch_up()
        question, left, right, repeated = (
            self._columns[name][place] for name in ("question", "left", "right", "repeated")
        )
        return self._task(judge, question, (left, right), repeated=bool(repeated))

    def withdraw(self, judge: Judge) -> None:
        """Withdraw all votes of a judge."""
        self.store.append(VoteRow(f"withdrawal {judge.number}", "withdrawal", judge.number, time=now()))
        self.catch_up()

    def progress(self, judge: Judge) -> dict[str, Any]:
        """Return what a judge's page says of the work done."""
        return {
            "votes": judge.n_votes,
            "pairs": len(judge.pairs),
            "of": self.rules.per_judge,
            "finished": self.finished is not None,
            "withdrawn": judge.withdrawn,
        }

    # Owner

    def overview(self) -> dict[str, Any]:
        """Return what the owner's page shows."""
        boards = [] if self.outlook is None else self.outlook.boards
        agreement = {} if self.outlook is None else self.outlook.judges
        repeated, same = self._consistency()
        judges: list[dict[str, Any]] = []
        for judge in self.judges:
            said = {"name": judge.name, "votes": judge.n_votes, "hours": +judge.hours, "withdrawn": judge.withdrawn}
            said |= {"repeated": repeated[judge.number], "same": same[judge.number]}
            found = agreement.get(judge.number, (None, None, False))
            judges.append(said | dict(zip(("agreement", "expected", "flagged"), found, strict=True)))
        categories = list(self._codes)
        return {
            "questions": list(self.rules.questions),
            "n_items": len(self.items),
            "n_votes": sum(judge["votes"] for judge in judges),
            "finished": self.finished,
            "until": {"top": self.rules.until_top, "width": self.rules.until_width},
            "judges": judges,
            "boards": [
                board
                | {"category": categories[board["category"]]}
                | {"items": [self.items[number].name for number in board["items"]]}
                for board in boards
            ],
        }

    def _consistency(self) -> tuple[Counter[int], Counter[int]]:
        """Return how many votes each judge has repeated, and how many of these had the same answer."""
        repeated, same = Counter[int](), Counter[int]()
        valid, judges, questions = (self._columns[name] for name in ("valid", "judge", "question"))
        for place in self._repeated:
            key = self.choice.key((self._columns["left"][place], self._columns["right"][place]))
            first = self._first.get((judges[place], questions[place], key))
            if valid[place] and first is not None and valid[first]:
                repeated[judges[place]] += 1
                same[judges[place]] += self._preferred(place) == self._preferred(first)
        return repeated, same

    def _preferred(self, place: int) -> int:
        """Return the item that a vote prefers; a negative number for another answer."""
        answer = self._columns["answer"][place]
        return self._columns["left" if answer == 0 else "right"][place] if answer <= 1 else -answer


def _hashed(secret: str) -> str:
    """Return what the database keeps of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def now() -> str:
    """Return the time as a text that sorts."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def clean(text: str, longest: int) -> str:
    """Return a text of a judge that every database can keep: no control characters, no halves of characters."""
    text = text[:longest].encode("utf-8", "replace").decode()
    return "".join(letter for letter in text if letter >= " " or letter in "\n\t").strip()
