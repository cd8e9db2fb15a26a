"""Tables of votes and arena logs: layouts, words for the winner, columns by name, errors that name the line."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelrank.data import read_pairs
from kernelrank.errors import FileFormatError, InvalidInputError


def load(text, **options):
    return read_pairs(io.BytesIO(text.encode()), **options)


def named(preferences):
    """Winner and loser of each preference by name."""
    return [tuple(pair) for pair in preferences.names[preferences.pairs].tolist()]


def test_winners_and_losers_with_everything_else():
    votes = load(
        'Judge ID,winner,loser,tie,count,margin\nann,"GPT 4, turbo",Llama 2,0,2,0.5\nbob,Llama 2,C# bot,yes,1,2\n'
        "ann,C# bot,Llama 2,,0,1\n"
    )
    assert named(votes) == [("GPT 4, turbo", "Llama 2"), ("Llama 2", "C# bot"), ("C# bot", "Llama 2")]
    assert votes.tie.tolist() == [False, True, False]
    assert votes.weight.tolist() == [2, 1, 0]
    assert votes.magnitude.tolist() == [0.5, 0, 1]
    assert votes.judge.tolist() == ["ann", "bob", "ann"]
    assert votes.side is None
    assert votes.notes == (
        "the winners are column 'winner', the losers column 'loser'",
        "the ties are column 'tie'",
        "the weights are column 'count'",
        "the judges are column 'Judge ID'",
        "the magnitudes are column 'margin'",
    )


def test_ties_have_magnitude_zero_and_all_others_one():
    votes = load("winner,loser,draw\na,b,true\nb,a,false\n")
    assert votes.magnitude.tolist() == [0, 1]
    assert load("winner,loser,draw\na,b,0\n").magnitude is None
    assert load("winner,loser,draw\na,b,0\n").tie is None
    assert load("a b 0\nb a 2\n").tie.tolist() == [True, False]


def test_columns_are_named_by_the_caller():
    text = "best dish,other dish,who,n,winner,loser\nsoup,salad,ann,3,x,y\n"
    votes = load(text, winner="best dish", loser="other dish", judge="who", weight="n")
    assert (named(votes), votes.judge.tolist(), votes.weight.tolist()) == ([("soup", "salad")], ["ann"], [3])
    assert "left out: 2 columns ('winner', 'loser')" in votes.notes
    assert load("winner,loser,judge\na,b,ann\n", judge="").judge is None
    with pytest.raises(FileFormatError, match=r"no column 'best' for the winner \(is it 'best dish'\?\)"):
        load(text, winner="best", loser="other dish")
    with pytest.raises(FileFormatError, match="cannot be both winner and loser"):
        load(text, winner="winner", loser="winner")
    with pytest.raises(InvalidInputError, match=r"winner is 'a', but .* has no columns with names"):
        load("# FILE NAME: a.soc\n", winner="a")


@pytest.mark.parametrize(
    ("header", "left", "right", "tie"),
    [
        ("left,right,winner", "left", "right", "tie"),
        ("model_a,model_b,winner", "model_a", "model_b", "tie (bothbad)"),
        ("model_a,model_b,winner", "A", "B", "Draw"),
        ("modelA,modelB,Result", "Model A", "Model B", "both bad"),
        ("player1,player2,outcome", "1", "2", "neither"),
        ("Home Team,Away Team,result", "home", "away", "draw"),
        ("first item,second item,choice", "first", "second", "no preference"),
        ("white,black,result", "1-0", "0-1", "1/2-1/2"),
        ("item_x,item_y,vote", "left", "right", "="),
        ("option 1,option 2,preference", "GPT 4", "tea", "tied"),
        ("left,right,winner", "right", "left", "tie"),
    ],
)
def test_arena_logs(header, left, right, tie):
    """The winner by the name of its column, by its own name, or by its side."""
    rows = [("GPT 4", "tea", left), ("tea", "GPT 4", left if left == "GPT 4" else right), ("tea", "water", tie)]
    votes = load("\n".join([header, *(",".join(row) for row in rows)]) + "\n")
    if left == "right":  # the winner by the wrong column: read as it says
        assert named(votes)[:2] == [("tea", "GPT 4"), ("tea", "GPT 4")]
        return
    assert named(votes) == [("GPT 4", "tea"), ("GPT 4", "tea"), ("tea", "water")]
    assert votes.side.tolist() == [1, -1, 1]
    assert votes.tie.tolist() == [False, False, True]
    assert votes.magnitude.tolist() == [1, 1, 0]


def test_of_several_pairs_of_columns_the_one_that_the_winners_name():
    votes = load("id,model_x,model_y,worker,winner,left,right\n0,97,98,58,right,Air,Weaver\n1,98,97,3,tie,Weaver,Air\n")
    assert named(votes) == [("Weaver", "Air"), ("Weaver", "Air")]
    assert votes.judge.tolist() == [58, 3]
    assert votes.notes[0] == "the items are columns 'left' and 'right'; column 'winner' says the column of the winner"
    chat = "model_a,model_b,conversation_a,conversation_b,winner\nx,y,,hello,{}\nx,z,hi,hi,tie\n"
    assert named(load(chat.format("model_b"))) == [("y", "x"), ("x", "z")]
    assert named(load(chat.format("y"))) == [("y", "x"), ("x", "z")]
    twice = "model_a,model_b,answer_a,answer_b,winner\nx,y,u,v,a\n"
    with pytest.raises(FileFormatError, match="the items could be 'model_a' and 'model_b', or 'answer_a' and"):
        load(twice)
    assert named(load(twice, left="answer_a", right="answer_b")) == [("u", "v")]


def test_columns_that_mark_the_winner(tmp_path):
    header = "id,model_a,model_b,response_a,response_b,winner_model_a,winner_model_b,winner_tie\n"
    votes = load(f"{header}7,x,y,hi,,1,0,0\n8,z,y,hi,ho,0,1,0\n9,x,z,,,0,0,1\n")
    assert named(votes) == [("x", "y"), ("y", "z"), ("x", "z")]
    assert votes.side.tolist() == [1, -1, 1]
    assert votes.tie.tolist() == [False, False, True]
    assert votes.notes == (
        "the items are columns 'model_a' and 'model_b'; columns 'winner_model_a', 'winner_model_b', 'winner_tie' mark "
        "the winner",
        "left out: 3 columns ('id', 'response_a', 'response_b')",
    )
    marks = {"left": ["x", "z"], "right": ["y", "y"], "winner_left": [True, False], "winner_right": [False, True]}
    pq.write_table(pa.table(marks), tmp_path / "votes.parquet")
    assert named(read_pairs(tmp_path / "votes.parquet")) == [("x", "y"), ("y", "z")]
    said = "left,right,winner,winner_left,winner_right\nx,y,y,1,0\n"
    assert named(load(said)) == [("y", "x")]
    for row, n_marked in (("1,1,0", 2), ("0,0,0", 0)):
        with pytest.raises(FileFormatError, match=rf"line 2, column 'winner_model_a': .* found it in {n_marked}"):
            load(f"{header}7,x,y,,,{row}\n")


def test_items_that_are_called_like_sides():
    """The name of an item goes before a side, if every row can be read so."""
    votes = load("item 1,item 2,winner\nb,a,a\na,c,a\nc,b,c\n")
    assert named(votes) == [("a", "b"), ("a", "c"), ("c", "b")]
    assert "says the item that won" in votes.notes[0]
    sides = load("item 1,item 2,winner\nb,a,a\nb,c,a\n")
    assert named(sides) == [("b", "a"), ("b", "c")]
    assert load("left,right,winner\n5,1,1\n2,1,1\n").pairs.tolist() == [[1, 5], [1, 2]]
    assert load("left,right,winner\n5,1,1\n3,7,2\n").pairs.tolist() == [[5, 1], [7, 3]]


def test_initials_of_the_sides_that_columns_name():
    """As in football tables, where A is the team that came, not the first of two."""
    votes = load("HomeTeam,AwayTeam,FTR\nAjax,Porto,H\nAjax,Roma,A\nRoma,Porto,D\n")
    assert named(votes) == [("Ajax", "Porto"), ("Roma", "Ajax"), ("Roma", "Porto")]
    assert votes.tie.tolist() == [False, False, True]
    assert votes.side.tolist() == [1, -1, 1]
    chess = load("white,black,winner\nx,y,W\ny,z,b\n")
    assert named(chess) == [("x", "y"), ("z", "y")]
    assert named(load("model_a,model_b,winner\nx,y,A\ny,z,B\n")) == [("x", "y"), ("z", "y")]
    called_d = load("home,away,winner\nd,a,d\na,c,a\n")  # names of items go first
    assert (named(called_d), called_d.tie) == ([("d", "a"), ("a", "c")], None)


def test_a_tie_column_in_an_arena_log():
    votes = load("left,right,winner,tie\na,b,left,0\na,b,,1\n")
    assert votes.tie.tolist() == [False, True]
    assert votes.side.tolist() == [1, 1]


def test_an_item_against_itself_is_left_out_of_a_log_and_counted():
    votes = load("left,right,winner,judge,weight\na,a,left,1,2\na,b,right,2,3\n")
    assert (named(votes), votes.judge.tolist(), votes.weight.tolist()) == ([("b", "a")], [2], [3])
    assert votes.notes[-1] == "left out: 1 vote between an item and itself"
    with pytest.raises(FileFormatError, match="no preference is left"):
        load("left,right,winner\na,a,left\n")
    assert load("winner,loser,judge\na,b,1\nb,b,1\n").notes[-1] == "left out: 1 vote between an item and itself"


BROKEN = (
    "model_a,model_b,winner,judge,weight\na,b,model_a,ann,1\nb,b,model_a,ann,1\na,c,invalid,ann,1\nb,c,both bad,bob,1\n"
    "c,a,,bob,1\na,b,error,bob,1\n,b,model_a,bob,1\na,b,model_b,,1\na,c,model_a,bob,x\na,c,model_a\nb,c,model_b,ann,2\n"
)


def test_invalid_votes_are_counted_by_kind_and_skipped_when_asked():
    with pytest.raises(FileFormatError) as error:
        load(BROKEN)
    message = str(error.value)
    for part in (
        "<stream>: 7 invalid votes: ",
        "1 as in line 8, column 'model_a': the cell is empty: expected the name of an item; ",
        "1 as in line 10, column 'weight': 'x' is not a number; ",
        "1 as in line 11: 3 fields, but the first line names 5 columns; ",
        "2 as in line 4, column 'winner': 'invalid' does not name a winner: expected ",
        " (also line 7); ",
        "1 as in line 6, column 'winner': the winner is missing",
        "; skip_invalid=True leaves them out",
    ):
        assert part in message
    votes = load(BROKEN, skip_invalid=True)
    assert (named(votes), votes.tie.tolist(), votes.weight.tolist()) == (
        [("a", "b"), ("b", "c"), ("c", "b")],
        [False, True, False],
        [1, 1, 2],
    )
    assert votes.judge.tolist() == ["ann", "bob", "ann"]
    told, against_self = votes.notes[-2:]
    assert told.startswith("left out: 7 invalid votes: 1 as in line 8, column 'model_a': the cell is empty; ")
    assert against_self == "left out: 1 vote between an item and itself"


@pytest.mark.parametrize(
    ("text", "kept", "note"),
    [
        ("0 1\n1 1\n2 x y\n1 2\n", [[0, 1], [1, 2]], "left out: 1 invalid vote: 1 as in line 3: 3 columns, but the"),
        ("winner,loser\na,b\nb\nb,a\n", [[0, 1], [1, 0]], "left out: 1 invalid vote: 1 as in line 3: 1 fields, but"),
        ("left,right,winner\na,b,left\na,b,maybe\n", [[0, 1]], "as in line 3, column 'winner': 'maybe' does not name"),
    ],
)
def test_one_invalid_vote(text, kept, note):
    with pytest.raises(FileFormatError, match="; skip_invalid=True leaves it out"):
        load(text)
    votes = load(text, skip_invalid=True)
    assert votes.pairs.tolist() == kept
    assert note in " ".join(votes.notes)


def test_only_invalid_votes():
    with pytest.raises(FileFormatError, match="no preference is left: each row is invalid"):
        load("left,right,winner\na,b,invalid\n", skip_invalid=True)


def test_numbers_and_names():
    votes = load("winner,loser,judge\n3,1,ann\n")
    assert (votes.pairs.tolist(), votes.names) == ([[3, 1]], None)
    assert load("winner,loser,judge\n3,1,ann\n", items=[1, 3]).pairs.tolist() == [[1, 0]]
    assert load("winner,loser,judge\n03,1,7\n").names.tolist() == ["03", "1"]
    with pytest.raises(FileFormatError, match="line 2, column 'winner': the item number '-3' is negative"):
        load("winner,loser,judge\n-3,1,ann\n")


def test_an_unknown_name_is_told_with_those_that_are_like_it():
    items = ["GPT-4", "GPT-3.5", "Llama 2", "Mistral"]
    with pytest.raises(
        FileFormatError, match=r"line 3, column 'loser': 'gpt 4' is not among the items: did you mean 'GPT-4'"
    ):
        load("winner,loser,tie\nMistral,Llama 2,0\nLlama 2,gpt 4,0\n", items=items)
    with pytest.raises(FileFormatError, match="'qqq' is not among the items, which have names such as 'GPT-4', 'GPT-3"):
        load("winner,loser,tie\nMistral,qqq,0\n", items=items)
    with pytest.raises(FileFormatError, match="line 1: 'Mistrl' is not among the items: did you mean 'Mistral'"):
        load("Mistrl GPT-4\n", items=items)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("left,right,winner\na,b,left\na,b,\n", "line 3, column 'winner': the winner is missing: expected 'left' or"),
        ("left,right,winner\na,b,NA\n", "line 2, column 'winner': the winner is missing"),
        ("left,right,winner\na,b,left\na,b,maybe\n", "line 3, .*: 'maybe' does not name a winner: .*'a' or 'b'"),
        ("left,right,winner\na,b,a\na,b,c\n", "line 3, column 'winner': 'c' does not name a winner"),
        ("left,right,winner\na,b,1\na,b,0\n", "line 3, .*'0' does not name a winner: .*0 and 1 may mean either side"),
        (
            "left,right,winner\np,q,left\np,q,q\n",
            "line 3, column 'winner': 'q' is an item, but other rows have the column of the winner: .*the same in all",
        ),
        (
            "left,right,winner\np,q,p\nq,r,q\np,r,left\n",
            "line 4, column 'winner': 'left' is a column, but other rows have the item that won",
        ),
        (
            "model_a,model_b,winner\nx,y,x\ny,z,z\ny,z,2\n",
            "line 4, column 'winner': '2' is a side, but other rows have the item that won",
        ),
        ('{"winner": "x", "loser": "y"}\n{"winner": \n', "line 2: expected JSON, one record in each line"),
        ('{"winner": "x", "loser": "y"}\n[1]\n', "expected a record with names in line 2"),
        ('[{"winner": "x", "loser": "y"}\n', "expected JSON, one record in each line or a list"),
        ("left,right,winner\na,b,left\na,b\n", "line 3: 2 fields, but the first line names 3 columns"),
        ("left,right,winner\n,b,left\n", "line 2, column 'left': the cell is empty: expected the name of an item"),
        ("winner,loser,tie\na,b,perhaps\n", "line 2, column 'tie': 'perhaps' is neither yes nor no"),
        ("winner,loser,weight\na,b,-1\n", r"line 2, column 'weight': the weight -1\.0 is negative"),
        ("winner,loser,margin\na,b,nan\n", "line 2, column 'margin': 'nan' is missing: expected a number"),
        ("winner,loser,judge\na,b,\n", "line 2, column 'judge': the cell is empty: expected a label"),
        ("winner,loser,judge,rater\na,b,1,2\n", "'judge' and 'rater' could each be the judge: name the right one"),
        ("winner,loser,judge\n", "the file has no preferences"),
        ("name one,name of two,thing\n1,2,3\n", "no columns look like winner and loser.*the columns are 'name one'"),
        ("left,right,thing here\na,b,left\n", "no column looks like the winner: name it with winner="),
        ('"GPT 4","Llama 2"\n"GPT 4","Alpaca"\n', "no columns look like winner and loser"),
    ],
)
def test_faults(text, message):
    with pytest.raises(FileFormatError, match=message):
        load(text)


def test_requests_that_do_not_go_together():
    text = "left,right,winner\na,b,left\n"
    with pytest.raises(FileFormatError, match="give both"):
        load(text, left="left")
    with pytest.raises(FileFormatError, match="got loser= with left= or right="):
        load(text, left="left", right="right", loser="winner")
    with pytest.raises(InvalidInputError, match="format must be one of lines, csv, tsv, json, parquet, xlsx, preflib"):
        load(text, format="yaml")
    assert load("left;right;winner\na b;c;left\n").notes[0] == "the columns are separated by semicolons"


class TestLinesStayLines:
    """What was read as lines before there were tables is read so still."""

    @pytest.mark.parametrize(
        ("text", "pairs"),
        [
            ("winner,loser\n1,2 # sure\n2 3\n", [[1, 2], [2, 3]]),
            ("winner,loser\n1 2\n", [[1, 2]]),
            ("Winner, Loser\n1,2\n", [[1, 2]]),
            ("0,1\n1,2\n", [[0, 1], [1, 2]]),
            ("0\t1\n1\t2\n", [[0, 1], [1, 2]]),
            ("winner\tloser\tmagnitude\n1 2 3\n", [[1, 2]]),
        ],
    )
    @pytest.mark.parametrize("suffix", [".txt", ".csv"])
    def test_numbers(self, text, pairs, suffix, tmp_path):
        (tmp_path / f"p{suffix}").write_text(text, encoding="utf-8")
        found = read_pairs(tmp_path / f"p{suffix}")
        assert (found.pairs.tolist(), found.names) == (pairs, None)

    def test_names(self):
        assert named(load("tea,coffee\ncoffee,water\n")) == [("tea", "coffee"), ("coffee", "water")]
        assert named(load("left,right\n")) == [("left", "right")]
        assert load("winner,loser\nloser,a\n", items=["a", "loser", "winner"]).pairs.tolist() == [[2, 1], [1, 0]]
        assert named(load("winner,loser\nC#,Java\n")) == [("C#", "Java")]
        assert named(load("winner,loser\nGPT 4,Llama 2\n")) == [("GPT 4", "Llama 2")]

    def test_the_rest_of_an_open_file(self):
        for text in ("head\n0 1\n", "head\nwinner,loser,tie\n0,1,0\n"):
            file = io.StringIO(text)
            file.readline()
            assert read_pairs(file).pairs.tolist() == [[0, 1]]


TABLE = {"model_a": ["a b", "c"], "model_b": ["c", "a b"], "winner": [1, 2], "user": [4, 5]}


class TestFormats:
    def check(self, votes):
        assert named(votes) == [("a b", "c"), ("a b", "c")]
        assert (votes.side.tolist(), votes.judge.tolist()) == ([1, -1], [4, 5])

    def test_parquet(self, tmp_path):
        pq.write_table(pa.table(TABLE), tmp_path / "v.parquet")
        self.check(read_pairs(tmp_path / "v.parquet"))
        (tmp_path / "folder").mkdir()
        pq.write_table(pa.table(TABLE), tmp_path / "folder" / "v.parquet")
        self.check(read_pairs(tmp_path / "folder"))
        self.check(read_pairs(io.BytesIO((tmp_path / "v.parquet").read_bytes())))
        pq.write_table(pa.table(TABLE | {"winner": [1, None]}), tmp_path / "missing.parquet")
        with pytest.raises(FileFormatError, match="row 2 in row group 1 of 1, column 'winner': the winner is missing"):
            read_pairs(tmp_path / "missing.parquet")

    def test_categories(self, tmp_path):
        models = [pa.array(TABLE[name]).dictionary_encode() for name in ("model_a", "model_b")]
        pq.write_table(pa.table(TABLE | {"model_a": models[0], "model_b": models[1]}), tmp_path / "v.parquet")
        self.check(read_pairs(tmp_path / "v.parquet"))

    @pytest.mark.parametrize("suffix", [".tsv", ".tsv.gz", ".txt"])
    def test_tabs(self, suffix, tmp_path):
        rows = zip(*TABLE.values(), strict=True)
        text = "\n".join("\t".join(map(str, row)) for row in [tuple(TABLE), *rows]).encode()
        if suffix.endswith(".gz"):
            text = pa.compress(text, codec="gzip", asbytes=True)
        (tmp_path / f"v{suffix}").write_bytes(text)
        self.check(read_pairs(tmp_path / f"v{suffix}"))

    def test_excel(self, tmp_path):
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        for row in [tuple(TABLE), *zip(*TABLE.values(), strict=True)]:
            book.active.append(row)
        book.save(tmp_path / "v.xlsx")
        self.check(read_pairs(tmp_path / "v.xlsx"))


def test_many_blocks():
    """A file of several blocks, in which words come late: what they mean is decided from all rows."""
    generator = np.random.default_rng(0)
    left = generator.integers(0, 40, 60_000)
    right = (left + generator.integers(1, 40, len(left))) % 40
    won = generator.integers(0, 3, len(left))
    word = np.where(np.arange(len(left)) < 50_000, "same", np.array(["item left", "item right", "same"])[won])
    rows = [f"item {a},item {b},{w}" for a, b, w in zip(left, right, word, strict=True)]
    votes = load("left,right,winner\n" + "\n".join(rows))
    first = np.where((won == 1) & (word != "same"), right, left)
    assert [name.split()[1] for name in votes.names[votes.pairs[:, 0]]] == first.astype(str).tolist()
    assert np.array_equal(votes.tie, word == "same")
    assert np.array_equal(votes.side, np.where(first == left, 1, -1))


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=8).filter(
    lambda name: name == name.strip()
)


@given(
    st.lists(
        st.tuples(NAMES, NAMES, st.sampled_from(["left", "right", "tie"])).filter(lambda row: row[0] != row[1]),
        min_size=1,
        max_size=8,
    )
)
@settings(deadline=None, max_examples=60)
def test_any_names(rows):
    quoted = [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows]
    votes = load("left,right,winner\n" + "\n".join(quoted) + "\n")
    expected = [(b, a) if won == "right" else (a, b) for a, b, won in rows]
    found = votes.pairs.astype(str) if votes.names is None else votes.names[votes.pairs]
    assert [tuple(pair) for pair in found.tolist()] == expected
