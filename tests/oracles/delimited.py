"""Comma-separated text, one character at a time: the rows, or the line of the first fault."""

from __future__ import annotations


def slow_records(text: str, delimiter: str = ",") -> list[tuple[int, list[str]]] | int:
    """Return the line and the fields of each record; or the line where text follows a quote, or a quote stays open.

    `text` ends with a newline; spaces around a field do not count, a quote inside one that has not begun with it does.
    """
    records, line, place = [], 1, 0
    while place < len(text):
        if text[place:].startswith(("\n", "\r\n")):
            place, line = text.index("\n", place) + 1, line + 1
            continue
        first_line, fields, ended = line, [], False
        while not ended:
            while text[place] == " ":
                place += 1
            if text[place] == '"':
                field, place = "", place + 1
                while True:
                    if place == len(text):
                        return first_line
                    if text[place : place + 2] == '""':
                        field, place = field + '"', place + 2
                    elif text[place] == '"':
                        place += 1
                        break
                    else:
                        line += text[place] == "\n"
                        field, place = field + text[place], place + 1
                while text[place] in " \r":
                    place += 1
                if text[place] not in (delimiter, "\n"):
                    return line
            else:
                stop = min(text.index(mark, place) for mark in (delimiter, "\n") if mark in text[place:])
                field, place = text[place:stop].rstrip(" \r"), stop
            fields.append(field)
            ended = text[place] == "\n"
            place += 1
        records.append((first_line, fields))
        line += 1
    return records
