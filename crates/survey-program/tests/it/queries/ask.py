"""Runs the statements of docs/queries.md in the current directory with DuckDB; prints columns and rows of each question as JSON."""

import json
import re
import sys

import duckdb


def main():
    connection = duckdb.connect()
    answers = {}
    text = open(sys.argv[1], encoding="utf-8").read()
    for part in re.split(r"^##", text, flags=re.MULTILINE):
        statement = re.search(r"```sql\n(.*?)```", part, re.DOTALL)
        if statement is None:
            continue
        question = re.match(r"# (\d+)\. ", part)
        result = connection.execute(statement[1])
        if question is None:
            continue
        answers[question[1]] = {
            "columns": [column[0] for column in result.description],
            "rows": [[str(value) if value is not None else None for value in row] for row in result.fetchall()],
        }
    json.dump(answers, sys.stdout)


main()
