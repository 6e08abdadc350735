"""Names and clauses for made-up additions."""

from __future__ import annotations

PERSONS = (
    "Helena Marsh, Viktor Lindqvist, Amara Okafor, Tomas Brandl, Ruth Castellan, Ingrid Solheim, Daniel Ferreira, "
    "Mei Tanaka, Oskar Wieland, Priya Raman, Louis Charpentier, Nadia Kovalenko"
).split(", ")
PLACES = (
    "Uppsala, Lausanne, Bristol, Toronto, Kyoto, Delft, Melbourne, Gdansk, Zaragoza, Bangalore, Oregon, Trondheim"
).split(", ")
TEMPLATES = """
, which was first shown by {person} in {year}
, because {thing} would otherwise fail after about {number} runs
, a choice that {person} recommended in {year}
, which makes it about {percent} percent faster
, although {thing} is an exception to this
, provided that {thing} was prepared beforehand
, unless {thing} is already in use
, so that {thing} can be left out entirely
, which is why {thing} was introduced in {year}
, and this was confirmed in a study with {number} participants
, which reduces the cost by roughly {percent} percent
, as a survey from {place} showed in {year}
, even though {person} argued against it in {year}
, which takes less than {number} seconds on an ordinary laptop
, and {thing} inherits the same restriction
, whereas {thing} works the other way round
, since the older approach failed in {percent} percent of all cases
, a rule that was dropped again in {year}
, which {person} later called the most common mistake of beginners
, provided that fewer than {number} of them are active at once
, and about {percent} percent of all users rely on this
, except when {thing} comes first
, which was borrowed from {thing}
, and it also replaces {thing}
, which doubles the amount of memory that is needed
, although this is limited to {number} attempts per day
, so {thing} has to be restarted afterwards
, which the team in {place} decided after a long debate
, because the licence of {thing} demands it
, and the effect disappears after {number} minutes
, a habit that goes back to {person}
, which is only true for versions released after {year}
, while {thing} is checked {number} times in a row
, and failing to do so costs up to {percent} percent of the performance
, which was patented by a company from {place} in {year}
, because nobody had tested {thing} before {year}
, and that is the reason for the limit of {number} entries
, which also protects {thing} from damage
, as long as {thing} stays below {percent} percent
, although most experts now prefer {thing}
, and the first version of it was written in {place}
, which is about {number} times as expensive as the alternative
, so that no more than {number} steps are ever needed
, after which {thing} is deleted automatically
""".strip().splitlines()
