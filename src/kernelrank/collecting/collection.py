"""A collection of votes: what judges are asked, what they answer, and when it is enough.

The state is what the rows of the store say, read in their order, so that a server that starts again, or one of several,
knows the same. What a judge is asked is signed: the id of a question holds a keyed hash of the judge, the items and the
question. A vote with this id is accepted by any server of the database, once, and nobody can vote on other pairs.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
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
    """What is known of a judge."""

    number: int
    name: str
    seen: set[int] = field(default_factory=set)
    answers: dict[tuple[int, int], int] = field(default_factory=dict)
    pairs: list[Pair] = field(default_factory=list)
    n_votes: int = 0
    n_repeated: int = 0
    n_same: int = 0
    withdrawn: bool = False
    hours: Counter[str] = field(default_factory=Counter)
    asked_again: set[int] = field(default_factory=set)


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
        store.ask(rules.questions)
        self._secret = store.setting("secret", secrets.token_hex(32)).encode()
        self.items: list[Item] = []
        self.judges: list[Judge] = []
        self._by_secret: dict[str, Judge] = {}
        self._codes: dict[str, int] = {}
        self._columns = {name: array("i") for name in ("question", "left", "right", "answer", "judge", "counts")}
        self._places: dict[str, int] = {}
        self._undone: set[str] = set()
        self._last = 0
        self.n_rows = 0
        self.finished: str | None = None
        self.outlook: Outlook | None = None
        self._random = np.random.default_rng(rules.seed)
        if source is not None:
            store.add_items(read_collected_items(source, category=category))
        self.choice: PairChoice | None = None
        self.read_items()
        self.catch_up()

    # Items

    def read_items(self) -> None:
        """Read the items of the database, of which others may have added some."""
        items = self.store.items()
        if len(items) < 2:
            raise InvalidInputError(f"Expected a database with at least two items; {self.store.shown_name} has none.")
        if len(items) == len(self.items):
            return
        self.items = items
        for item in items:
            self._codes.setdefault(item.category, len(self._codes))
        category = np.array([self._codes[item.category] for item in items], dtype=np.int64)
        if self.choice is None:
            rules = self.rules
            self.choice = PairChoice(
                category, rules.design, minimum=rules.minimum, fixed=self._fixed_pairs(), seed=rules.seed
            )
        else:
            self.choice.set_items(category)

    def add_new_items(self) -> int:
        """Read the file or folder again, and add the items that are new; return how many."""
        if self.source is None:
            return 0
        added = self.store.add_items(read_collected_items(self.source, category=self.category))
        self.read_items()
        return added

    def _fixed_pairs(self) -> list[Pair]:
        numbers = {item.name: number for number, item in enumerate(self.items)}
        pairs = []
        for names in self.rules.fixed:
            for name in names:
                if name not in numbers:
                    raise InvalidInputError(f"--design fixed: expected pairs of items; there is no item {name!r}.")
            pairs.append((numbers[names[0]], numbers[names[1]]))
        return pairs

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
            getattr(self, f"_read_{row.kind}")(row)
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
        assert self.choice is not None
        key = self.choice.key(pair)
        answer = ANSWERS.index(row.answer)
        self._places[row.id] = len(self._columns["question"])
        for name, value in zip(
            self._columns, (row.question, *pair, answer, row.judge, int(not row.repeated)), strict=True
        ):
            self._columns[name].append(value)
        judge.hours[row.time[:13]] += 1
        judge.n_votes += 1
        preferred = 0 if answer > 1 else 1 if (answer == 0) == (pair[0] < pair[1]) else -1
        if row.repeated:
            judge.n_repeated += 1
            judge.n_same += judge.answers.get((row.question, key)) == preferred
            judge.asked_again.add(key)
            return
        if key not in judge.seen:
            judge.pairs.append(pair)
        judge.seen.add(key)
        judge.answers[row.question, key] = preferred
        self.choice.voted(pair)

    def _read_undo(self, row: VoteRow) -> None:
        place = self._places.get(row.target)
        if place is None or row.target in self._undone:
            return
        self._undone.add(row.target)
        question, left, right, answer, judge, counted = (column[place] for column in self._columns.values())
        voter = self.judges[judge]
        voter.n_votes -= 1
        assert self.choice is not None
        if counted:
            self._columns["counts"][place] = 0
            self.choice.voted((left, right), -1)
        else:
            preferred = 0 if answer > 1 else 1 if (answer == 0) == (left < right) else -1
            voter.n_repeated -= 1
            voter.n_same -= voter.answers.get((question, self.choice.key((left, right)))) == preferred

    def _read_withdrawal(self, row: VoteRow) -> None:
        judge = self.judges[row.judge]
        judge.withdrawn = True
        assert self.choice is not None
        for place, number in enumerate(self._columns["judge"]):
            if number == row.judge and self._columns["counts"][place]:
                self._columns["counts"][place] = 0
                self.choice.voted((self._columns["left"][place], self._columns["right"][place]), -1)
        judge.n_votes = judge.n_repeated = judge.n_same = 0

    def counted(self) -> CollectedVotes:
        """Return a copy of the votes that count, to be fitted elsewhere."""
        assert self.choice is not None
        columns = {name: np.array(values, dtype=np.int64) for name, values in self._columns.items()}
        rows = (columns["counts"] == 1) & (columns["answer"] < ANSWERS.index("cannot say"))
        outcome = np.array([1, -1, 0])[columns["answer"][rows]]
        picked = {name: columns[name][rows] for name in ("question", "left", "right", "judge")}
        return CollectedVotes(
            self.choice.category.copy(),
            len(self.rules.questions),
            len(self.judges),
            outcome=outcome,
            counts=self.choice.counts.copy(),
            **picked,
        )

    def learn(self, outlook: Outlook) -> None:
        """Take the result of a fit; stop if a rule says so."""
        assert self.choice is not None
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
        assert self.choice is not None
        if judge.withdrawn or self.finished:
            return []
        keys = {self.choice.key(pair) for pair in held}
        scale = 1.0
        if self.outlook is not None and judge.number < len(self.outlook.scale):
            scale = float(self.outlook.scale[judge.number])
        tasks: list[dict[str, Any]] = []
        for _ in range(len(keys), AHEAD):
            if self.rules.per_judge is not None and len(judge.seen | keys) >= self.rules.per_judge:
                break
            pair, repeated = self._repeated_pair(judge, keys), True
            if pair is None:
                pair, repeated = self.choice.choose(judge.seen | keys, scale), False
            if pair is None:
                break
            keys.add(self.choice.key(pair))
            if not repeated and self._random.random() < 0.5:
                pair = pair[::-1]
            tasks += [
                self._task(judge, question, pair, repeated=repeated) for question in range(len(self.rules.questions))
            ]
        return tasks

    def _repeated_pair(self, judge: Judge, held: set[int]) -> Pair | None:
        """Now and then, return a pair that the judge has compared some time ago, with the sides exchanged."""
        assert self.choice is not None
        if len(judge.pairs) < 10 or self._random.random() >= self.rules.repeats:
            return None
        pair = judge.pairs[int(self._random.integers(len(judge.pairs) - 8))]
        key = self.choice.key(pair)
        return None if key in judge.asked_again or key in held else pair[::-1]

    def vote(self, judge: Judge, said: dict[str, Any]) -> bool:
        """Keep a vote, and return once it is on the disk; return whether it is new."""
        row_id, question, pair = said["id"], said["question"], (said["left"], said["right"])
        nonce = row_id.partition(".")[0]
        if not hmac.compare_digest(self._sign(nonce, judge, question, pair), row_id):
            raise RefusedVoteError("Expected a vote on a pair that this judge was asked about.")
        if judge.withdrawn:
            raise RefusedVoteError("The votes of this judge are withdrawn.")
        assert self.choice is not None
        limit, key = self.rules.per_judge, self.choice.key(pair)
        if limit is not None and len(judge.seen) >= limit and key not in judge.seen:
            raise RefusedVoteError(f"Expected no more votes: the judge has compared all {limit} pairs.")
        answer, comment = said["answer"], clean(said.get("comment", ""), 2_000)
        milliseconds = max(0, min(int(said.get("milliseconds", 0)), 2**31 - 1))
        repeated, stamp = int(nonce.endswith("r")), now()
        row = VoteRow(row_id, "vote", judge.number, question, *pair, answer, repeated, "", comment, milliseconds, stamp)
        added = self.store.append(row)
        self.catch_up()
        return added

    def undo(self, judge: Judge, target: str) -> dict[str, Any]:
        """Undo a vote of a judge, and return the same question to be answered again."""
        place = self._places.get(target)
        if place is None or self._columns["judge"][place] != judge.number or judge.withdrawn:
            raise RefusedVoteError("Expected a vote of this judge.")
        self.store.append(VoteRow(f"undo {target}", "undo", judge.number, target=target, time=now()))
        self.catch_up()
        question, left, right = (self._columns[name][place] for name in ("question", "left", "right"))
        return self._task(judge, question, (left, right), repeated=target.partition(".")[0].endswith("r"))

    def withdraw(self, judge: Judge) -> None:
        """Withdraw all votes of a judge."""
        self.store.append(VoteRow(f"withdrawal {judge.number}", "withdrawal", judge.number, time=now()))
        self.catch_up()

    def progress(self, judge: Judge) -> dict[str, Any]:
        """Return what a judge's page says of the work done."""
        return {
            "votes": judge.n_votes,
            "pairs": len(judge.seen),
            "of": self.rules.per_judge,
            "finished": self.finished is not None,
            "withdrawn": judge.withdrawn,
        }

    # Owner

    def overview(self) -> dict[str, Any]:
        """Return what the owner's page shows."""
        boards = [] if self.outlook is None else self.outlook.boards
        agreement = {} if self.outlook is None else self.outlook.judges
        categories = list(self._codes)
        judges = []
        for judge in self.judges:
            agreed, expected, flagged = agreement.get(judge.number, (None, None, False))
            judges.append(
                {
                    "name": judge.name,
                    "votes": judge.n_votes,
                    "hours": dict(judge.hours),
                    "repeated": judge.n_repeated,
                    "same": judge.n_same,
                    "agreement": agreed,
                    "expected": expected,
                    "flagged": flagged,
                    "withdrawn": judge.withdrawn,
                }
            )
        return {
            "questions": list(self.rules.questions),
            "n_items": len(self.items),
            "n_votes": int(sum(judge.n_votes for judge in self.judges)),
            "finished": self.finished,
            "until": {"top": self.rules.until_top, "width": self.rules.until_width},
            "judges": judges,
            "boards": [
                board
                | {
                    "category": categories[board["category"]],
                    "items": [self.items[number].name for number in board["items"]],
                }
                for board in boards
            ],
        }


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
