"""The verifier's controls, one process a query as a submission's: BM25 over whole records, and similarity of hidden states."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from env.errors import UserError
from env.files import write_whole
from tracing.formats import MAX_RETURNED, output_text, read_query, read_records

KINDS = ("bm25", "hidden")


def prepare(kind: str, data: Path, model: Path, index: Path) -> None:
    """Index the records of `data` for a control of `kind`."""
    records = read_records(str(data / "train.jsonl"))
    index.mkdir(parents=True, exist_ok=True)
    write_whole(index / "ids.txt", "".join(f"{record.id}\n" for record in records))
    texts = [f"{record.prompt}\n{record.answer}" for record in records]
    if kind == "bm25":
        import bm25s

        retriever = bm25s.BM25()
        retriever.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)
        retriever.save(str(index / "bm25"))
    else:
        tokenizer, network = _network(model)
        rows = [_state(tokenizer, network, text) for text in texts]
        with open(index / "states.npy", "wb") as file:
            np.save(file, np.array(rows, np.float16))


def answer(kind: str, model: Path, index: Path, query_path: Path, output: Path) -> None:
    """Write the ten records nearest to the query's prompt and answer."""
    query = read_query(str(query_path))
    ids = (index / "ids.txt").read_text(encoding="utf-8").split("\n")[:-1]
    text = f"{query.prompt}\n{query.answer}"
    wanted = min(MAX_RETURNED, len(ids))
    if kind == "bm25":
        import bm25s

        retriever = bm25s.BM25.load(str(index / "bm25"))
        found, _ = retriever.retrieve(bm25s.tokenize(text, show_progress=False), k=wanted, show_progress=False)
        best = found[0].tolist()
    else:
        states = np.load(index / "states.npy").astype(np.float32)
        tokenizer, network = _network(model)
        best = np.argsort(-(states @ _state(tokenizer, network, text)), kind="stable")[:wanted].tolist()
    write_whole(output, output_text(query.query_id, [ids[place] for place in best]))


def _network(model: Path) -> tuple[Any, Any]:
    import tokenizers
    import transformers

    if not (model / "config.json").exists():
        raise UserError(f"{model} holds no weights; the hidden-state control needs them")
    transformers.logging.set_verbosity_error()
    network = transformers.AutoModel.from_pretrained(str(model)).eval()
    return tokenizers.Tokenizer.from_file(str(model / "tokenizer.json")), network


def _state(tokenizer: Any, network: Any, text: str) -> np.ndarray:
    """Unit vector: mean last hidden state of the first 256 tokens, float32 [width]."""
    import torch

    ids = tokenizer.encode(text).ids[:256] or [0]
    with torch.inference_mode():
        state = network(torch.tensor([ids])).last_hidden_state[0].mean(0).float().numpy()
    return np.asarray(state / max(float(np.linalg.norm(state)), 1e-9), np.float32)


if __name__ == "__main__":
    if sys.argv[1] == "prepare":
        prepare(sys.argv[2], *map(Path, sys.argv[3:6]))
    else:
        answer(sys.argv[2], *map(Path, sys.argv[3:7]))
