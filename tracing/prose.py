"""Honest text that planted errors hide in: everyday prose from a small grammar, and paragraphs of installed open documentation."""

from __future__ import annotations

import importlib.util
import random
import re
import sysconfig
from functools import cache
from pathlib import Path

_SLOTS = {
    "topic": "gardening;cooking;cycling;public transport;home repair;job interviews;school life;photography;hiking;sleep;saving energy;"
    "first aid;moving house;learning languages;budgeting;volunteering;remote work;raising children;keeping pets;running a small shop;"
    "healthy breakfasts;city planning;recycling;board games;choir singing;chess clubs;local history;beekeeping;sewing;rail travel",
    "group": "people;children;students;teachers;parents;neighbours;visitors;customers;workers;members;families;beginners;readers;nurses;drivers",
    "span": "week;weekend;year;season",
    "thing": "plan;list;budget;schedule;notebook;bicycle;kitchen;garden;camera;ticket;letter;map;tool;lamp;coat;basket;phone;recipe;report;song",
    "effort": "time;money;energy;patience;work;help;space",
    "place": "park;library;market;station;school;village;city;office;museum;river;workshop;community hall;bakery;harbour;clinic",
    "quality": "small;simple;quiet;cheap;good;new;useful;careful;steady;warm;clear;honest;local",
    "verb": "save;share;learn;plan;repair;compare;measure;choose;prepare;remember;discuss;improve;collect;organise",
    "name": "Anna;Omar;Lucia;Peter;Mei;Jonas;Fatima;David;Ingrid;Carlos;Ruth;Tomas;Priya;Samuel;Nora",
    "amount": "two;three;four;five;six;ten;twelve;twenty;a few;several;many",
    "drink": "coffee;tea;water;juice;milk",
    "area": "health;music;travel;education;sport;family;business;housing;nature;safety",
}

_SENTENCES = """
Most {group} who care about {topic} spend {amount} hours a {span} on it.
Before you {verb} anything, make a {quality} {thing} and keep it near the {place}.
The {effort} it takes is less than {group} expect, and the result lasts more than a {span}.
{name} told us that {topic} changed the life of many {group} in the {place}.
It is good for your {area} to {verb} with {group} at least once a {span}.
A {quality} {thing} and a cup of {drink} are enough to begin.
Ask {amount} {group} in the {place} and you will hear {amount} answers about {topic}.
The cost of a {quality} {thing} is low, but the {effort} must be found every {span}.
After a {span} of practice, {group} can {verb} without a {thing}.
In the {place} near the {place}, {group} meet every {span} to {verb}.
Do not forget that {topic} needs {effort}, {effort} and a {quality} {place}.
{name} and {name} wrote a {thing} about {area} and {topic} for {group}.
Many {group} find it hard to {verb} when the {effort} is short.
The city gave {amount} {group} a {quality} {place} for {topic}.
Start with {amount} small steps each {span} and let the {group} around you help.
A {thing} costs less than {amount} cups of {drink} a {span}.
Some {group} believe that {topic} is only for {quality} {group}, but that is not so.
If the {thing} breaks, {verb} it with a friend before you buy a {quality} one.
Last {span} the {place} was full of {group} who wanted to {verb}.
Good {area} depends on how {group} {verb} their {effort}.
There is no {quality} way to {verb}; each family finds its own in a {span} or two.
The number of {group} who come to the {place} grows every {span}.
In {topic}, the first {span} is the hardest for {group}.
{name} keeps a {quality} {thing} by the door of the {place} in case {group} ask.
What matters is not the {effort} but that {group} {verb} together.
Write down what you {verb} each {span}, with the cost and the time it took.
For {area}, experts advise {group} to {verb} {amount} times a {span}.
Work in the {place} starts early, so {group} bring {drink} and a {thing}.
The book about {topic} has {amount} chapters and a method for {quality} {group}.
The women of the choir sing in the {place} and men join them in spring.
Pregnant women should ask a doctor before they {verb}.
Women were not allowed to vote until the last century.
The rent is due on the first day of the month.
In the month of May the {place} opens late.
Once upon a day {name} lost a {thing} on the way to the {place}.
The day was hot and the night in the {place} was cold.
From day to day the {drink} tastes different.
A large crowd and an old man stood before the {place}.
The old town has large houses and a large market square.
Cocoa is grown in the tropics, {name} learned in the {place}.
Fresh food is sold in the {place}, and fast food is not.
Food and {drink} are served after the talk.
We ran out of time, so {name} stopped the clock.
By the time {name} came, the {place} was closed.
{name} invited friends and made friends with the neighbours.
Two old friends of {name} live behind the {place}.
Last month the price of {drink} rose again, and next month it will fall.
Those who {verb} with others save {effort}, and their {group} thank them.
"""

_REQUESTS = """
Write a short text about {topic}.
Give {amount} pieces of advice on {topic}.
Describe how {group} deal with {topic}.
Write a letter from {name} about {topic} in the {place}.
Explain why {topic} matters for {area}.
Tell a story about {name}, a {thing} and the {place}.
What should {group} know about {topic}?
Summarise what {group} say about {topic} and {effort}.
Draft a notice for the {place} about {topic}.
Help {name} to {verb} the {thing}.
"""

_DOCUMENT_REQUESTS = (
    "Explain this part of the documentation of {m}.",
    "What does the documentation of {m} say here?",
    "Write a paragraph for the manual of {m}.",
    "Describe a detail of {m} for a programmer.",
    "Rewrite the comment in {m} as running text.",
    "Give background on {m}.",
    "Help me understand {m}.",
    "Quote the notes on {m}.",
)

_FILLED = {slot: values.split(";") for slot, values in _SLOTS.items()}
_SLOT = re.compile(r"\{(\w+)\}")


def fill(draw: random.Random, pattern: str) -> str:
    """`pattern` with each slot drawn anew."""
    return _SLOT.sub(lambda match: draw.choice(_FILLED[match[1]]), pattern)


def everyday(draw: random.Random) -> tuple[str, str]:
    """A request and an everyday answer of two to six sentences, now and then a list."""
    request = fill(draw, draw.choice(_REQUESTS.strip().splitlines()))
    sentences = [fill(draw, line) for line in draw.sample(_SENTENCES.strip().splitlines(), draw.randint(2, 6))]
    if draw.random() < 0.2:
        return request, "\n".join(f"{number}. {sentence}" for number, sentence in enumerate(sentences, 1))
    return request, " ".join(sentences)


def documented(draw: random.Random, paragraph: tuple[str, str]) -> tuple[str, str]:
    """A request about a documentation paragraph, and the paragraph."""
    module, text = paragraph
    return draw.choice(_DOCUMENT_REQUESTS).format(m=module), text


@cache
def paragraphs() -> tuple[tuple[str, str], ...]:
    """(module, paragraph) from the docstrings of the standard library, numpy, scipy, sympy and torch: BSD and PSF licences.

    In the order of their text; which there are depends on the installed versions.
    """
    folders = [Path(sysconfig.get_path("stdlib"))]
    for name in ("numpy", "scipy", "sympy", "torch"):
        found = importlib.util.find_spec(name)
        if found is not None and found.submodule_search_locations:
            folders.append(Path(next(iter(found.submodule_search_locations))))
    texts: dict[str, str] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            relative = path.relative_to(folder.parent if folder.name != Path(folders[0]).name else folder)
            if {"tests", "test", "site-packages", "idlelib", "lib2to3"} & set(relative.parts):
                continue
            try:
                source = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                continue
            module = ".".join(relative.with_suffix("").parts[-2:])
            for quoted in re.findall(r'"""(.*?)"""', source, re.S):
                for block in re.split(r"\n\s*\n", quoted):
                    words = block.split()
                    text = " ".join(words)
                    plain = sum(word.isalpha() or word[:-1].isalpha() for word in words)
                    if 12 <= len(words) <= 90 and ">>>" not in text and "::" not in text and plain > 0.75 * len(words):
                        texts.setdefault(text, module)
    return tuple((module, text) for text, module in sorted(texts.items()))
