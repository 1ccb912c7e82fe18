"""Printed manifests are parsed to the same values, by PyYAML and by kubectl's rules."""

import io
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli.conftest import Run
from webhook.cli import manifests, outputs

TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    st.text("01_9.eE+-:xob", max_size=8),
    st.text("ab \n\t#", max_size=12),
    st.text("yYnNoO ftruealsn~\n\t#:-'\"|>&*!%@`{}[],?\\", max_size=12),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**63), st.floats(-1e300, 1e300), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=8,
)


def printed(value: object, output: str) -> str:
    stream = io.TextIOWrapper(io.BytesIO(), write_through=True)
    with redirect_stdout(stream):
        outputs.print_manifests([value], output)
    raw = stream.buffer
    assert isinstance(raw, io.BytesIO)
    return raw.getvalue().decode()


@pytest.mark.parametrize("output", ["yaml", "json"])
@given(value=VALUES)
@settings(deadline=None, max_examples=2000)
def test_every_printed_value_is_parsed_to_the_same_value(output: str, value: object) -> None:
    document = {"apiVersion": "v1", "kind": "Thing", "value": value}
    text = printed(document, output)
    with TemporaryDirectory() as folder:
        path = Path(folder, "text")
        path.write_bytes(text.encode())
        assert list(manifests.load_objects(str(path))) == [document]
    if output == "yaml":
        assert yaml.safe_load(text) == document


def test_keys_keep_their_order(modelfit: Run) -> None:
    document = "apiVersion: v1\nkind: Pod\nz: 1\nmetadata:\n  z: 1\n  a: 2\na: 3\n"
    assert modelfit("preview", "-f", "-", stdin=document).out == document
