"""Synonyms, and phrases in which they must not be replaced."""

from __future__ import annotations

from lib.mutations.wordlists.notation import phrase_pattern, word_pairs

SYNONYM_VERBS = word_pairs(
    """
    obtain/get acquire/obtain choose/select select/choose occur/happen happen/occur modify/change alter/change
    gather/collect collect/gather examine/inspect verify/check convert/transform transform/convert supply/provide
    provide/supply execute/run invoke/call retrieve/fetch fetch/retrieve generate/produce produce/generate
    perform/carry_out construct/build permit/allow purchase/buy finish/complete vanish/disappear commence/start
    demand/require combine/join delete/remove omit/leave_out discuss/talk_about postpone/delay assist/help
    ensure/make_sure discard/throw_away enlarge/expand terminate/end illustrate/show demonstrate/show
    utilise/use utilize/use locate/find emphasise/stress eliminate/remove accomplish/achieve
    """
)
SYNONYM_PLAIN = word_pairs(
    """
    begins/starts began/started starts/begins creates/makes builds/constructs built/constructed
    requires/needs shows_that/demonstrates_that allows_you_to/permits_you_to allow_you_to/permit_you_to
    lets_you/allows_you_to let_you/allow_you_to let_us/allow_us_to lets_us/allows_us_to try_to/attempt_to
    tries_to/attempts_to trying_to/attempting_to remains/stays remain/stay contains/includes includes/contains
    changing/altering changed/altered relies_on/depends_on rely_on/depend_on
    consists_of/is_made_up_of in_order_to/to makes_sure/ensures make_sure/ensure makes_sense/is_sensible
    takes_place/happens is_able_to/can are_able_to/can has_to/must
    objective/goal mistake/error mistakes/errors drawback/disadvantage drawbacks/disadvantages
    advantage/benefit advantages/benefits amount/quantity amounts/quantities portion/part portions/parts
    kind_of/type_of kinds_of/types_of outcome/result outcomes/results
    documentation/docs docs/documentation directory/folder directories/folders folder/directory folders/directories
    developers/programmers programmers/developers website/site websites/sites capability/ability
    capabilities/abilities
    a_sequence_of/a_series_of a_series_of/a_sequence_of a_number_of/several a_variety_of/various
    big/large bigger/larger biggest/largest large/big larger/bigger largest/biggest quickly/rapidly rapidly/quickly
    rapid/fast difficult/hard crucial/vital vital/crucial entire/whole identical/exactly_the_same often/frequently
    frequently/often usually/typically typically/usually sometimes/occasionally occasionally/sometimes rarely/seldom
    seldom/rarely approximately/roughly roughly/approximately nearly/almost almost/nearly additional/extra
    extra/additional main/primary primary/main numerous/many each_other/one_another therefore/thus thus/therefore
    hence/therefore because/since although/even_though instead_of_the/in_place_of_the instead_of_a/in_place_of_a
    immediately/at_once right_away/immediately at_the_same_time/simultaneously simultaneously/at_the_same_time
    currently/at_present subsequent/later correctly/properly properly/correctly precisely/exactly
    exactly/precisely completely/entirely entirely/completely fully/completely mainly/chiefly mostly/mainly
    particularly/especially especially/particularly slightly/a_little toward/towards towards/toward upon/on
    via/through despite/in_spite_of regarding/about prior_to/before due_to/because_of because_of/due_to
    a_lot_of/plenty_of whenever/every_time everyone/everybody someone/somebody anyone/anybody nobody/no_one
    behaviour/behavior behavior/behaviour centre/center colour/color color/colour optimise/optimize
    optimisation/optimization metres/meters modelling/modeling fulfil/fulfill
    several/a_number_of normally/ordinarily initially/at_first sufficient/adequate
    essential/indispensable straightforward/simple unusual/uncommon incorrect/wrong required/needed
    a_few/a_handful_of in_addition/additionally as_well_as/along_with as_soon_as/the_moment
    """
)
SYNONYM_BLOCKED = phrase_pattern(
    r"""amounts?_to built_into documentation_comments? lets?_us_know only_(?:contains?|includes?) such_as
    (?:doesn['’]t|don['’]t|not|didn['’]t)_(?:have|has)_to (?:which|that|it)_allows?_you because_of due_to_the_fact
    large- common- in_common common_to occurr required_to required_for required_by (?:be|is|are)_automatically
    call(?:s|ed)?_(?:in|out|for) requires?_(?:that|you) required_(?:that|fields?)
    (?:main|primary)_(?:function|thread|method|file) \bmain\b[.,] \bmain_(?:is|in|function|thread|and|to)
    remain(?:s|ing)?_(?:in|the|to) just_because is_that_because amount_of_time as_many contains?_(?:only|at|no)
    includes?_(?:only|at|no) primary_keys? join(?:s|ed)? since provide(?:s|d)?_(?:that|you|with|us|an?_\w+_with)
    provided select(?:s|ed|ing)?_(?:from|menu|box) using_(?:a|the)_\w+_using once often_called how_often so_often
    thus_far more_often most_often as_often an_extra \w+ing_and_\w+ing built-in built_in built-ins?
    (?:to|will|can|may)_select_(?:a|the)_select generate(?:d)?_(?:by|from) run(?:s|ning)?_(?:out|into) big_deal
    big_picture big-endian larger-than (?:is|are|be)_due_to a_lot_of_time (?:even|only|not)_because difficult-
    fully[-_]qualified in_(?:its|their|the)_entirety approximately-"""
)
