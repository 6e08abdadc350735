"""Number words, units and conversions."""

from __future__ import annotations

NUMBER_WORDS = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen".split()
    )
} | {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "hundred": 100, "thousand": 1000}
DIGIT_WORDS = {value: word for word, value in NUMBER_WORDS.items()} | {
    100: "one hundred",
    1000: "one thousand",
    2000: "two thousand",
    10000: "ten thousand",
    100000: "one hundred thousand",
    1000000: "one million",
}
UNIT_FAMILIES = [
    line.replace("_", "\0").split()
    for line in """
    ns µs ms s min h
    nanoseconds microseconds milliseconds seconds minutes hours days weeks months years
    nanosecond microsecond millisecond second minute hour day week month year
    mm cm m km
    millimetres centimetres metres kilometres
    millimeters centimeters meters kilometers
    millimetre centimetre metre kilometre
    mg g kg
    grams kilograms tonnes
    mN N kN
    N·m kN·m
    Hz kHz MHz
    bits bytes kilobytes megabytes gigabytes
    bit byte kilobyte megabyte gigabyte
    kB MB GB TB
    KB MB GB TB
    KiB MiB GiB
    mW W kW
    mV V kV
    mA A
    J kJ MJ
    Wh kWh
    Pa kPa MPa
    degrees radians
    °C K
    km/h m/s
    mm/s cm/s
    °/s rad/s
    watts kilowatts megawatts
    volts millivolts
    newtons kilonewtons
    inches feet miles
    """.replace("\0", " ")
    .strip()
    .splitlines()
]
CONVERSIONS = [
    ("s", "ms", 1000),
    ("ms", "µs", 1000),
    ("seconds", "milliseconds", 1000),
    ("minutes", "seconds", 60),
    ("hours", "minutes", 60),
    ("days", "hours", 24),
    ("m", "cm", 100),
    ("cm", "mm", 10),
    ("m", "mm", 1000),
    ("km", "m", 1000),
    ("kg", "g", 1000),
    ("kN", "N", 1000),
    ("kHz", "Hz", 1000),
    ("MHz", "kHz", 1000),
    ("kW", "W", 1000),
    ("V", "mV", 1000),
    ("A", "mA", 1000),
    ("kJ", "J", 1000),
    ("kWh", "Wh", 1000),
    ("kPa", "Pa", 1000),
    ("MPa", "kPa", 1000),
]
