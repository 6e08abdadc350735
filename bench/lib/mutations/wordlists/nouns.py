"""Nouns that name a class, that are too vague to replace, or that mean nearly the same."""

from __future__ import annotations

from lib.mutations.wordlists.notation import word_set

CLASS_NOUNS = word_set(
    """trait type struct enum method function macro crate command file option plugin theme field property keyword page
    folder directory component hook node topic package module operator library tool attribute variable value parameter
    argument string object tag key syntax prop preset config line pattern loop chapter section version interface robot
    sensor model algorithm matrix statement block expression variant instance directive element class API CLI"""
)
VAGUE_NOUNS = word_set(
    """thing things way ways example examples case cases part parts kind kinds sort number value values amount result
    results reason reasons rest lot time times day point points fact name names problem problems question side end
    beginning top bottom other others same first second last left right following above below previous next current
    new old own only main whole entire most more few many best worst better user users reader chapter section book page
    code order form set list line lines place bit half hand word words sense world idea goal purpose"""
)
NEAR_SYNONYMS = [
    word_set(group)
    for group in (
        "robot machine humanoid body",
        "function method closure procedure routine operation call",
        "crate package library dependency",
        "docs documentation document documents doc page pages site website",
        "file files folder directory path source",
        "error errors failure fault problem exception",
        "program application app binary executable software code project",
        "value values data item items element elements variable variables content",
        "option options setting settings property properties field fields config configuration argument parameter",
        "type struct enum class trait",
        "controller control regulator",
        "sensor sensors camera detector",
        "position location place pose posture",
        "person human people operator worker",
        "speed velocity rate",
        "model network policy",
        "task job work goal",
        "arm hand gripper limb finger",
        "foot feet leg",
        "force load weight torque",
        "string text slice",
        "command instruction statement line",
    )
]
NOT_NAMES = word_set(
    """Listing Listings Chapter Chapters Figure Figures Table Tables Section Sections Appendix Step Steps Equation Part
    Exercise Example Note Warning Tip OK I AND OR NOT TODO January February March April May June July August September
    October November December Monday Tuesday Wednesday Thursday Friday Saturday Sunday"""
)
