"""Verbs and their irregular forms."""

from __future__ import annotations

from lib.mutations.wordlists.notation import word_set

IRREGULAR = {
    base: (past, participle, gerund)
    for base, past, participle, gerund in (
        line.split()
        for line in """
        be was been being
        become became become becoming
        begin began begun beginning
        break broke broken breaking
        bring brought brought bringing
        build built built building
        buy bought bought buying
        catch caught caught catching
        choose chose chosen choosing
        come came come coming
        cut cut cut cutting
        do did done doing
        draw drew drawn drawing
        drive drove driven driving
        drop dropped dropped dropping
        fall fell fallen falling
        feed fed fed feeding
        feel felt felt feeling
        find found found finding
        fit fitted fitted fitting
        forbid forbade forbidden forbidding
        forget forgot forgotten forgetting
        get got got getting
        give gave given giving
        go went gone going
        grow grew grown growing
        have had had having
        hide hid hidden hiding
        hit hit hit hitting
        hold held held holding
        keep kept kept keeping
        know knew known knowing
        lead led led leading
        leave left left leaving
        let let let letting
        lie lay lain lying
        lose lost lost losing
        make made made making
        map mapped mapped mapping
        mean meant meant meaning
        occur occurred occurred occurring
        omit omitted omitted omitting
        permit permitted permitted permitting
        plan planned planned planning
        put put put putting
        read read read reading
        rise rose risen rising
        run ran run running
        say said said saying
        see saw seen seeing
        sell sold sold selling
        send sent sent sending
        set set set setting
        show showed shown showing
        shrink shrank shrunk shrinking
        shut shut shut shutting
        sit sat sat sitting
        split split split splitting
        stand stood stood standing
        stop stopped stopped stopping
        submit submitted submitted submitting
        swap swapped swapped swapping
        take took taken taking
        tell told told telling
        think thought thought thinking
        transfer transferred transferred transferring
        trap trapped trapped trapping
        wrap wrapped wrapped wrapping
        unwrap unwrapped unwrapped unwrapping
        write wrote written writing
        """.strip().splitlines()
    )
}
ASYMMETRIC_VERBS = word_set(
    """absorb accept access activate add affect allow attract borrow bound build call carry catch cause change check
    choose clear close command compute configure consume contain control copy create cut define delete deliver demand
    depend destroy detect determine discard display drive emit enable encode estimate evaluate exceed execute expect
    extend feed find follow forbid form generate give govern grip guide handle hit hold hide ignore implement import
    improve include increase inherit inspect invoke keep lack launch lead lift limit load lock lower make manage map
    measure minimise modify monitor move need observe override own parse pass perform place plan predict press prevent
    process produce protect provide publish pull push raise reach read receive recommend reduce reject release remove
    render replace represent require reset resist return reverse run save scan see send serve set show sort stabilise
    start stop store support take tell test throw track trigger turn update use validate watch wrap write yield
    have describe cover declare state treat avoid introduce tolerate suit assign accelerate adapt amplify analyse apply
    approach assume bear bend bridge capture clip collect convert correct crush damage damp delay dominate exploit
    express fill filter fix freeze imitate impose inform integrate know learn list mark miss obey offer open order
    pay penalise preserve record recover repeat rotate sample satisfy scale select shape shorten simplify solve specify
    spread squeeze supply surround swing teach train transmit weigh wrap transfer allocate print borrow annotate own"""
)
OTHER_VERBS = word_set(
    """act agree aim apply appear arise ask assume avoid balance become begin behave belong bend bring come compare
    compile connect consider converge cost cover deal decide describe differ divide do drop equal explain face fail fall
    fit fix flow gain get go grow happen have help ignore introduce join know learn leave let lie link live look lose
    match matter mean meet occur offer open operate pay play point prefer print prove put recover refer rely remain
    repeat resolve respond rest result rise rotate say scale seem select separate settle shift shrink sit slide slow
    solve specify split stand stay step succeed suffer suggest suit sum swap swing tend think touch travel treat try
    vary visit wait walk want weigh work"""
)
ASYMMETRIC_LINKS = {
    "depends": "on",
    "relies": "on",
    "belongs": "to",
    "leads": "to",
    "refers": "to",
    "points": "to",
    "comes": "from",
    "arises": "from",
    "results": "in",
    "acts": "on",
    "applies": "to",
    "responds": "to",
    "consists": "of",
    "runs": "on",
}
ASYMMETRIC_PREPOSITIONS = word_set("by in on above below before after from into inside onto")
