"""Compiled play: what a player does in one belief, and what playing on from there is worth, exactly.

Values are probability mass pushed through the player's whole tree; nothing is sampled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import prange

from env.identification.compiled import (
    ASK_SIZE,
    GUESS_SIZE,
    STATE_SIZE,
    compiled,
    describe,
    largest,
    predict,
    shortlist,
    support,
)
from env.identification.support import likely

DROPPED = 1e-9
"""Mass of a candidate, as a share of the whole, below which playing on leaves it out."""

SLACK = 2e-5
"""Expected round score, of a belief of mass 1, that looking ahead may give up in a branch to be spared playing it on."""

EXACT = -1.0
"""The slack that spares nothing: the player itself is played on to the end."""

SURE = 0.999
"""Posterior at which any player guesses: no answer can be worth a call any more."""


class Rules(NamedTuple):
    """How a player decides: by its network, or without one by information gain and thresholds."""

    threshold: np.ndarray
    """Posterior from which the likeliest animal is guessed, by calls consumed, float64 [budget]; without network."""
    points: np.ndarray
    """Round score of a right guess after n consumed calls, float64 [budget]."""
    noise: float
    asks: int
    guesses: int
    focus: int
    network: int
    """1 if the arrays below are a trained scorer, 0 if they are empty."""
    ask_in: np.ndarray
    """float32 [ask features, width]; the arrays that follow belong to it in the order of the forward pass."""
    ask_state: np.ndarray
    ask_bias: np.ndarray
    ask_hidden: np.ndarray
    ask_hidden_bias: np.ndarray
    ask_out: np.ndarray
    ask_out_bias: float
    guess_in: np.ndarray
    guess_state: np.ndarray
    guess_bias: np.ndarray
    guess_hidden: np.ndarray
    guess_hidden_bias: np.ndarray
    guess_out: np.ndarray
    guess_out_bias: float


@compiled()
def _scores(
    features: np.ndarray,
    context: np.ndarray,
    inward: np.ndarray,
    hidden: np.ndarray,
    hidden_bias: np.ndarray,
    outward: np.ndarray,
    bias: float,
) -> np.ndarray:
    """Forward pass of one head of `ActionScorer`: logits float32 [actions]; `context` is the state's part."""
    layer = np.dot(features, inward)
    for k in range(layer.shape[0]):
        for j in range(layer.shape[1]):
            layer[k, j] = max(layer[k, j] + context[j], np.float32(0))
    layer = np.dot(layer, hidden)
    logits = np.empty(layer.shape[0], np.float32)
    for k in range(layer.shape[0]):
        total = np.float32(bias)
        for j in range(layer.shape[1]):
            total += max(layer[k, j] + hidden_bias[j], np.float32(0)) * outward[j]
        logits[k] = total
    return logits


@compiled()
def rank(
    rules: Rules,
    table: np.ndarray,
    ids: np.ndarray,
    weight: np.ndarray,
    asked: np.ndarray,
    calls: int,
    actions: np.ndarray,
) -> int:
    """The player's best actions in one belief into `actions`, best first; how many.

    The belief is `weight` float64 (sums to 1) on the candidates `ids`. An action is a question, or the number
    of questions plus a candidate. Equal scores stand in the order of the shortlist: questions before guesses.
    """
    questions = table.shape[1] // 2
    budget = rules.points.size
    top = np.argmax(weight)
    if weight[top] >= SURE or calls == budget - 1:
        actions[0] = questions + ids[top]
        return 1
    if rules.network == 1:
        state, asks = np.empty(STATE_SIZE, np.float32), np.empty((rules.asks, ASK_SIZE), np.float32)
        guesses = np.empty((rules.guesses, GUESS_SIZE), np.float32)
        ask_ids, guess_ids = np.empty(rules.asks, np.int32), np.empty(rules.guesses, np.int32)
        describe(
            ids, weight, asked, budget - calls, budget, rules.noise, table, rules.focus,
            state, asks, ask_ids, guesses, guess_ids,
        )  # fmt: skip
        logits = np.empty(rules.asks + rules.guesses, np.float32)
        logits[: rules.asks] = _scores(
            asks, np.dot(state, rules.ask_state) + rules.ask_bias, rules.ask_in, rules.ask_hidden,
            rules.ask_hidden_bias, rules.ask_out, rules.ask_out_bias,
        )  # fmt: skip
        logits[rules.asks :] = _scores(
            guesses, np.dot(state, rules.guess_state) + rules.guess_bias, rules.guess_in, rules.guess_hidden,
            rules.guess_hidden_bias, rules.guess_out, rules.guess_out_bias,
        )  # fmt: skip
        for k in range(rules.asks):
            if ask_ids[k] < 0:
                logits[k] = np.float32(-1e9)
        for k in range(rules.guesses):
            if guess_ids[k] < 0:
                logits[rules.asks + k] = np.float32(-1e9)
        places = np.empty(min(actions.size, logits.size), np.int64)
        found = largest(logits, -1e8, places)
        for i in range(found):
            k = places[i]
            actions[i] = ask_ids[k] if k < rules.asks else questions + guess_ids[k - rules.asks]
        return found
    if actions.size == 1 and weight[top] >= rules.threshold[calls]:
        actions[0] = questions + ids[top]  # no question is asked for, so none is reckoned
        return 1
    p_yes, gain = np.empty(questions, np.float32), np.empty(questions, np.float32)
    predict(ids, weight, table, p_yes, gain)
    ask_ids = np.empty(actions.size, np.int32)
    listed = shortlist(gain, asked, ask_ids)
    guess = weight[top] >= rules.threshold[calls] or listed == 0
    found = 0
    if guess:
        actions[0] = questions + ids[top]
        found = 1
    for k in range(min(listed, actions.size - found)):
        actions[found + k] = ask_ids[k]
    return min(found + listed, actions.size)


@compiled(parallel=True)
def rank_all(
    rules: Rules,
    table: np.ndarray,
    starts: np.ndarray,
    support_ids: np.ndarray,
    mass: np.ndarray,
    asked: np.ndarray,
    calls: np.ndarray,
    actions: np.ndarray,
) -> None:
    """`rank` for a batch of `Beliefs`, given by their arrays; `actions` int64 [games, wanted], -1 behind the found."""
    for g in prange(starts.size - 1):
        ids, weight = likely(starts, support_ids, mass, g)
        found = rank(rules, table, ids, weight, asked[g], calls[g], actions[g])
        actions[g, found:] = -1


@compiled()
def branch(
    table: np.ndarray, ids: np.ndarray, mass: np.ndarray, action: int, answer: int, least: float
) -> tuple[np.ndarray, np.ndarray]:
    """Candidates and masses after one call: answer 1 yes, 0 no (or a wrong guess)."""
    questions = table.shape[1] // 2
    kept_ids, kept = np.empty_like(ids), np.empty_like(mass)
    count = 0
    for i in range(ids.size):
        if action >= questions:
            m = 0.0 if ids[i] == action - questions else mass[i]
        else:
            m = mass[i] * table[ids[i], action]
            if answer == 0:
                m = mass[i] - m
        if m > least:
            kept_ids[count], kept[count] = ids[i], m
            count += 1
    return kept_ids[:count], kept[:count]


@compiled()
def guess_chain(falling: np.ndarray, calls: int, points: np.ndarray) -> float:
    """Score of guessing candidates of these masses one after the other while calls are left."""
    value = 0.0
    for i in range(min(falling.size, points.size - calls)):
        value += falling[i] * points[calls + i]
    return value


@compiled()
def guessed_out(mass: np.ndarray, calls: int, points: np.ndarray, slack: float) -> float:
    """Score of guessing by falling mass, where no play scores more than `slack` above it; -1 elsewhere.

    No play gives more than the likeliest candidate on this call and all others on the next. `points` as in `Rules`.
    """
    first = second = total = 0.0
    for m in mass:
        total += m
        if m > first:
            first, second = m, first
        elif m > second:
            second = m
    later = points[calls + 1] if calls + 1 < points.size else 0.0
    most = first * points[calls] + (total - first) * later
    # All behind the second come a call later than `most` grants them, at the least; mostly this settles it.
    third = points[calls + 2] if calls + 2 < points.size else 0.0
    if (total - first - second) * (later - third) > slack:
        return -1.0
    value = guess_chain(np.sort(mass)[::-1], calls, points)
    return value if most - value <= slack else -1.0


@compiled()
def play_on(
    rules: Rules,
    table: np.ndarray,
    ids: np.ndarray,
    mass: np.ndarray,
    asked: np.ndarray,
    calls: int,
    least: float,
    slack: float,
    work: np.ndarray,
) -> float:
    """Score that the player collects from here on: sum over candidates of mass times expected round score.

    Depth first with a stack of beliefs; `asked` is left as it was found. `work[0]` counts beliefs met. Where guesses
    alone come within `slack` of any play they are what is played: most branches are that slight or that decided.
    """
    questions, budget = table.shape[1] // 2, rules.points.size
    height = budget + 2
    stack_ids = np.empty((height, ids.size), ids.dtype)
    stack_mass = np.empty((height, ids.size))
    stack_size = np.empty(height, np.int64)
    history = np.empty((height, budget), np.int64)  # questions asked since the start of this call
    made = np.empty(height, np.int64)
    heard = np.empty(height, np.int64)
    stack_ids[0], stack_mass[0], stack_size[0], made[0], heard[0] = ids, mass, ids.size, calls, 0
    depth, value = 1, 0.0
    action = np.empty(1, np.int64)
    while depth > 0:
        depth -= 1
        size, call = stack_size[depth], made[depth]
        if size == 0 or call >= budget:
            continue
        if slack >= 0:
            guessed = guessed_out(stack_mass[depth, :size], call, rules.points, slack)
            if guessed >= 0:
                value += guessed
                continue
        here_ids, here = stack_ids[depth, :size].copy(), stack_mass[depth, :size].copy()
        work[0] += 1
        for h in range(heard[depth]):
            asked[history[depth, h]] = True
        seen, weight = support(here / here.sum())
        rank(rules, table, here_ids[seen], weight, asked, call, action)
        for h in range(heard[depth]):
            asked[history[depth, h]] = False
        guess = action[0] >= questions
        if guess:
            for i in range(size):
                if here_ids[i] == action[0] - questions:
                    value += here[i] * rules.points[call]
        else:
            history[depth, heard[depth]] = action[0]
            history[depth + 1] = history[depth]
            heard[depth] += 1
            heard[depth + 1] = heard[depth]
        for answer in range(1 if guess else 2):
            kept_ids, kept = branch(table, here_ids, here, action[0], answer, least)
            stack_ids[depth, : kept.size], stack_mass[depth, : kept.size] = kept_ids, kept
            stack_size[depth], made[depth] = kept.size, call + 1
            depth += 1
    return value


@compiled()
def value_of_action(
    rules: Rules,
    table: np.ndarray,
    ids: np.ndarray,
    mass: np.ndarray,
    asked: np.ndarray,
    calls: int,
    action: int,
    wider: int,
    least: float,
    slack: float,
    work: np.ndarray,
) -> float:
    """Score collected by `action` and then playing on; with `wider` > 0 the best of that many next actions.

    Two plies: after each answer the `wider` best-ranked actions are each valued by playing on.
    """
    questions, budget = table.shape[1] // 2, rules.points.size
    guess = action >= questions
    value = 0.0
    if guess:
        for i in range(ids.size):
            if ids[i] == action - questions:
                value += mass[i] * rules.points[calls]
    else:
        asked[action] = True
    following = np.empty(max(wider, 1), np.int64)
    for answer in range(1 if guess else 2):
        next_ids, next_mass = branch(table, ids, mass, action, answer, least)
        if next_ids.size == 0 or calls + 1 >= budget:
            continue
        if wider == 0 or next_ids.size == 1:
            value += play_on(rules, table, next_ids, next_mass, asked, calls + 1, least, slack, work)
            continue
        total = next_mass.sum()
        found = rank(rules, table, next_ids, next_mass / total, asked, calls + 1, following)
        best = 0.0
        for k in range(found):
            second = following[k]
            reward = 0.0
            if second >= questions:
                for i in range(next_ids.size):
                    if next_ids[i] == second - questions:
                        reward = next_mass[i] * rules.points[calls + 1]
            else:
                asked[second] = True
            for reply in range(1 if second >= questions else 2):
                last_ids, last_mass = branch(table, next_ids, next_mass, second, reply, least)
                reward += play_on(rules, table, last_ids, last_mass, asked, calls + 2, least, slack, work)
            if second < questions:
                asked[second] = False
            best = max(best, reward)
        value += best
    if not guess:
        asked[action] = False
    return value


@compiled(parallel=True)
def value_all(
    rules: Rules,
    table: np.ndarray,
    starts: np.ndarray,
    support_ids: np.ndarray,
    mass: np.ndarray,
    asked: np.ndarray,
    calls: np.ndarray,
    game: np.ndarray,
    action: np.ndarray,
    wider: int,
    value: np.ndarray,
    work: np.ndarray,
) -> None:
    """Expected round score of taking `action[j]` in game `game[j]` of a batch and playing on; float64 [jobs].

    The batch's `Beliefs` are given by their arrays.
    """
    for j in prange(game.size):
        ids, weight = likely(starts, support_ids, mass, game[j])
        value[j] = value_of_action(
            rules, table, ids, weight, asked[game[j]].copy(), calls[game[j]], action[j], wider, DROPPED, SLACK,
            work[j : j + 1],
        )  # fmt: skip
