"""The builder says what the official code says, one prompt at a time; and its tries and readings on their own."""

from __future__ import annotations

import datetime
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from env.errors import UserError
from env.oracle.prompt import PROMPT, ChatPrompts, decided, read_reply, reading_tokens
from env.oracle.trie import grow

torch = pytest.importorskip("torch")
pytest.importorskip("transformers", reason="needs wilkins[oracle]")

from env.oracle.measure import Oracle  # noqa: E402
from tests.reference import ReferenceInteractor  # noqa: E402
from tests.tiny_model import OTHER_KINDS, make_model, make_other, make_tokenizer  # noqa: E402

ANIMALS = ("axolotl", "red fox", "ox", "köttur", "no")
QUESTIONS = ("is it a mammal?", "is it an insect?", "is it??", "does it fly?", "is yes an answer?", "no?", "why")

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def tokenizer():
    return make_tokenizer()


def everything(animals=ANIMALS, questions=QUESTIONS):
    return [(animal_id, name, np.arange(len(questions))) for animal_id, name in enumerate(animals)]


def measure(model, tokenizer, wanted=None, **options):
    rows = list(Oracle(model, ChatPrompts(tokenizer), **options).rows(wanted or everything(), QUESTIONS))
    return np.array([row.margin for row in rows]), np.array([row.answer for row in rows])


@pytest.mark.parametrize("penalty", [None, 1.05, 1.5])
def test_every_answer_and_margin_is_that_of_one_prompt_at_a_time(tokenizer, penalty):
    model = make_model(tokenizer)
    model.generation_config.repetition_penalty = penalty
    reference = ReferenceInteractor(model, tokenizer)
    answers, margins = [], []
    for animal in ANIMALS:
        for question in QUESTIONS:
            answers.append(reference.ask(animal, question))
            margins.append(reference.margin())
    margin, answer = measure(model, tokenizer)
    assert answer.ravel().tolist() == answers
    np.testing.assert_allclose(margin.ravel(), margins, atol=1e-4)
    # The claim is worth something only if replies of every kind occurred.
    begins = [reply.strip().lower()[:2] for reply in reference.replies]
    assert any(word in ("ye", "no") for word in begins)
    assert sum(word not in ("ye", "no") for word in begins) >= 10
    assert any(answers[i] for i, word in enumerate(begins) if word != "ye")
    assert any(len(reply) < 5 for reply in reference.replies)


def test_repetition_penalty_changes_answers_so_leaving_it_out_would_be_wrong(tokenizer):
    model = make_model(tokenizer)
    plain, _ = measure(model, tokenizer)
    model.generation_config.repetition_penalty = 1.5
    penalised, _ = measure(model, tokenizer)
    assert np.abs(plain - penalised).max() > 0.1


@pytest.mark.parametrize(
    "options", [{"pack_tokens": 40}, {"pass_tokens": 4096}, {"pack_tokens": 40, "pass_tokens": 120}]
)
def test_packs_and_animals_side_by_side_change_nothing(tokenizer, options):
    model = make_model(tokenizer)
    margin, answer = measure(model, tokenizer)
    other_margin, other_answer = measure(model, tokenizer, **options)
    assert np.array_equal(answer, other_answer)
    np.testing.assert_allclose(margin, other_margin, atol=1e-4)


def test_animals_may_miss_different_questions(tokenizer):
    model = make_model(tokenizer)
    _, answer = measure(model, tokenizer)
    wanted = [(0, "axolotl", np.array([4])), (1, "red fox", np.array([6, 0, 3])), (2, "ox", np.array([1, 5]))]
    oracle = Oracle(model, ChatPrompts(tokenizer), pass_tokens=4096)
    for row in oracle.rows(wanted, QUESTIONS):
        assert row.answer.tolist() == answer[row.animal_id, row.question_ids].tolist()


def test_measuring_twice_gives_the_same_bytes(tokenizer):
    model = make_model(tokenizer)
    assert measure(model, tokenizer)[0].tobytes() == measure(model, tokenizer)[0].tobytes()


def test_out_of_memory_halves_the_work_instead_of_ending_it(tokenizer, monkeypatch):
    model = make_model(tokenizer)
    margin, answer = measure(model, tokenizer)
    sizes = []
    whole = Oracle._measure

    def tight(self, plans):
        sizes.append(len(plans))
        if len(plans) > 1 or plans[0].packs[0].token.size > 70:
            raise torch.OutOfMemoryError("no room")
        return whole(self, plans)

    monkeypatch.setattr(Oracle, "_measure", tight)
    halved_margin, halved_answer = measure(model, tokenizer, pass_tokens=4096, pack_tokens=200, shared=True)
    assert sizes[:4] == [5, 2, 1, 1]
    assert np.array_equal(answer, halved_answer)
    np.testing.assert_allclose(margin, halved_margin, atol=1e-4)


def test_out_of_memory_with_the_smallest_work_is_said_in_one_line(tokenizer, monkeypatch):
    def none_left(self, plans):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes")

    monkeypatch.setattr(Oracle, "_measure", none_left)
    with pytest.raises(UserError, match="out of memory"):
        measure(make_model(tokenizer), tokenizer)


def test_other_errors_of_the_model_are_not_taken_for_memory(tokenizer, monkeypatch):
    def broken(self, plans):
        raise RuntimeError("shapes do not match")

    monkeypatch.setattr(Oracle, "_measure", broken)
    with pytest.raises(RuntimeError, match="shapes"):
        measure(make_model(tokenizer), tokenizer, shared=True)


def test_a_model_that_answers_neither_is_read_as_no(tokenizer):
    model = make_model(tokenizer)
    with torch.no_grad():
        model.lm_head.weight[:] = 0
        model.lm_head.weight[tokenizer.convert_tokens_to_ids("q")] = model.lm_head.weight.new_ones(64)
        model.model.norm.weight[:] = 0
    _, answer = measure(model, tokenizer, shared=True)
    assert answer.sum() == 0
    with pytest.raises(UserError, match="every question the same margin"):
        measure(model, tokenizer)


def test_a_model_without_finite_margins_is_refused(tokenizer):
    model = make_model(tokenizer)
    with torch.no_grad():
        model.model.norm.weight[:] = float("nan")
    with pytest.raises(UserError, match="no finite margin for 'axolotl'"):
        measure(model, tokenizer, shared=True)


def single_prompts(model, tokenizer):
    """Margins and answers of everything, one prompt at a time, and what was said."""
    reference = ReferenceInteractor(model, tokenizer)
    pairs = [(reference.ask(animal, question), reference.margin()) for animal in ANIMALS[:1] for question in QUESTIONS]
    answer, margin = (np.array(column).reshape(1, -1) for column in zip(*pairs, strict=True))
    return margin, answer, reference.replies


@pytest.mark.parametrize(
    "setting",
    [{"no_repeat_ngram_size": 1}, {"min_new_tokens": 3}, {"suppress_tokens": [0, 1]}, {"bad_words_ids": [[5]]}],
)
def test_generation_settings_that_alter_replies_are_followed(tokenizer, setting):
    model = make_model(tokenizer)
    model.generation_config.update(**setting)
    margin, answer, _ = single_prompts(model, tokenizer)
    oracle = Oracle(model, ChatPrompts(tokenizer))
    rows = list(oracle.rows(everything(ANIMALS[:1]), QUESTIONS))
    assert next(iter(setting)) in oracle.obstacle
    assert np.array_equal([row.answer for row in rows], answer)
    np.testing.assert_allclose([row.margin for row in rows], margin, atol=1e-4)


@pytest.mark.parametrize("setting", [{"num_beams": 2}, {"guidance_scale": 1.5}, {"stop_strings": ["no"]}])
def test_generation_settings_without_a_margin_are_refused(tokenizer, setting):
    model = make_model(tokenizer)
    model.generation_config.update(**setting)
    with pytest.raises(UserError, match=next(iter(setting))):
        measure(model, tokenizer)


@pytest.mark.parametrize("kind", OTHER_KINDS)
def test_models_of_other_kinds_answer_as_one_prompt_at_a_time(tokenizer, kind):
    model = make_other(kind, tokenizer)
    margin, answer, _ = single_prompts(model, tokenizer)
    oracle = Oracle(model, ChatPrompts(tokenizer))
    rows = list(oracle.rows(everything(ANIMALS[:1]), QUESTIONS))
    assert np.array_equal([row.answer for row in rows], answer)
    np.testing.assert_allclose([row.margin for row in rows], margin, atol=1e-4)
    assert oracle.shared == (OTHER_KINDS[kind].obstacle == "")
    assert OTHER_KINDS[kind].obstacle in oracle.obstacle


@pytest.mark.parametrize("kind", ["Mistral", "Mpt"])
def test_what_a_trie_would_get_wrong_in_halves_is_noticed(tokenizer, kind):
    model = make_other(kind, tokenizer).to(torch.bfloat16)
    oracle = Oracle(model, ChatPrompts(tokenizer))
    oracle.obstacle = ""
    oracle._window = lambda longest: False
    oracle.settle(everything(), QUESTIONS)
    assert "a trie of prompts gives it other margins" in oracle.obstacle


def test_noise_of_halves_is_not_taken_for_a_trie_that_is_wrong(tokenizer):
    oracle = Oracle(make_model(tokenizer).to(torch.bfloat16), ChatPrompts(tokenizer))
    oracle.settle(everything(), QUESTIONS)
    assert oracle.shared


def test_a_model_that_cannot_answer_at_all_is_refused_in_one_line(tokenizer, monkeypatch):
    model = make_model(tokenizer)
    monkeypatch.setattr(model, "forward", lambda **_: 1 / torch.zeros(2, dtype=torch.int64) @ torch.zeros(3))
    monkeypatch.setattr(type(model), "generate", lambda *_, **__: torch.zeros(2) @ torch.zeros(3))
    with pytest.raises(UserError, match="cannot answer one prompt alone") as caught:
        measure(model, tokenizer)
    assert "\n" not in str(caught.value)


def test_out_of_memory_halves_single_prompts_too(tokenizer, monkeypatch):
    model = make_other("Mamba", tokenizer)
    margin, answer = measure(model, tokenizer, everything(ANIMALS[:1]))
    whole, sizes = type(model).generate, []

    def tight(self, ids, **options):
        sizes.append(len(ids))
        if len(ids) > 1:
            raise torch.OutOfMemoryError("no room")
        return whole(self, ids, **options)

    monkeypatch.setattr(type(model), "generate", tight)
    alone_margin, alone_answer = measure(model, tokenizer, everything(ANIMALS[:1]), shared=False)
    assert max(sizes) > 1
    assert np.array_equal(answer, alone_answer)
    np.testing.assert_allclose(margin, alone_margin, atol=1e-4)


def test_tokenizer_without_chat_template_is_refused():
    with pytest.raises(UserError, match="no chat template"):
        ChatPrompts(make_tokenizer(template=False))


TEMPLATES = {
    "several chat templates and no default; choose one with --template: rag, tool_use": {"rag": "x", "tool_use": "y"},
    "does not compile (line 2): ": "{{ messages[0].content }}\n{% if %}",
    "fails on the prompt: only for tools": "{{ raise_exception('only for tools') }}",
    "fails on the prompt: ": "{{ messages[1].content }}{{ nothing.at.all }}",
    "drops the user's message: it renders ''": "{% for m in messages %}{% if m.role == 'tool' %}{{ m.content }}{% endif %}{% endfor %}",
    "drops the user's message: it renders 'Hello": "Hello{{ messages[0].role }}",
    "drops the user's message": "{{ messages[0].content[:90] }}",
}


@pytest.mark.parametrize("said", TEMPLATES)
def test_faults_of_a_chat_template_are_named_in_one_line(said):
    tokenizer = make_tokenizer()
    tokenizer.chat_template = TEMPLATES[said]
    with pytest.raises(UserError) as caught:
        ChatPrompts(tokenizer)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_template_that_cuts_what_is_long_loses_the_question_and_is_told_so():
    tokenizer = make_tokenizer()
    tokenizer.chat_template = "{{ messages[0].content[:150] }}<|im_start|>"
    prompts = ChatPrompts(tokenizer)
    with pytest.raises(UserError, match="the chat template loses 'does it have a backbone"):
        prompts.check(["a very long name of an animal"], ["does it have a backbone and a tail?"])


def test_a_tokenizer_that_drops_what_tells_questions_apart_is_refused():
    tokenizer = make_tokenizer()
    prompts = ChatPrompts(tokenizer)
    prompts.tokenizer = lambda texts, **_: {"input_ids": [[1, 2] for _ in texts]}
    prompts.tokenizer.apply_chat_template = tokenizer.apply_chat_template
    prompts._render = lambda content: tokenizer.apply_chat_template(
        [{"role": "user", "content": content}], add_generation_prompt=True, tokenize=False
    )
    with pytest.raises(UserError, match="7 questions become 1 sequences of tokens"):
        prompts.check(ANIMALS, QUESTIONS)


def test_a_named_template_can_be_chosen(tokenizer):
    other = make_tokenizer()
    other.chat_template = {"rag": "x", "chat": tokenizer.chat_template}
    assert ChatPrompts(other, template="chat").sha256 == ChatPrompts(tokenizer).sha256
    with pytest.raises(UserError, match="no chat template 'default'; choose one with --template: chat, rag"):
        ChatPrompts(other, template="default")


def test_a_template_that_goes_through_parts_is_given_parts():
    tokenizer = make_tokenizer()
    tokenizer.chat_template = (
        "{% for m in messages %}{% for part in m.content %}{% if part.type == 'text' %}{{ part.text }}{% endif %}"
        "{% endfor %}{% endfor %}<|im_start|>"
    )
    prompts = ChatPrompts(tokenizer)
    prompts.check(ANIMALS, QUESTIONS)
    ((tokens),) = prompts.tokens("emu", ["does it fly?"])
    assert tokenizer.decode(tokens) == PROMPT.format(animal="emu", question="does it fly?") + "<|im_start|>"


def test_the_day_that_a_template_writes_is_the_one_it_is_given():
    tokenizer = make_tokenizer()
    tokenizer.chat_template = (
        "{% if not day is defined %}{% set day = strftime_now('%d %b %Y') %}{% endif %}"
        'Today: {{ day }}, {{ strftime_now( "%Y" ) }}\n{{ messages[0].content }}<|im_start|>'
    )
    then = datetime.date(2024, 7, 26)
    prompts = ChatPrompts(tokenizer, date=then)
    ((tokens),) = prompts.tokens("emu", ["does it fly?"])
    assert tokenizer.decode(tokens).startswith("Today: 26 Jul 2024, 2024\n")
    assert prompts.date == then
    assert ChatPrompts(tokenizer).date == datetime.date.today()
    assert ChatPrompts(make_tokenizer(), date=then).date is None


def test_vocabulary_without_yes_is_refused():
    with pytest.raises(UserError, match="reads as 'yes'"):
        reading_tokens(make_tokenizer(words=False))


def test_prompts_are_tokenised_as_the_template_does_it_alone(tokenizer):
    prompts = ChatPrompts(tokenizer)
    for animal in ("{animal}", "{question}", *ANIMALS):
        for question, tokens in zip(QUESTIONS, prompts.tokens(animal, QUESTIONS), strict=True):
            message = [{"role": "user", "content": PROMPT.format(animal=animal, question=question)}]
            alone = tokenizer.apply_chat_template(message, add_generation_prompt=True, tokenize=True, return_dict=False)
            assert tokens == alone


def test_a_template_that_rewrites_the_message_is_followed():
    tokenizer = make_tokenizer()
    tokenizer.chat_template = "{{ messages[0]['content'] | upper }}<|im_start|>"
    ((tokens),) = ChatPrompts(tokenizer).tokens("emu", ["does it fly?"])
    assert tokenizer.decode(tokens).endswith("QUESTION: DOES IT FLY?<|im_start|>")


# Tries

SEQUENCES = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=8), min_size=1, max_size=12)


@given(SEQUENCES, st.integers(1, 12))
def test_a_trie_holds_every_prompt_whole(prompts, limit):
    prefix, packs = grow(prompts, limit)
    found = {}
    for pack in packs:
        for leaf, pair in zip(pack.leaf, pack.pair, strict=True):
            path, node = [], leaf
            while node >= 0:
                path.append(node)
                node = pack.parent[node]
            assert np.flatnonzero(pack.visible()[leaf]).tolist() == path[::-1]
            assert pack.position[path[::-1]].tolist() == list(range(len(prefix), len(prefix) + len(path)))
            found[int(pair)] = prefix + pack.token[path[::-1]].tolist()
    assert [found[pair] for pair in range(len(prompts))] == [list(prompt) for prompt in prompts]


@given(SEQUENCES, st.integers(1, 12))
def test_packs_stay_within_their_limit_unless_one_branch_is_longer(prompts, limit):
    prefix, packs = grow(prompts, limit)
    for pack in packs:
        assert pack.token.size <= max(limit, max(map(len, prompts)) - len(prefix))


@given(SEQUENCES)
def test_one_pack_has_every_shared_token_once(prompts):
    prefix, packs = grow(prompts, 10_000)
    branches = {tuple(prompt[:end]) for prompt in prompts for end in range(len(prefix) + 1, len(prompt) + 1)}
    assert sum(pack.token.size for pack in packs) == len(branches)


# Readings


@given(st.text(alphabet="yesnoYESNO t,.é", max_size=14))
def test_replies_are_read_as_the_contract_says(reply):
    assert read_reply(reply) == ReferenceInteractor.read(reply)


@given(st.text(alphabet="yesno ", max_size=10), st.text(alphabet="yesno ", max_size=6))
def test_what_is_decided_early_stays_whatever_follows(begin, rest):
    if decided(begin) is not None:
        assert read_reply(begin + rest) == decided(begin)


# A real model, when one is at hand

SMALL_MODEL = os.environ.get("WILKINS_SMALL_MODEL", "build/models/SmolLM2-135M-Instruct.Q4_1.gguf")


@pytest.mark.model
@pytest.mark.skipif(
    not os.path.isfile(SMALL_MODEL), reason=f"no model file {SMALL_MODEL}; `make oracle-check` brings it"
)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_real_chat_model_answers_as_one_prompt_at_a_time(dtype):
    from pathlib import Path

    from env.identification.package import load_package
    from env.oracle.model import find_source, load_model, load_tokenizer

    source = find_source("", None, Path(SMALL_MODEL), dtype, "cpu")
    tokenizer, model = load_tokenizer(source), load_model(source)
    package = load_package()
    animals, questions = package.animals.names[:12], package.questions.names[:40]
    reference = ReferenceInteractor(model, tokenizer)
    oracle = Oracle(model, ChatPrompts(tokenizer))
    later = differing = 0
    for row in oracle.rows(everything(animals, questions), questions):
        name = animals[row.animal_id]
        for question_id, answer, margin in zip(row.question_ids, row.answer, row.margin, strict=True):
            expected = reference.ask(name, questions[question_id])
            later += not reference.replies[-1].strip().lower().startswith(("yes", "no"))
            if dtype == "float32":
                assert answer == expected, (name, questions[question_id], reference.replies[-1])
                assert margin == pytest.approx(reference.margin(), abs=1e-3)
            elif answer != expected:
                gap = smallest_gap(reference)
                differing += 1
                print(f"{name} | {questions[question_id]} | {reference.replies[-1]!r} | gap {gap:.3f}")
                assert gap <= 0.25
    print(f"{dtype}: {12 * 40} pairs, {differing} differ, {later} replies began with another word")
    assert later > 0


def smallest_gap(reference):
    """Between the two likeliest tokens, at the place of the reply where they were nearest."""
    gaps = [scores.topk(2).values for scores in reference.scores]
    return min(float(best - second) for best, second in gaps)
