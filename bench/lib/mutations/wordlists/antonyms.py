"""Antonyms, and phrases in which they must not be replaced."""

from __future__ import annotations

from lib.mutations.wordlists.notation import phrase_pattern, word_pairs

ANTONYM_VERBS = word_pairs(
    """
    increase/decrease raise/lower start/stop accept/reject add/remove allow/forbid enable/disable include/exclude
    attract/repel push/pull connect/disconnect expand/shrink accelerate/decelerate
    strengthen/weaken succeed/fail gain/lose lengthen/shorten widen/narrow improve/worsen
    encode/decode encrypt/decrypt compress/decompress install/uninstall attach/detach activate/deactivate show/hide
    create/destroy appear/disappear ascend/descend import/export send/receive insert/delete merge/split tighten/loosen
    heat/cool multiply/divide maximise/minimise maximize/minimize keep/discard rise/fall grow/shrink satisfy/violate
    remember/forget fill/empty buy/sell absorb/emit contain/lack trust/distrust assemble/disassemble bend/straighten
    confirm/refute amplify/attenuate overestimate/underestimate inflate/deflate wrap/unwrap pause/resume
    advance/retreat serialise/deserialise serialize/deserialize reduce/increase preserve/destroy lift/lower
    """
)
ANTONYM_GRADED = word_pairs(
    """
    fast/slow high/low large/small big/small long/short strong/weak heavy/light wide/narrow deep/shallow thick/thin
    hot/cold warm/cool old/new tight/loose smooth/rough steep/gentle sharp/blunt bright/dark loud/quiet
    dense/sparse cheap/costly clean/dirty rich/poor
    """
)
ANTONYM_PLAIN = word_pairs(
    """
    better/worse best/worst greater/smaller easy/difficult easier/harder simple/complex simpler/more_complex
    before/after above/below inside/outside internal/external interior/exterior inner/outer maximum/minimum
    positive/negative static/dynamic public/private local/global mutable/immutable valid/invalid known/unknown
    possible/impossible necessary/unnecessary stable/unstable visible/invisible complete/incomplete correct/incorrect
    accurate/inaccurate efficient/inefficient reliable/unreliable consistent/inconsistent sufficient/insufficient
    direct/indirect directly/indirectly explicit/implicit explicitly/implicitly absolute/relative active/passive
    automatic/manual automatically/manually horizontal/vertical horizontally/vertically linear/nonlinear
    forward/backward forwards/backwards on_the_left/on_the_right left-hand/right-hand success/failure
    advantage/disadvantage advantages/disadvantages benefit/drawback benefits/drawbacks strength/weakness
    input/output inputs/outputs client/server sender/receiver parent/child ancestor/descendant producer/consumer
    presence/absence entrance/exit future/past majority/minority numerator/denominator source/destination
    online/offline synchronous/asynchronous synchronously/asynchronously concurrent/sequential continuous/discrete
    temporary/permanent temporarily/permanently natural/artificial rigid/flexible safe/unsafe useful/useless
    likely/unlikely quickly/slowly immediately/eventually gradually/suddenly exactly/roughly together/separately
    primary/secondary major/minor physical/virtual real/imaginary ascending/descending clockwise/anticlockwise
    uppercase/lowercase singular/plural strict/lenient healthy/faulty alive/dead cheap/expensive abundant/scarce
    ancient/modern downstream/upstream upward/downward upwards/downwards superior/inferior lossless/lossy
    deterministic/random signed/unsigned related/unrelated expected/unexpected aware/unaware able/unable
    familiar/unfamiliar important/unimportant compatible/incompatible dependent/independent reversible/irreversible
    regular/irregular predictable/unpredictable bounded/unbounded balanced/unbalanced inclusive/exclusive
    finite/infinite convex/concave parallel/perpendicular north/south east/west day/night open/closed opens/closes
    opened/closed opening/closing speeds_up/slows_down similar_to/different_from the_same/a_different true/false
    specific/general concrete/abstract common/rare early/late earlier/later safer/more_dangerous cheaper/more_expensive
    stiff/soft stiffer/softer desirable/undesirable legal/illegal convenient/inconvenient symmetric/asymmetric
    recoverable/unrecoverable initialized/uninitialized sorted/unsorted
    mandatory/forbidden recommended/discouraged encouraged/discouraged default/non-default shortest/longest
    begins/ends began/ended at_the_start/at_the_end at_the_beginning/at_the_end slowly/quickly writes/reads
    prevents/causes full/empty
    """
)
ANTONYM_BLOCKED = phrase_pattern(
    r"""singular_value as_expected relative_to (?:as|so|no|how|any|too|all_day|at|years)_long long_as long-term in_short
    short_for as_well old_one so_far high-level low-level lower-level higher-level highlight light_of new_line
    open_source open-source open_the close_to more_(?:or|than) early_return default_to by_default in_general
    general-purpose used_to in_common (?:get|gets|getting|got)_started add_up keep_in_mind fall_back falls_back
    fall_into falls_into grow_up start_with started_with common_to shown?_(?:in|below|here|above|that|as) cool_down
    in_addition
    below[.,:;)]|above[.,:;)]|the_above|the_past|shows?_(?:in|that|how|the|you|up)|showing|narrow_down|at_large|by_and_large|keep_(?:it|this)|keeps?_(?:the|track|up|in|an|your|a)|warm_up|best_practice\w*|best[-_]effort|true_or|real[-_]time|push_(?:to|the)|split(?:s|ting)?_(?:up|the|into)|before[.,]|after[.,]|(?:before|after)_that|rest|in_parallel|use(?:d|s)_for|the_day|per_day|each_day|one_day|day_to_day|day-to-day|fill(?:s|ed)?_in|empty_string|no_later|later[.,]|add(?:s|ed|ing)?_(?:to|the_following)|stop(?:s|ped)?_here|allow(?:s|ed)?_for|(?:at|by)_default|in_the_future|future_versions?|better_known|known_as|known_to|also_known|well_known|well-known|create-docusaurus|load-bearing|past_the|half_past|contain(?:s|ed|ing)?_(?:in|by)|(?:prevents|causes)_\w+_from|source_(?:code|file|files|of|map|maps)|sources?|general|keeps?_\w+ing|stops?_\w+ing|starts?_\w+ing|starting|fails?_to|failed_to|succeed_in|includes?d?_below|kept_in_mind|let_alone|lose_track|remember_(?:that|from|how|when|to)|(?:true|false)_(?:for|of)|(?:a|the)_new_one|sorted?_out|start(?:s|ed)?_(?:by|off|out|over)|(?:to|and)_start|a_start"""
)
