"""Words for the templates: people, things, verbs, events and places."""

from __future__ import annotations


def items(text: str, separator: str | None = "|") -> list[str]:
    """The items of a list, wherever its lines break."""
    return [" ".join(item.split()) for item in text.split(separator)]


PEOPLE = items(
    """
    Mia Tom Ada Omar Lena Raj Chloe Ivan Noor Felix Grace Hugo Ines Jonas Kira Liam Maya Nils Olga Pablo Quinn Rosa Sam
    Tara Uma Viktor Wendy Yusuf Zoe Amir Bella Carl Dina Elias Farah Gus Hana Igor Jade Kofi
    """,
    None,
)
ROLES = items(
    """
    the manager|the engineer|the auditor|the nurse|the surgeon|the editor|the author|the tenant|the landlord|the
    pilot|the mechanic|the teacher|the student|the buyer|the seller|the witness|the lawyer|the director|the intern|the
    committee|the council|the supplier|the customer|the operator|the inspector|the driver|the guard|the architect|the
    librarian|the chef
    """
)
THINGS = items(
    """
    the scheduler|the plugin|the server|the client|the pump|the motor|the valve|the belt|the boiler|the tank|the
    relay|the sensor|the controller|the gateway|the router|the cache|the parser|the compiler|the worker|the queue|the
    proxy|the broker|the database|the index|the kernel|the driver module|the loader|the turbine|the generator|the
    battery|the charger|the inverter|the compressor|the filter|the mixer|the conveyor|the crane|the furnace|the
    amplifier|the antenna|the receiver|the encoder|the decoder|the monitor|the backup job|the build script|the test
    runner|the linker|the debugger|the load balancer
    """
)
VERBS = items(
    """
    call called called|start started started|stop stopped stopped|monitor monitored monitored|update updated
    updated|replace replaced replaced|check checked checked|feed fed fed|control controlled controlled|configure
    configured configured|notify notified notified|block blocked blocked|inspect inspected inspected|reset reset
    reset|load loaded loaded|reject rejected rejected|protect protected protected|drive drove driven|cool cooled
    cooled|measure measured measured|test tested tested|repair repaired repaired|follow followed followed|trust trusted
    trusted|support supported supported|choose chose chosen
    """
)
SOCIAL_VERBS = items(
    """
    hire hired hired|teach taught taught|train trained trained|invite invited invited|dismiss dismissed dismissed|praise
    praised praised|warn warned warned|help helped helped|pay paid paid|visit visited visited|thank thanked
    thanked|accuse accused accused|examine examined examined|meet met met|sue sued sued|recommend recommended
    recommended|defeat defeated defeated|interview interviewed interviewed|represent represented represented|supervise
    supervised supervised
    """
)
COMPARED = items(
    """
    taller shorter|heavier lighter|older younger|faster slower|larger smaller|warmer colder|longer shorter|louder
    quieter|cheaper dearer|wider narrower|deeper shallower|brighter darker|higher lower|stronger weaker|newer older
    """
)
EVENTS = items(
    """
    the backup|the upgrade|the restart|the inspection|the vote|the hearing|the harvest|the parade|the concert|the
    audit|the rehearsal|the launch|the merger|the migration|the survey|the exam|the election|the renovation|the
    delivery|the review|the calibration|the training|the flood|the treaty|the trial|the census|the festival|the
    auction|the repair|the flight
    """
)
OBJECTS = items(
    """
    a letter|the report|a package|the keys|an invoice|the contract|a warning|the results|a bicycle|the samples|a
    message|the signal|the data|the draft|a parcel|the map|a camera|the certificate|the spare part|a token
    """
)
PLACES = items(
    """
    the warehouse|the harbour|the station|the laboratory|the office|the airport|the factory|the museum|the clinic|the
    archive|the workshop|the bridge|the village|the depot|the terminal
    """
)
STATES = items(
    """
    the alarm sounds|the door opens|the light turns red|the request fails|the fan runs|the order is cancelled|the
    account is locked|the pressure drops|the file is deleted|the road is closed|the fee is waived|the lamp flashes|the
    job is retried|the gate stays shut|the meeting is postponed|the screen goes dark|the session ends|the price
    rises|the valve shuts|the log is kept
    """
)
UNITS = "litres metres kilograms watts minutes seats pages volts degrees employees kilometres rooms grams hours".split()
HAS = "holds|weighs in at|is rated at|is limited to|reaches|takes up|is set to".split("|")
ACTIONS = items(
    """
    enter the vault|edit the schedule|open the valve|sign the form|use the lift|delete records|approve the budget|leave
    the building|read the archive|change the password|start the engine|cancel the order|see the results|move the files
    """
)
REGULAR_INVERSES = items(
    """
    sold {o} to|bought {o} from|gave {o} to|received {o} from|lent {o} to|borrowed {o} from|sent {o} to|got {o}
    from|rented {o} to| rented {o} from|handed {o} to|took {o} from
    """
)
