"""What the tests of the oracle builder share."""

from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny random model and its tokenizer."""
    from tests.tiny_model import make_model, make_tokenizer  # needs transformers: tests without it are skipped before

    folder = tmp_path_factory.mktemp("tiny")
    tokenizer = make_tokenizer()
    tokenizer.save_pretrained(folder)
    make_model(tokenizer).save_pretrained(folder)
    return folder
